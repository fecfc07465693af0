import CSQLite
import Foundation

/// The longest text or blob that SQLite hands over, on every connection that a piece of work opens: what asks for a
/// longer one as a whole fails, on any machine and whatever other threads do.
package enum ValueLimit {
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

  private static let hook = ConnectionHook { database, _, _ in
    if let found = pthread_getspecific(ValueLimit.key) {
      let limit = Unmanaged<Limit>.fromOpaque(found).takeUnretainedValue()
      _ = sqlite3_limit(database, SQLITE_LIMIT_LENGTH, limit.bytes)
    }
    return SQLITE_OK
  }

  /// Runs work that stays on this thread.
  package static func with<T>(bytes: Int32, _ work: () throws -> T) rethrows -> T {
    hook.register()
    let limit = Limit(bytes)
    pthread_setspecific(key, Unmanaged.passUnretained(limit).toOpaque())
    defer { pthread_setspecific(key, nil) }
    return try withExtendedLifetime(limit) { try work() }
  }
}
