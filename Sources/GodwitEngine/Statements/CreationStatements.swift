package import GodwitModel
import GodwitStore

/// The statements that make objects: `INSERT … SELECT` over the rows that a mapping takes.
package struct CreationStatements: StageStatements {
  package let step: StepProgram

  /// - Parameters:
  ///   - leftOut: Attributes that get NULL until the row is completed: some of `plainCopies`.
  ///   - isPart: Whether the keys narrow the rows, so that no index of a predicate shall choose them.
  package func statement(
    _ index: MappingID, predicate: FilterPredicate?, leavingOut leftOut: Set<String> = [], isPart: Bool = false
  ) throws -> ChunkStatement {
    // Which values are large is another question for each row.
    guard leftOut.isEmpty else { return try lower(index, predicate: predicate, leavingOut: leftOut, isPart: isPart) }
    return try step.kept.creations(.init(mapping: index, predicate: predicate, isPart: isPart)) {
      try lower(index, predicate: predicate, leavingOut: [], isPart: isPart)
    }
  }

  private func lower(
    _ index: MappingID, predicate: FilterPredicate?, leavingOut leftOut: Set<String>, isPart: Bool
  ) throws -> ChunkStatement {
    let builder = StatementBuilder()
    builder.rowChecks = RowChecks()
    builder.leftOut = leftOut
    var rows = try rows(of: index, predicate: predicate, isPart: isPart, builder: builder)
    if let checks = builder.rowChecks, !checks.fields.isEmpty {
      rows.values[0] = checks.guarding(rows.values[0], builder: builder)
    }
    let sql =
      "\(try insertion(index, columns: rows.columns)) SELECT \(rows.values.joined(separator: ", ")) FROM \(rows.from) WHERE \(rows.condition) ORDER BY \(rows.order)"
    return ChunkStatement(sql: sql, builder: builder, reasons: rows.reasons)
  }

  /// An attribute whose texts or bytes the destination stores unchanged, except for the byte before data that may lie
  /// in a file.
  struct PlainCopy {
    var attribute: String
    var column: String
    var sourceColumn: String
    /// Whether external storage is allowed.
    var sourceAllows, destinationAllows: Bool

    /// The bytes that the destination stores for a value of the source; nil where the statement has to look at it.
    func bytes(of value: OpenValue) throws -> (any LargeBytes)? {
      // It may be the name of a file.
      if sourceAllows, value.byteCount <= ExternalDataSQL.referenceBytes { return nil }
      guard sourceAllows != destinationAllows else { return value }
      if destinationAllows { return ShiftedBytes(value, adding: [1]) }
      var first: UInt8 = 0
      try withUnsafeMutableBytes(of: &first) { try value.read($0, at: 0) }
      return first == 1 ? ShiftedBytes(value, leavingOut: 1) : nil
    }
  }

  /// The attributes of a mapping whose values may be large, and lack nothing but to be copied.
  func plainCopies(_ index: MappingID) -> [PlainCopy] {
    let mapping = mappings[index]
    var copies: [PlainCopy] = []
    for (attribute, source) in mapping.attributes where !mapping.fills(attribute, from: source) {
      guard case .copy(let name) = source.withoutDefault,
        let from = resolved.sourceModel.attribute(name, of: mapping.source.name)
      else { continue }
      guard [.string, .uri, .binary, .transformable].contains(attribute.type),
        let column = destinationSchema.column(of: attribute.name, in: mapping.destination.name),
        let sourceColumn = sourceSchema.column(of: name, in: mapping.source.name)
      else { continue }
      copies.append(
        PlainCopy(
          attribute: attribute.name, column: column, sourceColumn: sourceColumn,
          sourceAllows: from.allowsExternalBinaryDataStorage,
          destinationAllows: attribute.allowsExternalBinaryDataStorage))
    }
    return copies
  }

  func insertion(_ index: MappingID, columns: [String]) throws -> String {
    let table = try destinationTable(of: mappings[index].destination.name).name
    return "INSERT INTO main.\(quoted(table)) (\(columns.map(quoted).joined(separator: ", ")))"
  }

  /// The parts of the query that gives the rows of a mapping's objects.
  package struct Rows {
    /// Columns of the destination table, and the SQL of each one's value for the source row `s`; all others stay NULL.
    package var columns, values: [String]
    package var from, condition, order: String
    /// The part of `from` that the values read beside the row `s`.
    var joins: [String]
    package var builder: StatementBuilder
    var reasons: [String]
  }

  /// - Parameter builder: With row checks, the caller has them made.
  package func rows(
    of index: MappingID, predicate: FilterPredicate? = nil, isPart: Bool = false,
    builder: StatementBuilder = StatementBuilder()
  ) throws -> Rows {
    let mapping = mappings[index]
    let association = associations(builder)
    var reasons: [String] = []
    var columns = ["Z_PK", "Z_ENT", "Z_OPT"]
    let isUnique = !mapping.mapping.uniqueBy.isEmpty
    let links = isUnique ? nil : linkRows(of: mapping, builder)
    var values = [
      isUnique ? "u.destination" : association.counterpart(index, ofRow: "s"),
      "\(destinationSchema.number(of: mapping.destination.name) ?? 0)", "1",
    ]
    for (attribute, source) in mapping.attributes {
      guard let column = destinationSchema.column(of: attribute.name, in: mapping.destination.name) else { continue }
      if source == .modelDefault, attribute.defaultValue.isNull { continue }
      columns.append(column)
      values.append(try filledValue(of: attribute, from: source, in: mapping, builder: builder, reasons: &reasons))
    }
    var joins = links?.joins ?? []
    for column in try foreignKeys(of: mapping, association: association, joins: &joins) {
      columns.append(column.name)
      values.append(column.sql)
    }
    var condition: String
    let from: String
    if isUnique {
      from =
        "main.\(StepProgram.uniqueTable(index)) AS u CROSS JOIN \(try association.table(index)) AS s ON s.Z_PK = u.source"
      condition = "u.source BETWEEN ?1 AND ?2"
    } else {
      let taken = association.matches(index, alias: "s")
      reasons += taken.reason.map { [$0] } ?? []
      from = "\(try links?.table ?? association.table(index)) AS s"
      condition = "s.Z_PK BETWEEN ?1 AND ?2 AND \(taken.sql)"
    }
    if let predicate {
      condition += further(predicate, of: mapping, builder)
      // The plan has tested the predicate on every row, so an index may choose the rows here. The plus keeps SQLite
      // from the key range, which such a chunk does not narrow.
      let row = ExpressionLowering.Row(alias: "s", entityName: mapping.source.name)
      let terms = SearchTerm.terms(of: predicate, schema: sourceSchema, row: row, builder: builder)
      if !terms.isEmpty, !isPart {
        if !isUnique { condition = "+" + condition }
        condition += " AND " + terms.joinedEvenly(by: " AND ")
      }
    }
    return Rows(
      columns: columns, values: values, from: ([from] + joins).joined(separator: " "), condition: condition,
      order: isUnique ? "u.source" : "s.Z_PK", joins: joins, builder: builder, reasons: reasons)
  }

  /// The stored value of a destination attribute for the source row `s`, which others may fill where it is nil.
  private func filledValue(
    of attribute: AttributeDescription, from source: ResolvedEntityMapping.AttributeSource,
    in mapping: ResolvedEntityMapping, builder: StatementBuilder, reasons: inout [String]
  ) throws -> String {
    let isFilled = mapping.fills(attribute, from: source)
    let plain = isFilled ? source.withoutDefault : source
    let own = try value(of: attribute, from: plain, in: mapping, builder: builder, reasons: &reasons)
    guard isFilled else { return own }
    // Row checks look at the statement's own row.
    let checks = builder.rowChecks
    builder.rowChecks = nil
    defer { builder.rowChecks = checks }
    let other = try value(of: attribute, from: plain, in: mapping, builder: builder, reasons: &reasons)
    var filled = """
      COALESCE(\(own), (SELECT v FROM (SELECT m.turn AS t, \(other) AS v \
      FROM main.\(StepProgram.survivorTable(mapping.index)) AS m \
      CROSS JOIN \(try associations(builder).table(mapping.index)) AS s ON s.Z_PK = m.source \
      WHERE m.survivor = u.source AND m.turn > 1) WHERE v IS NOT NULL ORDER BY t LIMIT 1)
      """
    if case .defaultForNil = source {
      filled += ", \(builder.bind(try SQLValue(encoding: attribute.defaultValue, as: attribute)))"
    }
    return filled + ")"
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
      let checked = ExpressionLowering.checked(sql, type: attribute.type, site: site, key: "s.Z_PK")
      if attribute.type == .binary || attribute.type == .transformable,
        let external = externalValue(
          of: attribute, copying: name, in: mapping, column: sql, checked: checked, site: site, builder: builder)
      {
        return external
      }
      if builder.rowChecks != nil {
        var field = RowCheck.Field(reading: attribute.type, site: site)
        if let range = attribute.type.integerRange { field.range = range }
        builder.rowChecks?.add(sql, field)
        return attribute.type == .boolean ? Self.truth(sql) : sql
      }
      if attribute.type == .boolean { return Self.truth(checked) }
      guard let range = attribute.type.integerRange, attribute.type != .integer64 else { return checked }
      return
        "(CASE WHEN \(sql) IS NULL OR (typeof(\(sql)) = 'integer' AND \(sql) BETWEEN \(range.lowerBound) AND \(range.upperBound)) THEN \(sql) ELSE godwit_bad(\(site), s.Z_PK, typeof(\(sql))) END)"
    case .expression(let expression):
      let lowered = ExpressionLowering.value(
        expression, schema: sourceSchema, row: .init(alias: "s", entityName: mapping.source.name), builder: builder,
        bindings: MappingBindings(mapping.mapping, property: attribute.name))
      if let reason = lowered.reason { reasons.append("attribute '\(attribute.name)': \(reason)") }
      // Arithmetic gives a number or nil, and the column's affinity makes it a real.
      if attribute.type == .double || attribute.type == .float, lowered.type?.isNumeric == true { return lowered.sql }
      var place = ReadingSite(
        entityName: mapping.source.name, propertyName: attribute.name, expected: attribute.type.phrase,
        cause: expression.source.text, action: "store")
      place.takesLowest = expression.isRead
      let site = builder.site(place)
      // Computing a short sum twice costs less than passing it through a function.
      if builder.rowChecks != nil, lowered.reason == nil,
        expression.isArithmeticThroughout(joining: builder.joinedEnds),
        lowered.sql.utf8.count < Self.limitTwice, !attribute.allowsExternalBinaryDataStorage,
        var field = RowCheck.Field(storing: attribute.type, site: site)
      {
        field.takesLowest = expression.isRead
        builder.rowChecks?.add(lowered.sql, field)
        // The affinity of the column leaves a real of −2⁶³ as it is.
        return field.takesLowest && attribute.type == .integer64 && lowered.type?.isInteger != true
          ? "CAST(\(lowered.sql) AS INTEGER)" : lowered.sql
      }
      builder.fitted.insert(.init(mapping: mapping.index, attribute: attribute.name))
      let fitted = "godwit_fit(\(lowered.sql), \(attribute.type.rawValue), \(site), s.Z_PK)"
      return attribute.allowsExternalBinaryDataStorage ? ExternalDataSQL.prefixed(fitted) : fitted
    }
  }

  /// The same as the column holds it, for comparisons: two numbers of the source may be one there.
  func storedValue(
    of attribute: AttributeDescription, from source: ResolvedEntityMapping.AttributeSource,
    in mapping: ResolvedEntityMapping, builder: StatementBuilder, reasons: inout [String]
  ) throws -> String {
    let sql = try value(of: attribute, from: source, in: mapping, builder: builder, reasons: &reasons)
    return attribute.type == .double || attribute.type == .float ? "CAST(\(sql) AS REAL)" : sql
  }

  /// Core Data reads any number but 0 as true, and writes 1.
  private static func truth(_ sql: String) -> String { "(\(sql) <> 0)" }

  private static let limitTwice = 200
}

extension ValueExpression {
  /// Functions of one number that leave a whole number as it is.
  private static let wholeFunctions: Set<String> = ["trunc:", "floor:", "ceiling:"]

  /// Whether its number is read or converted, not computed: a computation with integers that leaves 64 bits goes on with
  /// the nearest real.
  var isRead: Bool {
    !contains { part in
      switch part.node {
      case .constant, .evaluatedObject, .variable, .ternary, .cast: false
      case .keyPath(_, let segments): segments.contains { $0.hasPrefix("@") }
      case .function(let name, _): !Self.wholeFunctions.contains(name)
      default: true
      }
    }
  }
}
