import GodwitModel
import GodwitStore

/// The changes to a store's file in a step that leaves every row as it is: definitions alone.
///
/// It is decided from the models, the inferred mapping and the definitions in the file; no row is counted or read. New
/// columns come at the end of their table, whatever their place in a new store: Core Data reads columns by name, and
/// its own migrations leave stores like that.
struct SchemaOnlyLayout {
  /// Why some row would have to be read or written.
  struct Obstacle: Error, Hashable {
    var reason: String
    /// Whether rows are read because they may break a rule.
    var isRule = false
  }

  /// The tables, with the columns in their new order.
  private(set) var tables: [InPlaceSQLLayout.Kept] = []
  private(set) var joins: [InPlaceSQLLayout.KeptJoin] = []
  /// The statements that make tables without rows.
  private(set) var made: [String] = []
  private(set) var indexes: StoreIndexes
  /// Tables that no model names, except those in which Core Data keeps a row or two.
  private(set) var dropped: [String] = []

  init(
    resolved: ResolvedMapping, source: StoreSchema, destination: StoreSchema, file: StoreTables
  ) throws(Obstacle) {
    let comparison = SchemaOnlyComparison(resolved: resolved, source: source, destination: destination)
    try comparison.check()
    var created = destination.createStatements
    var names: [String: (table: String, columns: [String: String])] = [:]
    for table in destination.tables {
      guard let old = comparison.pairing.oldName(of: table.rootEntityName).flatMap(source.table) else { continue }
      let kept = try Self.kept(table, from: old, comparison, file)
      tables.append(kept)
      names[kept.old] = (
        table.name, Dictionary(zip(kept.columns, kept.new.columns.map(\.name))) { first, _ in first }
      )
      created.removeAll { $0 == table.createStatement }
    }
    for join in destination.joinTables {
      guard let kept = try Self.kept(join, comparison, file) else { continue }
      joins.append(kept)
      names[kept.old] = (join.name, Dictionary(kept.columns.map { ($0.from, $0.to) }) { first, _ in first })
      created.removeAll { $0 == join.createStatement }
    }
    for name in (source.tables.map(\.name) + source.joinTables.map(\.name)) where names[name] == nil {
      throw Obstacle(reason: "table \(name) goes")
    }
    made = created
    indexes = StoreIndexes(of: destination, from: file, names: names)
    let filled = Set(names.values.map(\.table))
    // A migration that reads the rows has to make this index, because it can name two rows that conflict.
    if let unchecked = indexes.made.first(where: { $0.isUnique && filled.contains($0.table) }) {
      throw Obstacle(reason: "index \(unchecked.name) is missing, so two rows may have the same values")
    }
    dropped = file.definitions.keys.sorted().filter { name in
      names[name] == nil && !["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"].contains(name)
        && !name.hasPrefix("sqlite_")
    }
  }

  // MARK: Tables

  private static func kept(
    _ table: StoreSchema.EntityTable, from old: StoreSchema.EntityTable, _ comparison: SchemaOnlyComparison,
    _ file: StoreTables
  ) throws(Obstacle) -> InPlaceSQLLayout.Kept {
    let present = file.columns(of: old.name)
    guard file.isPlain(old.name) else {
      throw Obstacle(reason: "the definition of table \(old.name) is not spelt as Core Data spells it")
    }
    var successors: [String: StoreSchema.Column] = [:]
    var added: [StoreSchema.Column] = []
    for column in table.columns {
      guard let from = try comparison.origin(of: column) else {
        added.append(column)
        continue
      }
      guard let there = present.first(where: { $0.name == from }), there.type == column.declaredType else {
        throw Obstacle(reason: "column \(from) of table \(old.name) is not of type \(column.declaredType)")
      }
      guard successors.updateValue(column, forKey: from) == nil else {
        throw Obstacle(reason: "column \(from) of table \(old.name) becomes two")
      }
    }
    var columns: [StoreSchema.Column] = []
    for column in present {
      guard let successor = successors[column.name] else {
        throw Obstacle(reason: "column \(column.name) of table \(old.name) goes")
      }
      columns.append(successor)
    }
    return .init(
      old: old.name,
      new: .init(name: table.name, rootEntityName: table.rootEntityName, columns: columns + added),
      columns: present.map(\.name))
  }

  /// nil for the table of a new relationship.
  private static func kept(
    _ join: StoreSchema.JoinTable, _ comparison: SchemaOnlyComparison, _ file: StoreTables
  ) throws(Obstacle) -> InPlaceSQLLayout.KeptJoin? {
    guard
      let (old, was, now) = try comparison.joinOrigin(of: join)
    else { return nil }
    guard file.isPlain(old.name, key: [old.ownerColumn, old.destinationColumn]) else {
      throw Obstacle(reason: "the definition of table \(old.name) is not spelt as Core Data spells it")
    }
    do throws(InPlaceSQLLayout.KeptJoin.Obstacle) {
      return try .init(old.name, as: join, was: was, now: now, in: file)
    } catch {
      switch error {
      case .order: throw Obstacle(reason: "an order column is added to or removed from table \(old.name)")
      case .places: throw Obstacle(reason: "the columns of table \(old.name) change position")
      }
    }
  }
}
