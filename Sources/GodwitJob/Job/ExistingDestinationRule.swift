extension MigrationJob {
  /// The treatment of a destination that the same job made before, if its source, a model, a mapping or a key of the
  /// manifest has changed since. A store that the job did not make is an error with either rule.
  public enum ExistingDestinationRule: Sendable, Hashable {
    /// It is an error (73).
    case fail
    /// The job migrates again, and the new store takes the place of the old one when it is finished.
    ///
    /// The job knows its own store by the receipt, so that ``MigrationJob/receipt`` must not be nil.
    case replace(keepsOld: Bool)
  }

  /// Whether an earlier result of the job is replaced.
  package var replacesEarlierResult: Bool { existingDestination != .fail }
}
