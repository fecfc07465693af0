import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

/// Validation of a job that keeps objects which were invalid before.
extension Executor {
  /// Validates a chunk whose objects may break the rules that they broke in the source.
  ///
  /// Each rule that an object breaks is tested alone: breaking one rule before does not excuse another.
  func validateKeeping(_ chunk: Chunk, _ entity: String) throws -> Ledger.Outcome {
    let validation = try program.validation.entity(entity)
    let context = context(chunk)
    let range = chunk.range
    guard try collectInvalid(validation, of: entity, from: range.first, through: range.last, context: context) > 0
    else { return .init(rows: chunk.rows) }
    try connection.execute(
      "CREATE TEMP TABLE IF NOT EXISTS godwit_kept (d INTEGER, rule INTEGER, PRIMARY KEY (d, rule)) WITHOUT ROWID")
    try connection.execute("DELETE FROM temp.godwit_kept")
    let table = try program.destinationTable(of: entity).name
    let patterns = try validation.patterns.map { try SQLFunctions.validationPattern($0) }
    for (number, rule) in validation.rules.enumerated() {
      let statement = ChunkStatement(
        sql:
          "INSERT INTO temp.godwit_kept (d, rule) SELECT b.d, \(number) FROM temp.godwit_broken AS b CROSS JOIN main.\(quoted(table)) AS t ON t.Z_PK = b.d WHERE \(rule.condition)",
        builder: StatementBuilder())
      try functions.running(statement, context: context, with: StatementInputs(patterns: patterns)) {
        try connection.execute(statement.sql)
      }
    }
    var kept: [KeptInvalid] = []
    let remove = try connection.prepare("DELETE FROM temp.godwit_kept WHERE d = ?1 AND rule = ?2")
    defer { remove.finalize() }
    var excused: Set<[Int64]> = []
    for mapping in program.mappings where mapping.destination.name == entity && mapping.earlier == nil {
      var sourcePatterns: [String] = []
      guard
        let statement = try program.keptInvalid.tolerated(
          mapping, rules: validation.rules, patterns: &sourcePatterns)
      else { continue }
      let inputs = StatementInputs(patterns: try sourcePatterns.map { try SQLFunctions.validationPattern($0) })
      var found: [(Int64, Int)] = []
      try functions.running(statement, context: context, with: inputs) {
        try connection.query(statement.sql, statement.builder.arguments()) { row in
          found.append((row.int64(0), row.int(1)))
          return true
        }
      }
      for (key, rule) in found {
        try remove.run([.integer(key), .int(rule)])
        if excused.insert([key, Int64(rule)]).inserted {
          kept.append(.init(entity: entity, property: validation.rules[rule].property, objects: 1))
        }
      }
    }
    var broken: [(key: Int64, rule: Int)] = []
    try connection.query(
      "SELECT d, MIN(rule) FROM temp.godwit_kept GROUP BY d ORDER BY d LIMIT \(Self.limitOffenders)"
    ) { row in
      broken.append((row.int64(0), row.int(1)))
      return true
    }
    guard broken.isEmpty else { throw try invalid(broken, validation, of: entity, chunk) }
    return .init(rows: chunk.rows, kept: KeptInvalid.sums(kept))
  }
}
