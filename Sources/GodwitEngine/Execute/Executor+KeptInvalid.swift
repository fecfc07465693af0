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
    for sql in [
      "CREATE TEMP TABLE IF NOT EXISTS godwit_broken (d INTEGER PRIMARY KEY, rule INTEGER)",
      "CREATE TEMP TABLE IF NOT EXISTS godwit_kept (d INTEGER, rule INTEGER, PRIMARY KEY (d, rule)) WITHOUT ROWID",
      "DELETE FROM temp.godwit_broken", "DELETE FROM temp.godwit_kept",
    ] { try connection.execute(sql) }
    let add = try connection.prepare("INSERT INTO temp.godwit_broken (d, rule) VALUES (?1, ?2)")
    defer { add.finalize() }
    var isSound = true
    try forEachInvalid(validation, of: entity, from: chunk.range.first, through: chunk.range.last, context: context) {
      isSound = false
      try add.run([.integer($0), .int($1)])
      return true
    }
    guard !isSound else { return .init(rows: chunk.rows) }
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
