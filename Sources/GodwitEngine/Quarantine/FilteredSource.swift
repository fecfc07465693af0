import Foundation
import GodwitModel
package import GodwitStore

/// A copy of the source without the rejected objects, which a round of a run reads.
///
/// Links to those objects are nil in it, as if the application had deleted them. The copy has everything else, so that
/// a run on it has the same result as on such a source.
/// Taking objects out of a finished store would leave links, counts and orders wrong.
package struct FilteredSource {
  let schema: StoreSchema
  let record: RejectionRecord
  let folder: String

  package static func path(in folder: String) -> String { folder + "/source-kept.sqlite" }
  private var partPath: String { folder + "/kept-part.sqlite" }

  package init(_ schema: StoreSchema, _ record: RejectionRecord, in folder: String) {
    (self.schema, self.record, self.folder) = (schema, record, folder)
  }

  /// Removes the copy of an earlier round.
  package static func remove(in folder: String) throws {
    for suffix in ["", "-journal"] {
      try WorkFolder.removeFile(path(in: folder) + suffix)
      try WorkFolder.removeFile(folder + "/kept-part.sqlite" + suffix)
    }
  }

  /// Whether the copy exists.
  package static func exists(in folder: String) throws -> Bool { try WorkFolder.exists(path(in: folder)) }

  /// Makes the copy, unless it exists. It gets its name when it is complete and synced, and only if the source has not
  /// changed since the record was made.
  ///
  /// - Parameters:
  ///   - files: The source.
  ///   - connection: Has the source attached.
  ///   - working: Gets the connection that is at work.
  /// - Throws: `.stopped` (75) when another process changed the source since the round began.
  package func make(
    from connection: StoreConnection, of files: StoreFiles, working: (StoreConnection) -> Void
  ) throws {
    guard try !Self.exists(in: folder) else { return }
    try record.checkSource(files)
    for suffix in ["", "-journal"] { try WorkFolder.removeFile(partPath + suffix) }
    working(connection)
    let foreign = try connection.foreignIndexes(in: StoreConnection.sourceSchema)
    try Self.copySource(of: connection, to: partPath)
    let copy = try StoreConnection(path: partPath, cache: .mebibytes(4), create: true)
    working(copy)
    defer { working(connection) }
    try copy.execute("PRAGMA journal_mode = DELETE")
    try copy.execute("PRAGMA synchronous = NORMAL")
    _ = try Self.drop(foreign, from: copy)
    try record.attach(to: copy)
    var links: [(relationship: String, count: Int64)] = []
    try copy.standingIn(for: "main") {
      try copy.undefended { try copy.transaction { links = try removeRejected(from: copy) } }
    }
    try copy.execute("DETACH \(RejectionRecord.schema)")
    try copy.close()
    try record.setLinks(links)
    try WorkFolder.sync(partPath)
    try record.checkSource(files)
    guard rename(partPath, Self.path(in: folder)) == 0 else {
      throw GodwitError.disk("cannot rename '\(partPath)'", errno: errno)
    }
    try WorkFolder.sync(folder)
  }

  /// Removes the indexes from a copy whose entries or order the application alone knows.
  ///
  /// - Returns: Those that stay, as they are parts of their tables.
  static func drop(_ indexes: [ForeignIndex], from copy: StoreConnection) throws -> [ForeignIndex] {
    var seen: Set<String> = []
    return try indexes.filter { index in
      guard seen.insert(index.name).inserted else { return false }
      let sql = try copy.value(
        "SELECT sql FROM main.sqlite_master WHERE type = 'index' AND name = ?1", [.text(index.name)])
      guard case .text? = sql else { return true }
      try copy.execute("DROP INDEX main.\(quoted(index.name))")
      return false
    }
  }

  /// Writes a copy of the attached source: with the write-ahead log, and for an atomic store of its converted form. An
  /// index whose collation or function only the application has gets another order.
  ///
  /// - Parameter connection: Has the source attached.
  static func copySource(of connection: StoreConnection, to path: String) throws {
    do {
      try connection.standingIn(for: StoreConnection.sourceSchema) {
        try connection.undefended {
          try connection.execute("VACUUM \(StoreConnection.sourceSchema) INTO ?1", [.text(path)])
        }
      }
    } catch var error as GodwitError where error.code == .missingInput {
      // The user did not name this file.
      (error.code, error.remedy) = (.inputOutput, "fix the cause and run the same command")
      error.message = "cannot create '\(path)'"
      throw error
    }
  }

  /// - Returns: the links between rejected objects and others.
  private func removeRejected(from copy: StoreConnection) throws -> [(relationship: String, count: Int64)] {
    // Triggers of derived attributes call functions that exist inside Core Data alone.
    let query = "SELECT name, sql FROM main.sqlite_master WHERE type = 'trigger' ORDER BY rowid"
    let (names, triggers) = (try copy.strings(query), try copy.strings(query, column: 1))
    for name in names { try copy.execute("DROP TRIGGER main.\(quoted(name))") }
    var links: [(relationship: String, count: Int64)] = []
    for table in schema.tables {
      for column in table.columns {
        guard case .foreignKey(let owner, let name) = column.role else { continue }
        if let count = try removeLinks(of: name, owner, column: column.name, in: table, from: copy) {
          links.append(count)
        }
      }
    }
    for join in schema.joinTables {
      if let count = try removeLinks(of: join, from: copy) { links.append(count) }
    }
    for table in schema.tables {
      try copy.execute(
        "DELETE FROM main.\(quoted(table.name)) WHERE Z_PK IN (\(Self.keys(root: table.rootEntityName)))")
    }
    for trigger in triggers { try copy.execute(trigger) }
    return links
  }

  /// The keys of rejected objects of a table, of some entities or of all, as SQL.
  private static func keys(root: String, entities: [String]? = nil) -> String {
    let only = entities.map { " AND entity IN (\($0.map(textLiteral).joined(separator: ", ")))" } ?? ""
    return "SELECT key FROM \(RejectionRecord.schema).rejected WHERE root = \(textLiteral(root))\(only)"
  }

  /// Makes the to-ones nil that lead to rejected objects.
  private func removeLinks(
    of name: String, _ owner: String, column: String, in table: StoreSchema.EntityTable, from copy: StoreConnection
  ) throws -> (String, Int64)? {
    let model = schema.model
    guard let relationship = model.relationship(name, of: owner),
      let root = model.root(of: relationship.destinationEntityName)?.name
    else { return nil }
    let family = model.family(of: relationship.destinationEntityName).map(\.name)
    let targets = Self.keys(root: root, entities: family)
    let key = quoted(column)
    let isTarget = "\(key) IN (\(targets))"
    let isRejected = "Z_PK IN (\(Self.keys(root: table.rootEntityName)))"
    var count: (String, Int64)?
    if counts(relationship, of: owner) {
      // In a one-to-one that is its own inverse both rows have a key. Only the key of the object that stays counts.
      let isOwnInverse =
        relationship.inverseName == name && model.isKind(owner, of: relationship.destinationEntityName)
      let isCut = isOwnInverse ? "\(isTarget) AND NOT \(isRejected)" : "(\(isTarget)) <> (\(isRejected))"
      // A link to nothing is none: it is not lost.
      let leads = isThere("h.\(key)", relationship.destinationEntityName)
      let found = try copy.integer(
        "SELECT COUNT(*) FROM main.\(quoted(table.name)) AS h WHERE \(key) IS NOT NULL AND \(isCut) AND \(leads)")
      // A relationship without a name of its own is counted as the to-many that it stores.
      let subject =
        relationship.isUnnamedInverse.value
        ? "\(relationship.destinationEntityName).\(relationship.inverseName ?? name)" : "\(owner).\(name)"
      count = (subject, found ?? 0)
    }
    var assignments = ["\(key) = NULL"]
    if case .foreignKey(_, _, let entity, let order) = schema.storage(of: name, in: owner) {
      assignments += [entity, order].compactMap(\.self).map { "\(quoted($0)) = NULL" }
    }
    try copy.execute(
      "UPDATE main.\(quoted(table.name)) SET \(assignments.joined(separator: ", ")) WHERE \(isTarget)")
    return count
  }

  /// Whether a key leads to an object of an entity or of its subentities, as SQL.
  private func isThere(_ key: String, _ entity: String) -> String {
    guard let table = schema.table(of: entity) else { return "0" }
    let kind = schema.isKind(of: entity, row: "o").further
    return "EXISTS (SELECT 1 FROM main.\(quoted(table.name)) AS o WHERE o.Z_PK = \(key)\(kind))"
  }

  /// Both ends of a one-to-one have a key of the other. The end whose name comes first counts the link.
  private func counts(_ relationship: RelationshipDescription, of owner: String) -> Bool {
    guard !relationship.isUnnamedInverse.value, let inverse = schema.model.inverse(of: relationship), !inverse.isToMany
    else { return true }
    return (relationship.name, owner) <= (inverse.name, relationship.destinationEntityName)
  }

  private func removeLinks(of join: StoreSchema.JoinTable, from copy: StoreConnection) throws -> (String, Int64)? {
    func isRejected(_ column: String, _ entity: String) -> String {
      let model = schema.model
      let keys = Self.keys(
        root: model.root(of: entity)?.name ?? entity, entities: model.family(of: entity).map(\.name))
      return "\(quoted(column)) IN (\(keys))"
    }
    let owner = isRejected(join.ownerColumn, join.ownerEntityName)
    let other = isRejected(join.destinationColumn, join.destinationEntityName)
    let (a, b) = (quoted(join.ownerColumn), quoted(join.destinationColumn))
    // A pair of a relationship that is its own inverse may be stored in both directions.
    let columns = join.isReflexive ? "DISTINCT MIN(\(a), \(b)), MAX(\(a), \(b))" : "1"
    let leads = isThere("j.\(a)", join.ownerEntityName) + " AND " + isThere("j.\(b)", join.destinationEntityName)
    let count = try copy.integer(
      "SELECT COUNT(*) FROM (SELECT \(columns) FROM main.\(quoted(join.name)) AS j WHERE (\(owner)) <> (\(other)) AND \(leads))"
    )
    try copy.execute("DELETE FROM main.\(quoted(join.name)) WHERE \(owner) OR \(other)")
    return ("\(join.ownerEntityName).\(join.ownerRelationshipName)", count ?? 0)
  }
}
