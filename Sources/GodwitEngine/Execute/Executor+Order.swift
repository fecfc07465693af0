import GodwitJob
import GodwitModel
import GodwitStore

/// The order of related objects that a mapping sorts.
extension Executor {
  /// Ranks the objects before the first chunk of a rule. The tables are part of the first chunk's transaction.
  func makeRanks(of rule: OrderID, _ chunk: Chunk) throws {
    guard !program.order.rules[rule].sorted.isEmpty, !ranked.contains(rule) else { return }
    if try connection.integer("SELECT 1 FROM main.\(StepProgram.sortedTable(rule)) LIMIT 1") == nil {
      for statement in try program.order.ranking(rule) {
        try functions.running(statement, context: context(chunk)) {
          try connection.execute(statement.sql, statement.builder.arguments(from: .min, through: .max))
        }
      }
    }
    ranked.insert(rule)
  }
}
