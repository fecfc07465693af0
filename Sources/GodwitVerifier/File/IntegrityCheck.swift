import GodwitJob
import GodwitModel
import GodwitStore
import Synchronization

/// SQLite's check of the pages and indexes of a destination and its source, on a second thread; on a third one for the
/// source, where there is a processor for it.
///
/// The comparison of rows runs at the same time. If a store cannot be opened a second time, its check runs when the
/// result is needed.
final class IntegrityCheck {
  /// The findings of SQLite for each file. Its words name pages, rows and indexes, never values.
  struct Complaints: Sendable, Codable {
    /// nil while it is unknown.
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
  private let tasks: [BackgroundTask<Void>]
  private let shared: Shared

  /// The state that both threads use.
  private final class Shared: Sendable {
    let isAbandoned = Mutex(false)
    let known: Mutex<Complaints>

    init(_ known: Complaints) { self.known = Mutex(known) }
  }

  /// Whether the source is checked too.
  var checksSource: Bool { source != nil }

  /// The findings known so far.
  var known: Complaints { shared.known.withLock { $0 } }

  /// Begins the check.
  ///
  /// - Parameters:
  ///   - source: nil to leave it out.
  ///   - known: The findings of an earlier check of the same files.
  ///   - cache: The cache for each file.
  init(
    destination: StoreConnection, source: StoreConnection?, known: Complaints?, cache: ByteCount, usesShortcuts: Bool,
    isStopped: @escaping @Sendable () -> Bool
  ) throws {
    let shared = Shared(known ?? Complaints())
    self.shared = shared
    (self.destination, self.source, self.usesShortcuts) = (destination, source, usesShortcuts)
    self.isStopped = isStopped
    let works = [
      known?.destination == nil
        ? try destination.anotherReader(cache: cache).map { Work($0, \.destination, Self.limits.destination) } : nil,
      known?.source == nil
        ? try source?.anotherReader(cache: cache).map { Work($0, \.source, Self.limits.source) } : nil,
    ].compactMap(\.self)
    for work in works { work.reader.whileRunning { isStopped() || shared.isAbandoned.withLock { $0 } } }
    tasks = (ReaderPool.processors > 2 ? works.map { [$0] } : [works]).map { works in
      BackgroundTask { _ in
        for work in works {
          let found = try Self.complaints(of: work.reader, limit: work.limit, usesShortcuts: usesShortcuts)
          shared.known.withLock { $0[keyPath: work.place] = found }
        }
      }
    }
  }

  /// The check of one file.
  private struct Work: Sendable {
    let reader: StoreConnection
    let place: any WritableKeyPath<Complaints, [String]?> & Sendable
    let limit: Int

    init(_ reader: StoreConnection, _ place: any WritableKeyPath<Complaints, [String]?> & Sendable, _ limit: Int) {
      (self.reader, self.place, self.limit) = (reader, place, limit)
    }
  }

  deinit { abandon() }

  /// Ends the threads soon, without a result.
  func abandon() {
    shared.isAbandoned.withLock { $0 = true }
    for task in tasks { task.abandon() }
  }

  /// Waits for the result.
  ///
  /// - Throws: `.stopped` if the verification was.
  func complaints() throws -> Complaints {
    for task in tasks {
      guard try task.value(while: { [isStopped] in !isStopped() }) != nil else {
        throw GodwitError(.stopped, "cannot check the stores: stopped", stopReason: .requested)
      }
    }
    var found = known
    if found.destination == nil {
      found.destination = try Self.complaints(
        of: destination, limit: Self.limits.destination, usesShortcuts: usesShortcuts)
    }
    if found.source == nil, let source {
      found.source = try Self.complaints(of: source, limit: Self.limits.source, usesShortcuts: usesShortcuts)
    }
    return found
  }

  /// The findings of SQLite's full check, which is skipped if the shortcut proves the file sound.
  private static func complaints(of connection: StoreConnection, limit: Int, usesShortcuts: Bool) throws -> [String] {
    let database = ComparedStores.attached
    if usesShortcuts, (try? IndexProof(connection, database: database).holds()) == true { return [] }
    return try connection.complaints(about: database, isFull: true, limit: limit)
  }
}
