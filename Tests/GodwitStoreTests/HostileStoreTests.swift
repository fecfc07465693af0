import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitStore

/// Stores made to hang whoever looks at them, or to fill the memory.
@Suite struct HostileStoreTests {
  private static let endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT"

  /// A store with one entity, changed by SQL.
  private func store(_ folder: TemporaryFolder, _ statements: [String] = []) throws -> String {
    let path = folder.file("store.sqlite")
    let model = try ManagedObjectModel(name: "M", entities: [EntityDescription(name: "S")])
    let made = try EmptyStore.create(at: path, schema: StoreSchema(model: model), metadata: StoreMetadata(model: model))
    for statement in statements { try made.execute(statement) }
    try made.close()
    return path
  }

  private func refusal(_ statements: [String]) throws -> GodwitError? {
    let folder = try TemporaryFolder()
    let path = try store(folder, statements)
    do {
      _ = try StoreSummary(readingStoreAt: path)
      _ = try StoreModelCache.content(ofStoreAt: path)
      return nil
    } catch let error as GodwitError { return error }
  }

  @Test(arguments: [
    ("Z_MODELCACHE", "\(endless) NULL AS Z_CONTENT FROM r"),
    ("z_modelcache", "\(endless) NULL AS Z_CONTENT FROM r"),
    ("Z_METADATA", "\(endless) x AS Z_VERSION, 'a' AS Z_UUID, x AS Z_PLIST FROM r WHERE x < 0"),
    ("Z_PRIMARYKEY", "\(endless) x AS Z_ENT, 'S' AS Z_NAME, 0 AS Z_SUPER, 0 AS Z_MAX FROM r WHERE x < 0"),
  ])
  func `a view in place of a Core Data table is refused`(name: String, query: String) throws {
    let error = try refusal(["DROP TABLE IF EXISTS \(name)", "CREATE VIEW \(name) AS \(query)"])
    #expect(error?.code == .dataWrong)
    #expect(error?.message.contains("found a view") == true, "\(error.map { "\($0)" } ?? "")")
  }

  @Test func `a virtual table in place of a Core Data table is refused`() throws {
    let error = try refusal([
      "DROP TABLE IF EXISTS Z_MODELCACHE", "CREATE VIRTUAL TABLE Z_MODELCACHE USING rtree(Z_CONTENT, a, b)",
    ])
    #expect(error?.code == .dataWrong && error?.message.contains("a virtual table") == true)
  }

  @Test(arguments: [
    "UPDATE Z_METADATA SET Z_UUID = hex(zeroblob(10000000))",
    "UPDATE Z_METADATA SET Z_PLIST = zeroblob(20000000)",
    "UPDATE Z_PRIMARYKEY SET Z_NAME = hex(zeroblob(1000000))",
    "CREATE TABLE Z_MODELCACHE AS SELECT zeroblob(70000000) AS Z_CONTENT",
  ])
  func `a metadata value that is too large is refused before it is read`(statement: String) throws {
    let error = try refusal([statement])
    #expect(error?.code == .dataWrong && error?.message.contains("at most") == true, "\(error.map { "\($0)" } ?? "")")
  }

  @Test func `a chain of 20,000 entities in Z_PRIMARYKEY is read quickly`() throws {
    let folder = try TemporaryFolder()
    let path = try store(
      folder,
      [
        "INSERT INTO Z_PRIMARYKEY \(Self.endless) x + 9, 'E' || x, x + 8, 0 FROM r LIMIT 20000",
        "UPDATE Z_PRIMARYKEY SET Z_SUPER = 20009 WHERE Z_ENT = 10",
      ])
    // The time of this thread alone: a tenth of a second, and minutes where each entity walks up all of the chain.
    func seconds() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let start = seconds()
    #expect(try StoreSummary(readingStoreAt: path).entities.count == 20001)
    #expect(seconds() - start < 20)
  }

  @Test func `a store in UTF-16 is refused by its encoding`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("wide.sqlite")
    let made = try StoreConnection(path: path, create: true)
    try made.execute("PRAGMA encoding = 'UTF-16le'")
    try made.execute("CREATE TABLE Z_METADATA (Z_VERSION, Z_UUID, Z_PLIST)")
    try made.close()
    let error = #expect(throws: GodwitError.self) { try StoreSummary(readingStoreAt: path) }
    #expect(error?.code == .dataWrong)
    #expect(error?.message.contains("'\(path)'") == true && error?.message.contains("UTF-16") == true)
  }

  // MARK: Files that are none

  @Test func `a pipe in place of a store is refused without waiting`() throws {
    let folder = try TemporaryFolder()
    let pipe = folder.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    #expect(throws: GodwitError.self) { try StoreFiles(path: pipe) }
    #expect(throws: GodwitError.self) { _ = try ReadableFile(path: pipe, name: pipe) }
    #expect(throws: GodwitError.self) { try StoreConnection(path: pipe) }
    let path = try store(folder)
    #expect(mkfifo(path + "-journal", 0o600) == 0)
    #expect(mkfifo(path + "-wal", 0o600) == 0)
    _ = try? StoreSummary(readingStoreAt: path)
  }

  // MARK: Journals

  private static let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

  private static func header(_ records: UInt32, page: UInt32 = 4096) -> [UInt8] {
    let numbers: [UInt32] = [records, 1, 3, 512, page]
    return magic + numbers.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }
  }

  @Test(arguments: [[0xd9, 0, 0], header(.max), header(2), header(0)])
  func `a sparse journal costs only what was written`(head: [UInt8]) throws {
    let folder = try TemporaryFolder()
    let path = try store(folder)
    try Data(head).write(to: URL(filePath: path + "-journal"))
    #expect(truncate(path + "-journal", 5 << 30) == 0)
    let files = try StoreFiles(path: path)
    #expect(try files.hasHotJournal())
    #expect(try RolledBackStore.uri(of: files) != nil)
    let copy = folder.file("copy.sqlite")
    try files.copy(to: copy)
    var info = stat()
    #expect(stat(copy + "-journal", &info) == 0 && info.st_size < 10_000, "\(info.st_size)")
  }

  @Test func `a journal that only SQLite can judge is not copied when it is larger than 4 GiB`() throws {
    let folder = try TemporaryFolder()
    let path = try store(folder)
    try Data(Self.header(.max, page: 0)).write(to: URL(filePath: path + "-journal"))
    #expect(truncate(path + "-journal", 5 << 30) == 0)
    let error = #expect(throws: GodwitError.self) { try StoreFiles(path: path).copy(to: folder.file("copy.sqlite")) }
    #expect(error?.code == .dataWrong && error?.message.contains("4 GiB") == true)
  }
}
