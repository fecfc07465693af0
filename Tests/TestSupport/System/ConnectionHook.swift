import CSQLite

/// An action on every connection that SQLite opens in this process after the registration.
struct ConnectionHook: Sendable {
  /// SQLite calls it with the connection first.
  typealias Entry =
    @convention(c) (OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, OpaquePointer?) -> Int32

  private let entry: Entry

  init(_ entry: @escaping Entry) { self.entry = entry }

  /// SQLite keeps an entry point once, however often it is registered.
  func register() { sqlite3_auto_extension(unsafeBitCast(entry, to: (@convention(c) () -> Void).self)) }
}
