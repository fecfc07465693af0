/// One SQL statement of a chunk with its constants and the places its failures are reported by.
package struct ChunkStatement {
  package var sql: String
  package var builder: StatementBuilder
  /// Why parts of it run in Swift; empty in the sql lane.
  package var reasons: [String] = []

  package init(sql: String, builder: StatementBuilder, reasons: [String] = []) {
    self.sql = sql
    self.builder = builder
    self.reasons = reasons
  }
}
