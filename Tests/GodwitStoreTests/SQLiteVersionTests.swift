import GodwitModel
import GodwitStore
import Testing

@Suite struct SQLiteVersionTests {
  @Test func `an SQLite library that is too old is refused with both versions`() throws {
    let error = #expect(throws: GodwitError.self) { try StoreConnection.checkVersion(3_036_000) }
    #expect(error?.code == .configuration)
    #expect(error?.message == "cannot use SQLite 3.36: Godwit needs 3.37 or later")
    try StoreConnection.checkVersion(3_037_000)
    try StoreConnection.checkVersion()
  }
}
