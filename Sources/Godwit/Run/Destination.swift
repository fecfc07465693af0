import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The state of a job's result at its destination. `run`, `plan`, `status` and the receipt read this one look.
enum Destination {
  /// The result is not there, and nothing is in its way: an empty place, a store to append to, a store to migrate in place.
  case absent
  /// The result from the source as it is now. `digest` names the job in the store's metadata; nil in place, and
  /// where times stand for the content of the source.
  case current(digest: String?)
  /// An earlier result of the same job, made before something changed.
  case outdated(EarlierResult)
  /// Another store or file, with the error of a run (73).
  case foreign(GodwitError)

  var isCurrent: Bool { if case .current = self { true } else { false } }

  /// How the source is compared with what it was when the destination was made.
  enum Comparison {
    /// By the digest of all its content.
    case content
    /// By size, time and first bytes of its files.
    case times
  }
}

/// A store that the job made, of another content of its source or with other models, mappings or keys.
struct EarlierResult {
  /// The receipt of the run that made it; nil if only times are known.
  let receipt: Receipt?
  /// The differences; not empty.
  let changes: [MigrationStatus.Change]
  /// The error of a job that replaces nothing.
  let refusal: GodwitError
  /// The job as it is now; nil if the source was not read.
  let identity: JobFingerprint?
}
