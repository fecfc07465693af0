/// One SQL statement of a chunk with its constants and the places its failures are reported by.
struct ChunkStatement {
  var sql: String
  var builder: StatementBuilder
  /// Why parts of it run in Swift; empty in the sql lane.
  var reasons: [String] = []
}
