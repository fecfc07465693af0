import Foundation
package import GodwitJob
package import GodwitLowering
package import GodwitModel
package import GodwitStore

/// The SQL of every chunk of a step: what the plan's decisions mean in the two databases.
///
/// `source` is the attached store, which is only read; `main` is the store under construction. All
/// statements take the first and last key of the chunk as `?1` and `?2`.
package struct StepProgram {
  package let resolved: ResolvedMapping
  package let sourceSchema: StoreSchema
  package let destinationSchema: StoreSchema
  package let facts: PlanFacts
  package let links: [InversePair]
  /// Mappings of source objects that a policy carries out.
  let policyIndexes: Set<Int>
  /// Mappings whose source keys are kept in memory for lookups.
  let keySets: Set<Int>
  /// Links that are written with their objects since no policy has set them.
  var direct: Set<Int> = []
  /// Mappings with a policy that has made of each source object what the mapping alone would have made: their
  /// associations are computed.
  var plain: Set<Int> = []

  /// - Parameter keySetBytes: Memory for the source keys of mappings whose associations are computed.
  package init(
    resolved: ResolvedMapping, sourceSchema: StoreSchema, destinationSchema: StoreSchema, facts: PlanFacts,
    keySetBytes: Int64 = 0
  ) throws {
    self.resolved = resolved
    self.sourceSchema = sourceSchema
    self.destinationSchema = destinationSchema
    self.facts = facts
    policyIndexes = Set(resolved.policies.compactMap(\.index))
    links = try InversePair.links(of: resolved, schema: destinationSchema, facts: facts)
    keySets = Self.keySets(resolved, facts: facts, bytes: keySetBytes)
  }

  /// As many as fit, the smallest first.
  private static func keySets(_ resolved: ResolvedMapping, facts: PlanFacts, bytes: Int64) -> Set<Int> {
    var left = bytes
    var chosen: Set<Int> = []
    let sizes = resolved.entityMappings.compactMap { mapping -> (index: Int, bytes: Int64)? in
      let known = facts.mappings[mapping.index]
      guard mapping.earlier == nil, known.rows > 0, !AssociationLowering.isStored(mapping, facts: facts) else {
        return nil
      }
      return (mapping.index, KeySet.bytes(keys: known.rows, from: known.minimumKey, through: known.maximumKey))
    }
    for (index, size) in sizes.sorted(by: { ($0.bytes, $0.index) < ($1.bytes, $1.index) }) where size <= left {
      left -= size
      chosen.insert(index)
    }
    return chosen
  }

  package var mappings: [ResolvedEntityMapping] { resolved.entityMappings }

  /// Links that are written with their objects until a policy sets them.
  var directLinks: Set<Int> { Set(links.indices.filter { links[$0].directEnd != nil }) }

  /// A link as it is carried out now.
  func carried(_ index: Int) -> InversePair {
    var link = links[index]
    guard direct.contains(index), let end = link.directEnd else { return link }
    (link.strategy, link.carriedEnd) = (.atCreation, end)
    return link
  }

  package func associations(_ builder: StatementBuilder) -> AssociationLowering {
    var association = AssociationLowering(mappings: mappings, facts: facts, schema: sourceSchema, builder: builder)
    association.checks = .done
    association.keySets = keySets
    if resolved.hasPolicies {
      association.policies = PolicyLookUps(mappings: policyIndexes.subtracting(plain), plain: plain) { entity in
        resolved.destinationModel.family(of: entity).compactMap { destinationSchema.number(of: $0.name) }
      } isKind: { entity, ancestor in
        resolved.destinationModel.isKind(entity, of: ancestor)
      }
    }
    return association
  }

  func isStored(_ index: Int) -> Bool { AssociationLowering.isStored(mappings[index], facts: facts) }

  func isUnique(_ index: Int) -> Bool { !mappings[index].mapping.uniqueBy.isEmpty }

  /// The source object and the key of each object of a `unique-by` mapping.
  static func uniqueTable(_ mapping: Int) -> String { "godwit_unique_\(mapping)" }
  /// The same by what is unique.
  static func identityTable(_ mapping: Int) -> String { "godwit_identity_\(mapping)" }
  static func linkTable(_ link: Int) -> String { "godwit_link_\(link)" }

  func destinationTable(of entity: String) throws -> StoreSchema.EntityTable {
    guard let table = destinationSchema.table(of: entity) else {
      throw GodwitError(.internalBug, "cannot find the destination table of '\(entity)'")
    }
    return table
  }

  // MARK: Tables of ours while the store is under construction

  /// Tables that the step needs beside the ledger; dropped with it.
  package var scratchStatements: [String] {
    var statements: [String] = []
    for mapping in mappings where !mapping.mapping.uniqueBy.isEmpty {
      statements.append(
        "CREATE TABLE \(Self.uniqueTable(mapping.index)) (source INTEGER PRIMARY KEY, destination INTEGER)")
      statements.append(
        "CREATE TABLE \(Self.identityTable(mapping.index)) (identity BLOB PRIMARY KEY, destination INTEGER) WITHOUT ROWID"
      )
    }
    for (index, link) in links.enumerated() where link.strategy == .resolved {
      statements.append(
        "CREATE TABLE \(Self.linkTable(index)) (side INTEGER, mapping INTEGER, subject INTEGER, target INTEGER, position INTEGER, inverse_position INTEGER, turn INTEGER)"
      )
    }
    return statements + policyScratchStatements
  }

  // MARK: Associate

  /// The source key of each object that a mapping takes, in key order; for `unique-by` it calls `godwit_identity` for
  /// each.
  func associate(_ index: Int) throws -> ChunkStatement {
    let builder = StatementBuilder()
    let mapping = mappings[index]
    let association = associations(builder)
    let taken = association.takes(index, alias: "s")
    var reasons = taken.reason.map { [$0] } ?? []
    var columns = "s.Z_PK"
    if !mapping.mapping.uniqueBy.isEmpty {
      builder.rowChecks = RowChecks()
      let values = try mapping.mapping.uniqueBy.map { name in
        guard let (attribute, source) = mapping.attributes.first(where: { $0.attribute.name == name }) else {
          throw GodwitError(.internalBug, "cannot find unique-by attribute '\(name)'")
        }
        return try value(of: attribute, from: source, in: mapping, builder: builder, reasons: &reasons)
      }
      if let checks = builder.rowChecks, !checks.fields.isEmpty {
        columns = checks.guarding(columns, member: "-1", builder: builder)
      }
      columns += ", godwit_identity(s.Z_PK, \(values.joined(separator: ", ")))"
    }
    // By the table itself: sorted rows would all be tested before the first one comes.
    let sql =
      "SELECT \(columns) FROM \(try association.table(index)) AS s NOT INDEXED WHERE s.Z_PK BETWEEN ?1 AND ?2 AND \(taken.sql) ORDER BY s.Z_PK"
    return ChunkStatement(sql: sql, builder: builder, reasons: reasons)
  }

  // MARK: Create

  /// - Parameters:
  ///   - leftOut: Attributes that get NULL until the row is completed: some of `plainCopies`.
  ///   - isPart: Whether the keys narrow the rows, so that no index of a predicate shall choose them.
  package func create(
    _ index: Int, predicate: ParsedPredicate?, leavingOut leftOut: Set<String> = [], isPart: Bool = false
  ) throws -> ChunkStatement {
    let builder = StatementBuilder()
    builder.rowChecks = RowChecks()
    builder.leftOut = leftOut
    var rows = try creation(index, predicate: predicate, isPart: isPart, builder: builder)
    if let checks = builder.rowChecks, !checks.fields.isEmpty {
      rows.values[0] = checks.guarding(rows.values[0], builder: builder)
    }
    let sql =
      "\(try insertion(index, columns: rows.columns)) SELECT \(rows.values.joined(separator: ", ")) FROM \(rows.from) WHERE \(rows.condition) ORDER BY \(rows.order)"
    return ChunkStatement(sql: sql, builder: builder, reasons: rows.reasons)
  }

  /// An attribute whose texts or bytes the destination stores as the source has them.
  struct PlainCopy {
    var attribute: String
    var column: String
    var sourceColumn: String
    /// Up to so many bytes a value may be the name of a file, which comes along.
    var referenceBytes = 0
  }

  /// The attributes of a mapping whose values may be large, and lack nothing but to be copied.
  ///
  /// None where a file may become a value: its row waits for the file.
  func plainCopies(_ index: Int) -> [PlainCopy] {
    let mapping = mappings[index]
    var copies: [PlainCopy] = []
    for (attribute, source) in mapping.attributes {
      guard case .copy(let name) = source.withoutDefault,
        let from = resolved.sourceModel.attribute(name, of: mapping.source.name)
      else { continue }
      if from.allowsExternalBinaryDataStorage, !attribute.allowsExternalBinaryDataStorage { return [] }
      guard [.string, .uri, .binary, .transformable].contains(attribute.type),
        from.allowsExternalBinaryDataStorage == attribute.allowsExternalBinaryDataStorage,
        let column = destinationSchema.column(of: attribute.name, in: mapping.destination.name),
        let sourceColumn = sourceSchema.column(of: name, in: mapping.source.name)
      else { continue }
      copies.append(
        PlainCopy(
          attribute: attribute.name, column: column, sourceColumn: sourceColumn,
          referenceBytes: from.allowsExternalBinaryDataStorage ? ExternalDataSQL.referenceBytes : 0))
    }
    return copies
  }

  func insertion(_ index: Int, columns: [String]) throws -> String {
    let table = try destinationTable(of: mappings[index].destination.name).name
    return "INSERT INTO main.\(quoted(table)) (\(columns.map(quoted).joined(separator: ", ")))"
  }

  /// The parts of the query that gives the rows of a mapping's objects.
  package struct Creation {
    /// Columns of the destination table, and the SQL of each one's value for the source row `s`; all others stay NULL.
    package var columns, values: [String]
    package var from, condition, order: String
    /// The part of `from` that the values read beside the row `s`.
    var joins: [String]
    package var builder: StatementBuilder
    var reasons: [String]
  }

  /// - Parameter builder: With row checks, the caller has them made.
  package func creation(
    _ index: Int, predicate: ParsedPredicate? = nil, isPart: Bool = false,
    builder: StatementBuilder = StatementBuilder()
  ) throws -> Creation {
    let mapping = mappings[index]
    let association = associations(builder)
    var reasons: [String] = []
    var columns = ["Z_PK", "Z_ENT", "Z_OPT"]
    let isUnique = !mapping.mapping.uniqueBy.isEmpty
    var values = [
      isUnique ? "u.destination" : association.image(index, ofRow: "s"),
      "\(destinationSchema.number(of: mapping.destination.name) ?? 0)", "1",
    ]
    for (attribute, source) in mapping.attributes {
      guard let column = destinationSchema.column(of: attribute.name, in: mapping.destination.name) else { continue }
      if source == .modelDefault, attribute.defaultValue.isNull { continue }
      columns.append(column)
      values.append(try value(of: attribute, from: source, in: mapping, builder: builder, reasons: &reasons))
    }
    var joins: [String] = []
    for column in try foreignKeys(of: mapping, association: association, joins: &joins) {
      columns.append(column.name)
      values.append(column.sql)
    }
    var condition: String
    let from: String
    if isUnique {
      from = "main.\(Self.uniqueTable(index)) AS u CROSS JOIN \(try association.table(index)) AS s ON s.Z_PK = u.source"
      condition = "u.source BETWEEN ?1 AND ?2"
    } else {
      let taken = association.takes(index, alias: "s")
      reasons += taken.reason.map { [$0] } ?? []
      from = "\(try association.table(index)) AS s"
      condition = "s.Z_PK BETWEEN ?1 AND ?2 AND \(taken.sql)"
    }
    if let predicate {
      let row = ExpressionLowering.Row(alias: "s", entityName: mapping.source.name)
      condition +=
        " AND " + ExpressionLowering.condition(predicate, schema: sourceSchema, row: row, builder: builder).sql
      // The plan has tested the predicate on every row, so an index may choose the rows here. The plus keeps SQLite
      // from the key range, which such a chunk does not narrow.
      let terms = SearchTerm.terms(of: predicate.predicate, schema: sourceSchema, row: row, builder: builder)
      if !terms.isEmpty, !isPart {
        if condition.hasPrefix("s.Z_PK BETWEEN") { condition = "+" + condition }
        condition += " AND " + terms.joinedEvenly(by: " AND ")
      }
    }
    return Creation(
      columns: columns, values: values, from: ([from] + joins).joined(separator: " "), condition: condition,
      order: isUnique ? "u.source" : "s.Z_PK", joins: joins, builder: builder, reasons: reasons)
  }

  /// The stored value of a destination attribute for the source row `s`.
  func value(
    of attribute: AttributeDescription, from source: ResolvedEntityMapping.AttributeSource,
    in mapping: ResolvedEntityMapping, builder: StatementBuilder, reasons: inout [String]
  ) throws -> String {
    switch source {
    case .modelDefault:
      return builder.bind(try SQLValue(encoding: attribute.defaultValue, as: attribute))
    case .defaultForNil(let source):
      let sql = try value(of: attribute, from: source, in: mapping, builder: builder, reasons: &reasons)
      if builder.leftOut.contains(attribute.name) { return sql }
      return "COALESCE(\(sql), \(builder.bind(try SQLValue(encoding: attribute.defaultValue, as: attribute))))"
    case .copy(let name):
      guard let column = sourceSchema.column(of: name, in: mapping.source.name) else { return "NULL" }
      let sql = "s.\(quoted(column))"
      let site = builder.site(
        ReadingSite(
          entityName: mapping.source.name, propertyName: name, expected: attribute.type.phrase, cause: nil,
          action: "evaluate"))
      if builder.leftOut.contains(attribute.name) {
        builder.rowChecks?.add(sql, RowCheck.Field(reading: attribute.type, site: site), isLarge: true)
        return "NULL"
      }
      let plain = ExpressionLowering.checked(sql, type: attribute.type, site: site, key: "s.Z_PK")
      if attribute.type == .binary || attribute.type == .transformable,
        let external = externalValue(
          of: attribute, copying: name, in: mapping, column: sql, plain: plain, site: site, builder: builder)
      {
        return external
      }
      if builder.rowChecks != nil {
        var field = RowCheck.Field(reading: attribute.type, site: site)
        if let range = attribute.type.integerRange { field.range = range }
        builder.rowChecks?.add(sql, field)
        return attribute.type == .boolean ? Self.truth(sql) : sql
      }
      if attribute.type == .boolean { return Self.truth(plain) }
      guard let range = attribute.type.integerRange, attribute.type != .integer64 else { return plain }
      return
        "(CASE WHEN \(sql) IS NULL OR (typeof(\(sql)) = 'integer' AND \(sql) BETWEEN \(range.lowerBound) AND \(range.upperBound)) THEN \(sql) ELSE godwit_bad(\(site), s.Z_PK, typeof(\(sql))) END)"
    case .expression(let expression):
      let lowered = ExpressionLowering.value(
        expression, schema: sourceSchema, row: .init(alias: "s", entityName: mapping.source.name), builder: builder,
        bindings: MappingBindings(mapping.mapping, property: attribute.name))
      if let reason = lowered.reason { reasons.append("attribute '\(attribute.name)': \(reason)") }
      // Arithmetic gives a number or nil, and the column's affinity makes it a real.
      if attribute.type == .double || attribute.type == .float, lowered.type?.isNumeric == true { return lowered.sql }
      let site = builder.site(
        ReadingSite(
          entityName: mapping.source.name, propertyName: attribute.name, expected: attribute.type.phrase,
          cause: expression.source.text, action: "store"))
      // A short sum is computed twice sooner than handed through a function.
      if builder.rowChecks != nil, lowered.reason == nil, expression.expression.isArithmeticThroughout,
        lowered.sql.utf8.count < Self.limitTwice, !attribute.allowsExternalBinaryDataStorage,
        let field = RowCheck.Field(storing: attribute.type, site: site)
      {
        builder.rowChecks?.add(lowered.sql, field)
        return lowered.sql
      }
      builder.fitted.insert(.init(mapping: mapping.index, attribute: attribute.name))
      let fitted = "godwit_fit(\(lowered.sql), \(attribute.type.rawValue), \(site), s.Z_PK)"
      return attribute.allowsExternalBinaryDataStorage ? ExternalDataSQL.prefixed(fitted) : fitted
    }
  }

  /// Core Data reads any number but 0 as true, and writes 1.
  private static func truth(_ sql: String) -> String { "(\(sql) <> 0)" }

  private static let limitTwice = 200

}
