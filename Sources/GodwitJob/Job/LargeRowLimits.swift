package import GodwitModel
package import GodwitStore

/// From which size on the values of a row stay out of memory while objects are made.
package struct LargeRowLimits: Sendable {
  /// Larger values and rows are not made by a chunk's statement.
  package var rowBytes: Int64
  /// The size that SQLite refuses: a little more, so that a row of the limit passes with its key and header.
  package var statementBytes: Int64 { rowBytes + rowBytes / 16 }
  /// Smaller values of such a row are held in memory all the same.
  package var valueBytes: Int64
  /// Records up to it are held in memory as a whole, which writes them once.
  package var recordBytes: Int64
  /// Hears how each row was completed.
  package var onRow: (@Sendable (LargeRowWriter.Way) -> Void)?

  /// A row of the first limit costs about a sixth more time than one that is made by its chunk's statement, and SQLite holds
  /// the latter two or three times: a fifth of the budget.
  package init(memory: ByteCount) {
    rowBytes = max(1 << 20, memory.bytes / 16)
    valueBytes = rowBytes / 32
    recordBytes = memory.bytes / 4
  }

  package init(rowBytes: Int64, valueBytes: Int64, recordBytes: Int64) {
    (self.rowBytes, self.valueBytes, self.recordBytes) = (rowBytes, valueBytes, recordBytes)
  }
}
