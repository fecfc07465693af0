import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// A store with two entities in one table, values that no model explains, and a table of another application.
private struct OddStore {
  /// A name with a quote and a combining mark, which are one character.
  static let table = "a \"\u{301}b"

  let project = ProjectFixture()
  var path: String { (try? project.path("odd.sqlite")) ?? "" }

  init() throws {
    let date = AttributeDescription(name: "day", type: .date)
    let model = try ManagedObjectModel(
      name: "Odd",
      entities: [
        EntityDescription(
          name: "Animal",
          attributes: [
            AttributeDescription(name: "name", type: .string), date, AttributeDescription(name: "photo", type: .binary),
            AttributeDescription(name: "weight", type: .double),
          ],
          relationships: [
            RelationshipDescription(name: "owner", destinationEntityName: "Person", inverseName: "animals")
          ]),
        EntityDescription(name: "Cat", superentityName: "Animal"),
        EntityDescription(
          name: "Person",
          relationships: [
            RelationshipDescription(
              name: "animals", destinationEntityName: "Animal", inverseName: "owner", isToMany: true)
          ]),
      ])
    try project.store("odd.sqlite", model) { store in
      try store.insert("Person", key: 3)
      try store.insert("Cat", key: 2, attributes: ["name": .init("Tom \"T\u{301}\""), "day": .date(12.5)])
      try store.insert(
        "Animal", key: 7, attributes: ["name": .init(""), "photo": .data([1, 2]), "weight": .double(.infinity)])
    }
    try change(
      "UPDATE ZANIMAL SET ZOWNER = 3 WHERE Z_PK = 2",
      "INSERT INTO ZANIMAL (Z_PK, Z_ENT, ZNAME) VALUES (9, 77, CAST(X'FF41' AS TEXT))",
      "CREATE TABLE \"a \"\"\u{301}b\" (\"@x\", k TEXT PRIMARY KEY) WITHOUT ROWID",
      "INSERT INTO \"a \"\"\u{301}b\" VALUES (5, 'one')", "CREATE VIEW v AS SELECT 1")
  }

  func change(_ statements: String...) throws {
    let connection = try StoreConnection(path: path)
    for statement in statements { try connection.execute(statement) }
    try connection.close()
  }

  func export(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
    project.godwit(["export", path, "--raw"] + arguments)
  }
}

struct `Exporting tables without a model` {
  @Test func `rows have the names and values of the file, and the entity that Z_PRIMARYKEY names`() throws {
    let odd = try OddStore()
    let result = odd.export("--table", "ZANIMAL")
    #expect(result.status == 0, "\(result.diagnostics)")
    let rows = """
      {"@table":"ZANIMAL","@entity":"Cat","Z_PK":2,"Z_ENT":2,"Z_OPT":1,"ZOWNER":3,"ZDAY":12.5,"ZWEIGHT":null,\
      "ZNAME":"Tom \\"T\u{301}\\"","ZPHOTO":null}
      {"@table":"ZANIMAL","@entity":"Animal","Z_PK":7,"Z_ENT":1,"Z_OPT":1,"ZOWNER":null,"ZDAY":null,"ZWEIGHT":"inf",\
      "ZNAME":"","ZPHOTO":{"@base64":"AQI="}}
      {"@table":"ZANIMAL","@entity":null,"Z_PK":9,"Z_ENT":77,"Z_OPT":null,"ZOWNER":null,"ZDAY":null,"ZWEIGHT":null,\
      "ZNAME":{"@text-base64":"/0E="},"ZPHOTO":null}

      """
    #expect(result.output == rows)
    let foreign = odd.export("--table", OddStore.table)
    let row = "{\"@table\":\"a \\\"\u{301}b\",\"@@x\":5,\"k\":\"one\"}\n"
    #expect(foreign.output == row, "\(foreign.diagnostics)")
  }

  @Test func `all tables are written, without views and what SQLite keeps for itself`() throws {
    let odd = try OddStore()
    let lines = try JSONValue.lines(odd.export("--all").output)
    let names: Set<String> = ["ZANIMAL", "ZPERSON", "Z_METADATA", "Z_PRIMARYKEY", OddStore.table]
    #expect(Set(lines.compactMap { $0["@table"]?.string }) == names)
  }

  @Test func `CSV has the columns of all tables, and tells NULL, an empty text and bytes apart`() throws {
    let odd = try OddStore()
    let csv = odd.export("--table", "ZANIMAL", "--table", "ZPERSON", "--format", "csv").output
    let expected = [
      "@table,@entity,Z_PK,Z_ENT,Z_OPT,ZOWNER,ZDAY,ZWEIGHT,ZNAME,ZPHOTO",
      "ZANIMAL,Cat,2,2,1,3,12.5,,\"Tom \"\"T\u{301}\"\"\",", "ZANIMAL,Animal,7,1,1,,,inf,\"\",base64:AQI=",
      "ZANIMAL,,9,77,,,,,text-base64:/0E=,", "ZPERSON,Person,3,3,1,,,,,", "",
    ]
    #expect(csv.components(separatedBy: "\r\n") == expected)
  }

  @Test func `a SQLite file has the tables with a column for the entity's name`() throws {
    let odd = try OddStore()
    let file = try odd.project.path("plain.db")
    let result = odd.export("--all", "--format", "sqlite", "-o", file)
    #expect(result.status == 0, "\(result.diagnostics)")
    let connection = try StoreConnection(path: file)
    let rows = try connection.rows("SELECT entity, Z_PK, typeof(ZNAME), ZDAY FROM ZANIMAL ORDER BY Z_PK")
    #expect(
      rows == [
        [.text("Cat"), .integer(2), .text("text"), .real(12.5)], [.text("Animal"), .integer(7), .text("text"), .null],
        [.null, .integer(9), .text("blob"), .null],
      ])
    let number = try connection.integer("SELECT \"@x\" FROM \"a \"\"\u{301}b\"")
    #expect(number == 5)
    try connection.close()
    #expect(odd.export("--all", "--format", "sqlite", "-o", file).status == 73)
  }

  @Test func `tables go to files of their names in a folder, and a name that no file can have is refused`() throws {
    let odd = try OddStore()
    let folder = try odd.project.path("out")
    #expect(odd.export("--all", "--format", "csv", "-o", folder).status == 0)
    let names = ["ZANIMAL", "ZPERSON", "Z_METADATA", "Z_PRIMARYKEY", OddStore.table].map { $0 + ".csv" }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == names)
    try odd.change("CREATE TABLE \"../x\" (a)")
    let refused = odd.export("--all", "-o", try odd.project.path("other"))
    #expect(refused.status == 64 && refused.diagnostics.contains("--table"), "\(refused.diagnostics)")
    #expect(try !FileManager.default.fileExists(atPath: odd.project.path("other")))
  }

  @Test func `a file without metadata, one that is cut off, and one that is not a database`() throws {
    let odd = try OddStore()
    try odd.change("DROP TABLE Z_METADATA", "DROP TABLE Z_PRIMARYKEY")
    let rows = try JSONValue.lines(odd.export("--table", "ZPERSON").output)
    #expect(rows.count == 1 && rows[0]["@entity"] == .null)
    let before = try Data(contentsOf: URL(filePath: odd.path))
    #expect(odd.export("--all").status == 0)
    #expect(try Data(contentsOf: URL(filePath: odd.path)) == before)
    let cut = try odd.project.path("cut.sqlite")
    try before.prefix(3 * 4096).write(to: URL(filePath: cut))
    let damaged = odd.project.godwit("export", cut, "--raw", "--all", "-o", try odd.project.path("cut.out"))
    #expect(damaged.status == 65 && damaged.diagnostics.contains("all rows of '\(cut)'"), "\(damaged.diagnostics)")
    #expect(try FileManager.default.fileExists(atPath: odd.project.path("cut.out")))
    try odd.project.write("text.sqlite", "no database at all")
    #expect(odd.project.godwit("export", try odd.project.path("text.sqlite"), "--raw", "--all").status == 65)
    #expect(odd.project.godwit("export", try odd.project.path("nosuch"), "--raw", "--all").status == 66)
  }

  @Test func `an empty file, and one whose journal is part of a larger transaction, are refused`() throws {
    let odd = try OddStore()
    try odd.project.write("empty.sqlite", "")
    let empty = odd.project.godwit("export", try odd.project.path("empty.sqlite"), "--raw", "--all")
    #expect(empty.status == 65 && empty.output.isEmpty && empty.diagnostics.contains("empty"), "\(empty.diagnostics)")
    let pages = try Data(contentsOf: URL(filePath: odd.path)).count / 4096
    try Data.superJournal(naming: "/nowhere/super-journal", pages: UInt32(pages))
      .write(to: URL(filePath: odd.path + "-journal"))
    let half = odd.export("--all")
    #expect(half.status == 65 && half.output.isEmpty && half.diagnostics.contains("journal"), "\(half.diagnostics)")
  }

  @Test func `rows before a page that is missing are written, and the status is 65`() throws {
    let odd = try OddStore()
    try odd.change(
      "CREATE TABLE last (t)",
      "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90) INSERT INTO last SELECT hex(zeroblob(900)) FROM n"
    )
    let whole = odd.export("--table", "last").output.split(separator: "\n")
    #expect(whole.count == 90)
    let content = try Data(contentsOf: URL(filePath: odd.path))
    try content.dropLast(10 * 4096).write(to: URL(filePath: odd.path))
    let result = odd.export("--table", "last")
    let rows = result.output.split(separator: "\n")
    #expect(result.status == 65 && rows.count > 20 && rows[...] == whole.prefix(rows.count), "\(result.diagnostics)")
  }

  @Test func `values of a column of any type keep theirs`() throws {
    let odd = try OddStore()
    try odd.change(
      "CREATE TABLE st (v ANY, t TEXT, n INTEGER) STRICT",
      "INSERT INTO st VALUES ('007', '007', 7), ('1e3', '1', 1), (5, '', 5), (5.5, '', 5), (x'35', '', 5)")
    let file = try odd.project.path("plain.db")
    let result = odd.export("--table", "st", "--format", "sqlite", "-o", file)
    #expect(result.status == 0, "\(result.diagnostics)")
    func rows(_ path: String) throws -> [[SQLValue]] {
      try StoreConnection(path: path).rows("SELECT typeof(v), v, typeof(t), t, typeof(n), n FROM st ORDER BY rowid")
    }
    #expect(try rows(file) == rows(odd.path))
    #expect(try rows(file).first?.prefix(2) == [.text("text"), .text("007")])
  }

  @Test(arguments: ["jsonl", "csv", "sqlite"])
  func `tables with a word of SQL for a name, and generated columns, come over`(format: String) throws {
    let odd = try OddStore()
    let path = try odd.project.path("words.db")
    let connection = try StoreConnection(path: path, create: true)
    try connection.execute("CREATE TABLE \"order\" (\"select\" INTEGER, twice AS (\"select\" * 2), half AS (7) STORED)")
    try connection.execute("INSERT INTO \"order\" (\"select\") VALUES (4)")
    try connection.close()
    let file = try odd.project.path("words.out")
    for choice in [["--all"], ["--table", "order"]] {
      let result = odd.project.godwit(["export", path, "--raw", "--format", format, "-o", file] + choice)
      #expect(result.status == 0, "\(choice): \(result.diagnostics)")
      if format == "sqlite" {
        let copy = try StoreConnection(path: file)
        #expect(
          try copy.rows("SELECT \"select\", twice, half FROM \"order\"") == [[.integer(4), .integer(8), .integer(7)]])
        try copy.close()
      } else {
        // A folder, or one file.
        let text = try ShellCommand.run(
          "cat '\(file)' 2>/dev/null || cat '\(file)'/*", in: odd.project.folder.get().path)
        #expect(text.output.contains("8") && text.output.contains("half"), "\(text.output)")
      }
      try FileManager.default.removeItem(atPath: file)
    }
  }

  @Test func `what --raw excludes, and a store without a model that asks for it`() throws {
    let odd = try OddStore()
    for arguments in [
      ["--raw"], ["--raw", "--all", "--table", "ZANIMAL"], ["--raw", "--all", "--entity", "Cat"],
      ["--raw", "--all", "--where", "a == 1"], ["--raw", "--all", "--model", "x"], ["--table", "ZANIMAL"],
      ["--raw", "--table", "ZANIMALS"], ["--raw", "--all", "--format", "sqlite"],
    ] {
      let result = odd.project.godwit(["export", odd.path] + arguments)
      #expect(result.status == 64, "\(arguments): \(result.diagnostics)")
    }
    let asked = odd.project.godwit("export", odd.path, "--entity", "Cat")
    #expect(asked.diagnostics.contains("or export its tables as they are with --raw"), "\(asked.diagnostics)")
  }
}
