import GodwitJob
import GodwitModel
import GodwitStore
import Synchronization

/// SQLite's check of the pages and indexes of a destination and its source, on a second thread.
///
/// The comparison of rows runs meanwhile. Where a store cannot be opened a second time, its check waits until the result
/// is asked for.
final class IntegrityCheck {
  /// What SQLite has to say of each file. Its words name pages, rows and indexes, never values.
  struct Complaints: Sendable {
    var destination: [String]?
    var source: [String]?
  }

  /// How many complaints of each file are kept.
  private static let limits = (destination: 100, source: 10)

  private let destination: StoreConnection
  /// nil if the source is not checked.
  private let source: StoreConnection?
  private let usesShortcuts: Bool
  private let isStopped: @Sendable () -> Bool
  private let task: BackgroundTask<Complaints>
  private let isAbandoned = Abandonment()

  /// A flag that two threads see.
  private final class Abandonment: Sendable {
    let flag = Mutex(false)
  }

  /// Begins the check.
  ///
  /// - Parameters:
  ///   - source: nil to leave it out.
  ///   - cache: What the second thread may keep of each file.
  init(
    destination: StoreConnection, source: StoreConnection?, cache: ByteCount, usesShortcuts: Bool,
    isStopped: @escaping @Sendable () -> Bool
  ) throws {
    (self.destination, self.source, self.usesShortcuts) = (destination, source, usesShortcuts)
    self.isStopped = isStopped
    let readers = (try destination.anotherReader(cache: cache), try source?.anotherReader(cache: cache))
    let abandonment = isAbandoned
    for reader in [readers.0, readers.1] {
      reader?.whileRunning { isStopped() || abandonment.flag.withLock { $0 } }
    }
    task = BackgroundTask { _ in
      Complaints(
        destination: try readers.0.map {
          try Self.complaints(of: $0, limit: Self.limits.destination, usesShortcuts: usesShortcuts)
        },
        source: try readers.1.map {
          try Self.complaints(of: $0, limit: Self.limits.source, usesShortcuts: usesShortcuts)
        })
    }
  }

  deinit { abandon() }

  /// Ends the second thread soon; nobody wants its result.
  func abandon() {
    isAbandoned.flag.withLock { $0 = true }
    task.abandon()
  }

  /// Waits for the result.
  ///
  /// - Throws: `.stopped` if the verification was.
  func complaints() throws -> Complaints {
    guard var found = try task.value(while: { !isStopped() }) else {
      throw GodwitError(.stopped, "cannot check the stores: stopped", stopReason: .requested)
    }
    if found.destination == nil {
      found.destination = try Self.complaints(
        of: destination, limit: Self.limits.destination, usesShortcuts: usesShortcuts)
    }
    if found.source == nil, let source {
      found.source = try Self.complaints(of: source, limit: Self.limits.source, usesShortcuts: usesShortcuts)
    }
    return found
  }

  /// What SQLite's full check has to say; it is spared where the same is known without it.
  private static func complaints(of connection: StoreConnection, limit: Int, usesShortcuts: Bool) throws -> [String] {
    let database = Verification.attached
    if usesShortcuts, (try? IndexProof(connection, database: database).holds()) == true { return [] }
    return try connection.complaints(about: database, isFull: true, limit: limit)
  }
}
