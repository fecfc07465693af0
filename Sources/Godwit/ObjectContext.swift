import Foundation
import GodwitModel
import GodwitStore

/// The objects of a store as expressions see them, faulted in row by row: a context.
///
/// Made fresh for a chunk and dropped with it; it keeps at most `limitRows` rows, and none between chunks.
final class ObjectContext {
  let connection: StoreConnection
  let schema: StoreSchema
  /// The database the tables are in: `source` or `main`.
  let database: String
  /// Where external binary data is; nil where none can be read.
  var support: SupportFolder?
  /// The largest external file that an expression reads.
  static let externalLimit = ByteCount.mebibytes(16)
  private var rows: [RowKey: [String: SQLValue]] = [:]
  private var statements: [String: SQLStatement] = [:]
  private let limitRows = 1000
  /// What reads a row, by the table's root entity.
  private var readings: [String: Reading] = [:]

  private struct Reading {
    var columns: [String]
    var sql: String
  }

  private struct RowKey: Hashable {
    var root: String
    var key: Int64
  }

  init(connection: StoreConnection, schema: StoreSchema, database: String) {
    self.connection = connection
    self.schema = schema
    self.database = database
  }

  func reset() {
    rows = [:]
    statements = [:]
  }

  /// Drops what was read of a row that is about to change.
  func forget(entityName: String, key: Int64) {
    guard let table = schema.table(of: entityName) else { return }
    rows[RowKey(root: table.rootEntityName, key: key)] = nil
  }

  /// The object with a primary key among an entity and its subentities; nil when there is no such row.
  func object(entityName: String, key: Int64) throws -> StoredObject? {
    guard let table = schema.table(of: entityName) else { return nil }
    let rowKey = RowKey(root: table.rootEntityName, key: key)
    let row: [String: SQLValue]
    if let known = rows[rowKey] {
      row = known
    } else {
      guard let found = try load(table, key: key) else { return nil }
      if rows.count >= limitRows { rows.removeAll(keepingCapacity: true) }
      rows[rowKey] = found
      row = found
    }
    guard case .integer(let number)? = row["Z_ENT"], let concrete = schema.entityName(Int(truncatingIfNeeded: number))
    else { return nil }
    return StoredObject(context: self, entityName: concrete, key: key, row: row)
  }

  private func load(_ table: StoreSchema.EntityTable, key: Int64) throws -> [String: SQLValue]? {
    let reading = readings[table.rootEntityName] ?? reading(of: table)
    let statement = try cached(reading.sql)
    try statement.bind([.integer(key)])
    guard try statement.step() else { return nil }
    let row = statement.row
    var values = [String: SQLValue](minimumCapacity: reading.columns.count)
    for (index, name) in reading.columns.enumerated() { values[name] = row.value(index) }
    try statement.bind([])
    return values
  }

  private func reading(of table: StoreSchema.EntityTable) -> Reading {
    let columns = table.columns.map { column in
      column.role == .entity ? schema.entityNumber(inTableOf: table.rootEntityName) : quoted(column.name)
    }.joined(separator: ", ")
    let reading = Reading(
      columns: table.columns.map(\.name),
      sql: "SELECT \(columns) FROM \(quoted(database)).\(quoted(table.name)) WHERE Z_PK = ?1")
    readings[table.rootEntityName] = reading
    return reading
  }

  /// Primary keys by one query with one key as parameter.
  func keys(_ sql: String, _ key: Int64) throws -> [Int64] {
    let statement = try cached(sql)
    try statement.bind([.integer(key)])
    var keys: [Int64] = []
    while try statement.step() { keys.append(statement.row.int64(0)) }
    try statement.bind([])
    return keys
  }

  private func cached(_ sql: String) throws -> SQLStatement {
    if let known = statements[sql] { return known }
    let statement = try connection.prepare(sql)
    statements[sql] = statement
    return statement
  }
}

/// One stored object, its row read and its relationships followed on demand.
struct StoredObject: EvaluatedObject {
  let context: ObjectContext
  let entityName: String
  let key: Int64
  let row: [String: SQLValue]

  func value(_ property: String) throws -> EvaluatedValue {
    let schema = context.schema
    if let attribute = schema.model.attribute(property, of: entityName) {
      guard let column = schema.column(of: property, in: entityName) else { return .value(.null) }
      return .value(try value(of: row[column] ?? .null, as: attribute))
    }
    guard let relationship = schema.model.relationship(property, of: entityName) else {
      throw GodwitError(.configuration, "'\(entityName)' has no property '\(property)'")
    }
    let destination = relationship.destinationEntityName
    switch schema.storage(of: property, in: entityName) {
    case .foreignKey(_, let column, _, _):
      guard case .integer(let other)? = row[column] else { return .object(nil) }
      return .object(try context.object(entityName: destination, key: other))
    case .inverse(let table, let column, _, let order):
      let sort = order.map { "\(quoted($0)), Z_PK" } ?? "Z_PK"
      let keys = try context.keys(
        "SELECT Z_PK FROM \(quoted(context.database)).\(quoted(table)) WHERE \(quoted(column)) = ?1 ORDER BY \(sort)",
        key)
      return .objects(
        try keys.compactMap { try context.object(entityName: destination, key: $0) }, ordered: relationship.isOrdered)
    case .join(let join, let subject, let object, let order):
      let sort = order.map { "\(quoted($0)), \(quoted(object))" } ?? quoted(object)
      let keys = try context.keys(
        "SELECT \(quoted(object)) FROM \(join.rows(in: context.database)) WHERE \(quoted(subject)) = ?1 ORDER BY \(sort)",
        key)
      return .objects(
        try keys.compactMap { try context.object(entityName: destination, key: $0) }, ordered: relationship.isOrdered)
    case .none: return .objects([], ordered: false)
    }
  }

  private func value(of stored: SQLValue, as attribute: AttributeDescription) throws -> AttributeValue {
    var problem: GodwitError?
    do {
      return try AttributeValue(
        decoding: stored, as: attribute,
        external: { name in
          do {
            if let bytes = try context.support?.bytes(of: name, limit: ObjectContext.externalLimit) { return bytes }
            problem = GodwitError(
              .dataWrong,
              "cannot evaluate '\(attribute.name)' for \(entityName) p\(key): its external file '\(context.support?.path(of: name) ?? name)' is missing",
              remedy: "restore the file, or set the value to nil in a copy of the source; then run the same command")
          } catch let error as GodwitError { problem = error }
          throw problem ?? GodwitError(.dataWrong, "cannot read an external file")
        })
    } catch {
      if let problem { throw problem }
      throw GodwitError(
        .dataWrong,
        "cannot evaluate '\(attribute.name)' for \(entityName) p\(key): expected \(attribute.type.phrase), found \(stored.kind)",
        remedy: "repair the source, then `godwit discard` the job and run again")
    }
  }
}
