import GodwitJob
import GodwitModel
import GodwitStore

/// The delivery and the durability of a run, decided once from the job and one look at the destination.
///
/// A combination of keys that cannot run is refused here and nowhere else.
struct RunRequest: Equatable {
  /// How the finished store becomes the destination.
  enum Delivery: Equatable {
    /// The destination does not exist.
    case create
    /// The same job made what is there before something changed.
    case replace(keepsOld: Bool)
    /// Objects are added to what is there.
    case append
    /// The source is there.
    case inPlace(keepsOld: Bool)
  }

  let delivery: Delivery
  let durability: MigrationJob.Durability

  /// - Parameter isTaken: Whether anything is at the destination.
  /// - Throws: `.configuration` (78) for a job that cannot run.
  init(_ job: MigrationJob, isTaken: Bool) throws {
    if let error = Self.refusal(of: job) { throw error }
    switch job.existingDestination {
    case .inPlace(let keepsOld): delivery = .inPlace(keepsOld: keepsOld)
    case .append where isTaken: delivery = .append
    case .replace(let keepsOld) where isTaken:
      guard job.receipt != nil else { throw Self.replacesUnknown(job) }
      delivery = .replace(keepsOld: keepsOld)
    case .fail, .append, .replace: delivery = .create
    }
    // A job that appends, replaces, exchanges or sets aside keeps its unfinished work.
    let mayRestart = delivery == .create && !isTaken && !job.appends && job.quarantine == nil
    durability = mayRestart ? job.durability : .resumable
  }

  /// Why a job cannot run, whatever is at its destination.
  static func refusal(of job: MigrationJob) -> GodwitError? {
    if let error = job.quarantineObstacle { return error }
    // The log of a source, for example: nothing could open that any more.
    if !job.isInPlace, let why = OutputFile.reserved(job.destinationPath) {
      return GodwitError(
        .configuration, "cannot write the destination to '\(job.destinationPath)': \(why)",
        remedy: "name another file with `destination`", safe: "nothing was written")
    }
    guard job.appends, job.destinationType != .sqlite else { return nil }
    return GodwitError(
      .configuration, "cannot append to '\(job.destinationPath)': only a SQLite store can be appended to",
      remedy: "remove `existing: append` or `destination-type: \(job.destinationType.manifestName)`",
      safe: "nothing was written")
  }

  /// A job that does not know its own work.
  static func replacesUnknown(_ job: MigrationJob) -> GodwitError {
    GodwitError(
      .configuration, "cannot replace '\(job.destinationPath)': the job has no receipt to know its own work by",
      remedy: "remove `receipt: none`, or write `existing: fail`", safe: "nothing was written")
  }
}
