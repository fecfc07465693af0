import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// The store before a migration in place, for the parts of it that rows may keep.
///
/// A step that changes only definitions leaves every row byte for byte. This includes counters of edits and keys
/// without a target, which an ordinary run resets. Entities and relationships are found by the renames of the models,
/// never by a mapping.
final class PreMigrationStore {
  private let connection: StoreConnection
  private let schema: StoreSchema
  /// One for each hop of the job, in order.
  private let pairings: [ModelPairing]
  private var statements: [String: SQLStatement] = [:]

  /// - Returns: nil when the job's source is not the old store that a migration in place kept for its destination, or
  ///   no SQLite store.
  init?(of job: MigrationJob) throws {
    func path(_ name: String) -> String { URL(filePath: name).standardizedFileURL.path }
    guard path(job.sourcePath) == path(MigrationJob.oldPath(of: job.destinationPath)),
      try StoreFiles(path: job.sourcePath).type == .sqlite
    else { return nil }
    connection = try .openStore(readingAt: job.sourcePath, model: job.sourceModel)
    schema = try StoreSchema(model: job.sourceModel, probing: connection)
    pairings = job.steps.map { ModelPairing(from: $0.sourceModel, to: $0.destinationModel) }
  }

  /// `Z_OPT` of the row that an object had before; nil without one.
  func lock(ofKey key: Int64, in entity: String) throws -> SQLValue? {
    guard let table = originalName(of: entity).flatMap(schema.table) else { return nil }
    return try first("SELECT Z_OPT FROM source.\(quoted(table.name)) WHERE Z_PK = ?1", [.integer(key)])?.first
  }

  /// Whether the row of an object already had this entity number, if the object's entity has its table to itself before
  /// and after. Core Data does not read the number there, so any number is valid.
  func holdsNumber(_ number: SQLValue, ofKey key: Int64, in entity: String) throws -> Bool {
    guard let before = originalName(of: entity), schema.fillsTable(before), let table = schema.table(of: before) else {
      return false
    }
    let row = try first("SELECT Z_ENT FROM source.\(quoted(table.name)) WHERE Z_PK = ?1", [.integer(key)])
    return row?.first == number
  }

  /// Whether the row of an object had this value of an attribute.
  func holds(_ value: SQLValue, of attribute: AttributeDescription, key: Int64, in entity: String) throws -> Bool {
    var (entity, attribute) = (entity, attribute)
    for pairing in pairings.reversed() {
      guard let before = pairing.oldName(of: entity),
        case .attribute(let found)? = pairing.origin(of: .attribute(attribute), in: entity, from: before)
      else { return false }
      (entity, attribute) = (before, found)
    }
    guard let table = schema.table(of: entity), let column = schema.column(of: attribute.name, in: entity) else {
      return false
    }
    let row = try first("SELECT \(quoted(column)) FROM source.\(quoted(table.name)) WHERE Z_PK = ?1", [.integer(key)])
    return row?.first == value
  }

  /// Whether the old store had this very link with one end missing.
  ///
  /// - Parameter entity: The entity number that the row states for its target; nil if it states none.
  func holdsLinkToNothing(
    _ side: VerifiedLink.End, from key: Int64, to target: Int64, entity number: SQLValue? = nil
  ) throws -> Bool {
    guard let (entity, relationship) = original(of: side) else { return false }
    switch schema.storage(of: relationship.name, in: entity) {
    case .foreignKey(let table, let column, let entityColumn, _):
      let row = try first(
        "SELECT \(quoted(column)), \(entityColumn.map(quoted) ?? "NULL") FROM source.\(quoted(table)) WHERE Z_PK = ?1",
        [.integer(key)])
      guard let row, row[0] == .integer(target), number.map({ $0 == row[1] }) ?? true else { return false }
      return try !isThere(target, relationship.destinationEntityName)
    case .join(let join, let subject, let object, _):
      let row = try first(
        "SELECT 1 FROM \(join.rows(in: "source")) WHERE \(quoted(subject)) = ?1 AND \(quoted(object)) = ?2",
        [.integer(key), .integer(target)])
      guard row != nil else { return false }
      return try !isThere(key, entity) || !isThere(target, relationship.destinationEntityName)
    case .inverse, .none: return false
    }
  }

  /// The number of rows that hold a link, if the old store had the same rows; nil else.
  ///
  /// - Parameters:
  ///   - table: The table of the destination.
  ///   - columns: The columns of the object, the object that it leads to and, where the link is ordered, its place.
  func count(
    ofRowsLike side: VerifiedLink.End, in destination: StoreConnection, _ table: String, _ columns: [String]
  ) throws -> Int64? {
    guard let (entity, relationship) = original(of: side) else { return nil }
    let before: (table: String, columns: [String?])
    switch schema.storage(of: relationship.name, in: entity) {
    case .foreignKey(let name, let column, _, let order): before = (name, ["Z_PK", column, order])
    case .join(let join, let subject, let object, let order): before = (join.name, [subject, object, order])
    case .inverse, .none: return nil
    }
    let known = before.columns.compactMap(\.self)
    guard known.count == columns.count else { return nil }
    func rows(_ table: String, _ columns: [String]) -> String {
      let names = columns.map(quoted)
      return "SELECT \(names.joined(separator: ", ")) FROM \(table) WHERE \(names[1]) IS NOT NULL "
        + "ORDER BY \(names.joined(separator: ", "))"
    }
    let old = try connection.prepare(rows("source.\(quoted(before.table))", known))
    defer { old.finalize() }
    let new = try destination.prepare(rows(table, columns))
    defer { new.finalize() }
    var count: Int64 = 0
    while try old.step() {
      guard try new.step(), columns.indices.allSatisfy({ old.row.value($0) == new.row.value($0) }) else { return nil }
      count += 1
    }
    return try new.step() ? nil : count
  }

  private func isThere(_ key: Int64, _ entity: String) throws -> Bool {
    guard let table = schema.table(of: entity) else { return false }
    let kind = schema.isObject(of: schema.model.family(of: entity).map(\.name))
    return try first("SELECT 1 FROM source.\(quoted(table.name)) WHERE Z_PK = ?1\(kind.further)", [.integer(key)])
      != nil
  }

  private func first(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLValue]? {
    try connection.prepare(sql, keptIn: &statements).firstRow(arguments)
  }

  // MARK: Names

  private func originalName(of entity: String) -> String? {
    pairings.reversed().reduce(entity) { (name: String?, pairing) in name.flatMap { pairing.oldName(of: $0) } }
  }

  private func original(of side: VerifiedLink.End) -> (entity: String, relationship: RelationshipDescription)? {
    var (entity, relationship) = (side.entity, side.relationship)
    for pairing in pairings.reversed() {
      guard let before = pairing.oldName(of: entity),
        case .relationship(let found)? = pairing.origin(of: .relationship(relationship), in: entity, from: before)
      else { return nil }
      (entity, relationship) = (before, found)
    }
    return (entity, relationship)
  }
}
