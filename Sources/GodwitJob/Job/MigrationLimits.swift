public import GodwitModel

/// The limits of a run. They do not change the content of the destination.
public struct MigrationLimits: Sendable, Hashable {
  /// The memory that a run may allocate, at least 16 MiB. The program itself takes another 30 to 50 MiB.
  ///
  /// | part | for |
  /// |---|---|
  /// | 1/4 | pages of the new store; from the index stage on 1/8, and 1/8 for the sorter |
  /// | 1/8 each | pages of the source, key sets, spill blocks |
  /// | 1/16 | values of `unique-by`, half more while their map grows |
  /// | 1/16, 1/32 | rows read ahead, and their pages |
  /// | 1/16, 1/32 | a statement's largest value, and values evaluated ahead |
  /// | 1/256 for each entity, at most 256 KiB | objects of policies that wait |
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
