import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@Suite struct `Store files` {
  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `reading any corpus store changes nothing beside it`() throws {
    #expect(CorpusStores.paths.count > 20)
    for path in CorpusStores.paths {
      for isReadOnly in [false, true] {
        let folder = try TemporaryFolder()
        let copy = try CorpusStores.copy(path, into: folder)
        let before = try contents(of: folder.path)
        if isReadOnly { chmod(folder.path, 0o555) }
        defer { chmod(folder.path, 0o755) }
        let files = try StoreFiles(path: copy)
        let stamp = try files.stamp()
        let connection = try StoreConnection.openStore(readingAt: copy)
        let entities = try connection.integer("SELECT count(*) FROM source.Z_PRIMARYKEY")
        #expect((entities ?? 0) > 0, "\(path)")
        #expect(try contents(of: folder.path) == before, "\(path) while open")
        try connection.close()
        #expect(try contents(of: folder.path) == before, "\(path)")
        #expect(try files.stamp() == stamp)
      }
    }
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `rows that are only in the write-ahead log are read`() throws {
    let path = Corpus.path(
      "wibosco_CoreDataMigration-Example/CoreDataMigration-ExampleTests/Resources/SQLite/CoreDataMigration_Example_WAL.sqlite"
    )
    let folder = try TemporaryFolder()
    let copy = try CorpusStores.copy(path, into: folder)
    let connection = try StoreConnection.openStore(readingAt: copy)
    let rows = try connection.integer("SELECT count(*) FROM source.ZPOST")
    #expect(rows == 84)
    let blind = try StoreConnection(path: nil)
    try FileManager.default.removeItem(atPath: copy + "-wal")
    try blind.attachSource(StoreFiles(path: copy))
    #expect(try blind.integer("SELECT count(*) FROM source.ZPOST") == 0, "the rows were not only there")
  }

  @Test func `a source with a write-ahead log leaves the locking of the main database unchanged`() throws {
    let folder = try TemporaryFolder()
    let source = try walStore(in: folder)
    let main = folder.file("main.sqlite")
    let connection = try StoreConnection(path: main, create: true)
    try connection.attachSource(StoreFiles(path: source))
    #expect(try connection.value("PRAGMA source.locking_mode") == .text("exclusive"))
    #expect(try connection.value("PRAGMA main.locking_mode") == .text("normal"))
    try connection.execute("CREATE TABLE T (A)")
    // Exclusive locking would keep the second connection out after the commit.
    let second = try StoreConnection(path: main)
    try second.execute("INSERT INTO T VALUES (1)")
    #expect(try connection.integer("SELECT count(*) FROM main.T") == 1)
    #expect(try connection.integer("SELECT count(*) FROM source.T") == 3)
  }

  @Test func `an attached source takes no lock, and a writer's change is noticed`() throws {
    for isWAL in [false, true] {
      let folder = try TemporaryFolder()
      let path = isWAL ? try walStore(in: folder) : folder.file("plain.sqlite")
      if !isWAL { try plainDatabase(path) }
      let files = try StoreFiles(path: path)
      let stamp = try files.stamp()
      let connection = try StoreConnection(path: nil)
      try connection.attachSource(files)
      let rows = try connection.prepare("SELECT A FROM source.T")
      #expect(try rows.step())
      let writer = try StoreConnection(path: path)
      try writer.execute("INSERT INTO T VALUES (4)")
      #expect(try files.stamp() != stamp)
      rows.finalize()
    }
  }

  @Test func `a store with an odd path is read`() throws {
    let names = [
      "a b.sqlite", "50%.sqlite", "what?.sqlite", "a#b.sqlite", "é😀.sqlite", "%41.sqlite", "a&b=c;d'\".sqlite",
    ]
    for name in names {
      for isWAL in [false, true] {
        let folder = try TemporaryFolder("god wit#?%")
        let path = isWAL ? try walStore(in: folder, named: name) : folder.file(name)
        if !isWAL { try plainDatabase(path) }
        let before = try contents(of: folder.path)
        let connection = try StoreConnection(path: nil)
        try connection.attachSource(StoreFiles(path: path))
        #expect((try connection.integer("SELECT count(*) FROM source.T") ?? 0) > 0, "\(name)")
        #expect(try contents(of: folder.path) == before, "\(name)")
      }
    }
  }

  @Test func `a hot journal is rolled back, on a copy where there is a work folder`() throws {
    let folder = try TemporaryFolder()
    let path = try hotJournalStore(in: folder)
    let before = try contents(of: folder.path)
    #expect(before.keys.contains("hot.sqlite-journal"))
    let work = try TemporaryFolder()
    for workFolder in [nil, work.path] {
      let connection = try StoreConnection(path: nil)
      try connection.attachSource(StoreFiles(path: path), workFolder: workFolder)
      #expect(try connection.integer("SELECT count(*) FROM source.T") == 100)
      #expect(try connection.integer("SELECT sum(A) FROM source.T") == 100)
      #expect(try contents(of: folder.path) == before)
    }
    #expect(FileManager.default.fileExists(atPath: work.file("source-copy.sqlite")))
  }

  @Test func `a store with a hot journal is read without a copy where there is no work folder`() throws {
    let folder = try TemporaryFolder()
    let path = try hotJournalStore(in: folder)
    let cost = try ThreadCost {
      let connection = try StoreConnection(path: nil)
      try connection.attachSource(StoreFiles(path: path))
      #expect(try connection.integer("SELECT sum(A) FROM source.T WHERE rowid <= 10") == 10)
    }
    #expect(cost.writtenBytes == 0)
  }

  @Test func `a file that is not a store gets its own error`() throws {
    let folder = try TemporaryFolder()
    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
      try Data(bytes).write(to: URL(filePath: folder.file(name)))
      return folder.file(name)
    }
    func code(_ path: String) -> GodwitError.Code? {
      do {
        _ = try StoreConnection.openStore(readingAt: path)
        return nil
      } catch { return (error as? GodwitError)?.code }
    }
    #expect(code(folder.file("none.sqlite")) == .missingInput)
    #expect(code("") == .missingInput)
    #expect(code(folder.path) == .dataWrong)
    #expect(code(try write("empty", [])) == .dataWrong)
    #expect(code(try write("text", Array("hello\n".utf8))) == .dataWrong)
    #expect(code(try write("random", (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 31) })) == .dataWrong)
    #expect(code(try write("header", Array("SQLite format 3\0".utf8))) == .dataWrong)
    let plain = folder.file("plain.sqlite")
    try plainDatabase(plain)
    #expect(code(plain) == .dataWrong)
    let whole = try Data(contentsOf: URL(filePath: plain))
    #expect(code(try write("truncated", Array(whole.dropLast(4096)))) == .dataWrong)
    #expect(throws: GodwitError.self) { try StoreFiles(path: folder.file("truncated")) }
    var garbled = Array(whole)
    for index in 100..<200 { garbled[index] = 0xFF }
    #expect(code(try write("garbled", garbled)) == .dataWrong)
    mkfifo(folder.file("pipe"), 0o600)
    #expect(code(folder.file("pipe")) == .dataWrong)
  }

  @Test(.enabled(if: getuid() != 0, "root may read everything"))
  func `a store without read permission is 77`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("plain.sqlite")
    try plainDatabase(path)
    chmod(path, 0)
    #expect {
      try StoreFiles(path: path)
    } throws: {
      ($0 as? GodwitError)?.code == .permission
    }
  }

  @Test func `stamp and digest change with the store and its write-ahead log`() throws {
    let folder = try TemporaryFolder()
    let path = try walStore(in: folder)
    let files = try StoreFiles(path: path)
    let (stamp, digest) = (try files.stamp(), try files.contentDigest())
    #expect(try files.contentDigest() == digest)
    #expect(stamp.wal?.header.count == 32)
    #expect(try JSONDecoder().decode(StoreFiles.Stamp.self, from: JSONEncoder().encode(stamp)) == stamp)
    let wal = try FileHandle(forWritingTo: URL(filePath: path + "-wal"))
    try wal.seekToEnd()
    try wal.write(contentsOf: Data([1]))
    try wal.close()
    #expect(try files.stamp() != stamp)
    #expect(try files.contentDigest() != digest)
  }

  @Test func `the digest of a store is the SHA-256 of its file`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("abc")
    try plainDatabase(path)
    let tool = Process()
    tool.executableURL = URL(filePath: "/usr/bin/sha256sum")
    tool.arguments = [path]
    let pipe = Pipe()
    tool.standardOutput = pipe
    try tool.start()
    tool.wait()
    let expected = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile().prefix(64), as: UTF8.self)
    #expect(try StoreFiles(path: path).contentDigest() == expected)
  }

  // MARK: Fixtures

  private func plainDatabase(_ path: String) throws {
    let connection = try StoreConnection(path: path, create: true)
    try connection.execute("CREATE TABLE T (A)")
    try connection.execute("INSERT INTO T VALUES (1)")
    try connection.close()
  }

  /// A database of which two of three rows are in the `-wal`, as a process that ended badly leaves it.
  private func walStore(in folder: TemporaryFolder, named name: String = "wal.sqlite") throws -> String {
    let making = try TemporaryFolder()
    let original = making.file("made.sqlite")
    let connection = try StoreConnection(path: original, create: true)
    try connection.execute("PRAGMA journal_mode = WAL")
    try connection.execute("CREATE TABLE T (A)")
    try connection.execute("INSERT INTO T VALUES (1)")
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    try connection.execute("INSERT INTO T VALUES (2), (3)")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: original + suffix, toPath: folder.file(name) + suffix)
    }
    return folder.file(name)
  }

  /// A database in the middle of a transaction that reached the file, as a crash leaves it.
  private func hotJournalStore(in folder: TemporaryFolder) throws -> String {
    let making = try TemporaryFolder()
    let original = making.file("made.sqlite")
    let connection = try StoreConnection(path: original, create: true)
    try connection.execute("CREATE TABLE T (A, B)")
    for _ in 0..<100 { try connection.execute("INSERT INTO T VALUES (1, zeroblob(3000))") }
    try connection.execute("PRAGMA cache_size = 1")
    try connection.execute("PRAGMA cache_spill = 1")
    try connection.execute("BEGIN IMMEDIATE")
    try connection.execute("UPDATE T SET A = 2")
    for suffix in ["", "-journal"] {
      try FileManager.default.copyItem(atPath: original + suffix, toPath: folder.file("hot.sqlite") + suffix)
    }
    try connection.execute("ROLLBACK")
    return folder.file("hot.sqlite")
  }
}
