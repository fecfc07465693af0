import GodwitModel
import TestSupport
import Testing

@testable import GodwitStore

/// Transactions that commit together.
struct GatheredTransactionTests {
  private let folder: TemporaryFolder
  private let connection: StoreConnection

  init() throws {
    folder = try TemporaryFolder()
    connection = try StoreConnection(path: folder.file("a.sqlite"), create: true)
    try connection.execute("CREATE TABLE t (n INTEGER)")
    connection.gatherSeconds = 1000
  }

  private func insert(_ number: Int) throws {
    try connection.transaction { try connection.execute("INSERT INTO t VALUES (\(number))") }
  }

  /// What another connection finds.
  private func committed() throws -> Int64? {
    try StoreConnection(path: folder.file("a.sqlite")).integer("SELECT SUM(n) FROM t")
  }

  @Test func `they are there for others when they are committed`() throws {
    try insert(1)
    try insert(2)
    #expect(try committed() == nil)
    try connection.commitGathered()
    #expect(try committed() == 3)
    // Nothing is left to commit.
    try connection.commitGathered()
    connection.gatherSeconds = 0
    try insert(4)
    #expect(try committed() == 7)
  }

  @Test func `one that fails takes back its own alone`() throws {
    try insert(1)
    let failure = GodwitError(.dataWrong, "wrong")
    let error = #expect(throws: GodwitError.self) {
      try connection.transaction {
        try connection.execute("INSERT INTO t VALUES (2)")
        throw failure
      }
    }
    #expect(error?.code == .dataWrong)
    try insert(4)
    try connection.commitGathered()
    #expect(try committed() == 5)
  }

  @Test(arguments: [GodwitError.Code.dataWrong, .inputOutput, .stopped])
  func `where all of them are gone, no error lets the caller go on`(code: GodwitError.Code) throws {
    try insert(1)
    let error = #expect(throws: GodwitError.self) {
      try connection.transaction {
        // As SQLite does when it is interrupted, or the disk is full.
        try connection.execute("ROLLBACK")
        throw GodwitError(code, "wrong")
      }
    }
    #expect(error?.code == (code == .dataWrong ? .stopped : code))
    try connection.commitGathered()
    #expect(try committed() == nil)
  }

  @Test func `they can be taken back together`() throws {
    try insert(1)
    try insert(2)
    connection.rollBackGathered()
    try connection.commitGathered()
    #expect(try committed() == nil)
    try insert(4)
    try connection.commitGathered()
    #expect(try committed() == 4)
  }
}
