package import GodwitModel

/// The objects of a `PairEntity` have no table: a temporary view shows the links of a source as rows of one.
///
/// A pair of a many-to-many is a row of its join table, and has SQLite's number of that row as its key. A pair of a
/// one-to-many is the row of its element, and has the element's key. So a range of keys is a range of rows, however many
/// elements an object has, and SQLite looks into the table and the indexes that the store has anyway.
///
/// A link is a pair if both of its ends exist, the source as an object of the very entity.
extension StoreConnection {
  /// The start of the names of such views. No table of Core Data has a space in its name.
  static let pairViewPrefix = "godwit pairs "

  /// Makes the views of a schema, once.
  func showPairs(of schema: StoreSchema, in database: String) throws {
    for pair in schema.model.pairEntities {
      for (name, isChecked) in [(schema.table(of: pair.name)?.name, true), (schema.pairLinks(of: pair), false)] {
        guard let name, let rows = try schema.pairRows(pair, self, in: database, isChecked: isChecked) else {
          throw GodwitError(.internalBug, "cannot find the links of '\(pair.name)'")
        }
        try show("CREATE TEMP VIEW \(quoted(name)) AS \(rows)")
      }
    }
  }

  /// Makes the views of another connection with the same source.
  func showPairs(as other: StoreConnection) throws {
    for view in other.pairViews { try show(view) }
  }

  private func show(_ view: String) throws {
    guard !pairViews.contains(view) else { return }
    try execute(view)
    pairViews.append(view)
  }

  /// The statement with the places at which this connection has what the statement names.
  func addressed(_ sql: String) -> String {
    if isOwnSource { return Self.movedToMain(sql) }
    return pairViews.isEmpty ? sql : reachingPairs(sql)
  }

  /// The statement with the views in place of tables of the source.
  private func reachingPairs(_ sql: String) -> String {
    let source = Self.sourceSchema
    guard !pairViews.isEmpty, sql.contains("\"\(Self.pairViewPrefix)") else { return sql }
    let view = "temp.\"\(Self.pairViewPrefix)"
    return sql.replacing("\"\(source)\".\"\(Self.pairViewPrefix)", with: view)
      .replacing("\(source).\"\(Self.pairViewPrefix)", with: view)
  }
}

extension StoreSchema {
  private static let pairColumns: [PairEntity.End: String] = [.source: "ZSOURCE", .element: "ZELEMENT"]
  private static let pairOrders: [PairEntity.End: String] = [.source: "Z_FOK_SOURCE", .element: "Z_FOK_ELEMENT"]
  /// Above the numbers of all entities that a store lists.
  private static let firstPairNumber = 1_000_001_000

  /// Adds the entities of pairs of a model to the schema of its version.
  mutating func addPairs(of model: ManagedObjectModel) {
    self.model = model
    pairTables = model.pairEntities.enumerated().map { place, pair in
      entityNumbers[pair.name] = Self.firstPairNumber + place
      func column(_ name: String, _ role: ColumnRole) -> Column {
        Column(name: name, declaredType: "INTEGER", role: role)
      }
      var columns = [column("Z_PK", .primaryKey), column("Z_ENT", .entity), column("Z_OPT", .optimisticLock)]
      for end in PairEntity.End.allCases {
        columns.append(
          column(Self.pairColumns[end] ?? "", .foreignKey(entity: pair.name, relationship: end.toOne)))
        guard orderColumn(of: pair, at: end) != nil else { continue }
        columns.append(column(Self.pairOrders[end] ?? "", .orderKey(entity: pair.name, relationship: end.toOne)))
      }
      return EntityTable(
        name: StoreConnection.pairViewPrefix + pair.name, rootEntityName: pair.name, columns: columns)
    }
    rebuildLookUps()
  }

  /// The column with the place of a pair among those of an end; nil for an end without an order.
  private func orderColumn(of pair: PairEntity, at end: PairEntity.End) -> String? {
    switch storage(of: pair.relationshipName, in: pair.sourceEntityName) {
    case .inverse(_, _, _, let order): end == .source ? order : nil
    case .join(let join, let subject, _, let order):
      // A relationship that is its own inverse has one place in each of the two rows of a link.
      end == .source
        ? order
        : join.isReflexive ? nil : subject == join.ownerColumn ? join.destinationOrderColumn : join.ownerOrderColumn
    case .foreignKey, .none: nil
    }
  }

  /// A view of the same rows that does not look for their ends, for a statement that joins both of them; nil without
  /// one.
  package func pairLinks(of pair: PairEntity) -> String? {
    pairTables.contains { $0.rootEntityName == pair.name }
      ? "\(StoreConnection.pairViewPrefix)unchecked \(pair.name)" : nil
  }

  /// The SELECT of an entity's pairs; nil for links that the store does not hold.
  ///
  /// - Parameter isChecked: Whether links without one of their ends are left out.
  fileprivate func pairRows(
    _ pair: PairEntity, _ connection: StoreConnection, in database: String, isChecked: Bool
  ) throws -> String? {
    guard let number = number(of: pair.name), let holders = table(of: pair.sourceEntityName),
      let elements = table(of: pair.elementEntityName)
    else { return nil }
    func rows(_ table: String) -> String { "\(Self.identifier(database)).\(Self.identifier(table))" }
    func isThere(_ source: String, _ element: String?) -> String {
      guard isChecked else { return "\(source) IS NOT NULL" }
      let isSource = isObject(of: [pair.sourceEntityName], row: "o").further
      let tests =
        ["EXISTS (SELECT 1 FROM \(rows(holders.name)) AS o WHERE o.Z_PK = \(source)\(isSource))"]
        + (element.map {
          let isElement = isKind(of: pair.elementEntityName, row: "e").further
          return ["EXISTS (SELECT 1 FROM \(rows(elements.name)) AS e WHERE e.Z_PK = \($0)\(isElement))"]
        } ?? [])
      return tests.joined(separator: " AND ")
    }
    func select(_ key: String, _ source: String, _ element: String, _ orders: [String?]) -> String {
      let places = zip(PairEntity.End.allCases, orders).filter { orderColumn(of: pair, at: $0.0) != nil }
        .map { ", \($1 ?? "NULL") AS \(Self.pairOrders[$0] ?? "")" }
      return
        "SELECT \(key) AS Z_PK, \(number) AS Z_ENT, 1 AS Z_OPT, \(source) AS ZSOURCE, \(element) AS ZELEMENT\(places.joined())"
    }
    switch storage(of: pair.relationshipName, in: pair.sourceEntityName) {
    case .inverse(let table, let column, _, let order):
      let source = "p.\(quoted(column))"
      let isElement = isKind(of: pair.elementEntityName, row: "p").further
      return "\(select("p.Z_PK", source, "p.Z_PK", [order.map { "p.\(quoted($0))" }, nil])) FROM \(rows(table)) AS p "
        + "WHERE \(isThere(source, nil))\(isElement)"
    case .join(let join, let subject, let object, _):
      let orders = PairEntity.End.allCases.map { orderColumn(of: pair, at: $0).map { "p.\(quoted($0))" } }
      let (source, element) = ("p.\(quoted(subject))", "p.\(quoted(object))")
      let stored =
        "\(select("p.rowid", source, element, orders)) FROM \(rows(join.name)) AS p WHERE \(isThere(source, element))"
      guard join.isReflexive else { return stored }
      // A link that is stored once has a pair in either direction. The second one's key is above all numbers of rows.
      let turned =
        "NOT EXISTS (SELECT 1 FROM \(rows(join.name)) AS r WHERE r.\(quoted(subject)) = \(element) AND r.\(quoted(object)) = \(source))"
      guard
        case .integer(let highest)? = try connection.value(
          "SELECT (SELECT MAX(rowid) FROM \(rows(join.name))) WHERE EXISTS (SELECT 1 FROM \(rows(join.name)) AS p WHERE \(turned))"
        )
      else { return stored }
      return stored
        + " UNION ALL \(select("p.rowid + \(highest)", element, source, [nil, nil])) FROM \(rows(join.name)) "
        + "AS p WHERE \(isThere(element, source)) AND \(turned)"
    case .foreignKey, .none: return nil
    }
  }
}
