import Foundation
import GodwitJob
import GodwitSpill
import GodwitStore

/// What a ledger says before its tables are there.
///
/// Chunks that commit together need no ledger until they do. A small store is done by then, with its metadata, and never
/// gets the tables.
final class HeldLedger: GatheredState {
  struct Content {
    var identity: JobFingerprint
    var facts: PlanFacts
    var stamp: StoreFiles.Stamp
    var chunks: [Chunk]
    /// By the id of the chunk.
    var outcomes: [Int: Ledger.Outcome] = [:]
    /// By mapping.
    var spills: [Int: (mark: SpillMark, pairs: Int64)] = [:]
    var pace: MigrationStatus.Pace?
  }

  /// nil when nothing is held: the tables say it.
  var content: Content?
  /// Writes the tables.
  private let write: (Content) throws -> Void
  private var before: Content?

  init(write: @escaping (Content) throws -> Void) { self.write = write }

  func transactionBegins() { before = content }
  func transactionIsTakenBack() { content = before }
  func allIsTakenBack() { (content, before) = (nil, nil) }

  func willCommit() throws {
    guard let content else { return }
    try write(content)
    self.content = nil
  }
}
