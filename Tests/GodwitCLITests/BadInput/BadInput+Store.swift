import Foundation
import GodwitModel
import GodwitStore

extension BadInput {
  static let files: [BadInput] = [
    .init("missing source", 66, ["library.sqlite'"]) { try $0.remove("library.sqlite") },
    .init("missing source, planned", ["plan", "job.yaml"], 66, ["library.sqlite'"]) { try $0.remove("library.sqlite") },
    .init("source is a folder", 65, ["library.sqlite'", "a folder"]) {
      try $0.remove("library.sqlite")
      try $0.makeFolder("library.sqlite")
    },
    .init("source is a device", 65, ["'/dev/null'", "a special file"]) {
      try $0.edit("job.yaml", "source: library.sqlite", "source: /dev/null")
    },
    .init("dangling link as source", 66, ["library.sqlite'"]) {
      try $0.remove("library.sqlite")
      try FileManager.default.createSymbolicLink(atPath: $0.file("library.sqlite"), withDestinationPath: "nowhere")
    },
    .init("empty source", 65, ["library.sqlite'", "empty"]) { try $0.write("library.sqlite", "") },
    .init("source of random bytes", 65, ["library.sqlite'", "SQLite"]) { try $0.writeNoise("library.sqlite") },
    .init("store cut at half", 65, ["library.sqlite'", "truncated"]) { try $0.cut("library.sqlite") { $0 / 2 } },
    .init("store cut by one page", 65, ["library.sqlite'", "truncated"]) { try $0.cut("library.sqlite") { $0 - 4096 } },
    .init("store cut by one byte", 65, ["library.sqlite'", "truncated"]) { try $0.cut("library.sqlite") { $0 - 1 } },
    .init("store cut inside the header", 65, ["library.sqlite'", "SQLite"]) {
      try $0.cut("library.sqlite") { _ in 60 }
    },
    .init("store cut inside the first page", 65, ["library.sqlite'"]) { try $0.cut("library.sqlite") { _ in 2000 } },
    .init("store cut at half, inspected", ["inspect", "library.sqlite"], 65, ["library.sqlite'", "truncated"]) {
      try $0.cut("library.sqlite") { $0 / 2 }
    },
    .init("source is a named pipe", 65, ["library.sqlite'", "a special file"]) {
      try $0.remove("library.sqlite")
      try $0.makePipe("library.sqlite")
    },
    .init("missing source, its state asked for", ["status", "job.yaml"], 66, ["library.sqlite'"]) {
      try $0.remove("library.sqlite")
    },
    .init("garbage, inspected", ["inspect", "library.sqlite"], 65, ["library.sqlite"]) {
      try $0.writeNoise("library.sqlite")
    },
    .init("nothing, inspected", ["inspect", "nosuch"], 66, ["'nosuch'"]) { _ in },
    .init("header of noise", 65, ["library.sqlite'", "godwit salvage STORE"]) {
      var bytes = try Data(contentsOf: URL(filePath: $0.file("library.sqlite")))
      bytes.replaceSubrange(16..<100, with: Data(repeating: 0x5A, count: 84))
      try $0.write("library.sqlite", bytes)
    },
    .init("a schema format of the future", 65, ["library.sqlite'", "--raw"]) {
      var bytes = try Data(contentsOf: URL(filePath: $0.file("library.sqlite")))
      bytes[47] = 5
      try $0.write("library.sqlite", bytes)
    },
    .init("schema page of noise", 65, ["cannot use 'library.sqlite'", "malformed", "godwit salvage STORE"]) {
      var bytes = try Data(contentsOf: URL(filePath: $0.file("library.sqlite")))
      bytes.replaceSubrange(100..<4096, with: Data(repeating: 0x5A, count: 3996))
      try $0.write("library.sqlite", bytes)
    },
    .init(
      "page of noise inside an entity table", 65,
      ["cannot use 'library.sqlite'", "malformed", "planning", "Book", "godwit salvage STORE"]
    ) {
      try $0.spoilPage(with: "\(BreakableJob.secret) book 150 ")
    },
    .init(
      "page of noise inside an entity table, inspected", ["inspect", "library.sqlite"], 65,
      ["'library.sqlite'", "malformed", "godwit salvage STORE"]
    ) {
      try $0.spoilPage(with: "\(BreakableJob.secret) book 150 ")
    },
    .init("foreign SQLite file", 65, ["library.sqlite'", "'Z_METADATA'", "export STORE --raw"]) {
      try $0.remove("library.sqlite")
      try $0.sql("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
    },
    .init(
      "foreign SQLite file, inspected", ["inspect", "library.sqlite"], 65, ["library.sqlite'", "'Z_METADATA'"]
    ) {
      try $0.remove("library.sqlite")
      try $0.sql("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
    },
    .init("damaged log beside the source", ["inspect", "library.sqlite-wal"], 65, ["library.sqlite-wal'"]) {
      try $0.writeNoise("library.sqlite-wal")
    },
    .init("unreadable source", 77, ["library.sqlite'"], user: .nobody) { try $0.setMode("library.sqlite", 0) },
  ]

  /// Folders that the user of the command may not list. Only root can make some and still compare what is in them.
  static let folders: [BadInput] =
    getuid() != 0
    ? []
    : [
      ("inspect", ["inspect", "evidence"], 77), ("inspect in it", ["inspect", "evidence/locked/s.sqlite"], 77),
      ("lint", ["lint", "evidence"], 77), ("test", ["test", "Library.xcdatamodeld", "--stores", "evidence"], 77),
      ("init", ["init", "library.sqlite", "evidence", "-o", "new.yaml"], 77),
    ].map { name, arguments, status in
      .init("unreadable folder, \(name)", arguments, status, ["evidence/locked"], user: .nobody) { job in
        try job.makeFolder("evidence/locked")
        try job.write("evidence/readable.txt", "text")
        try job.setMode("evidence/locked", 0o700)
      }
    }

  static let metadata: [BadInput] = [
    .init("no metadata table", 65, ["library.sqlite'", "'Z_METADATA'"]) { try $0.sql("DROP TABLE Z_METADATA") },
    .init("no metadata row", 65, ["library.sqlite'", "no row"]) { try $0.sql("DELETE FROM Z_METADATA") },
    .init("no property list", 65, ["library.sqlite'", "NULL"]) { try $0.sql("UPDATE Z_METADATA SET Z_PLIST = NULL") },
    .init("no identifier", 65, ["library.sqlite'", "'Z_UUID'"]) { try $0.sql("UPDATE Z_METADATA SET Z_UUID = NULL") },
    .init("property list of garbage", 65, ["library.sqlite'", "property list"]) {
      try $0.sql("UPDATE Z_METADATA SET Z_PLIST = x'62706C6973743030A5A5A5A5'")
    },
    .init("property list of text", 65, ["library.sqlite'", "property list"]) {
      try $0.sql("UPDATE Z_METADATA SET Z_PLIST = 'Sesame'")
    },
    .init("property list that is a number", 65, ["library.sqlite'", "property list"]) {
      try $0.sql("UPDATE Z_METADATA SET Z_PLIST = 5")
    },
    .init("huge property list", 65, ["library.sqlite'", "16 MiB"]) {
      try $0.sql("UPDATE Z_METADATA SET Z_PLIST = zeroblob(20000000)")
    },
    .init("property list without hashes", 69, ["library.sqlite'", "'assume-source-model'"]) {
      try $0.sql(
        "UPDATE Z_METADATA SET Z_PLIST = ?1", [.blob(PropertyListValue.dictionary([:]).binaryPropertyList)])
    },
    .init("metadata column missing", 65, ["library.sqlite'", "'Z_PLIST'"]) {
      try $0.sql("ALTER TABLE Z_METADATA DROP COLUMN Z_PLIST")
    },
    .init("garbage metadata, inspected", ["inspect", "library.sqlite"], 65, ["library.sqlite'", "property list"]) {
      try $0.sql("UPDATE Z_METADATA SET Z_PLIST = x'00'")
    },
    .init("no table of primary keys", 65, ["library.sqlite'", "'Z_PRIMARYKEY'"]) {
      try $0.sql("DROP TABLE Z_PRIMARYKEY")
    },
    .init("primary keys of nobody", 65, ["'Author'", "Z_PRIMARYKEY"]) { try $0.sql("DELETE FROM Z_PRIMARYKEY") },
    .init("primary keys without names", 65, ["library.sqlite'", "'Z_NAME'", "'Z_PRIMARYKEY'"]) {
      try $0.sql("ALTER TABLE Z_PRIMARYKEY DROP COLUMN Z_NAME")
    },
    .init("entity table missing", 65, ["'ZBOOK'", "'Book'"]) { try $0.sql("DROP TABLE ZBOOK") },
    .init("entity table missing, planned", ["plan", "job.yaml"], 65, ["'ZBOOK'"]) { try $0.sql("DROP TABLE ZBOOK") },
    .init("column missing", 65, ["'ZPAGES'", "'ZBOOK'", "library.sqlite'", "damaged", "Book.pages", "--raw"]) {
      try $0.sql("ALTER TABLE ZBOOK DROP COLUMN ZPAGES")
    },
    .init("column missing by a change in the log", 65, ["'ZPAGES'", "'ZBOOK'"]) {
      try $0.sqlInLog("ALTER TABLE ZBOOK DROP COLUMN ZPAGES")
    },
    .init("key column of a relationship missing", 65, ["'ZAUTHOR'", "'ZBOOK'"]) {
      for name in try indexNames(of: "ZBOOK", in: $0) { try $0.sql("DROP INDEX \(name)") }
      try $0.sql("ALTER TABLE ZBOOK DROP COLUMN ZAUTHOR")
    },
    .init("store that CloudKit mirrors", 65, ["library.sqlite'", "ANSCKMETADATAENTRY"]) {
      try $0.sql("CREATE TABLE ANSCKMETADATAENTRY (Z_PK INTEGER PRIMARY KEY)")
    },
  ]

  static let rows: [BadInput] = [
    .init("text where a filter needs an integer", 65, ["'pages'", "Book p7", "planning", "text", "'pages >= 0"]) {
      try $0.sql("UPDATE ZBOOK SET ZPAGES = 'Sesame seven' WHERE Z_PK = 7")
    },
    .init("text in an integer column", 65, ["'pages'", "Book p7", "BookToBook", "text"], leavesWork: true) {
      try dropFilter($0)
      try $0.sql("UPDATE ZBOOK SET ZPAGES = 'Sesame seven' WHERE Z_PK = 7")
    },
    .init("bytes in a text column", 65, ["'title'", "Book p7", "BookToBook", "bytes"], leavesWork: true) {
      try $0.sql("UPDATE ZBOOK SET ZTITLE = x'536573616D65' WHERE Z_PK = 7")
    },
    .init("fraction in an integer column", 65, ["'pages'", "Book p7", "BookToBook"], leavesWork: true) {
      try dropFilter($0)
      try $0.sql("UPDATE ZBOOK SET ZPAGES = 7.25 WHERE Z_PK = 7")
    },
    .init("integer out of range", 65, ["'pages'", "Book p7", "BookToBook"], leavesWork: true) {
      try dropFilter($0)
      try $0.sql("UPDATE ZBOOK SET ZPAGES = 9223372036854775807 WHERE Z_PK = 7")
    },
    .init("no value for a required attribute", 65, ["validation", "'title'", "Book p7"], leavesWork: true) {
      try $0.sql("UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = 7")
    },
    .init("two objects that must be unique", 65, ["validation", "ZBOOK", "uniqueness"], leavesWork: true) {
      try $0.sql("UPDATE ZBOOK SET ZISBN = 'Sesame-8' WHERE Z_PK = 7")
    },
    .init("row of an unknown entity", 65, ["row 2 of ZAUTHOR", "99"]) {
      try $0.sql("UPDATE ZAUTHOR SET Z_ENT = 99 WHERE Z_PK = 2")
    },
    .init("row of an unknown entity, planned", ["plan", "job.yaml"], 65, ["row 2 of ZAUTHOR", "99"]) {
      try $0.sql("UPDATE ZAUTHOR SET Z_ENT = 99 WHERE Z_PK = 2")
    },
    .init(
      "row of an unknown entity, verified before it is migrated", ["verify", "job.yaml"], 66, ["out/library.sqlite'"]
    ) {
      try $0.sql("UPDATE ZAUTHOR SET Z_ENT = 99 WHERE Z_PK = 2")
    },
    .init("row of an unknown entity in the log", 65, ["row 2 of ZAUTHOR", "99"]) {
      try $0.sqlInLog("UPDATE ZAUTHOR SET Z_ENT = 99 WHERE Z_PK = 2")
    },
    .init("row of no entity", 65, ["row 2 of ZAUTHOR", "no number"]) {
      try $0.sql("UPDATE ZAUTHOR SET Z_ENT = NULL WHERE Z_PK = 2")
    },
    .init("row of an entity in words", 65, ["row 2 of ZAUTHOR"]) {
      try $0.sql("UPDATE ZAUTHOR SET Z_ENT = 'Sesame' WHERE Z_PK = 2")
    },
  ]

  private static func dropFilter(_ job: BreakableJob) throws {
    try job.edit("library.mapping.yaml", "    filter: pages >= 0 OR pages == nil\n", "")
  }

  private static func indexNames(of table: String, in job: BreakableJob) throws -> [String] {
    let connection = try StoreConnection.openStore(readingAt: job.file("library.sqlite"))
    defer { try? connection.close() }
    return try connection.rows(
      "SELECT name FROM source.sqlite_master WHERE type = 'index' AND tbl_name = ?1", [.text(table)]
    ).compactMap { row in
      guard case .text(let bytes) = row[0] else { return nil }
      return StoreSchema.identifier(String(decoding: bytes, as: UTF8.self))
    }
  }
}
