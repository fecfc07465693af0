import Foundation
import GodwitModel
import GodwitStore

extension MigrationJob {
  /// The treatment of a store that is at the destination when a job begins.
  public enum ExistingDestinationRule: Sendable, Hashable {
    /// It is an error (73), unless the job made that store from what it reads now.
    case fail
    /// A store that the same job made is replaced, if its source, a model, a mapping or a key of the manifest has changed
    /// since. A store that the job did not make is an error (73).
    ///
    /// The job migrates again, and the new store takes the place of the old one when it is finished. The job knows its
    /// own store by the receipt, so that ``MigrationJob/receipt`` must not be nil.
    case replace(keepsOld: Bool)
    /// The new objects are added to it. It must be a SQLite store.
    case append
    /// It is the source, and the migrated store takes its place at the end. `destination` is then `source`.
    case inPlace(keepsOld: Bool)

    /// As a manifest has it: `replace`, or `replace, keep-old`.
    package var description: String {
      let word =
        switch self {
        case .fail: "fail"
        case .append: "append"
        case .replace: "replace"
        case .inPlace: "in-place"
        }
      return word + (keepsOld ? ", keep-old" : "")
    }

    /// Whether the store that is replaced stays, as `Name~.ext`.
    package var keepsOld: Bool {
      switch self {
      case .fail, .append: false
      case .replace(let keepsOld), .inPlace(let keepsOld): keepsOld
      }
    }
  }

  /// Whether an earlier result of the job is replaced.
  package var replacesEarlierResult: Bool {
    if case .replace = existingDestination { true } else { false }
  }

  /// Whether the new objects are added to an existing destination.
  package var appends: Bool { existingDestination == .append }

  /// Whether the job replaces its own source.
  package var isInPlace: Bool {
    if case .inPlace = existingDestination { true } else { false }
  }

  /// The name under which a store stays that was replaced: `people~.sqlite` for `people.sqlite`.
  package static func oldPath(of store: String) -> String { InPlaceSwap.oldPath(of: store) }
}
