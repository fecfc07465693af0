import GodwitJob
import GodwitModel
import GodwitStore

/// The objects of the destination that a run will find for its new ones, and the values that are lost, counted
/// beforehand. The run counts the links that differ.
struct MeetForecast {
  private let planner: Planner
  private let program: StepProgram

  init(_ planner: Planner, _ program: StepProgram) { (self.planner, self.program) = (planner, program) }

  private static let old = "temp.godwit_met_before"

  /// The losses by mapping, and a note for each mapping that meets objects.
  struct Found {
    struct Part {
      var mapping: ResolvedEntityMapping
      var losses: [LossReport.Loss]
    }

    var parts: [Part] = []
    var notes: [MigrationNote] = []
    var losses: [LossReport.Loss] { parts.flatMap(\.losses) }
  }

  func find() throws -> Found {
    var found = Found()
    guard let existing = planner.existing else { return found }
    for index in program.meeting {
      let mapping = program.mappings[index]
      let compared = try program.meet.compared(index)
      try readOld(mapping, compared, from: existing)
      defer { try? planner.connection.execute("DROP TABLE \(Self.old)") }
      let builder = StatementBuilder()
      builder.tolerateMisfits()
      let sql = try statement(mapping, compared.filter { !$0.isLink }, builder)
      let row = try planner.functions.running(
        ChunkStatement(sql: sql, builder: builder), context: "planning, unique-by"
      ) { try planner.connection.rows(sql, builder.arguments()).first ?? [] }
      func number(_ place: Int) -> Int64 {
        if row.indices.contains(place), case .integer(let number) = row[place] { number } else { 0 }
      }
      found.notes += uniquenessNotes(mapping)
      guard number(0) > 0 else { continue }
      let lost = compared.filter { !$0.isLink }.enumerated().map { place, one in
        MetCount.Lost(name: one.name, isLink: false, count: number(place + 1))
      }
      found.parts.append(.init(mapping: mapping, losses: mapping.losses(lost, step: planner.job.position.step)))
      found.notes.append(
        mapping.noteOfMeeting(number(0), changed: nil, hasLinks: compared.contains(where: \.isLink)))
    }
    return found
  }

  /// The uniqueness constraints that only the run looks at.
  private func uniquenessNotes(_ mapping: ResolvedEntityMapping) -> [MigrationNote] {
    let model = program.resolved.destinationModel
    let (unique, name) = (Set(mapping.mapping.uniqueBy), mapping.destination.name)
    return model.entities.filter { model.isKind(name, of: $0.name) }.flatMap { entity in
      entity.uniquenessConstraints.compactMap { properties in
        // Objects of a parent or subentity have a place in the index too, and are not met.
        if Set(properties) == unique, entity.name == name, model.family(of: name).count == 1 { return nil }
        return MigrationNote(
          .met,
          "not looked at: whether another object of the destination has the same \(properties.joined(separator: ", ")) (mapping \(mapping.name)); the run stops at one"
        )
      }
    }
  }

  /// The columns of a mapping's table that decide, in order: those of `unique-by`, of the order, and the values.
  private func columns(_ mapping: ResolvedEntityMapping, _ compared: [MeetStatements.Compared]) -> [String] {
    let names = mapping.mapping.uniqueBy + mapping.metOrder.compactMap { $0?.attribute.name }
    let schema = program.destinationSchema
    return names.map { quoted(schema.column(of: $0, in: mapping.destination.name) ?? "") }
      + compared.filter { !$0.isLink }.map(\.column)
  }

  /// Reads the objects of the destination: of several with the same values of `unique-by` the first.
  private func readOld(
    _ mapping: ResolvedEntityMapping, _ compared: [MeetStatements.Compared], from existing: ExistingDestination
  ) throws {
    let connection = planner.connection
    let columns = columns(mapping, compared)
    let names = columns.indices.map { "c\($0)" }.joined(separator: ", ")
    try connection.execute("DROP TABLE IF EXISTS \(Self.old)")
    try connection.execute("CREATE TABLE \(Self.old) (\(names))")
    let store = try StoreConnection.openStore(readingAt: existing.path)
    defer { try? store.close() }
    let addition = try connection.prepare(
      "INSERT INTO \(Self.old) VALUES (\(columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")))")
    defer { addition.finalize() }
    let keys = mapping.mapping.uniqueBy.count
    let order = mapping.metOrder.compactMap(\.self).enumerated().map { place, one in
      "\(MeetStatements.ordered(columns[keys + place], one.attribute))\(one.isAscending ? "" : " DESC")"
    }
    let condition = existing.schema.isObject(of: [mapping.destination.name]).further
    let isFilled = mapping.mapping.mergesNil ? "" : columns[..<keys].map { " AND \($0) IS NOT NULL" }.joined()
    let table = quoted(try program.destinationTable(of: mapping.destination.name).name)
    try store.query(
      """
      SELECT \(columns.joined(separator: ", ")) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY \
      \(columns[..<keys].joined(separator: ", ")) ORDER BY \((order + ["Z_PK"]).joined(separator: ", "))) AS godwit_place \
      FROM source.\(table) WHERE 1\(condition)\(isFilled)) WHERE godwit_place = 1
      """
    ) { row in
      try addition.run(columns.indices.map(row.value))
      return true
    }
    let list = (0..<keys).map { "c\($0)" }.joined(separator: ", ")
    try connection.execute("CREATE INDEX temp.godwit_met_before_keys ON godwit_met_before (\(list))")
  }

  /// A query of the number of pairs, and of what each property loses.
  private func statement(
    _ mapping: ResolvedEntityMapping, _ compared: [MeetStatements.Compared], _ builder: StatementBuilder
  ) throws -> String {
    let association = program.associations(builder)
    let table = try association.table(mapping.index)
    let keys = try program.associationStage.keyValues(of: mapping, builder)
    let order = mapping.metOrder.compactMap(\.self)
    var reasons: [String] = []
    func value(_ name: String, plain: Bool) throws -> String {
      guard let (attribute, source) = mapping.attributes.first(where: { $0.attribute.name == name }) else {
        return "NULL"
      }
      return try program.creation.storedValue(
        of: attribute, from: plain ? source.withoutDefault : source, in: mapping, builder: builder, reasons: &reasons)
    }
    var parts = ["g AS MATERIALIZED (\(try program.associationStage.merged(mapping.index, association)))"]
    var (read, joins): ([String], [String]) = ([], [])
    /// The value of an attribute in the new object, with what other source objects fill in.
    func given(_ name: String, as column: String) throws -> String {
      guard let (attribute, source) = mapping.attributes.first(where: { $0.attribute.name == name }),
        mapping.fills(attribute, from: source)
      else {
        read.append("\(try value(name, plain: false)) AS \(column)")
        return "n.\(column)"
      }
      read.append("\(try value(name, plain: true)) AS \(column)")
      parts.append(
        """
        f\(column) AS MATERIALIZED (SELECT f, v FROM (SELECT g.f AS f, m.v AS v, ROW_NUMBER() OVER \
        (PARTITION BY g.f ORDER BY g.t) AS place FROM g CROSS JOIN (SELECT s.Z_PK AS k, \(try value(name, plain: true)) AS v \
        FROM \(table) AS s) AS m ON m.k = g.k WHERE m.v IS NOT NULL) WHERE place = 1)
        """)
      joins.append(" LEFT JOIN f\(column) ON f\(column).f = n.k")
      var filled = "COALESCE(n.\(column), f\(column).v"
      if case .defaultForNil = source {
        filled += ", \(builder.bind(try SQLValue(encoding: attribute.defaultValue, as: attribute)))"
      }
      return filled + ")"
    }
    let places = try order.enumerated().map { try given($1.attribute.name, as: "o\($0)") }
    let values = try compared.enumerated().map { try given($1.name, as: "v\($0)") }
    let names = keys.indices.map { "k\($0)" }
    let columns = zip(names, keys).map { "\($1) AS \($0)" } + read
    parts.append(
      """
      n AS (SELECT s.Z_PK AS k, \(columns.joined(separator: ", ")) FROM \(table) AS s NOT INDEXED WHERE \
      \(association.matches(mapping.index, alias: "s").sql) AND s.Z_PK NOT IN (SELECT g.k FROM g WHERE g.k <> g.f))
      """)
    let isSame = names.enumerated().map { "o.c\($0) \(mapping.mapping.mergesNil ? "IS" : "=") +n.\($1)" }
    let verdict = MeetStatements.verdict(
      old: order.indices.map { MeetStatements.ordered("o.c\(keys.count + $0)", order[$0].attribute) },
      new: zip(places, order).map { MeetStatements.ordered($0, $1.attribute) }, ascending: order.map(\.isAscending))
    let first = keys.count + places.count
    let lost = zip(compared, values).enumerated().map { place, one -> String in
      let (old, new) = ("o.c\(first + place)", one.1)
      let isLost =
        one.0.isFilled
        ? "\(old) IS NOT NULL AND \(new) IS NOT NULL"
        : "CASE WHEN \(verdict) = 2 THEN \(old) IS NOT NULL ELSE \(new) IS NOT NULL END"
      return "COALESCE(SUM(\(new) IS NOT \(old) AND \(isLost)), 0)"
    }
    return """
      WITH \(parts.joined(separator: ", ")) SELECT \((["COUNT(*)"] + lost).joined(separator: ", ")) FROM n \
      CROSS JOIN \(Self.old) AS o ON \(isSame.joined(separator: " AND "))\(joins.joined())
      """
  }
}
