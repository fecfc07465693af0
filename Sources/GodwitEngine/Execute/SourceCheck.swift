import Foundation
package import GodwitJob
package import GodwitModel
package import GodwitStore

/// SQLite's check of the source store, on a thread of its own beside the run.
///
/// A run reads most pages of a damaged store without an error, and would migrate wrong data.
package final class SourceCheck {
  private struct Complaint: Sendable {
    var path, text: String
  }

  private let work: BackgroundTask<Complaint?>

  /// Begins the check.
  ///
  /// The parts of a merged source are checked, not the merged store.
  ///
  /// - Returns: nil if the job wants no check; for an atomic store, whose reader notices damage; for a store with a hot
  ///   journal, which the run itself checks.
  package init?(
    _ job: MigrationJob, _ files: StoreFiles, _ durability: MigrationJob.Durability,
    as level: MigrationJob.SourceCheck? = nil
  ) throws {
    let level = level ?? job.sourceCheck
    let checked = try (files.parts.isEmpty ? [files] : files.parts).filter {
      try $0.type == .sqlite && !$0.hasHotJournal()
    }
    guard level != .none, !checked.isEmpty else { return nil }
    work = BackgroundTask(isShort: durability.needsNoThread(reading: files)) { isWanted in
      for file in checked {
        let connection = try StoreConnection(path: nil, cache: .init(bytes: 256 << 10))
        try connection.attachSource(file)
        connection.whileRunning { !isWanted() }
        defer { connection.whileRunning(stopIf: nil) }
        let found = try connection.complaints(
          about: StoreConnection.sourceSchema, isFull: level == .full, limit: 1)
        if let text = found.first { return Complaint(path: file.givenPath, text: text) }
      }
      return nil
    }
  }

  deinit { work.abandon() }

  package func abandon() { work.abandon() }

  /// Waits for the result while it is wanted.
  ///
  /// - Returns: false when that ended before.
  /// - Throws: `.dataWrong` (65) when the source is damaged.
  package func finish(while isWanted: @escaping () -> Bool) throws -> Bool {
    guard let result = try work.value(while: isWanted) else { return false }
    if let complaint = result { throw Self.damage(complaint.path, complaint.text) }
    return true
  }

  /// The real cause of a failure when the source is damaged, because damaged pages cause many kinds of errors: a page in
  /// the place of another gives rows with wrong values.
  ///
  /// - Parameter patience: How many seconds the check of the run may take from now on, if a value is wrong.
  /// - Returns: The error itself when the source is sound, or cannot be checked.
  package static func cause(
    of error: any Error, _ job: MigrationJob, _ check: SourceCheck?, patience: Double = 20
  ) -> any Error {
    guard let known = error as? GodwitError, known.remedy?.hasPrefix(GodwitError.damageRemedy) != true,
      known.code == .internalBug || known.code == .dataWrong && check != nil, let files = try? job.sourceFiles()
    else { return error }
    do {
      if known.code == .dataWrong {
        let end = Date().addingTimeInterval(patience)
        _ = try check?.finish { Date() < end }
        return error
      }
      _ = try (check ?? SourceCheck(job, files, .resumable, as: .full))?.finish { true }
      if check != nil { _ = try SourceCheck(job, files, .resumable, as: .full)?.finish { true } }
    } catch var damage as GodwitError where damage.code == .dataWrong {
      damage.context = known.context
      if known.code == .dataWrong { damage.cause = (damage.cause.map { $0 + "\n" } ?? "") + known.message }
      return damage
    } catch {}
    return error
  }

  /// The size of a store, in bytes, up to which the check takes no time that anybody notices.
  package static let smallBytes: Int64 = 64 << 20

  /// The error of a run when the source is damaged; nil when it is sound, or the check takes longer.
  ///
  /// - Parameter patience: How many seconds the check may take from now on.
  package func damage(patience: Double = .infinity) throws -> GodwitError? {
    let end = Date().addingTimeInterval(patience)
    do {
      _ = try finish { Date() < end }
      return nil
    } catch let error as GodwitError where error.code == .dataWrong { return error }
  }

  package static func damage(_ path: String, _ complaint: String) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot migrate '\(path)': SQLite finds the store damaged", cause: complaint,
      remedy:
        GodwitError.damageRemedy + "; then `godwit discard` the job and run again",
      safe: "the source is untouched")
  }

  /// - Parameters:
  ///   - stamp: The state of the files before.
  ///   - isResumable: Whether the run has left something to discard.
  static func changed(_ files: StoreFiles, since stamp: StoreFiles.Stamp?, isResumable: Bool = true) -> GodwitError {
    GodwitError(
      .stopped, "stopped: the source '\(files.nameOfChange(since: stamp))' changed during the run",
      remedy: isResumable
        ? "make sure nothing writes to it, `godwit discard` the job and run again"
        : "make sure nothing writes to it, and run the same command", stopReason: .sourceChanged)
  }
}
