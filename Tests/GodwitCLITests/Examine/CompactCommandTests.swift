import Foundation
import GodwitStore
import TestSupport
import Testing

@testable import GodwitCLI

/// The verb `compact`, and its section of the page "In place, appending, merging".
struct CompactCommandTests {
  private static func run(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: arguments, in: session)
    return (status, session.output.text, session.diagnostics.text)
  }

  /// A store of people with a thousand changes of history.
  private static func store(in folder: TemporaryFolder) throws -> String {
    let store = folder.file("people.sqlite")
    let model = PeoplizerStores.file("Peoplizer.xcdatamodeld") + "#Peoplizer 4"
    #expect(run("make-store", model, store, "--rows", "50", "--seed", "1").status == 0)
    let connection = try StoreConnection(path: store)
    try connection.execute("CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZCOLUMNS BLOB )")
    try connection.execute(
      "WITH n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000) INSERT INTO ACHANGE SELECT x, 16001, randomblob(300) FROM n"
    )
    try connection.execute("INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 1000)")
    try connection.close()
    return store
  }

  @Test func `compact says what there is to win, wins it, and then has nothing to do`() throws {
    let folder = try TemporaryFolder()
    let store = try Self.store(in: folder)
    let dry = Self.run("compact", store, "--dry-run")
    #expect(dry.status == 0 && dry.output.contains("ACHANGE: 1,000 rows") || dry.output.contains("ACHANGE: 1000 rows"))
    #expect(dry.output.contains("134301") && dry.output.contains("verdict      about "), "\(dry)")
    let made = Self.run("compact", store, "--keep-old")
    #expect(made.status == 0 && made.output.contains("verdict      compacted: "), "\(made)")
    #expect(made.output.contains("old store    \(folder.file("people~.sqlite"))"))
    let again = Self.run("compact", store)
    #expect(again.status == 0 && again.output.contains("nothing to do"), "\(again)")
    #expect(Self.run("compact", store, "--undo").output == "nothing to undo\n")
  }

  @Test func `the commands of the page about stores in place run`() throws {
    let folder = try TemporaryFolder("godwit-page")
    _ = try Self.store(in: folder)
    let script = try #require(DocumentationPage("InPlace").blocks("sh").first)
    let result = try GettingStartedTests.run(script, in: folder)
    #expect(result.status == 0 && result.output.contains("compacted"), "\(result)")
    #expect(FileManager.default.fileExists(atPath: folder.file("people~.sqlite")))
  }

  @Test func `wrong uses are 64, and a missing store and a model without an archive 66`() throws {
    let folder = try TemporaryFolder()
    let store = try Self.store(in: folder)
    #expect(Self.run("compact", store, "--undo", "--dry-run").status == 64)
    #expect(Self.run("compact", folder.file("nosuch")).status == 66)
    let source = Self.run("compact", store, "--model", PeoplizerStores.file("Peoplizer.xcdatamodeld"))
    #expect(source.status == 66 && source.diagnostics.contains("no source of a model is one"), "\(source)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["people.sqlite"])
  }
}
