import GodwitJob
import GodwitModel
import GodwitStore

/// Proves that a merged source is what its parts say: every object with its values and links, and nothing else. It shares
/// no code with the merge: it counts the keys of the parts itself, and compares row by row.
///
/// A key of a later part is raised by the highest key of the root entity in the parts before, and by what brings the
/// lowest key of the part to 1. A key that leads to no object must lead to none in the merged store either.
final class MergeProof {
  private let job: MigrationJob
  private let connection: StoreConnection
  private let schema: StoreSchema
  private let findings = Findings()
  /// The highest place in an ordered relationship of the parts before, by column of the merged store.
  private var highestPlaces: [String: Int64] = [:]

  /// The keys of a root entity in a part.
  private struct Keys {
    var first, last, offset: Int64
  }

  /// A column with places in an ordered relationship, as SQL of both stores.
  private struct PlaceColumn {
    var own, part: String
    /// Its name in messages.
    var name: String
  }

  /// - Parameter job: One that reads the merged store.
  init(_ job: MigrationJob, isStopped: @escaping () -> Bool) throws {
    self.job = job
    connection = try StoreConnection(path: job.sourcePath, cache: .init(bytes: max(job.memory.bytes / 8, 1 << 20)))
    try connection.execute("PRAGMA temp_store = FILE")
    connection.whileRunning(stopIf: isStopped)
    schema = try StoreSchema(model: job.sourceModel.withoutPairs, probing: connection, schema: "main")
  }

  /// - Returns: The findings, which are of the kind `source`.
  func run() throws -> VerificationReport {
    var highest: [String: Int64] = [:]
    var rows: [String: Int64] = [:]
    for (place, path) in (job.merged?.paths ?? []).enumerated() {
      let file = try StoreFiles(path: path)
      // The conversion of an atomic store needs a connection without a store of its own.
      let converted = file.type.isAtomic ? try ScratchFolder() : nil
      defer { withExtendedLifetime(converted) {} }
      try connection.attachSource(file, workFolder: converted?.path, model: schema.model)
      let part = try StoreSchema(model: schema.model, probing: connection)
      var keys: [String: Keys] = [:]
      for table in part.tables {
        let root = table.rootEntityName
        let found = try connection.rows("SELECT MIN(Z_PK), MAX(Z_PK), COUNT(*) FROM source.\(quoted(table.name))")[0]
        guard case .integer(let first) = found[0], case .integer(let last) = found[1],
          case .integer(let count) = found[2]
        else { continue }
        let before = highest[root, default: 0]
        let offset = place == 0 ? 0 : before + max(0, 1 - first)
        keys[root] = Keys(first: first, last: last, offset: offset)
        highest[root] = max(before, last + offset)
        rows[root, default: 0] += count
      }
      for table in part.tables { try compare(table, part, keys, path) }
      for join in part.joinTables { try compare(join, part, keys, path, &rows) }
      try connection.execute("DETACH source")
    }
    for table in schema.tables {
      try compareCount(
        of: table.name, with: rows[table.rootEntityName] ?? 0, of: "objects of '\(table.rootEntityName)'")
    }
    findings.count("stores that were merged", Int64(job.merged?.paths.count ?? 0))
    findings.count("objects of merged stores", schema.tables.reduce(0) { $0 + (rows[$1.rootEntityName] ?? 0) })
    for join in schema.joinTables {
      let ends = isLinked(join, "j", database: "main", schema)
      let found = try connection.integer("SELECT COUNT(*) FROM main.\(quoted(join.name)) AS j WHERE \(ends)") ?? 0
      let expected = rows[Self.name(of: join)] ?? 0
      guard found != expected else { continue }
      findings.find(
        .source, "the merged source has \(found) links of '\(Self.name(of: join))', its parts have \(expected)")
    }
    try connection.close()
    return findings.report
  }

  private func compareCount(of table: String, with expected: Int64, of what: String) throws {
    let found = try connection.integer("SELECT COUNT(*) FROM main.\(quoted(table))") ?? 0
    guard found != expected else { return }
    findings.find(.source, "the merged source has \(found) \(what), its parts have \(expected)")
  }

  /// The name of a many-to-many, which may be stored from either end.
  private static func name(of join: StoreSchema.JoinTable) -> String {
    let ends = ["\(join.ownerEntityName).\(join.ownerRelationshipName)"]
    let inverse = join.inverseRelationshipName.map { ["\(join.destinationEntityName).\($0)"] } ?? []
    return (ends + inverse).min() ?? ""
  }

  // MARK: Objects

  private func compare(
    _ table: StoreSchema.EntityTable, _ part: StoreSchema, _ keys: [String: Keys], _ path: String
  ) throws {
    guard let own = schema.table(of: table.rootEntityName), let range = keys[table.rootEntityName] else { return }
    let names = Dictionary(own.columns.map { ($0.role, quoted($0.name)) }) { first, _ in first }
    var tests: [String] = []
    var external: [(own: String, part: String)] = []
    var places: [PlaceColumn] = []
    for column in table.columns {
      guard let name = names[column.role] else { continue }
      let (m, s) = ("m.\(name)", "s.\(quoted(column.name))")
      switch column.role {
      case .primaryKey: continue
      case .entity, .foreignEntity: tests.append(isSameEntity(m, s, part))
      case .optimisticLock: tests.append("\(m) IS \(s)")
      case .orderKey:
        tests.append("(\(m) IS NULL) = (\(s) IS NULL)")
        places.append(PlaceColumn(own: m, part: s, name: "\(own.name).\(name)"))
      case .attribute(let entity, let attribute, _):
        guard schema.model.attribute(attribute, of: entity)?.allowsExternalBinaryDataStorage == true else {
          tests.append("\(m) IS \(s)")
          continue
        }
        tests.append("(\(m) IS \(s) OR \(ExternalDataSQL.isReference(m)) AND \(ExternalDataSQL.isReference(s)))")
        external.append((m, s))
      case .foreignKey(let owner, let relationship):
        guard let target = schema.model.relationship(relationship, of: owner)?.destinationEntityName else { continue }
        tests.append(try isSameKey(m, s, target, part, keys))
      }
    }
    let rows =
      "FROM source.\(quoted(table.name)) AS s LEFT JOIN main.\(quoted(own.name)) AS m ON m.Z_PK = s.Z_PK + \(range.offset)"
    let isSame = tests.isEmpty ? "TRUE" : tests.joinedEvenly(by: " AND ")
    let found = try connection.rows(
      "SELECT COUNT(*), MIN(s.Z_PK) \(rows) WHERE m.Z_PK IS NULL OR (\(isSame)) IS NOT TRUE")[0]
    if case .integer(let count) = found[0], count > 0, case .integer(let key) = found[1] {
      findings.find(
        .source, key: key,
        "the merged source lacks \(count.counted("object")) of '\(table.rootEntityName)' of '\(path)', or has them otherwise"
      )
    }
    for place in places { try compare(place, rows, path) }
    for (m, s) in external { try compareFiles(m, s, "\(rows) WHERE \(ExternalDataSQL.isReference(s))", path) }
  }

  /// The places of a part keep their order, and come after those of the parts before.
  private func compare(_ place: PlaceColumn, _ rows: String, _ path: String) throws {
    let (m, s, name) = (place.own, place.part, place.name)
    let found = try connection.rows(
      "SELECT COUNT(DISTINCT \(m) - \(s)), MIN(\(m)), MAX(\(m)) \(rows) WHERE typeof(\(s)) = 'integer'")[0]
    guard case .integer(let steps) = found[0], case .integer(let first) = found[1], case .integer(let last) = found[2]
    else { return }
    // A place that cannot be raised stays.
    guard max(first.magnitude, last.magnitude, highestPlaces[name]?.magnitude ?? 0) < 1 << 62 else {
      return findings.count("not proved: order of merged stores with places near the largest number", 1)
    }
    let before = highestPlaces[name]
    highestPlaces[name] = max(before ?? last, last)
    guard steps > 1 || before.map({ first <= $0 }) == true else { return }
    findings.find(
      .source, "the order of the objects of '\(path)' in \(name) of the merged source is not their order in that store")
  }

  /// A name may be another one in the merged store, where two parts have it: then the bytes count.
  private func compareFiles(_ m: String, _ s: String, _ rows: String, _ path: String) throws {
    let (own, part) = (job.sourceSupport, SupportFolder(ofStoreAt: path))
    try connection.query("SELECT s.Z_PK, \(m), \(s) \(rows)") { row in
      guard case .external(let made)? = StoredBinary(row.bytes(1)),
        case .external(let name)? = StoredBinary(row.bytes(2))
      else { return true }
      findings.count("external files of merged stores", 1)
      let isThere = try part.size(of: name) != nil
      let isSame = try isThere ? own.holdsSameBytes(made, as: name, in: part) : own.size(of: made) == nil
      if !isSame {
        findings.find(
          .source, key: row.int64(0), "an external file of '\(path)' has other bytes in the merged source")
      }
      return true
    }
  }

  private func isSameEntity(_ m: String, _ s: String, _ part: StoreSchema) -> String {
    let cases = part.entityNumbers.sorted { $0.value < $1.value }.compactMap { name, number in
      schema.number(of: name).map { "WHEN \(number) THEN \(m) IS \($0)" }
    }
    return cases.isEmpty ? "TRUE" : "CASE \(s) \(cases.joined(separator: " ")) ELSE (\(m) IS NULL) = (\(s) IS NULL) END"
  }

  private func isSameKey(
    _ m: String, _ s: String, _ target: String, _ part: StoreSchema, _ keys: [String: Keys]
  ) throws -> String {
    guard let theirs = part.table(of: target)?.name, let ours = schema.table(of: target)?.name else { return "TRUE" }
    let offset = keys[schema.model.root(of: target)?.name ?? target]?.offset ?? 0
    return """
      CASE WHEN \(s) IS NULL THEN \(m) IS NULL \
      WHEN EXISTS (SELECT 1 FROM source.\(quoted(theirs)) AS t WHERE t.Z_PK = \(s)) THEN \(m) IS \(s) + \(offset) \
      ELSE \(m) IS NOT NULL AND NOT EXISTS (SELECT 1 FROM main.\(quoted(ours)) AS t WHERE t.Z_PK = \(m)) END
      """
  }

  // MARK: Links

  /// The condition that both ends of a pair have an object.
  private func isLinked(_ join: StoreSchema.JoinTable, _ row: String, database: String, _ schema: StoreSchema) -> String
  {
    let ends = [(join.ownerColumn, join.ownerEntityName), (join.destinationColumn, join.destinationEntityName)]
    let tests = ends.map { column, entity in
      let table = schema.table(of: entity)?.name ?? ""
      return "EXISTS (SELECT 1 FROM \(database).\(quoted(table)) AS t WHERE t.Z_PK = \(row).\(quoted(column)))"
    }
    return tests.joined(separator: " AND ")
  }

  private func compare(
    _ join: StoreSchema.JoinTable, _ part: StoreSchema, _ keys: [String: Keys], _ path: String,
    _ rows: inout [String: Int64]
  ) throws {
    guard
      case .join(let own, let subject, let object, let order) = schema.storage(
        of: join.ownerRelationshipName, in: join.ownerEntityName)
    else { return }
    func offset(_ entity: String) -> Int64 { keys[schema.model.root(of: entity)?.name ?? entity]?.offset ?? 0 }
    let linked = isLinked(join, "s", database: "source", part)
    let (from, to) = ("s.\(quoted(join.ownerColumn))", "s.\(quoted(join.destinationColumn))")
    var tests = [
      "m.\(quoted(subject)) = \(from) + \(offset(join.ownerEntityName))",
      "m.\(quoted(object)) = \(to) + \(offset(join.destinationEntityName))",
    ]
    let ends = tests
    var places: [(own: String, part: String)] = []
    if let order, let name = join.ownerOrderColumn { places.append((order, name)) }
    if !join.isReflexive, let inverse = join.inverseRelationshipName, let name = join.destinationOrderColumn,
      case .join(_, _, _, let order?) = schema.storage(of: inverse, in: join.destinationEntityName)
    {
      places.append((order, name))
    }
    tests += places.map { "(m.\(quoted($0)) IS NULL) = (s.\(quoted($1)) IS NULL)" }
    for (order, name) in places {
      let both =
        "FROM source.\(quoted(join.name)) AS s JOIN main.\(quoted(own.name)) AS m ON \(ends.joined(separator: " AND "))"
      let place = PlaceColumn(
        own: "m.\(quoted(order))", part: "s.\(quoted(name))", name: "\(own.name).\(order)")
      try compare(place, both, path)
    }
    let pairs = "FROM source.\(quoted(join.name)) AS s WHERE \(linked)"
    rows[Self.name(of: join), default: 0] += try connection.integer("SELECT COUNT(*) \(pairs)") ?? 0
    let missing =
      try connection.integer(
        "SELECT COUNT(*) \(pairs) AND NOT EXISTS (SELECT 1 FROM main.\(quoted(own.name)) AS m WHERE \(tests.joined(separator: " AND ")))"
      ) ?? 0
    guard missing > 0 else { return }
    findings.find(
      .source,
      "the merged source lacks \(missing.counted("link")) of '\(Self.name(of: join))' of '\(path)', or has them otherwise"
    )
  }
}
