import Foundation
import TestSupport
import Testing

extension BadInput {
  /// Jobs that a run has left unfinished, and what may have happened to them since.
  static let unfinished: [BadInput] = [
    .init("unfinished job with another mapping", 73, ["cannot resume 'job'", "the mapping changed"], leavesWork: true) {
      try leaveUnfinished($0)
      try $0.edit("library.mapping.yaml", "      isbn: $source.isbn\n", "")
    },
    .init("unfinished job with another model", 73, ["cannot resume 'job'", "destination model"], leavesWork: true) {
      try leaveUnfinished($0)
      try $0.edit("Library.xcdatamodeld/Library 2.xcdatamodel/contents", "Integer 16", "Integer 32")
    },
    .init("unfinished job with another source", 73, ["cannot resume 'job'", "the source store"], leavesWork: true) {
      try leaveUnfinished($0)
      try $0.sql("UPDATE ZBOOK SET ZPAGES = 9 WHERE Z_PK = 8")
    },
    .init("unfinished job that still has its row", 65, ["'isbn'", "Book p250", "chunk 3"], leavesWork: true) {
      try leaveUnfinished($0)
    },
    .init("unfinished job with a ledger of noise", 65, ["out/library.sqlite.godwit/store.sqlite'"], leavesWork: true) {
      try leaveUnfinished($0)
      try $0.writeNoise("out/library.sqlite.godwit/store.sqlite")
    },
    .init("unfinished job with an emptied ledger", 65, ["ledger", "'identity'"], leavesWork: true) {
      try leaveUnfinished($0)
      try $0.sql("DELETE FROM godwit_ledger", store: "out/library.sqlite.godwit/store.sqlite")
    },
    .init("unfinished job with a ledger of another stage", 65, ["ledger", "stage"], leavesWork: true) {
      try leaveUnfinished($0)
      try $0.sql("UPDATE godwit_chunk SET stage = 'lost'", store: "out/library.sqlite.godwit/store.sqlite")
    },
    .init(
      "unfinished job with an emptied ledger, its state asked for", ["status", "job.yaml"], 65, ["ledger"],
      leavesWork: true
    ) {
      try leaveUnfinished($0)
      try $0.sql("UPDATE godwit_chunk SET stage = 'lost'", store: "out/library.sqlite.godwit/store.sqlite")
    },
    .init("unfinished job whose destination is taken", 73, ["out/library.sqlite'", "it exists"], leavesWork: true) {
      try leaveUnfinished($0)
      try $0.write("out/library.sqlite", "hello")
    },
    .init("unfinished job with a cut store", 65, ["out/library.sqlite.godwit/store.sqlite'"], leavesWork: true) {
      try leaveUnfinished($0)
      try $0.cut("out/library.sqlite.godwit/store.sqlite") { $0 / 2 }
    },
  ]

  /// A run that ends at a row of the third chunk of books.
  private static func leaveUnfinished(_ job: BreakableJob) throws {
    try job.sql("UPDATE ZBOOK SET ZISBN = x'536573616D65' WHERE Z_PK = 250")
    let result = try BuiltCommand.run("run", "job.yaml", in: job.path)
    try #require(result.status == 65, "\(result.diagnostics)")
  }
}
