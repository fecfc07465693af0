package import GodwitModel

/// An obstacle to a run, as far as it can be found without writing.
package struct RunObstacle: Sendable, Hashable {
  /// The kind of obstacle. The raw values never change.
  package enum Code: String, Sendable, Codable, Hashable, CaseIterable {
    /// SQLite finds the source damaged.
    case sourceDamaged = "source-damaged"
    /// A policy is not registered.
    case policyMissing = "policy-missing"
    /// Values do not fit their new type.
    case valuesDoNotFit = "values-do-not-fit"
    /// Validation rejects objects, or their values cannot be computed.
    case objectsRejected = "objects-rejected"
    /// Objects share values that must be unique.
    case duplicates
    /// The type of the destination cannot hold the primary keys.
    case keys
    /// External files that the run reads are missing.
    case missingFile = "missing-file"
    /// The job must lose nothing.
    case losses
    /// There is too little disk space.
    case diskSpace = "disk-space"
    /// The job may not replace what is at the destination.
    case destination
    /// The destination was changed since the job made it.
    case destinationChanged = "destination-changed"
    /// The store that the run would replace cannot be kept.
    case oldStore = "old-store"
    /// The receipt cannot be written where the manifest wants it.
    case receipt
    /// Something lies where the quarantine goes.
    case quarantine
    /// The work folder is not Godwit's, or has unfinished work that the run cannot resume.
    case workFolder = "work-folder"
  }

  /// The kind of obstacle.
  package var code: Code
  /// The kind of failure that the run would have.
  package var failure: GodwitError.Code
  /// The message of the run's error.
  package var message: String
  /// The remedy, where the run's error has one.
  package var remedy: String?

  /// The obstacle as a plan lists it.
  package var text: String { "the run stops with \(failure.rawValue): \(message)" }

  package init(_ code: Code, _ failure: GodwitError.Code, _ message: String) {
    (self.code, self.failure, self.message) = (code, failure, message)
  }

  package init(_ code: Code, _ error: GodwitError) {
    self.init(code, error.code, error.line)
    remedy = error.remedy
  }
}
