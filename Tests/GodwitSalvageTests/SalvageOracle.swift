import GodwitModel
import GodwitStore
import TestSupport

/// Compares a copy with the store that its source was before the damage.
///
/// - Each row of the copy is a row of the store, with equal values. A link is nil if its object is not in the copy.
/// - Each row of sound pages is in the copy. A pair of a join table is not, if one of its ends is not.
struct SalvageOracle {
  let world: DamageWorld
  /// The differences that a salvage must not make.
  private(set) var faults: [String] = []

  private static let ownTables: Set<String> = ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"]

  init(_ world: DamageWorld) { self.world = world }

  mutating func check(_ copy: StoreContent, damaged: Set<Int>) {
    for (name, table) in world.content.tables where !Self.ownTables.contains(name) {
      guard let found = copy.tables[name] else {
        if !table.rows.isEmpty { faults.append("table \(name) is missing") }
        continue
      }
      if let join = world.schema.joinTables.first(where: { $0.name == name }) {
        checkPairs(join, table, found, copy, damaged)
      } else {
        checkRows(name, table, found, copy, damaged)
      }
    }
    for name in copy.tables.keys where world.content.tables[name] == nil && !Self.ownTables.contains(name) {
      faults.append("table \(name) is made up")
    }
    checkCounters(copy)
  }

  private func isSound(_ table: String, _ key: Int64, _ damaged: Set<Int>) -> Bool {
    world.pages.pagesOfRow[.init(table: table, key: key)]?.isDisjoint(with: damaged) ?? false
  }

  private mutating func checkRows(
    _ name: String, _ table: StoreContent.Table, _ found: StoreContent.Table, _ copy: StoreContent, _ damaged: Set<Int>
  ) {
    for key in table.rows.keys where found.rows[key] == nil && isSound(name, key, damaged) {
      faults.append(
        "\(name) p\(key) is missing, of pages \(world.pages.pagesOfRow[.init(table: name, key: key)] ?? [])")
    }
    for (key, row) in found.rows {
      guard let original = table.rows[key] else {
        faults.append("\(name) p\(key) is made up")
        continue
      }
      checkLinks(name, key, found.columns, row, copy)
      for (place, column) in table.columns.enumerated() {
        let other = found.columns.firstIndex(of: column).map { row[$0] }
        if other != original[place], !isCut(name, column, original, table, other, copy) {
          faults.append("\(name) p\(key) \(column): \(Self.text(original[place])) became \(Self.text(other ?? .null))")
        }
      }
    }
  }

  /// Each link of the copy leads to an object of the copy.
  private mutating func checkLinks(
    _ name: String, _ key: Int64, _ columns: [String], _ row: [SQLValue], _ copy: StoreContent
  ) {
    for column in world.schema.tables.first(where: { $0.name == name })?.columns ?? [] {
      guard case .foreignKey(let entity, let relationship) = column.role,
        let place = columns.firstIndex(of: column.name), case .integer(let target) = row[place],
        let other = world.schema.model.relationship(relationship, of: entity)?.destinationEntityName,
        let table = world.schema.table(of: other)?.name
      else { continue }
      if copy.tables[table]?.rows[target] == nil { faults.append("\(name) p\(key) \(column.name) leads nowhere") }
    }
  }

  private static func text(_ value: SQLValue) -> String { String(StoreDump.text(value).prefix(60)) }

  /// Whether a value belongs to a link whose object is not in the copy.
  private func isCut(
    _ table: String, _ column: String, _ original: [SQLValue], _ content: StoreContent.Table, _ value: SQLValue?,
    _ copy: StoreContent
  ) -> Bool {
    guard value == .null, let described = world.schema.tables.first(where: { $0.name == table }),
      let role = described.columns.first(where: { $0.name == column })?.role
    else { return false }
    let end: (entity: String, relationship: String)
    switch role {
    case .foreignKey(let entity, let relationship), .foreignEntity(let entity, let relationship),
      .orderKey(let entity, let relationship):
      end = (entity, relationship)
    default: return false
    }
    let key = described.columns.first { $0.role == .foreignKey(entity: end.entity, relationship: end.relationship) }
    guard let place = key.flatMap({ content.columns.firstIndex(of: $0.name) }),
      case .integer(let target) = original[place],
      let entity = world.schema.model.relationship(end.relationship, of: end.entity)?.destinationEntityName,
      let other = world.schema.table(of: entity)?.name
    else { return false }
    return copy.tables[other]?.rows[target] == nil
  }

  private mutating func checkPairs(
    _ join: StoreSchema.JoinTable, _ table: StoreContent.Table, _ found: StoreContent.Table, _ copy: StoreContent,
    _ damaged: Set<Int>
  ) {
    func pairs(_ table: StoreContent.Table) -> [[SQLValue]: (key: Int64, row: [SQLValue])] {
      let places = [join.ownerColumn, join.destinationColumn].compactMap(table.columns.firstIndex)
      return Dictionary(table.rows.map { key, row in (places.map { row[$0] }, (key, row)) }) { first, _ in first }
    }
    let (before, after) = (pairs(table), pairs(found))
    for (pair, original) in before where after[pair] == nil && isSound(join.name, original.key, damaged) {
      let ends = zip(pair, [join.ownerEntityName, join.destinationEntityName]).allSatisfy { value, entity in
        guard case .integer(let key) = value, let name = world.schema.table(of: entity)?.name else { return false }
        return copy.tables[name]?.rows[key] != nil
      }
      if ends { faults.append("\(join.name) \(pair) is missing") }
    }
    for (pair, row) in after {
      guard let original = before[pair] else {
        faults.append("\(join.name) \(pair) is made up")
        continue
      }
      // A place in an order may be nil, and is never another one.
      for (a, b) in zip(original.row, row.row) where a != b && b != .null {
        faults.append("\(join.name) \(pair): \(Self.text(a)) became \(Self.text(b))")
      }
    }
  }

  private mutating func checkCounters(_ copy: StoreContent) {
    for table in world.schema.tables {
      guard let number = world.schema.number(of: table.rootEntityName),
        let row = copy.tables["Z_PRIMARYKEY"]?.rows[Int64(number)], case .integer(let counter) = row[3],
        counter >= copy.tables[table.name]?.rows.keys.max() ?? 0
      else {
        faults.append("the counter of \(table.rootEntityName) is too low")
        continue
      }
    }
  }
}
