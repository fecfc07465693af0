import GodwitModel

/// The numbers of objects in an XML store that was made from a SQLite store.
///
/// A number is unique in an XML store, a primary key in its table only. Where the keys of all tables are different,
/// they are the numbers; else each root entity's keys are moved by an offset, in the order of entity numbers, and the
/// store's metadata names the offsets.
struct XMLStoreKeys {
  /// The metadata key that holds the offset of each root entity.
  static let metadataKey = "GodwitKeyOffsets"

  /// By root entity; empty when the numbers are the keys.
  var offsets: [String: Int64] = [:]
  /// No number is higher.
  var highest: Int64 = 0

  static func offsets(in metadata: StoreMetadata) -> [String: Int64] {
    (metadata.values[metadataKey]?.dictionary ?? [:]).compactMapValues(\.integer)
  }

  /// - Throws: `.dataWrong` when keys are not positive, or too large to be moved.
  init(_ connection: StoreConnection, schema: StoreSchema, path: String) throws {
    let prefix = StoreConnection.sourceSchema + "."
    var tables: [(root: String, name: String, lowest: Int64, counter: Int64)] = []
    for table in schema.tables {
      guard let number = schema.number(of: table.rootEntityName) else { continue }
      let name = prefix + StoreSchema.identifier(table.name)
      let lowest = try connection.integer("SELECT min(Z_PK) FROM \(name)") ?? 1
      let highest = try connection.integer("SELECT max(Z_PK) FROM \(name)") ?? 0
      let counter = try connection.integer("SELECT Z_MAX FROM \(prefix)Z_PRIMARYKEY WHERE Z_ENT = ?1", [.int(number)])
      tables.append((table.rootEntityName, name, lowest, max(highest, counter ?? 0, 0)))
    }
    func impossible(_ root: String, _ problem: String) -> GodwitError {
      GodwitError(
        .dataWrong, "cannot write '\(path)' as an XML store: \(problem) of '\(root)'",
        remedy: "use a SQLite store, `destination-type: sqlite`")
    }
    for table in tables where table.lowest < 1 {
      throw impossible(table.root, "expected positive primary keys, found \(table.lowest)")
    }
    let keys = tables.map { "SELECT Z_PK FROM \($0.name)" }.joined(separator: " UNION ALL ")
    let shared = try tables.count < 2 ? nil : connection.value("SELECT Z_PK FROM (\(keys)) GROUP BY Z_PK HAVING count(*) > 1 LIMIT 1")
    guard shared != nil else {
      highest = tables.map(\.counter).max() ?? 0
      return
    }
    for table in tables {
      offsets[table.root] = highest
      let (sum, overflow) = highest.addingReportingOverflow(table.counter)
      guard !overflow else { throw impossible(table.root, "the primary keys are too large to be moved, as they are") }
      highest = sum
    }
  }

  func number(_ key: Int64, root: String) -> Int64 { key.addingReportingOverflow(offsets[root] ?? 0).partialValue }
}
