import Foundation
import GRDBSQLite
import Synchronization

/// The longest text or blob that SQLite hands over, on every connection that a piece of work opens: what asks for a
/// longer one as a whole fails, on any machine and whatever other threads do.
public enum ValueLimit {
  private final class Limit {
    let bytes: Int32

    init(_ bytes: Int32) { self.bytes = bytes }
  }

  /// The key under which a thread has its limit while there is one.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  private static let isRegistered = Mutex(false)

  private static func register() {
    isRegistered.withLock { isRegistered in
      guard !isRegistered else { return }
      isRegistered = true
      typealias Entry =
        @convention(c) (
          OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, OpaquePointer?
        ) -> Int32
      let entry: Entry = { database, _, _ in
        if let found = pthread_getspecific(ValueLimit.key) {
          let limit = Unmanaged<Limit>.fromOpaque(found).takeUnretainedValue()
          _ = sqlite3_limit(database, SQLITE_LIMIT_LENGTH, limit.bytes)
        }
        return SQLITE_OK
      }
      sqlite3_auto_extension(unsafeBitCast(entry, to: (@convention(c) () -> Void).self))
    }
  }

  /// Runs work that stays on this thread.
  public static func with<T>(bytes: Int32, _ work: () throws -> T) rethrows -> T {
    register()
    let limit = Limit(bytes)
    pthread_setspecific(key, Unmanaged.passUnretained(limit).toOpaque())
    defer { pthread_setspecific(key, nil) }
    return try withExtendedLifetime(limit) { try work() }
  }
}
