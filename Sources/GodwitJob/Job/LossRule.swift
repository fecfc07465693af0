extension MigrationJob {
  /// What happens to a migration that loses data of the source.
  public enum LossRule: String, Sendable, Hashable, CaseIterable {
    /// Losses are counted and listed. Only a job that would drop every object of its source fails: the usual cause is a
    /// wrong model.
    case report
    /// The run fails before it writes, or before the destination is in place if the loss shows only then.
    case fail
    /// Losses are counted and listed, and the job may drop every object of its source.
    case allowEmpty = "allow-empty"
  }

  /// Whether a loss stops the run.
  package var failsOnLoss: Bool { onLoss == .fail }
}
