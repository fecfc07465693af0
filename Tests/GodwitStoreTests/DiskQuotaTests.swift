import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The errors of writes that SQLite cannot make.
struct DiskQuotaTests {
  /// Writes to a new store while the fault strikes, and gives the error.
  private func error(_ fault: FaultLayer) throws -> GodwitError? {
    let folder = try TemporaryFolder()
    let connection = try StoreConnection(path: folder.file("a.sqlite"), create: true)
    defer { try? connection.close() }
    do {
      try fault.run {
        try connection.execute("CREATE TABLE t (a)")
        try connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
      }
    } catch let error as GodwitError { return error }
    return nil
  }

  @Test(arguments: [
    (EDQUOT, ErrorTopic.diskFull), (ENOSPC, ErrorTopic.diskFull), (EIO, ErrorTopic.database),
  ])
  func `a quota is a full disk, and a broken disk is none`(code: Int32, topic: ErrorTopic) throws {
    let whole = try FaultLayer(.none, keepsAll: true)
    #expect(try error(whole) == nil)
    let place = try #require(
      whole.operations.firstIndex { $0.kind == .write && $0.path.hasSuffix("a.sqlite") })
    let fault = try FaultLayer(.fail(code, at: place + 1))
    let found = try error(fault)
    #expect(fault.hasStruck && found?.code == .inputOutput && found?.topic == topic, "\(found as Any)")
  }
}
