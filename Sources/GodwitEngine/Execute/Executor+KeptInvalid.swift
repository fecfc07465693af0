import GodwitJob
import GodwitModel
import GodwitStore

/// Validation of a job that keeps invalid objects: see `MigrationJob.keepsInvalid`.
extension Executor {
  /// Validates a chunk whose objects may break rules. Each rule that an object breaks is judged alone.
  func validateKeeping(_ chunk: Chunk, _ entity: String) throws -> Ledger.Outcome {
    let validation = try program.validation.entity(entity)
    let context = context(chunk)
    let range = chunk.range
    guard try collectInvalid(validation, of: entity, from: range.first, through: range.last, context: context) > 0
    else { return .init(rows: chunk.rows) }
    try connection.execute(
      "CREATE TEMP TABLE IF NOT EXISTS godwit_kept (d INTEGER, rule INTEGER, excused INTEGER, PRIMARY KEY (d, rule)) WITHOUT ROWID"
    )
    try connection.execute("DELETE FROM temp.godwit_kept")
    let table = try program.destinationTable(of: entity).name
    let patterns = try validation.patterns.map { try $0.compiled() }
    for (number, rule) in validation.rules.enumerated() {
      let statement = ChunkStatement(
        sql:
          "INSERT INTO temp.godwit_kept (d, rule, excused) SELECT b.d, \(number), \(job.keepsAllInvalid ? 1 : 0) FROM temp.godwit_broken AS b CROSS JOIN main.\(quoted(table)) AS t ON t.Z_PK = b.d WHERE \(rule.condition)",
        builder: StatementBuilder())
      try functions.running(statement, context: context, with: StatementInputs(patterns: patterns)) {
        try connection.execute(statement.sql)
      }
    }
    if !job.keepsAllInvalid { try excuse(validation, of: entity, context: context) }
    var broken: [(key: Int64, rule: Int)] = []
    try connection.query(
      "SELECT d, MIN(rule) FROM temp.godwit_kept WHERE NOT excused GROUP BY d ORDER BY d LIMIT \(Self.limitOffenders)"
    ) { row in
      broken.append((row.int64(0), row.int(1)))
      return true
    }
    guard broken.isEmpty else { throw try invalid(broken, validation, of: entity, chunk) }
    return .init(rows: chunk.rows, kept: try kept(validation, of: entity))
  }

  /// Marks the entries of `godwit_kept` whose object broke the rule of the same kind before.
  private func excuse(_ validation: EntityValidation, of entity: String, context: String) throws {
    let mark = try connection.prepare("UPDATE temp.godwit_kept SET excused = 1 WHERE d = ?1 AND rule = ?2")
    defer { mark.finalize() }
    for mapping in program.mappings where mapping.destination.name == entity && mapping.earlier == nil {
      var sourcePatterns: [ValidationPattern] = []
      guard
        let statement = try program.keptInvalid.tolerated(mapping, rules: validation.rules, patterns: &sourcePatterns)
      else { continue }
      let inputs = StatementInputs(patterns: try sourcePatterns.map { try $0.compiled() })
      var found: [(Int64, Int)] = []
      try functions.running(statement, context: context, with: inputs) {
        try connection.query(statement.sql, statement.builder.arguments()) { row in
          found.append((row.int64(0), row.int(1)))
          return true
        }
      }
      for (key, rule) in found { try mark.run([.integer(key), .int(rule)]) }
    }
  }

  /// The objects of `godwit_kept`, counted once for each property.
  private func kept(_ validation: EntityValidation, of entity: String) throws -> [KeptInvalid] {
    let numbers = Dictionary(grouping: validation.rules.indices) { validation.rules[$0].property }
    return try numbers.sorted { $0.key < $1.key }.compactMap { property, rules in
      let list = rules.map(String.init).joined(separator: ", ")
      let count = try connection.integer("SELECT COUNT(DISTINCT d) FROM temp.godwit_kept WHERE rule IN (\(list))") ?? 0
      return count > 0 ? KeptInvalid(entity: entity, property: property, objects: count) : nil
    }
  }
}
