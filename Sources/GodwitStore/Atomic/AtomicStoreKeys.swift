import GodwitModel

/// The numbers of objects in an atomic store that is made from a SQLite store.
///
/// A number is positive and unique in an atomic store, a primary key is unique in its table only. Each table's keys are the
/// numbers as long as they are positive and no larger table has one of them; else they are moved by an offset beyond all
/// others, and the store's metadata names the offset. Tables of one size go in the order of entity numbers.
package struct AtomicStoreKeys {
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

  /// - Throws: `.dataWrong` (65) when keys are too far apart, or too large, to be moved.
  package init(_ connection: StoreConnection, schema: StoreSchema, type: StoreType, path: String) throws {
    let prefix = StoreConnection.sourceSchema + "."
    struct Table {
      var root, name: String
      var rows, counter: Int64
      /// The distance from the lowest key to 1; 0 if that key is not lower.
      var shift: Int64
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
      let (shift, isTooFar) = Int64(1).subtractingReportingOverflow(min(lowest, 1))
      guard !isTooFar else { throw impossible(root, "the primary key \(lowest) is too low to be moved, as it must be") }
      let highest = try connection.integer("SELECT max(Z_PK) FROM \(name)") ?? 0
      let counter = try connection.integer("SELECT Z_MAX FROM \(prefix)Z_PRIMARYKEY WHERE Z_ENT = ?1", [.int(number)])
      tables.append(
        Table(
          root: root, name: name, rows: try connection.integer("SELECT count(*) FROM \(name)") ?? 0,
          counter: max(highest, counter ?? 0, 0), shift: shift))
    }
    let ranked = tables.enumerated().sorted { ($1.element.rows, $0.offset) < ($0.element.rows, $1.offset) }
    var kept: [Table] = []
    var moved: [Table] = []
    for (_, table) in ranked {
      let taken = kept.map { "Z_PK IN (SELECT Z_PK FROM \($0.name))" }.joined(separator: " OR ")
      let isTaken =
        try table.shift > 0
        || !kept.isEmpty
          && connection.value("SELECT Z_PK FROM \(table.name) WHERE \(taken) LIMIT 1") != nil
      if isTaken { moved.append(table) } else { kept.append(table) }
    }
    highest = kept.map(\.counter).max() ?? 0
    objects = tables.reduce(0) { $0 + $1.rows }
    for table in moved {
      let (offset, isOffsetTooLarge) = highest.addingReportingOverflow(table.shift)
      let (sum, isSumTooLarge) = offset.addingReportingOverflow(table.counter)
      guard !isOffsetTooLarge, !isSumTooLarge else {
        throw impossible(table.root, "the primary keys are too large to be moved, as they must be")
      }
      offsets[table.root] = offset
      highest = sum
    }
  }

  func number(_ key: Int64, root: String) -> Int64 { key.addingReportingOverflow(offsets[root] ?? 0).partialValue }
}
