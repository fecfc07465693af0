import GodwitModel
import GodwitStore

/// Lays a model over the tables of a copy: what the model has and the source lacks is made.
struct ModelTables {
  private let copy: CopyStore
  private let model: ManagedObjectModel
  /// The parts that were made or corrected, one sentence each.
  private(set) var notes: [String] = []

  init(_ copy: CopyStore, _ model: ManagedObjectModel) { (self.copy, self.model) = (copy, model) }

  private var connection: StoreConnection { copy.connection }

  /// - Returns: The schema of the copy.
  /// - Throws: `.dataWrong` if the model cannot be laid over the tables.
  mutating func complete() throws -> StoreSchema {
    try completeEntities()
    for strict in [false, true] {
      if let schema = try? StoreSchema(model: model, probing: connection, schema: "main") { return schema }
      try completeTables(strict: strict)
    }
    return try StoreSchema(model: model, probing: connection, schema: "main")
  }

  /// Adds the rows of `Z_PRIMARYKEY` that are lost. Their numbers follow from the model.
  private mutating func completeEntities() throws {
    let standard = StoreSchema(model: model).entityNumbers
    try correctNumbers(standard)
    var names: Set<String> = []
    var numbers: [Int64: String] = [:]
    try connection.query("SELECT Z_ENT, Z_NAME, \(EntityNumbers.isOwn) FROM main.Z_PRIMARYKEY") { row in
      let name = row.string(1) ?? ""
      if row.int(2) != 0 { names.insert(name) }
      numbers[row.int64(0)] = name
      return true
    }
    try connection.execute("UPDATE main.Z_PRIMARYKEY SET Z_MAX = 0 WHERE typeof(Z_MAX) NOT IN ('integer', 'null')")
    let isEmpty = numbers.isEmpty
    var made: [String] = []
    for (entity, number) in standard.sorted(by: { $0.value < $1.value }) where !names.contains(entity) {
      if let former = model.entity(entity)?.renamingIdentifier, names.contains(former) { continue }
      // A migration in place leaves the old name of an entity.
      if let other = numbers[Int64(number)], model.entity(other) == nil, !other.isEmpty { continue }
      let unnamed = numbers[Int64(number)] == ""
      let free = numbers[Int64(number)] == nil || unnamed ? Int64(number) : Self.next(numbers)
      try connection.execute(
        "INSERT OR REPLACE INTO main.Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (?1, ?2, 0, 0)",
        [.integer(free), .text(entity)])
      numbers[free] = entity
      made.append("\(entity) \(free)")
    }
    guard !made.isEmpty else { return }
    notes.append(
      isEmpty
        ? "the entity numbers follow from the model, as 'Z_PRIMARYKEY' is lost"
        : "rows of 'Z_PRIMARYKEY' were made, with numbers that follow from the model: " + made.joined(separator: ", "))
  }

  /// Gives `Z_PRIMARYKEY` the numbers of a new store, if more rows of the tables have these than those that it says: it is
  /// damaged then.
  private mutating func correctNumbers(_ standard: [String: Int]) throws {
    var found: [String: Set<Int64>] = [:]
    var count = 0
    try connection.query("SELECT Z_ENT, Z_NAME FROM main.Z_PRIMARYKEY WHERE \(EntityNumbers.isOwn)") { row in
      guard let name = row.string(1), standard[name] != nil else { return true }
      found[name, default: []].insert(row.int64(0))
      count += 1
      return true
    }
    guard count > 0 else { return }
    let samples = try EntityNumbers(copy).samples()
    var (byStandard, byStore) = (0, 0)
    for table in StoreSchema(model: model).tables {
      guard let sample = samples[table.name], !sample.isEmpty else { continue }
      let family = model.family(of: table.rootEntityName).map(\.name)
      let expected = sample.intersection(family.compactMap { standard[$0].map(Int64.init) })
      guard !expected.isEmpty else { return }
      byStandard += expected.count
      byStore += sample.intersection(family.flatMap { found[$0] ?? [] }).count
    }
    // A name that comes twice is damage too.
    guard byStandard > byStore || byStandard == byStore && byStore > 0 && count > found.count else { return }
    for (entity, number) in standard {
      try connection.execute(
        "UPDATE main.Z_PRIMARYKEY SET Z_NAME = ?1 WHERE Z_ENT = ?2", [.text(entity), .int(number)])
      guard connection.changes == 0 else { continue }
      try connection.execute(
        "INSERT INTO main.Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) SELECT ?2, ?1, 0, coalesce(max(Z_MAX), 0) FROM main.Z_PRIMARYKEY WHERE Z_NAME = ?1 AND \(EntityNumbers.isOwn)",
        [.text(entity), .int(number)])
    }
    for (entity, number) in standard {
      try connection.execute(
        "DELETE FROM main.Z_PRIMARYKEY WHERE Z_NAME = ?1 AND Z_ENT <> ?2 AND \(EntityNumbers.isOwn)",
        [.text(entity), .int(number)])
    }
    notes.append("the numbers of 'Z_PRIMARYKEY' are not those of the rows: they follow from the model")
  }

  /// The next number of an entity; the numbers of persistent history are high.
  private static func next(_ numbers: [Int64: String]) -> Int64 {
    (numbers.keys.filter { $0 < 16_000 }.max() ?? 0) + 1
  }

  /// Makes the tables and columns of the model that are missing.
  ///
  /// - Parameter strict: Whether a column of a similar name, as a migration in place may leave one, does not count.
  private mutating func completeTables(strict: Bool) throws {
    var numbers: [String: Int] = [:]
    var former: [Int: String] = [:]
    try connection.query("SELECT Z_ENT, Z_NAME FROM main.Z_PRIMARYKEY WHERE \(EntityNumbers.isOwn)") { row in
      if let name = row.string(1) {
        numbers[name] = row.int(0)
        former[row.int(0)] = name
      }
      return true
    }
    let standard = StoreSchema(model: model)
    let schema =
      standard.entityNumbers.allSatisfy { numbers[$0.key] == $0.value }
      ? standard : StoreSchema(model: model, numbers: standard.entityNumbers.merging(numbers) { $1 })
    for table in schema.tables {
      let number = schema.number(of: table.rootEntityName)
      let others = number.flatMap { former[$0] }.map { "Z" + $0.uppercased() }
      guard let name = ([table.name, others].compactMap(\.self)).first(where: { copy.tables[$0] != nil }) else {
        try copy.makeTable(table.name, table.createStatement)
        notes.append("table '\(table.name)' of entity '\(table.rootEntityName)' was made from the model")
        continue
      }
      try completeColumns(of: name, table.columns, strict: strict)
    }
    for join in schema.joinTables {
      let inverse = join.inverseRelationshipName.flatMap { name in
        schema.number(of: join.destinationEntityName).map { "Z_\($0)" + name.uppercased() }
      }
      guard ![join.name, inverse].compactMap(\.self).contains(where: { copy.tables[$0] != nil }) else { continue }
      try copy.makeTable(join.name, join.createStatement)
      notes.append(
        "join table '\(join.name)' of '\(join.ownerEntityName).\(join.ownerRelationshipName)' was made from the model")
    }
  }

  private mutating func completeColumns(of name: String, _ wanted: [StoreSchema.Column], strict: Bool) throws {
    let present = Set(
      try connection.strings("SELECT name FROM pragma_table_info(?1, 'main')", [.text(name)]))
    let wantedNames = Set(wanted.map(\.name))
    let free = Set(present.subtracting(wantedNames).map(Self.withoutNumber))
    for column in wanted where !present.contains(column.name) {
      guard strict || !free.contains(Self.withoutNumber(column.name)) else { continue }
      try copy.makeColumn(column.name, column.declaredType, in: name)
      notes.append("column '\(column.name)' of table '\(name)' was made from the model")
    }
  }

  private static func withoutNumber(_ name: String) -> String {
    var name = name[...]
    while name.last.map({ $0.isASCII && $0.isNumber }) == true { name = name.dropLast() }
    return String(name)
  }
}

extension TableShape {
  /// The shapes of the tables that a model describes.
  static func shapes(_ schema: StoreSchema, _ copy: CopyStore) -> [String: TableShape] {
    var shapes: [String: TableShape] = [:]
    for table in schema.tables {
      let numbers = schema.model.family(of: table.rootEntityName).compactMap { schema.number(of: $0.name) }
      let kinds = Dictionary(table.columns.map { ($0.name, kind($0.role)) }) { first, _ in first }
      shapes[table.name] = copy.tables[table.name]?.shape(entityNumbers: Set(numbers.map(Int64.init))) { kinds[$0] }
    }
    return shapes
  }

  private static func kind(_ role: StoreSchema.ColumnRole) -> Kind {
    switch role {
    case .primaryKey: .key
    case .entity: .entity
    case .optimisticLock, .foreignKey, .foreignEntity, .orderKey: .integer
    case .attribute(_, _, let type): .attribute(type)
    }
  }
}

/// Where tables whose definitions are lost must begin.
///
/// Core Data makes all tables of a store at once, so their roots follow from the model. That is believed only if the rows
/// at these places fit: at least one table with entities has rows there, and no table has others.
enum PredictedRoots {
  static func find(_ schema: StoreSchema, _ copy: CopyStore) throws -> [UInt32: String] {
    let source = copy.source
    let homeless = copy.names.filter { copy.roots[$0] == nil }
    guard !homeless.isEmpty else { return [:] }
    let connection = try StoreConnection(path: nil)
    try connection.execute("PRAGMA page_size = \(source.pages.pageSize)")
    try connection.execute("PRAGMA auto_vacuum = \(source.map.isPresent ? "INCREMENTAL" : "NONE")")
    try EmptyStore.createTables(of: StoreSchema(model: schema.model), on: connection)
    var predicted: [UInt32: String] = [:]
    try connection.query("SELECT name, rootpage FROM main.sqlite_master WHERE type = 'table'") { row in
      if let name = row.string(0), homeless.contains(name) { predicted[UInt32(row.int64(1))] = name }
      return true
    }
    try connection.close()
    let entityTables = Set(schema.tables.map(\.name))
    var evidence = 0
    for (root, name) in predicted {
      guard source.catalog.roots[root] == nil, let shape = copy.shapes[name] else { return [:] }
      if let entry = try source.map.entry(of: root), entry.use != .root { return [:] }
      guard let first = try source.firstLeaf(from: root), !first.leaf.cells.isEmpty else { continue }
      for cell in first.leaf.cells where cell.payloadBytes < 1 << 16 {
        guard let row = try source.rows.row(cell, first.bytes, page: first.page) else { continue }
        guard shape.fits(row.values) else { return [:] }
        if entityTables.contains(name) { evidence += 1 }
      }
    }
    return evidence > 0 ? predicted : [:]
  }
}
