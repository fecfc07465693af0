package import GodwitModel

/// What would stop a run at its destination, or at a file beside it, as far as that can be told without writing.
package struct DestinationObstacle: Sendable, Hashable {
  /// What is in the way. The raw values never change.
  package enum Code: String, Sendable, Hashable, CaseIterable {
    /// The job may not replace what is at the destination.
    case destination
    /// Somebody has written to the destination since the job made it.
    case destinationChanged = "destination-changed"
    /// The store that the run would replace cannot be kept.
    case oldStore = "old-store"
    /// The receipt cannot be written where the manifest wants it.
    case receipt
    /// The work folder has the unfinished work of another job.
    case workFolder = "work-folder"
  }

  /// What is in the way.
  package var code: Code
  /// The kind of failure that the run would have.
  package var failure: GodwitError.Code
  /// What its error would say.
  package var message: String

  /// The obstacle as a plan lists it.
  package var text: String { "the run stops with \(failure.rawValue): \(message)" }

  package init(_ code: Code, _ error: GodwitError) {
    (self.code, failure, message) = (code, error.code, error.line)
  }
}
