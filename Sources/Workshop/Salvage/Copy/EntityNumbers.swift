import GodwitModel
import GodwitStore

/// The entity numbers of tables: by `Z_PRIMARYKEY` alone for stores without a model, and by their rows.
struct EntityNumbers {
  private let copy: CopyStore

  init(_ copy: CopyStore) { self.copy = copy }

  /// The tables whose rows have a `Z_ENT`.
  private var tables: [CopyTable] {
    copy.names.compactMap { copy.tables[$0] }.filter { table in
      ["Z_PK", "Z_ENT", "Z_OPT"].allSatisfy { name in table.recordColumns.contains { $0.name == name } }
    }
  }

  /// Selects the rows of the model's entities in `Z_PRIMARYKEY`. An entity of history may have the same name.
  static let isOwn = "(Z_ENT IS NULL OR Z_ENT <= \(StoreSchema.lastEntityNumber))"

  /// The numbers of each table: those of the entity that it is named after, and of its subentities.
  private func numbers() throws -> [String: Set<Int64>] {
    var names: [Int64: String] = [:]
    var parents: [Int64: Int64] = [:]
    try copy.connection.query("SELECT Z_ENT, Z_NAME, Z_SUPER FROM main.Z_PRIMARYKEY WHERE \(Self.isOwn) LIMIT 100000") {
      row in
      (names[row.int64(0)], parents[row.int64(0)]) = (row.string(1) ?? "", row.int64(2))
      return true
    }
    var numbers: [String: Set<Int64>] = [:]
    for number in names.keys {
      var root = number
      for _ in 0..<100 {
        guard let parent = parents[root], parent != 0 else { break }
        root = parent
      }
      guard let name = names[root], parents[root] == 0 else { continue }
      numbers["Z" + name.uppercased(), default: []].insert(number)
    }
    return numbers
  }

  /// Entities whose table is not in the store, one sentence each: those that `Z_PRIMARYKEY` lists without a superentity.
  ///
  /// A store in which each of them has some table, of whatever name, lacks none.
  func missingTables() throws -> [String] {
    guard copy.source.catalog.lost.isEmpty else { return [] }
    let roots = try copy.connection.strings(
      "SELECT Z_NAME FROM main.Z_PRIMARYKEY WHERE Z_SUPER = 0 AND \(Self.isOwn) ORDER BY 1 LIMIT 100000")
    // Core Data's own tables, such as ACHANGE, begin with another letter than Z.
    let tables = Set(tables.map(\.name).filter { $0.hasPrefix("Z") })
    guard roots.count > tables.count else { return [] }
    return roots.filter { !tables.contains("Z" + $0.uppercased()) }.map {
      "the table of entity '\($0)' is not in the store: how many objects it had is not known"
    }
  }

  /// Gives the shapes of tables their numbers, so that a page of one table does not pass for a page of another one.
  ///
  /// - Returns: Tables whose rows have each other's numbers, one sentence each: the numbers do not count there.
  func shape() throws -> [String] {
    let numbers = try numbers()
    let tables = tables.filter { numbers[$0.name] != nil }
    let samples = try samples()
    var losses: [String] = []
    for table in tables {
      guard let own = numbers[table.name], let found = samples[table.name] else { continue }
      if !found.isEmpty, found.isDisjoint(with: own) {
        let others = tables.filter { numbers[$0.name].map(found.isSubset) == true }
        guard !others.isEmpty else { continue }
        let isExchange = others.contains { samples[$0.name].map { !$0.isEmpty && $0.isSubset(of: own) } == true }
        if isExchange {
          losses.append(
            "the rows of table '\(table.name)' have the entity number of '\(others[0].name)', and the other way round: whether the rows or 'Z_PRIMARYKEY' are wrong is not known"
          )
          continue
        }
      }
      copy.shapes[table.name] = table.shape(entityNumbers: own) { $0 == "Z_ENT" ? .entity : nil }
    }
    return losses
  }

  /// The numbers in the first leaf of each table.
  func samples() throws -> [String: Set<Int64>] {
    Dictionary(try tables.map { ($0.name, try sample($0)) }) { first, _ in first }
  }

  /// The numbers in the first leaf of a table.
  private func sample(_ table: CopyTable) throws -> Set<Int64> {
    guard let root = copy.roots[table.name], let first = try copy.source.firstLeaf(from: root),
      let place = table.recordColumns.firstIndex(where: { $0.name == "Z_ENT" })
    else { return [] }
    var numbers: Set<Int64> = []
    for cell in first.leaf.cells where cell.payloadBytes < 1 << 16 {
      guard let row = try copy.source.rows.row(cell, first.bytes, page: first.page), place < row.values.count,
        case .integer(let number) = row.values[place]
      else { continue }
      numbers.insert(number)
    }
    return numbers
  }

  /// The damage of `Z_PRIMARYKEY` that a model alone could mend, one sentence each.
  func losses() throws -> [String] {
    guard let state = copy.states["Z_PRIMARYKEY"] else { return [] }
    let tables = tables
    guard !tables.isEmpty, copy.source.catalog.lost.isEmpty else { return [] }
    if state.isMade { return ["table 'Z_PRIMARYKEY' is not in the store"] }
    if state.rows == 0 { return ["table 'Z_PRIMARYKEY' has no row"] }
    let twice = try copy.connection.strings(
      "SELECT Z_NAME FROM main.Z_PRIMARYKEY WHERE \(Self.isOwn) GROUP BY Z_NAME HAVING count(*) > 1 ORDER BY 1 LIMIT 10"
    )
    if !twice.isEmpty { return ["table 'Z_PRIMARYKEY' has names more than once: \(twice.joined(separator: ", "))"] }
    return try tables.compactMap { table in
      let unknown = try copy.connection.strings(
        "SELECT DISTINCT CAST(Z_ENT AS TEXT) FROM main.\(quoted(table.name)) WHERE Z_ENT NOT IN (SELECT Z_ENT FROM main.Z_PRIMARYKEY) LIMIT 10"
      )
      guard !unknown.isEmpty else { return nil }
      return
        "table '\(table.name)' has rows of entity numbers that 'Z_PRIMARYKEY' lacks: \(unknown.joined(separator: ", "))"
    }
  }
}
