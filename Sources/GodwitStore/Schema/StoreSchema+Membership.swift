import GodwitModel

/// Which rows of a table are objects of an entity.
///
/// Core Data fetches an entity that has neither parent nor subentities without a look at `Z_ENT`: its SQL selects the
/// number as a constant. So every row of such a table is an object of that entity, whatever number it bears, or none.
/// In the table of a hierarchy the number decides.
extension StoreSchema {
  /// A condition on the rows of a table; none where every row fulfils it.
  package struct RowCondition: Sendable, Hashable {
    /// nil when every row fulfils it.
    package var sql: String?

    package init(sql: String?) { self.sql = sql }

    /// As one term of others.
    package var term: String { sql ?? "TRUE" }
    /// The condition after an AND; empty when every row fulfils it.
    package var further: String { sql.map { " AND \($0)" } ?? "" }
    /// The condition after a WHERE; empty when every row fulfils it.
    package var clause: String { sql.map { " WHERE \($0)" } ?? "" }
  }

  /// Whether every row of the entity's table is an object of the entity: it has neither parent nor subentities.
  package func fillsTable(_ entity: String) -> Bool {
    guard let described = model.entity(entity) else { return false }
    return described.superentityName == nil && !model.hasSubentities(entity)
  }

  /// Gives each of two entities the number of the other.
  mutating func exchangeNumbers(_ one: String, _ other: String) {
    (entityNumbers[one], entityNumbers[other]) = (entityNumbers[other], entityNumbers[one])
    rebuildLookUps()
  }

  /// The condition that a row is an object of exactly one of the entities, which share a table.
  ///
  /// - Parameters:
  ///   - alias: The row's name in the statement.
  ///   - usesIndex: Whether SQLite may walk the index on `Z_ENT`, whose rows are not sorted by key.
  package func isObject(of entities: [String], row alias: String? = nil, usesIndex: Bool = false) -> RowCondition {
    if entities.contains(where: fillsTable) { return RowCondition(sql: nil) }
    let column = (usesIndex ? "" : "+") + (alias.map { $0 + "." } ?? "") + "Z_ENT"
    let numbers = Set(entities.compactMap(number)).sorted().map(String.init)
    return RowCondition(
      sql: numbers.count == 1 ? "\(column) = \(numbers[0])" : "\(column) IN (\(numbers.joined(separator: ", ")))")
  }

  /// The condition that a row is an object of an entity or of one of its subentities. Every row of a table is one of
  /// its root entity.
  ///
  /// - Parameter alias: The row's name in the statement.
  package func isKind(of entity: String, row alias: String? = nil) -> RowCondition {
    guard model.entity(entity)?.superentityName != nil else { return RowCondition(sql: nil) }
    return isObject(of: model.family(of: entity).map(\.name), row: alias)
  }

  /// Refuses a store with a row of no entity in the table of a hierarchy.
  ///
  /// - Throws: `.dataWrong` (65) with the first one.
  package func checkEntities(inTableOf entity: String, _ connection: StoreConnection) throws {
    guard !fillsTable(entity), let table = table(of: entity) else { return }
    let numbers = model.family(of: table.rootEntityName).compactMap { number(of: $0.name) }
    let known = numbers.map(String.init).joined(separator: ",")
    let row = try connection.rows(
      "SELECT Z_PK, Z_ENT FROM source.\(Self.identifier(table.name)) WHERE Z_ENT IS NULL OR Z_ENT NOT IN (\(known)) LIMIT 1"
    ).first
    guard let row, case .integer(let key) = row[0] else { return }
    let found: String
    if case .integer(let number) = row[1] { found = "\(number)" } else { found = "no number" }
    throw GodwitError(
      .dataWrong,
      "cannot read row \(key) of \(table.name): expected one of the entity numbers \(known), found \(found)",
      remedy: "delete or repair the row in a copy of the store, and use the copy")
  }

  /// The entity number of a row as SQL: its `Z_ENT`, or the only one that there is.
  ///
  /// - Parameters:
  ///   - entity: An entity of the table.
  ///   - alias: The row's name in the statement.
  package func entityNumber(inTableOf entity: String, row alias: String? = nil) -> String {
    if fillsTable(entity), let number = number(of: entity) { return "\(number)" }
    return (alias.map { $0 + "." } ?? "") + "Z_ENT"
  }
}
