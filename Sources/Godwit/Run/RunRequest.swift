import GodwitJob
import GodwitModel

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
    if let rule = job.inPlace {
      delivery = .inPlace(keepsOld: rule.keepsOld)
    } else if job.appends, isTaken {
      delivery = .append
    } else if case .replace(let keepsOld) = job.existingDestination, !job.appends, isTaken {
      guard job.receipt != nil else { throw Self.replacesUnknown(job) }
      delivery = .replace(keepsOld: keepsOld)
    } else {
      delivery = .create
    }
    // A job that appends, replaces, exchanges or sets aside keeps its unfinished work.
    let mayRestart = delivery == .create && !isTaken && !job.appends && job.quarantine == nil
    durability = mayRestart ? job.durability : .resumable
  }

  /// Why a job cannot run, whatever is at its destination.
  static func refusal(of job: MigrationJob) -> GodwitError? {
    if let error = job.quarantineObstacle { return error }
    func refusal(_ what: String, _ remedy: String) -> GodwitError {
      GodwitError(.configuration, "cannot \(what)", remedy: remedy, safe: "nothing was written")
    }
    if job.appends, job.destinationType != .sqlite {
      return refusal(
        "append to '\(job.destinationPath)': only a SQLite store can be appended to",
        "remove `append: true` or `destination-type: \(job.destinationType.manifestName)`")
    }
    if job.inPlace != nil, job.appends || job.replacesEarlierResult {
      return refusal(
        "migrate '\(job.sourcePath)' in place: the job \(job.appends ? "appends" : "replaces its earlier destination")",
        "choose one of the two")
    }
    if job.appends, job.replacesEarlierResult {
      return refusal(
        "append to '\(job.destinationPath)': the job replaces its earlier destination", "choose one of the two")
    }
    return nil
  }

  /// A job that does not know its own work.
  static func replacesUnknown(_ job: MigrationJob) -> GodwitError {
    GodwitError(
      .configuration, "cannot replace '\(job.destinationPath)': the job has no receipt to know its own work by",
      remedy: "remove `receipt: none`, or write `on-existing: fail`", safe: "nothing was written")
  }
}
