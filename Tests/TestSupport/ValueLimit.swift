import CSQLite

/// The longest text or blob that SQLite hands over, on every connection that a piece of work opens: what asks for a
/// longer one as a whole fails, on any machine and whatever other threads do.
package enum ValueLimit {
  private final class Limit {
    let bytes: Int32

    init(_ bytes: Int32) { self.bytes = bytes }
  }

  private static let slot = ThreadSlot<Limit>()

  private static let hook = ConnectionHook { database, _, _ in
    if let limit = ValueLimit.slot.current {
      _ = sqlite3_limit(database, SQLITE_LIMIT_LENGTH, limit.bytes)
    }
    return SQLITE_OK
  }

  /// Runs work that stays on this thread.
  package static func with<T>(bytes: Int32, _ work: () throws -> T) rethrows -> T {
    hook.register()
    return try slot.with(Limit(bytes), work)
  }
}

/// The most parameters that a statement may have, which differs from system to system.
package enum ParameterLimit {
  package static func set(_ count: Int32, on database: OpaquePointer) {
    _ = sqlite3_limit(database, SQLITE_LIMIT_VARIABLE_NUMBER, count)
  }
}
