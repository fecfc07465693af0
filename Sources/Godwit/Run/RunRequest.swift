import GodwitJob
import GodwitModel
import GodwitStore

/// A run as it is asked for: what makes the store, how the store becomes the destination, and what survives a kill.
/// Decided once from the job and one look at the destination, and read by all that take part in the run.
///
/// A combination of keys that cannot run is refused by `RunCheck`.
struct RunRequest {
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

  /// The maker of the store.
  enum Maker: Equatable {
    /// The chunks of the only step.
    case step
    /// The same in rounds, which set the objects aside that are rejected.
    case rounds(Quarantine)
    /// One step after the other, each with a store of its own.
    case steps
    /// Statements in the store itself, or in a copy of it. Where they are not enough, the chunks of the only step.
    case statements
  }

  let job: MigrationJob
  let delivery: Delivery
  let maker: Maker
  /// Work that an earlier run has left may be more durable: see `RunJournal.durability`.
  let durability: MigrationJob.Durability
  /// Whether a verification follows, so that only it makes a run a success which finds nothing to do.
  let isProvedAfter: Bool

  /// - Parameter isTaken: Whether anything is at the destination.
  /// - Throws: `.configuration` (78) for a job that cannot run.
  init(_ job: MigrationJob, isTaken: Bool, isProvedAfter: Bool = false) throws {
    try RunCheck.pass(.job, job)
    (self.job, self.isProvedAfter) = (job, isProvedAfter)
    maker = Self.maker(of: job)
    delivery = Self.delivery(of: job, isTaken: isTaken)
    // A job that appends, replaces, exchanges or sets aside keeps its unfinished work.
    let mayRestart = delivery == .create && !isTaken && !job.appends && job.quarantine == nil
    durability = mayRestart ? job.durability : .resumable
  }

  private static func maker(of job: MigrationJob) -> Maker {
    if job.isStepped { return .steps }
    if let quarantine = job.quarantine { return .rounds(quarantine) }
    return job.isInPlace && job.steps.first?.isInferred == true ? .statements : .step
  }

  /// How the store of a job becomes the destination.
  static func delivery(of job: MigrationJob, isTaken: Bool) -> Delivery {
    switch job.existingDestination {
    case .inPlace(let keepsOld): .inPlace(keepsOld: keepsOld)
    case .append where isTaken: .append
    case .replace(let keepsOld) where isTaken: .replace(keepsOld: keepsOld)
    case .fail, .append, .replace: .create
    }
  }
}
