import GodwitJob
import GodwitModel
import GodwitStore

/// Rows of tables that stay.
extension InPlaceSQLRun {
  private static func rowsTable(_ number: Int) -> String { "godwit_rows_\(number)" }

  /// Columns whose values are compared with those of an ordinary run.
  ///
  /// Left out: keys, which stay; entity numbers, counters of edits and defaults of new columns, which need no
  /// comparing; derived attributes, which are all computed later.
  private func comparedColumns(_ table: InPlaceSQLLayout.Kept) -> [String] {
    let constants = Set(constantColumns(table).map(\.column))
    return table.new.columns.filter { column in
      switch column.role {
      case .primaryKey, .entity, .optimisticLock: return false
      case .attribute(let entity, let name, _):
        let isDerived = step.resolved.destinationModel.attribute(name, of: entity)?.isDerived == true
        return !isDerived && !constants.contains(column.name)
      default: return true
      }
    }.map(\.name)
  }

  private struct Constant {
    var column: String
    /// The values by mapping index, without NULL.
    var values: [MappingID: SQLValue]
  }

  /// New columns that no mapping computes.
  private func constantColumns(_ table: InPlaceSQLLayout.Kept) -> [Constant] {
    let mappings = program.mappings(of: table.new)
    return table.addedColumns.compactMap { column in
      guard case .attribute(let entity, let name, _) = column.role else { return nil }
      var constant = Constant(column: column.name, values: [:])
      for mapping in mappings where step.resolved.destinationModel.isKind(mapping.destination.name, of: entity) {
        guard let (attribute, value) = mapping.attributes.first(where: { $0.attribute.name == name }) else { continue }
        guard value == .modelDefault, let stored = try? SQLValue(encoding: attribute.defaultValue, as: attribute) else {
          return nil
        }
        if stored != .null { constant.values[mapping.index] = stored }
      }
      return constant
    }
  }

  /// Collects the rows that an ordinary run would store with other values, and these values.
  func collectChangedRows(_ number: Int, _ table: InPlaceSQLLayout.Kept) throws {
    let columns = comparedColumns(table)
    let names = columns.indices.map { "c\($0)" }
    // Columns without types keep values unchanged.
    try connection.execute(
      "CREATE TEMP TABLE \(Self.rowsTable(number)) (k INTEGER PRIMARY KEY\(names.map { ", \($0)" }.joined()))")
    for mapping in program.mappings(of: table.new) where step.facts.mappings[mapping.index].rows > 0 {
      let rows = try step.creation.rows(of: mapping.index)
      let values = Dictionary(zip(rows.columns, rows.values)) { first, _ in first }
      let wanted = columns.map { values[$0] ?? "NULL" }
      let differs = zip(columns, wanted).compactMap { column, value in
        value == "s.\(quoted(column))" ? nil : "s.\(quoted(column)) IS NOT (\(value))"
      }
      guard !differs.isEmpty else { continue }
      let statement = ChunkStatement(
        sql: """
          INSERT INTO temp.\(Self.rowsTable(number)) SELECT \((["s.Z_PK"] + wanted).joined(separator: ", ")) \
          FROM \(rows.from) WHERE \(rows.condition) AND (\(differs.joinedEvenly(by: " OR ")))
          """, builder: rows.builder)
      functions.mover?.beginChunk()
      try functions.running(statement, context: "step 1 of 1, comparing \(table.new.name), \(mapping.name)") {
        try connection.execute(statement.sql, statement.builder.arguments())
      }
      try functions.mover?.finishChunk { try connection.store($1, in: table.new.name, key: $0) }
    }
  }

  /// Writes the collected rows, removes objects that no mapping reads, and sets entity numbers and defaults.
  func apply(_ number: Int, _ table: InPlaceSQLLayout.Kept) throws {
    let name = "main.\(quoted(table.new.name))"
    let rows = "temp.\(Self.rowsTable(number))"
    let mappings = program.mappings(of: table.new)
    if try connection.integer("SELECT 1 FROM \(rows) LIMIT 1") != nil {
      // Values may change places on the way; the index is made and checked at the end.
      for index in destination.indexes where index.isUnique && index.table == table.new.name {
        try connection.execute("DROP INDEX IF EXISTS main.\(quoted(index.name))")
      }
      let sets = comparedColumns(table).enumerated().map { "\(quoted($1)) = n.c\($0)" }
      try connection.execute(
        "UPDATE \(name) AS t SET \(sets.joined(separator: ", ")) FROM \(rows) AS n WHERE t.Z_PK = n.k")
    }
    try connection.execute("DROP TABLE \(rows)")
    if hasLeavers(table) {
      let stays = step.sourceSchema.isObject(of: mappings.map(\.source.name)).term
      try connection.execute("DELETE FROM \(name) WHERE (\(stays)) IS NOT TRUE")
    }
    try renumber(table, mappings, name)
  }

  private func hasLeavers(_ table: InPlaceSQLLayout.Kept) -> Bool {
    step.facts.entities.contains { entity in
      entity.rows > entity.taken && step.sourceSchema.table(of: entity.name)?.name == table.new.name
    }
  }

  /// One statement for all numbers, which may change places; new objects count their edits from 1.
  private func renumber(
    _ table: InPlaceSQLLayout.Kept, _ mappings: [ResolvedEntityMapping], _ name: String
  ) throws {
    var arguments: [SQLValue] = []
    func bind(_ value: SQLValue) -> String {
      arguments.append(value)
      return "?\(arguments.count)"
    }
    let isOfOne = mappings.contains { step.sourceSchema.fillsTable($0.source.name) }
    func cases(_ pairs: [(number: Int, value: SQLValue)], else other: String) -> String {
      // Every row is an object of the one mapping, whatever its number.
      if isOfOne, let value = pairs.first?.value { return bind(value) }
      return
        "(CASE Z_ENT \(pairs.map { "WHEN \($0.number) THEN \(bind($0.value))" }.joined(separator: " ")) ELSE \(other) END)"
    }
    let filled = mappings.filter { step.facts.mappings[$0.index].rows > 0 }
    let moved = filled.map(program.numbers).filter { isOfOne || $0.was != $0.now }
    var sets = ["Z_OPT = 1"]
    var touched = Set(moved.map(\.was))
    var hasConstants = false
    if !moved.isEmpty { sets.append("Z_ENT = \(cases(moved.map { ($0.was, .int($0.now)) }, else: "Z_ENT"))") }
    for constant in constantColumns(table) {
      let pairs = filled.compactMap { mapping in
        constant.values[mapping.index].map { (program.numbers(mapping).was, $0) }
      }
      guard !pairs.isEmpty else { continue }
      hasConstants = true
      touched.formUnion(pairs.map(\.0))
      sets.append("\(quoted(constant.column)) = \(cases(pairs, else: "NULL"))")
    }
    let changes: String
    if isOfOne {
      changes = hasConstants ? "TRUE" : "Z_OPT IS NOT 1 OR Z_ENT IS NOT \(moved.first?.now ?? -1)"
    } else {
      changes = "Z_OPT IS NOT 1 OR +Z_ENT IN (\(touched.sorted().map(String.init).joined(separator: ", ")))"
    }
    try connection.execute("UPDATE \(name) SET \(sets.joined(separator: ", ")) WHERE \(changes)", arguments)
  }

  // MARK: Join tables

  /// Removes links one of whose ends is not there, or is of no entity that the relationship leads to.
  func clean(_ join: InPlaceSQLLayout.KeptJoin) throws {
    let builder = StatementBuilder()
    let association = step.associations(builder)
    var kept: [String] = []
    for link in step.links where link.strategy == .pairs {
      for assignment in link.assignments where assignment.end == link.carriedEnd {
        let mapping = step.mappings[assignment.mapping]
        let source = mapping.relationships[assignment.part]
        guard
          case .join(let found, let subject, let object, _) = destination.storage(
            of: source.relationship.name, in: mapping.destination.name), found.name == join.new.name
        else { continue }
        for lookup in source.lookups {
          kept.append(
            "\(try association.lookup(mapping.index, key: "j.\(quoted(subject))")) IS NOT NULL AND \(try association.lookup(lookup, key: "j.\(quoted(object))")) IS NOT NULL"
          )
        }
      }
    }
    let condition = kept.isEmpty ? "" : " WHERE NOT (\(kept.joinedEvenly(by: " OR ")))"
    let table = "main.\(quoted(join.new.name))"
    try connection.execute(
      "DELETE FROM \(table) WHERE rowid IN (SELECT j.rowid FROM \(table) AS j\(condition))", builder.arguments())
  }
}
