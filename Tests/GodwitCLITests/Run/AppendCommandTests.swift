import Foundation
import GodwitStore
import Testing

/// `existing: append` through the executable.
@Suite struct AppendCommandTests {
  @Test func `two jobs append to one destination, and every verb recognises both`() throws {
    let job = try BreakableJob()
    try job.edit("job.yaml", "out/library.sqlite", "{path: out/library.sqlite, existing: append}")
    try job.write("second.sqlite", try Data(contentsOf: URL(filePath: job.file("library.sqlite"))))
    try job.sql("UPDATE ZBOOK SET ZISBN = ZISBN || '-second'", store: "second.sqlite")
    let manifest = try String(contentsOfFile: job.file("job.yaml"), encoding: .utf8)
    try job.write("second.yaml", manifest.replacing("source: library.sqlite", with: "source: second.sqlite"))
    func run(_ arguments: String...) throws -> BuiltCommand.Result {
      try BuiltCommand.run(arguments: arguments, in: job.path)
    }
    #expect(try run("run", "job.yaml").status == 0)
    let plan = try run("plan", "--details", "second.yaml")
    #expect(plan.output.contains("appends to 303 objects in"))
    #expect(try run("plan", "--detailed-exitcode", "second.yaml").status == 2)
    #expect(try run("status", "second.yaml").output.contains("not started"))
    let second = try run("run", "second.yaml")
    #expect(second.status == 0, "\(second.diagnostics)")
    for manifest in ["job.yaml", "second.yaml"] {
      #expect(try run("run", manifest).output.contains("is already finished"))
      #expect(try run("status", manifest).output.contains("finished"))
      #expect(try run("plan", "--detailed-exitcode", manifest).status == 0)
      let verified = try run("verify", "--details", manifest)
      #expect(verified.status == 0, "\(verified.output)")
      #expect(verified.output.contains("objects of Book that the job did not make"))
    }
    let connection = try StoreConnection.openStore(readingAt: job.file("out/library.sqlite"))
    #expect(try connection.integer("SELECT COUNT(*) FROM source.ZBOOK") == BreakableJob.books * 2)
    try connection.close()
    // The same values again break the constraint: the destination keeps what it has.
    try job.edit("second.yaml", "rows: 100", "rows: 50")
    try job.sql("UPDATE ZBOOK SET ZPAGES = 1", store: "second.sqlite")
    let before = try Data(contentsOf: URL(filePath: job.file("out/library.sqlite")))
    let refused = try run("run", "second.yaml")
    #expect(refused.status == 65)
    #expect(refused.diagnostics.contains("uniqueness constraint"))
    #expect(try Data(contentsOf: URL(filePath: job.file("out/library.sqlite"))) == before)
    #expect(try run("discard", "second.yaml").status == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: job.file("out")).sorted()
    #expect(names == ["library.sqlite"])
  }
}
