import Foundation
import GodwitStore
import TestSupport
import Testing

/// The store in a work folder was damaged, or written to, before the job is run again.
struct DamagedWorkTests {
  private static let store = "out/library.sqlite.godwit/store.sqlite"

  /// A job that has done its first chunks and failed at the last book.
  private static func stopped() throws -> BreakableJob {
    let job = try BreakableJob()
    try job.sql("UPDATE ZBOOK SET ZTITLE = x'00' WHERE Z_PK = 300")
    let result = try BuiltCommand.run("run", "job.yaml", in: job.path)
    try #require(result.status == 65, "\(result.diagnostics)")
    try #require(FileManager.default.fileExists(atPath: job.file(store)))
    return job
  }

  @Test(arguments: [
    "DROP TABLE ZAUTHOR", "DROP TABLE ZBOOK", "DROP TABLE Z_PRIMARYKEY", "DROP TABLE Z_METADATA",
    "DROP TABLE godwit_chunk", "DROP TABLE godwit_spill", "ALTER TABLE ZBOOK DROP COLUMN ZPAGES",
    "ALTER TABLE ZBOOK ADD COLUMN ZMINE INTEGER", "godwit_ledger", "godwit_chunk", "godwit_spill", "godwit_nil",
    "ZBOOK",
    "ZAUTHOR", "Z_PRIMARYKEY", "Z_METADATA", "ALTER TABLE godwit_chunk DROP COLUMN several",
    "ALTER TABLE godwit_ledger RENAME COLUMN value TO other", "ALTER TABLE godwit_nil ADD COLUMN mine",
    "CREATE TRIGGER mine AFTER INSERT ON ZBOOK BEGIN SELECT nosuch(1); END",
    "CREATE TRIGGER mine AFTER UPDATE ON godwit_chunk BEGIN SELECT RAISE(ABORT, 'no'); END",
    "CREATE UNIQUE INDEX mine ON ZBOOK (ZAUTHOR, Z_PK)", "CREATE INDEX mine ON ZBOOK (length(ZTITLE))",
    "CREATE VIEW mine AS SELECT 1", "UPDATE godwit_chunk SET rows = 9223372036854775807 WHERE id = 0",
    "UPDATE godwit_chunk SET several = -1", "UPDATE godwit_chunk SET displaced = 'x'",
    "INSERT INTO godwit_nil VALUES (1, 1, 'a', 9223372036854775807)",
  ])
  func `a resumed run finds that its store has different definitions`(sql: String) throws {
    let job = try Self.stopped()
    // Without the damage the run would now end with 0. A name is that of a table to make a view of.
    let isStatement = sql.contains(" ")
    for sql in isStatement
      ? [sql] : ["ALTER TABLE \(sql) RENAME TO moved", "CREATE VIEW \(sql) AS SELECT * FROM moved"]
    {
      try job.sql(sql, store: Self.store)
    }
    let result = try BuiltCommand.run("run", "job.yaml", in: job.path)
    #expect(result.status == 65, "\(result.diagnostics)")
    #expect(
      result.diagnostics.contains("store.sqlite'") && result.diagnostics.contains("discard"), "\(result.diagnostics)")
    #expect(!result.diagnostics.contains("p300"), "\(result.diagnostics)")
    #expect(!FileManager.default.fileExists(atPath: job.file("out/library.sqlite")))
  }

  @Test(arguments: ["run", "status", "plan"], ["text", "cut", "page"])
  func `an error of a damaged store in a work folder says how to begin again`(verb: String, damage: String) throws {
    let job = try Self.stopped()
    let url = URL(filePath: job.file(Self.store))
    var bytes = try Data(contentsOf: url)
    switch damage {
    case "text": bytes = Data(String(repeating: "no database\n", count: 1000).utf8)
    case "cut": bytes = bytes.prefix(bytes.count / 2)
    default: bytes.replaceSubrange(100..<4096, with: Data(count: 3996))
    }
    try bytes.write(to: url)
    let result = try BuiltCommand.run(verb, "job.yaml", in: job.path)
    #expect(result.status == 65 && result.diagnostics.contains("`godwit discard`"), "\(result)")
    #expect(!result.diagnostics.contains("backup"), "\(result.diagnostics)")
    #expect(try BuiltCommand.run("discard", "job.yaml", in: job.path).status == 0)
  }
}
