import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// One of the stores that are merged, on its way into the merged store.
struct MergePart {
  typealias Keys = MergeRecord.Keys

  /// The highest numbers of several parts.
  struct Highest {
    /// Keys by root entity.
    var keys: [String: Int64] = [:]
    /// Places in ordered relationships, by table and column of the merged store.
    var places: [String: Int64] = [:]
  }

  private let merge: StoreMerge
  private let connection: StoreConnection
  /// The schema of the merged store.
  private let schema: StoreSchema
  private let look: StoreMerge.Look
  private let index: Int
  private let writer: LargeRowWriter?
  /// The keys of the first part; nil for that part.
  private let firstKeys: [String: Keys]?

  /// The rows of one transaction.
  private static let rowsAtOnce = 20_000

  init(
    _ merge: StoreMerge, _ connection: StoreConnection, _ schema: StoreSchema, _ look: StoreMerge.Look, _ index: Int,
    _ writer: LargeRowWriter?, firstKeys: [String: Keys]?
  ) {
    (self.merge, self.connection, self.schema) = (merge, connection, schema)
    (self.look, self.index, self.writer, self.firstKeys) = (look, index, writer, firstKeys)
  }

  /// Copies all objects and links of the part.
  ///
  /// - Parameters:
  ///   - before: The highest numbers of the parts before; gets those of this part.
  ///   - rounded: Gets the decimals that lost digits when the part was read.
  func copy(
    from file: StoreFiles, above before: inout Highest, rounded: inout RoundedDecimals, notes: [MigrationNote]
  ) throws -> MergeRecord.Part {
    try merge.checkpoint()
    // The conversion of an atomic store needs a connection without a store of its own.
    let converted = file.type.isAtomic ? try ScratchFolder() : nil
    defer { withExtendedLifetime(converted) {} }
    try connection.attachSource(
      file, cache: .init(bytes: max(merge.job.memory.bytes / 8, 1 << 20)), workFolder: converted?.path,
      model: merge.model, checkpoint: merge.checkpoint)
    defer { try? connection.execute("DETACH \(StoreConnection.sourceSchema)") }
    rounded.add(try RoundedDecimals(readingSourceOf: connection))
    let source = try StoreSchema(model: merge.model, probing: connection)
    let keys = try keys(of: source, above: &before.keys)
    var objects: Int64 = 0
    for table in schema.tables {
      guard let old = source.table(of: table.rootEntityName), let range = keys[table.rootEntityName] else { continue }
      try copyRows(of: table, from: old, range, source, keys, &before.places)
      objects += try connection.integer("SELECT COUNT(*) FROM source.\(quoted(old.name))") ?? 0
    }
    for join in source.joinTables { try copyPairs(of: join, keys, &before.places) }
    try copyForeign()
    if file.type == .sqlite { try keepFilesApart(file, source, keys) }
    return MergeRecord.Part(path: file.givenPath, uuid: look.metadata.uuid, objects: objects, keys: keys, notes: notes)
  }

  // MARK: Keys

  private func keys(of source: StoreSchema, above highest: inout [String: Int64]) throws -> [String: Keys] {
    var keys: [String: Keys] = [:]
    for table in source.tables {
      let root = table.rootEntityName
      let row = try connection.rows("SELECT MIN(Z_PK), MAX(Z_PK) FROM source.\(quoted(table.name))").first ?? []
      guard row.count == 2, case .integer(let first) = row[0], case .integer(let last) = row[1] else { continue }
      let before = highest[root] ?? 0
      // The first part keeps its keys. Those of a later one stay above all before, also where it begins below 1.
      var offset: (partialValue: Int64, overflow: Bool) = (0, false)
      if index > 0 {
        let below: (partialValue: Int64, overflow: Bool) =
          first < 1 ? Int64(1).subtractingReportingOverflow(first) : (0, false)
        offset = before.addingReportingOverflow(below.partialValue)
        offset.overflow = offset.overflow || below.overflow
      }
      let end = last.addingReportingOverflow(offset.partialValue)
      guard !offset.overflow, !end.overflow, first > .min else {
        throw GodwitError(
          .dataWrong, "cannot merge '\(look.path)': the keys of its '\(root)' would be too large",
          cause:
            "the stores before it have keys up to \(before), and it has keys from \(first) to \(last): the largest key is \(Int64.max)",
          remedy: "leave it out, and append it with a job of its own: `destination: {path: PATH, existing: append}`",
          safe: "the stores are untouched")
      }
      keys[root] = Keys(first: first, last: last, offset: offset.partialValue)
      highest[root] = max(before, end.partialValue)
    }
    return keys
  }

  /// The key in the merged store, as SQL. A key outside the keys of the part leads to no object. It stays without one: it
  /// becomes a key below those of all parts.
  private func raised(_ column: String, to root: String, _ keys: [String: Keys]) -> String {
    let nowhere = min(-1, ((firstKeys ?? keys)[root]?.first ?? 0) - 1)
    let range = keys[root].map {
      " WHEN \(column) BETWEEN \($0.first) AND \($0.last) THEN \(column) + \($0.offset)"
    }
    return "CASE WHEN \(column) IS NULL THEN NULL\(range ?? "") ELSE \(nowhere) END"
  }

  /// The number of an entity in the merged store, as SQL. A number of no entity becomes another one of no entity.
  private func number(_ column: String, _ source: StoreSchema) -> String {
    guard source.entityNumbers != schema.entityNumbers else { return column }
    let cases = source.entityNumbers.sorted { $0.value < $1.value }.compactMap { name, number in
      schema.number(of: name).map { "WHEN \(number) THEN \($0)" }
    }
    guard !cases.isEmpty else { return column }
    return "CASE \(column) \(cases.joined(separator: " ")) ELSE \(column) + 1000000 END"
  }

  /// The place in an ordered relationship, as SQL: above the places of the parts before, so that objects of the parts
  /// before come first where several owners become one.
  private func place(
    _ column: String, in table: String, as name: String, _ places: inout [String: Int64]
  ) throws -> String {
    let (from, own) = ("s.\(quoted(column))", quoted(column))
    let row =
      try connection.rows(
        "SELECT MIN(\(own)), MAX(\(own)) FROM source.\(quoted(table)) WHERE typeof(\(own)) = 'integer'"
      ).first ?? []
    guard row.count == 2, case .integer(let first) = row[0], case .integer(let last) = row[1] else { return from }
    guard let before = places[name], first <= before else {
      places[name] = last
      return from
    }
    let (gap, isTooFar) = before.subtractingReportingOverflow(first - (first > .min ? 1 : 0))
    let (end, isTooHigh) = last.addingReportingOverflow(gap)
    guard !isTooFar, !isTooHigh else { return from }
    places[name] = end
    return "CASE typeof(\(from)) WHEN 'integer' THEN \(from) + \(gap) ELSE \(from) END"
  }

  // MARK: Rows

  /// The columns of a table with their values, as SQL; and those of attributes, by their names in the part.
  private func columns(
    of table: StoreSchema.EntityTable, from old: StoreSchema.EntityTable, _ range: Keys, _ source: StoreSchema,
    _ keys: [String: Keys], _ places: inout [String: Int64]
  ) throws -> (values: [(name: String, value: String)], attributes: [String: String]) {
    let names = Dictionary(old.columns.map { ($0.role, $0.name) }) { first, _ in first }
    var values: [(name: String, value: String)] = []
    var attributes: [String: String] = [:]
    for column in table.columns {
      guard let name = names[column.role] else { continue }
      let from = "s.\(quoted(name))"
      switch column.role {
      case .primaryKey: values.append((column.name, "\(from) + \(range.offset)"))
      case .entity, .foreignEntity: values.append((column.name, number(from, source)))
      case .optimisticLock: values.append((column.name, from))
      case .orderKey:
        let place = try place(name, in: old.name, as: "\(table.name).\(column.name)", &places)
        values.append((column.name, place))
      case .attribute:
        values.append((column.name, from))
        attributes[name] = column.name
      case .foreignKey(let owner, let relationship):
        let target = schema.model.relationship(relationship, of: owner)?.destinationEntityName
        let root = target.flatMap { schema.model.root(of: $0)?.name ?? $0 }
        values.append((column.name, root.map { raised(from, to: $0, keys) } ?? from))
      }
    }
    for counted in look.foreign.counted where counted.table == old.name {
      for column in counted.columns {
        let name = StoreMerge.standIn(for: column, among: table.columns.map(\.name))
        values.append((name, "CASE WHEN s.\(quoted(column)) IS NULL THEN NULL ELSE 1 END"))
      }
    }
    return (values, attributes)
  }

  private func copyRows(
    of table: StoreSchema.EntityTable, from old: StoreSchema.EntityTable, _ range: Keys, _ source: StoreSchema,
    _ keys: [String: Keys], _ places: inout [String: Int64]
  ) throws {
    let (columns, attributes) = try columns(of: table, from: old, range, source, keys, &places)
    let names = columns.map { quoted($0.name) }.joined(separator: ", ")
    func insert(_ first: Int64, _ last: Int64, without large: Set<String> = []) throws {
      let values = columns.map { large.contains($0.name) ? "NULL" : $0.value }.joined(separator: ", ")
      try connection.execute(
        "INSERT INTO main.\(quoted(table.name)) (\(names)) SELECT \(values) FROM source.\(quoted(old.name)) AS s WHERE s.Z_PK BETWEEN ?1 AND ?2 ORDER BY s.Z_PK",
        [.integer(first), .integer(last)])
    }
    let limit = ByteCount.mebibytes(1)
    let large = try writer.flatMap { try $0.supports(table.name) ? $0 : nil }
    func copy(_ first: Int64, _ last: Int64) throws {
      guard let large else { return try insert(first, last) }
      // SQLite refuses a row with a large value. Each record is then held once.
      let isDone: Void? = try connection.withLengthLimit(limit) {
        try connection.transaction { try insert(first, last) }
      }
      guard isDone == nil else { return }
      let found = try connection.rows(
        "SELECT Z_PK FROM source.\(quoted(old.name)) WHERE Z_PK BETWEEN ?1 AND ?2 ORDER BY Z_PK",
        [.integer(first), .integer(last)])
      for row in found {
        guard case .integer(let key) = row[0] else { continue }
        let open = try connection.openValues(
          above: limit, database: StoreConnection.sourceSchema, table: old.name, key: key,
          columns: attributes.keys.sorted())
        let values = Dictionary(open.compactMap { from, value in attributes[from].map { ($0, value) } }) { one, _ in one
        }
        try insert(key, key, without: Set(values.keys))
        if !values.isEmpty { try large.complete(key + range.offset, in: table.name, with: values, holding: limit) }
      }
    }
    var first = range.first
    while true {
      try merge.checkpoint()
      let last =
        try connection.integer(
          "SELECT Z_PK FROM source.\(quoted(old.name)) WHERE Z_PK >= ?1 ORDER BY Z_PK LIMIT 1 OFFSET \(Self.rowsAtOnce - 1)",
          [.integer(first)]) ?? range.last
      try connection.transaction { try copy(first, last) }
      guard last < range.last else { return }
      first = last + 1
    }
  }

  private func copyPairs(
    of join: StoreSchema.JoinTable, _ keys: [String: Keys], _ places: inout [String: Int64]
  ) throws {
    guard let (table, columns) = schema.pairs(of: join) else { return }
    func root(_ entity: String) -> String { schema.model.root(of: entity)?.name ?? entity }
    let values = try columns.map { column in
      let from = "s.\(quoted(column.name))"
      switch column.name {
      case join.ownerColumn: return raised(from, to: root(join.ownerEntityName), keys)
      case join.destinationColumn: return raised(from, to: root(join.destinationEntityName), keys)
      default: return try place(column.name, in: join.name, as: "\(table).\(column.own)", &places)
      }
    }
    try merge.checkpoint()
    // Two pairs without objects may become one.
    try connection.transaction {
      try connection.execute(
        "INSERT OR IGNORE INTO main.\(quoted(table)) (\(columns.map { quoted($0.own) }.joined(separator: ", "))) SELECT \(values.joined(separator: ", ")) FROM source.\(quoted(join.name)) AS s ORDER BY s.\(quoted(join.ownerColumn)), s.\(quoted(join.destinationColumn))"
      )
    }
  }

  /// A row for each row of a table that no model names.
  private func copyForeign() throws {
    try connection.transaction {
      for counted in look.foreign.counted where counted.columns.isEmpty {
        let name = quoted(StoreMerge.standIn(for: counted.name, in: schema))
        try connection.execute("INSERT INTO main.\(name) SELECT NULL FROM source.\(quoted(counted.table))")
      }
    }
  }

  // MARK: External files

  /// Gives a file another name in the merged store if a file of another part has its name and other bytes. A file that is
  /// missing stays missing, whatever another part has under the name.
  private func keepFilesApart(_ file: StoreFiles, _ source: StoreSchema, _ keys: [String: Keys]) throws {
    let own = SupportFolder(ofStoreAt: file.path)
    let others = merge.files.parts.enumerated().filter { $0.offset != index && $0.element.type == .sqlite }
      .map { (place: $0.offset, folder: SupportFolder(ofStoreAt: $0.element.path)) }
    guard try others.contains(where: { try $0.folder.exists }) else { return }
    for entity in schema.model.entities where !entity.isAbstract {
      for attribute in schema.model.attributes(of: entity.name) where attribute.allowsExternalBinaryDataStorage {
        guard let table = schema.table(of: entity.name), let old = source.table(of: entity.name),
          let to = schema.column(of: attribute.name, in: entity.name),
          let from = source.column(of: attribute.name, in: entity.name).map(quoted),
          let range = keys[table.rootEntityName]
        else { continue }
        let kind = source.isObject(of: [entity.name]).further
        var renamed: [(key: Int64, name: String)] = []
        try connection.query(
          "SELECT Z_PK, \(from) FROM source.\(quoted(old.name)) WHERE \(ExternalDataSQL.isReference(from))\(kind)"
        ) { row in
          guard case .external(let name)? = StoredBinary(row.bytes(1)), try isTaken(name, of: own, by: others) else {
            return true
          }
          renamed.append((row.int64(0), name))
          return true
        }
        try connection.transaction {
          for (key, name) in renamed {
            let new = Self.newName(for: name, of: index)
            try carry(name, from: own, as: new)
            try connection.execute(
              "UPDATE main.\(quoted(table.name)) SET \(quoted(to)) = ?1 WHERE Z_PK = ?2",
              [.blob(StoredBinary.external(name: new).bytes), .integer(key + range.offset)])
          }
        }
      }
    }
  }

  /// Whether the name would lead to the file of another part: see `SupportFolder.path(of:)`.
  private func isTaken(
    _ name: String, of own: SupportFolder, by others: [(place: Int, folder: SupportFolder)]
  ) throws -> Bool {
    let isThere = try own.size(of: name) != nil
    let first = try others.first { other in
      guard !isThere || other.place < index else { return false }
      return try other.folder.size(of: name) != nil
    }
    guard let first else { return false }
    return try !isThere || !own.holdsSameBytes(name, as: name, in: first.folder)
  }

  /// The same name for the same part each time.
  private static func newName(for name: String, of part: Int) -> String {
    MergedSources.uuid(of: ["file", "\(part)", name])
  }

  private func carry(_ name: String, from own: SupportFolder, as new: String) throws {
    guard try own.size(of: name) != nil else { return }
    for (path, like) in [(merge.support.path, own.path), (merge.support.dataPath, own.dataPath)] {
      try WorkFolder.makeFolder(path, mode: FileRights.folderMode(like: like))
    }
    _ = try merge.support.carry(name, from: own, as: new)
  }
}
