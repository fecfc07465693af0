import GodwitModel

/// The numbers of objects in an atomic store that is made from a SQLite store.
///
/// A number is unique in an atomic store, a primary key in its table only. Each table's keys are the numbers as long as no
/// larger table has one of them; else they are moved by an offset beyond all others, and the store's metadata names
/// the offset. Tables of one size go in the order of entity numbers.
struct AtomicStoreKeys {
  /// The metadata key that holds the offset of each root entity.
  static let metadataKey = "GodwitKeyOffsets"

  /// The offsets by root entity, without those whose numbers are the keys.
  var offsets: [String: Int64] = [:]
  /// No number is higher.
  var highest: Int64 = 0
  /// How many objects there are.
  var objects: Int64 = 0

  static func offsets(in metadata: StoreMetadata) -> [String: Int64] {
    (metadata.values[metadataKey]?.dictionary ?? [:]).compactMapValues(\.integer).named
  }

  /// - Throws: `.dataWrong` when keys are not positive, or too large to be moved.
  init(_ connection: StoreConnection, schema: StoreSchema, type: StoreType, path: String) throws {
    let prefix = StoreConnection.sourceSchema + "."
    struct Table {
      var root, name: String
      var rows, counter: Int64
    }
    func impossible(_ root: String, _ problem: String) -> GodwitError {
      GodwitError(
        .dataWrong, "cannot write '\(path)' as \(type.nounWithArticle): \(problem) of '\(root)'",
        remedy: "use a SQLite store, `destination-type: sqlite`")
    }
    var tables: [Table] = []
    for table in schema.tables {
      guard let number = schema.number(of: table.rootEntityName) else { continue }
      let (root, name) = (table.rootEntityName, prefix + StoreSchema.identifier(table.name))
      let lowest = try connection.integer("SELECT min(Z_PK) FROM \(name)") ?? 1
      guard lowest >= 1 else { throw impossible(root, "expected positive primary keys, found \(lowest)") }
      let highest = try connection.integer("SELECT max(Z_PK) FROM \(name)") ?? 0
      let counter = try connection.integer("SELECT Z_MAX FROM \(prefix)Z_PRIMARYKEY WHERE Z_ENT = ?1", [.int(number)])
      tables.append(
        Table(
          root: root, name: name, rows: try connection.integer("SELECT count(*) FROM \(name)") ?? 0,
          counter: max(highest, counter ?? 0, 0)))
    }
    let ranked = tables.enumerated().sorted { ($1.element.rows, $0.offset) < ($0.element.rows, $1.offset) }
    var kept: [Table] = []
    var moved: [Table] = []
    for (_, table) in ranked {
      let taken = kept.map { "Z_PK IN (SELECT Z_PK FROM \($0.name))" }.joined(separator: " OR ")
      let isTaken =
        try !kept.isEmpty
        && connection.value("SELECT Z_PK FROM \(table.name) WHERE \(taken) LIMIT 1") != nil
      if isTaken { moved.append(table) } else { kept.append(table) }
    }
    highest = kept.map(\.counter).max() ?? 0
    objects = tables.reduce(0) { $0 + $1.rows }
    for table in moved {
      offsets[table.root] = highest
      let (sum, overflow) = highest.addingReportingOverflow(table.counter)
      guard !overflow else { throw impossible(table.root, "the primary keys are too large to be moved, as they are") }
      highest = sum
    }
  }

  func number(_ key: Int64, root: String) -> Int64 { key.addingReportingOverflow(offsets[root] ?? 0).partialValue }
}
