import GodwitModel

/// The content of a store that neither its model nor Core Data names: tables, columns, views and triggers of the
/// application, or of a library that it uses. No migration carries them over.
///
/// Core Data's own are the tables of entities and relationships, `Z_PRIMARYKEY`, `Z_METADATA`, `Z_MODELCACHE`,
/// persistent history, CloudKit's mirror, the R-trees of its indexes with their triggers (`Z_RT_…`), the triggers of
/// derived attributes (`Z_DA_…`) and of counts (`ZT_…`). Names that begin with `sqlite_` are SQLite's.
package struct UnmodelledContent: Sendable {
  /// A table with rows, or a column with values.
  package struct Finding: Sendable, Hashable {
    package var table: String
    /// nil for the whole table.
    package var column: String?
    /// Rows, or values that are not NULL.
    package var count: Int64
  }

  /// A table whose rows are counted, or the values of some of its columns.
  package struct Counted: Sendable {
    /// The name in messages.
    package var name: String
    /// The table whose rows are counted. For a virtual table, whose module may be missing, it is the table that holds
    /// its rows.
    package var table: String
    /// Empty for the rows.
    package var columns: [String]

    /// The counts that are not 0.
    package func findings(_ counts: [Int64]) -> [Finding] {
      guard !columns.isEmpty else {
        return counts.prefix(1).filter { $0 > 0 }.map { Finding(table: name, column: nil, count: $0) }
      }
      return zip(columns, counts).filter { $0.1 > 0 }.map { Finding(table: name, column: $0.0, count: $0.1) }
    }
  }

  /// The tables and columns that `findings` counts, in its order.
  package var counted: [Counted] {
    tables.map { Counted(name: $0.name, table: $0.counted, columns: []) }
      + columns.map { Counted(name: $0.table, table: $0.table, columns: $0.names) }
  }

  /// The tables by name, with the table whose rows are counted.
  private var tables: [(name: String, counted: String)] = []
  private var columns: [(table: String, names: [String])] = []
  /// Views and triggers by kind and name, for example `view newest`.
  package private(set) var programs: [String] = []
  /// How many of Core Data's triggers keep a count, for attributes with `NSTriggerKey` in their user info.
  package private(set) var countTriggers = 0
  /// The R-trees of Core Data's indexes.
  package private(set) var rTrees: [String] = []
  /// Indexes and triggers of Core Data that a store made by Godwit lacks, in sentences.
  package var leftOut: [String] {
    var sentences = rTrees.map { "the R-tree '\($0)' of an index is not made, and a fetch that names it fails" }
    if countTriggers > 0 {
      sentences.append(
        "\(countTriggers) trigger\(countTriggers == 1 ? "" : "s") with which Core Data keeps counts (NSTriggerKey) are not made: nothing updates the counts that were migrated"
      )
    }
    return sentences
  }

  package init() {}

  init(_ listing: StoreListing, _ probe: StoreProbe, beside schema: StoreSchema) {
    var known = Set(schema.tables.map(\.name) + schema.joinTables.map(\.name)).union(Self.ownTables)
    for virtual in listing.virtualTables {
      let parts = listing.tableNames.filter { name in Self.shadows.contains { name == virtual + $0 } }
      known.formUnion(parts)
      if virtual.hasPrefix(Self.indexPrefix) { rTrees.append(virtual) }
      guard !virtual.hasPrefix(Self.indexPrefix),
        let counted = Self.countedShadows.map({ virtual + $0 }).first(where: parts.contains)
      else { continue }
      tables.append((virtual, counted))
    }
    for name in listing.tableNames where !known.contains(name) && !Self.isOwn(name) { tables.append((name, name)) }
    tables.sort { Text($0.name) < Text($1.name) }
    for table in schema.tables { addColumns(of: table.name, beside: table.columns.map(\.name), probe) }
    for join in schema.joinTables {
      let names = [join.ownerColumn, join.destinationColumn, join.ownerOrderColumn, join.destinationOrderColumn]
      addColumns(of: join.name, beside: names.compactMap(\.self) + [StoreSchema.reflexiveColumn], probe)
    }
    let hasCounts = schema.model.entities.contains { $0.attributes.contains { $0.userInfo[Self.countKey] != nil } }
    for (kind, name) in listing.programs
    where ![Self.indexPrefix, Self.derivationPrefix].contains(where: name.hasPrefix) {
      if hasCounts, kind == "trigger", name.hasPrefix(Self.countPrefix) {
        countTriggers += 1
      } else {
        programs.append("\(kind) \(name)")
      }
    }
  }

  private mutating func addColumns(of table: String, beside known: [String], _ probe: StoreProbe) {
    // Whether Core Data orders a side of a relationship is its own affair.
    let names = probe.columns(of: table).filter { !known.contains($0) && !$0.hasPrefix("Z_FOK_") }
    if !names.isEmpty { columns.append((table, names)) }
  }

  private static let ownTables: Set<String> = [
    "Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE", "ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING",
    RoundedDecimals.table,
  ]
  private static let indexPrefix = "Z_RT_"
  private static let derivationPrefix = "Z_DA_"
  private static let countPrefix = "ZT_"
  private static let countKey = "NSTriggerKey"

  private static func isOwn(_ name: String) -> Bool { name.hasPrefix("sqlite_") || name.hasPrefix("ANSCK") }

  /// The suffixes of the tables in which FTS3, FTS4, FTS5 and R-trees store their rows.
  private static let shadows =
    countedShadows + ["_segments", "_segdir", "_stat", "_data", "_config", "_node", "_parent"]
  /// The suffixes of tables with a row for each of the virtual table's, the best first.
  private static let countedShadows = ["_docsize", "_content", "_rowid", "_idx"]

  /// Counts rows and values. Tables and columns without any are left out.
  package func findings(
    on connection: StoreConnection, in database: String = StoreConnection.sourceSchema
  ) throws -> [Finding] {
    let prefix = quoted(database) + "."
    return try counted.flatMap { part -> [Finding] in
      let counts = part.columns.map { "COUNT(\(quoted($0)))" }.joined(separator: ", ")
      let sql =
        part.columns.isEmpty
        ? "SELECT COUNT(*) FROM \(prefix)\(quoted(part.table)) NOT INDEXED"
        : "SELECT \(counts) FROM \(prefix)\(quoted(part.table))"
      let row = try connection.rows(sql).first ?? []
      return part.findings(row.map { if case .integer(let count) = $0 { count } else { 0 } })
    }
  }
}
