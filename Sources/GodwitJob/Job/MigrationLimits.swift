public import GodwitModel

/// The limits of a run. They do not change the content of the destination.
public struct MigrationLimits: Sendable, Hashable {
  /// The memory that a run may allocate, at least 16 MiB. The program itself takes another 30 to 50 MiB.
  package var memory: ByteCount
  /// Rows in a chunk; nil: chosen from sampled row widths and the budget.
  package var chunkRows: Int?

  /// Limits of a run.
  ///
  /// - Parameters:
  ///   - memory: The memory that the run may allocate, at least 16 MiB.
  ///   - chunkRows: Rows in a chunk; nil to choose it from sampled row widths and the budget.
  public init(memory: ByteCount = .mebibytes(64), chunkRows: Int? = nil) {
    self.memory = memory
    self.chunkRows = chunkRows
  }
}
