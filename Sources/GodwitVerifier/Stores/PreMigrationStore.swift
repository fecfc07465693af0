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

  /// The number of keys in the column of a to-one, if the old store had the same keys in the same rows; nil else.
  func count(
    ofKeysLike side: VerifiedLink.End, in destination: StoreConnection, _ table: String, _ column: String
  ) throws -> Int64? {
    guard let (entity, relationship) = original(of: side),
      case .foreignKey(let before, let key, _, _) = schema.storage(of: relationship.name, in: entity)
    else { return nil }
    func keys(_ table: String, _ column: String) -> String {
      "SELECT Z_PK, \(quoted(column)) FROM \(table) WHERE \(quoted(column)) IS NOT NULL ORDER BY Z_PK"
    }
    let known = try connection.prepare(keys("source.\(quoted(before))", key))
    defer { known.finalize() }
    let found = try destination.prepare(keys(table, column))
    defer { found.finalize() }
    var count: Int64 = 0
    while try known.step() {
      guard try found.step(), known.row.value(0) == found.row.value(0), known.row.value(1) == found.row.value(1) else {
        return nil
      }
      count += 1
    }
    return try found.step() ? nil : count
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
