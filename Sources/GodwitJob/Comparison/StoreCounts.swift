package import GodwitModel
import GodwitStore

/// Counts of a store's rows by the names of its model. It only reads, and returns no values.
///
/// Each count scans the table concerned.
package final class StoreCounts {
  private let connection: StoreConnection
  private let schema: StoreSchema

  /// - Throws: as `StoreConnection.openStore` and `StoreSchema.init(model:probing:)`.
  package init(readingStoreAt path: String, model: ManagedObjectModel) throws {
    connection = try StoreConnection.openStore(readingAt: path, model: model)
    schema = try StoreSchema(model: model, probing: connection)
    try schema.checkKeys(connection)
  }

  private static func quoted(_ name: String) -> String { StoreSchema.identifier(name) }

  /// The table that holds the entities, all of one family, and the condition that finds them; nil for none.
  private func place(_ entities: [String]) -> (table: String, condition: String)? {
    guard let first = entities.first, let table = schema.table(of: first) else { return nil }
    return ("source.\(Self.quoted(table.name))", schema.isObject(of: entities, usesIndex: true).term)
  }

  private func count(_ entities: [String], where condition: String? = nil) throws -> Int64 {
    guard let place = place(entities) else { return 0 }
    let more = condition.map { " AND (\($0))" } ?? ""
    return try connection.integer("SELECT count(*) FROM \(place.table) WHERE \(place.condition)\(more)") ?? 0
  }

  /// Rows of exactly these entities.
  package func rows(of entities: [String]) throws -> Int64 { try count(entities) }

  // MARK: Attributes

  /// Rows whose attribute is null, or is not; nil when the store has no column for it.
  package func rows(of entities: [String], with attribute: String, isNull: Bool) throws -> Int64? {
    guard let first = entities.first, let column = schema.column(of: attribute, in: first) else { return nil }
    return try count(entities, where: "\(Self.quoted(column)) IS \(isNull ? "" : "NOT ")NULL")
  }

  /// Rows whose value the new type of an attribute cannot hold; nil when the store has no column for it.
  package func rows(of entities: [String], with attribute: String, notFitting change: NumericChange) throws -> Int64? {
    guard let first = entities.first, let column = schema.column(of: attribute, in: first) else { return nil }
    return try count(entities, where: change.misfit(Self.quoted(column)) ?? "FALSE")
  }

  /// Rows whose value, stored under `name`, breaks the limits of `attribute`; nil where SQL cannot decide.
  package func rows(of entities: [String], breaking attribute: AttributeDescription, storedAs name: String) throws
    -> Int64?
  {
    guard let place = place(entities), let first = entities.first, let column = schema.column(of: name, in: first)
    else { return nil }
    let value = Self.quoted(column)
    if attribute.type == .string {
      let (minimum, maximum) = (attribute.minimumLength ?? 0, attribute.maximumLength ?? .max)
      var broken: Int64 = 0
      // A text has at most as many UTF-16 units as bytes, and at least as many as characters: few rows are read.
      try connection.query(
        "SELECT \(value) FROM \(place.table) WHERE \(place.condition) AND typeof(\(value)) = 'text' "
          + "AND (length(CAST(\(value) AS BLOB)) > ?1 OR length(\(value)) < ?2)", [.int(maximum), .int(minimum)]
      ) { row in
        let length = row.string(0)?.utf16.count ?? 0
        if length > maximum || length < minimum { broken += 1 }
        return true
      }
      return broken
    }
    guard attribute.type.isInteger || [.double, .float, .date].contains(attribute.type) else { return nil }
    var conditions: [String] = []
    for (limit, sign) in [(attribute.minimumValue, "<"), (attribute.maximumValue, ">")] {
      switch limit {
      case .integer(let number)?: conditions.append("\(value) \(sign) \(number)")
      case .double(let number)?, .date(let number)?:
        guard number.isFinite else { return nil }
        conditions.append("\(value) \(sign) \(number)")
      case nil: continue
      default: return nil
      }
    }
    guard !conditions.isEmpty else { return 0 }
    return try count(entities, where: conditions.joinedEvenly(by: " OR "))
  }

  // MARK: Relationships

  /// Rows with a target of the relationship, or without one (`isEmpty`); nil for a relationship without storage.
  package func rows(of entities: [String], leadingOn relationship: String, isEmpty: Bool) throws -> Int64? {
    guard let first = entities.first else { return 0 }
    switch schema.storage(of: relationship, in: first) {
    case .none: return nil
    case .foreignKey(_, let column, _, _):
      return try count(entities, where: "\(Self.quoted(column)) IS \(isEmpty ? "" : "NOT ")NULL")
    case let storage:
      guard let links = Self.links(storage) else { return nil }
      return try count(
        entities,
        where:
          "Z_PK \(isEmpty ? "NOT " : "")IN (SELECT \(links.key) FROM \(links.table) WHERE \(links.key) IS NOT NULL)")
    }
  }

  /// Rows whose to-many leads to more than `maximum` objects, or to some but fewer than `minimum`.
  ///
  /// A maximum of 0 or less means no maximum. nil for a relationship without storage.
  package func rows(
    of entities: [String], whereCountOf relationship: String, isBelow minimum: Int, orAbove maximum: Int,
    mayBeEmpty: Bool = true
  ) throws -> Int64? {
    guard let first = entities.first else { return 0 }
    guard let links = Self.links(schema.storage(of: relationship, in: first)) else { return nil }
    var bounds: [String] = []
    if maximum > 0 { bounds.append("count(*) > \(maximum)") }
    if minimum > 1 { bounds.append("count(*) < \(minimum)") }
    let keys = "SELECT \(links.key) FROM \(links.table) WHERE \(links.key) IS NOT NULL"
    var outside: [String] = []
    if !bounds.isEmpty {
      outside.append("Z_PK IN (\(keys) GROUP BY \(links.key) HAVING \(bounds.joinedEvenly(by: " OR ")))")
    }
    if !mayBeEmpty { outside.append("Z_PK NOT IN (\(keys))") }
    guard !outside.isEmpty else { return 0 }
    return try count(entities, where: "(" + outside.joinedEvenly(by: " OR ") + ")")
  }

  /// The table whose rows are the links of a to-many, and the column with the owner's key.
  private static func links(_ storage: StoreSchema.RelationshipStorage) -> (table: String, key: String)? {
    switch storage {
    case .inverse(let table, let column, _, _): ("source.\(quoted(table))", quoted(column))
    case .join(let join, let subject, _, _): ("source.\(quoted(join.name))", quoted(subject))
    case .foreignKey, .none: nil
    }
  }

  // MARK: Uniqueness

  /// Rows whose values of these properties another row has already; nil when one has no column.
  ///
  /// Rows with a null among them never count, as in SQLite's unique indexes.
  package func duplicates(in entities: [String], of properties: [String]) throws -> Int64? {
    guard let place = place(entities), let first = entities.first else { return 0 }
    var columns: [String] = []
    for property in properties {
      if let column = schema.column(of: property, in: first) {
        columns.append(Self.quoted(column))
      } else if case .foreignKey(_, let column, _, _) = schema.storage(of: property, in: first) {
        columns.append(Self.quoted(column))
      } else {
        return nil
      }
    }
    guard !columns.isEmpty else { return 0 }
    let present = columns.map { "\($0) IS NOT NULL" }.joinedEvenly(by: " AND ")
    return try connection.integer(
      "SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM \(place.table) "
        + "WHERE \(place.condition) AND \(present) GROUP BY \(columns.joined(separator: ", ")))")
  }
}
