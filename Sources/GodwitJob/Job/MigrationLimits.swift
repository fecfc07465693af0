public import GodwitModel

/// What a run keeps to; none of it changes what the destination holds.
public struct MigrationLimits: Sendable, Hashable {
  /// A budget that the whole process keeps, at least 16 MiB.
  public var memory: ByteCount
  /// Rows in a chunk; nil: chosen from sampled row widths and the budget.
  public var chunkRows: Int?

  public init(memory: ByteCount = .mebibytes(64), chunkRows: Int? = nil) {
    self.memory = memory
    self.chunkRows = chunkRows
  }
}
