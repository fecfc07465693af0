package import GodwitModel
package import GodwitStore

/// Conditions on bare columns that every row of a predicate fulfils, so that SQLite may look it up in an index.
///
/// Lowered predicates read columns through a check of their storage class, which no index serves. These terms
/// stand beside the checked form and only narrow the rows. They would hide a row whose value is of the wrong type
/// from the check, so they are for statements whose predicate the plan has already tested on every row.
package struct SearchTerm {
  /// Terms for the conjuncts that compare an attribute of the object itself with constants.
  package static func terms(
    of predicate: FilterPredicate, schema: StoreSchema, row: ExpressionLowering.Row, builder: StatementBuilder
  ) -> [String] {
    switch predicate.node {
    case .and(let parts):
      parts.flatMap { terms(of: $0, schema: schema, row: row, builder: builder) }
    case .comparison(let comparison):
      term(of: comparison, schema: schema, row: row, builder: builder).map { [$0] } ?? []
    default: []
    }
  }

  private static func term(
    of c: FilterPredicate.Comparison, schema: StoreSchema, row: ExpressionLowering.Row, builder: StatementBuilder
  ) -> String? {
    guard c.modifier == .direct, c.options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]),
      let attribute = attribute(c.left, schema: schema, row: row),
      let column = schema.column(of: attribute.name, in: row.entityName)
    else { return nil }
    let name = "\(row.alias).\(quoted(column))"
    func bound(_ expression: ValueExpression) -> String? {
      guard case .constant(let value) = expression.node, fits(value, attribute.type) else { return nil }
      return builder.bind(SQLValue(value))
    }
    switch c.operator {
    case .equal:
      if case .constant(.null) = c.right.node { return "\(name) IS NULL" }
      return bound(c.right).map { "\(name) = \($0)" }
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      return bound(c.right).map { "\(name) \(c.operator.rawValue) \($0)" }
    case .between:
      guard case .aggregate(let bounds) = c.right.node, bounds.count == 2, let low = bound(bounds[0]),
        let high = bound(bounds[1])
      else { return nil }
      return "\(name) BETWEEN \(low) AND \(high)"
    case .in:
      guard case .aggregate(let items) = c.right.node, !items.isEmpty else { return nil }
      let values = items.compactMap(bound)
      return values.count == items.count ? "\(name) IN (\(values.joined(separator: ", ")))" : nil
    case .beginsWith:
      guard attribute.type == .string, case .constant(.string(let prefix)) = c.right.node, !prefix.utf8.isEmpty else {
        return nil
      }
      let low = "\(name) >= \(builder.bind(.text(prefix.utf8)))"
      guard let next = successor(of: prefix.utf8) else { return low }
      return "\(low) AND \(name) < \(builder.bind(.text(next)))"
    case .notEqual, .contains, .endsWith, .like, .matches: return nil
    }
  }

  /// The attribute of the object itself that a side reads, if the column holds the attribute's value itself: a boolean
  /// may be stored as any number.
  private static func attribute(
    _ side: ValueExpression, schema: StoreSchema, row: ExpressionLowering.Row
  ) -> AttributeDescription? {
    guard case .keyPath(let base, let segments) = side.node, base == nil || base?.node == .evaluatedObject,
      segments.count == 1, let attribute = schema.model.attribute(segments[0], of: row.entityName),
      !attribute.isTransient
    else { return nil }
    switch attribute.type {
    case .integer16, .integer32, .integer64, .double, .float, .decimal, .string, .date: return attribute
    default: return nil
    }
  }

  private static func fits(_ value: AttributeValue, _ type: AttributeType) -> Bool {
    switch (value, type) {
    case (.string, .string), (.date, .date): true
    case (.integer, _), (.double, _), (.boolean, _): type.isNumeric
    default: false
    }
  }

  /// The least text above every text with this prefix; nil if it does not exist.
  package static func successor(of prefix: [UInt8]) -> [UInt8]? {
    var bytes = prefix
    while let last = bytes.popLast() {
      if last < 0xFF { return bytes + [last + 1] }
    }
    return nil
  }
}
