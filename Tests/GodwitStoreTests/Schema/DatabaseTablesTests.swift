import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The tables of files that are damaged.
struct DatabaseTablesTests {
  @Test func `what is said of a store that was cut off names the store, not the connection's own database`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("cut.sqlite")
    let model = try ManagedObjectModel(name: "M", entities: [EntityDescription(name: "S")])
    let made = try EmptyStore.create(at: path, schema: StoreSchema(model: model), metadata: StoreMetadata(model: model))
    try made.execute("CREATE TABLE BIG (A)")
    try made.execute(
      "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 400) INSERT INTO BIG SELECT zeroblob(1000) FROM r"
    )
    try made.close()
    // The root page of the table is the last one that was made before its rows.
    let whole = try Data(contentsOf: URL(filePath: path))
    try whole.dropLast(60 * 4096).write(to: URL(filePath: path))
    let error = #expect(throws: GodwitError.self) { try StoreFiles(path: path) }
    #expect(error?.topic == .cutOff)

    let found = try DatabaseTables(readingDatabaseAt: path)
    let problem = try #require(found.tables.first { $0.name == "BIG" }?.problem)
    #expect(problem.contains("'\(path)'") && problem.contains("malformed"), "\(problem)")
    #expect(!found.complaints.isEmpty)
    for text in found.tables.compactMap(\.problem) + found.complaints {
      #expect(!text.contains(":memory:"), "\(text)")
    }
  }

  @Test func `what is said of a store of our own that is damaged names it, however it was attached`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("own.sqlite")
    let made = try StoreConnection(path: path, create: true)
    try made.execute("CREATE TABLE T (A)")
    try made.execute("INSERT INTO T VALUES (zeroblob(3000))")
    try made.close()
    let file = try FileHandle(forUpdating: URL(filePath: path))
    // The type of the second page, which is the table's only one.
    try file.seek(toOffset: 4096)
    try file.write(contentsOf: Data([0xFF, 0xFF]))
    try file.close()
    for isShared in [true, false] {
      let connection = try StoreConnection(path: nil)
      if isShared {
        try connection.attachShared(path: path)
      } else {
        try connection.attachUnlocked(path: path, cache: .mebibytes(1))
      }
      let error = #expect(throws: GodwitError.self) { _ = try connection.integer("SELECT count(*) FROM source.T") }
      #expect(error?.code == .dataWrong && error?.message.contains("'\(path)'") == true, "\(error?.message ?? "")")
    }
  }

  @Test func `a sound table without row numbers whose key has another order is not called damaged`() throws {
    let folder = try TemporaryFolder()
    let connection = try StoreConnection(path: folder.file("index.sqlite"), create: true)
    try connection.execute("CREATE TABLE I (word TEXT, doc INTEGER, PRIMARY KEY (doc, word)) WITHOUT ROWID")
    try connection.execute("INSERT INTO I VALUES ('a', 1), ('b', 2), ('c', 3)")
    for limit in [1, 10] {
      #expect(try connection.complaints(about: "main", isFull: false, limit: limit) == [])
    }
    // A value that is missing is told in a sound file, with the rest.
    try connection.execute("CREATE TABLE N (a         )")
    try connection.execute("INSERT INTO N VALUES (NULL), (1), (NULL)")
    try connection.close()
    var bytes = try Data(contentsOf: URL(filePath: folder.file("index.sqlite")))
    let place = try #require(bytes.firstRange(of: Data("(a         )".utf8)))
    bytes.replaceSubrange(place, with: Data("(a NOT NULL)".utf8))
    try bytes.write(to: URL(filePath: folder.file("index.sqlite")))
    let again = try StoreConnection(path: folder.file("index.sqlite"))
    defer { try? again.close() }
    for limit in [1, 10] {
      let found = try again.complaints(about: "main", isFull: false, limit: limit)
      #expect(Set(found) == ["NULL value in N.a"] && found.count == min(limit, 2))
    }
  }
}
