package import GodwitModel

extension StoreSchema {
  /// Reads the schema of an existing store.
  ///
  /// Entity numbers come from `Z_PRIMARYKEY`, by name, otherwise by former name, otherwise by number (after a migration
  /// in place a renamed entity keeps its old name there). Tables and columns of the model must exist under the
  /// predicted name or another that the pattern allows: numbers and clash suffixes differ in stores that were migrated
  /// in place. Tables and columns that the model lacks are ignored. `indexes` lists those that Core Data would make,
  /// not those of the file.
  ///
  /// - Parameters:
  ///   - model: The version that the store was made with.
  ///   - connection: Has the store.
  ///   - schema: The name under which the store is attached: `source` or `main`.
  /// - Throws: code `.dataWrong` that names the missing part; SQLite's errors as `StoreConnection` maps them.
  package init(
    model: ManagedObjectModel, probing connection: StoreConnection, schema: String = StoreConnection.sourceSchema
  ) throws {
    guard model.pairEntities.isEmpty else {
      try self.init(model: model.withoutPairs, probing: connection, schema: schema)
      addPairs(of: model)
      try connection.showPairs(of: self, in: schema)
      return
    }
    do {
      let listing = try StoreListing(connection, schema: schema)
      self = try SchemaCache.schema(model, .existing(listing.text)) {
        try Self(model: model, listing, connection, schema: schema)
      }
    } catch let lack as StoreProbe.Lack { throw lack.error(model, connection, schema: schema) }
  }

  private init(
    model: ManagedObjectModel, _ listing: StoreListing, _ connection: StoreConnection, schema: String
  ) throws {
    let probe = try StoreProbe(listing, connection, schema: schema)
    let numbers = try probe.numbers(of: model)
    self.init(model: model, numbers: numbers)
    tables = try tables.map { try probe.actual($0, names: probe.formerNames(of: $0.rootEntityName, numbers), model) }
    rebuildLookUps()
    joinTables = try probe.actual(joinTables, numbers: numbers)
    foreign = Derived(UnmodelledContent(listing, probe, beside: self))
    joinWalks = Derived(try probe.leadingColumns(of: joinTables.map(\.name), connection, schema: schema))
    unkeyedTables = Derived(try Self.unkeyed(tables, joinTables, connection, in: schema))
    rebuildIndexes()
  }
}

/// The facts that decide how an existing store is read.
struct StoreListing {
  /// How many rows of `Z_PRIMARYKEY` are read.
  static let limitEntities = 100_000

  /// Tables with rows of their own.
  var tableNames: [String] = []
  var virtualTables: [String] = []
  /// Views and triggers.
  var programs: [(type: String, name: String)] = []
  var entities: [(number: Int, name: String)] = []
  /// The text of all definitions, then the entity numbers.
  private(set) var text = ""

  init(_ connection: StoreConnection, schema: String) throws {
    let prefix = StoreSchema.identifier(schema)
    text.reserveCapacity(8192)
    try connection.query("SELECT type, name, tbl_name, rootpage > 0, sql FROM \(prefix).sqlite_master") { row in
      for column in 0..<5 { note(row.string(column)) }
      guard let type = row.string(0), let name = row.string(1) else { return true }
      switch (type, row.int(3)) {
      case ("table", 1): tableNames.append(name)
      case ("table", _): virtualTables.append(name)
      case ("view", _), ("trigger", _): programs.append((type, name))
      default: break
      }
      return true
    }
    guard tableNames.contains("Z_PRIMARYKEY") else {
      throw StoreProbe.wrong("table 'Z_PRIMARYKEY' is missing: it is not a Core Data store")
    }
    // A name has at most this length. A longer value in a damaged row is not read.
    let isRead: Void? = try connection.withLengthLimit(.mebibytes(1)) {
      try connection.query(
        "SELECT Z_ENT, Z_NAME, Z_MAX FROM \(prefix).Z_PRIMARYKEY ORDER BY Z_ENT LIMIT \(Self.limitEntities + 1)"
      ) { row in
        if row.storage(0) != .integer {
          throw StoreProbe.wrong("'Z_ENT' of a row of 'Z_PRIMARYKEY' is not a number")
        }
        if ![.integer, .null].contains(row.storage(2)) {
          throw StoreProbe.wrong("the counter 'Z_MAX' of number \(row.int64(0)) in 'Z_PRIMARYKEY' is not an integer")
        }
        if let name = row.string(1), let number = Int32(exactly: row.int64(0)) {
          entities.append((Int(number), name))
          note("\(number) \(name)")
        }
        return true
      }
    }
    guard isRead != nil, entities.count <= Self.limitEntities else {
      throw StoreProbe.wrong(
        "expected at most \(Self.limitEntities) entities in 'Z_PRIMARYKEY' with names below 1 MiB, found more")
    }
  }
}

extension StoreListing {
  /// Includes the length, so that no two listings give the same text.
  private mutating func note(_ part: String?) {
    text += part.map { "\($0.utf8.count) \($0)" } ?? "-"
  }
}

/// Names of tables and columns of an existing store.
struct StoreProbe {
  struct ActualColumn: Hashable {
    var name: String
    var declaredType: String
  }

  private let tables: [String: [ActualColumn]]
  private let entities: [(number: Int, name: String)]
  private let namesByNumber: [Int: [String]]

  init(_ listing: StoreListing, _ connection: StoreConnection, schema: String) throws {
    let prefix = StoreSchema.identifier(schema)
    var tables: [String: [ActualColumn]] = [:]
    for table in listing.tableNames where table.hasPrefix("Z") {
      var columns: [ActualColumn] = []
      try connection.query("PRAGMA \(prefix).table_info(\(StoreSchema.identifier(table)))") { row in
        if let name = row.string(1) {
          columns.append(ActualColumn(name: name, declaredType: row.string(2)?.uppercased() ?? ""))
        }
        return true
      }
      tables[table] = columns
    }
    self.tables = tables
    // An entity of history is none of the model, whatever its name.
    entities = listing.entities.filter {
      $0.number <= StoreSchema.lastEntityNumber || !StoreSchema.historyTables.contains("A" + $0.name)
    }
    namesByNumber = Dictionary(grouping: entities, by: \.number).mapValues { $0.map(\.name) }
  }

  /// The names of a table's columns, in order.
  func columns(of table: String) -> [String] { tables[table]?.map(\.name) ?? [] }

  /// The part of a model that a store lacks.
  struct Lack: Error {
    let problem: String

    /// A store that says that it has this version is damaged. Any other is one of another version, maybe.
    func error(_ model: ManagedObjectModel, _ connection: StoreConnection, schema: String) -> GodwitError {
      let path = schema == StoreConnection.sourceSchema ? connection.sourcePath ?? connection.path : connection.path
      let metadata = try? StoreMetadata(reading: connection, schema: schema, path: path)
      if let metadata, model.isCompatible(with: metadata.entityVersionHashes) {
        return GodwitError(
          .dataWrong, "cannot read '\(path)': the store is damaged: \(problem)", remedy: GodwitError.damageRemedy)
      }
      return GodwitError(
        .dataWrong, "cannot read '\(path)' with this model: \(problem)",
        remedy: "check that the model is the version the store was written with (godwit inspect names it)")
    }
  }

  static func wrong(_ problem: String) -> Lack { Lack(problem: problem) }

  func numbers(of model: ManagedObjectModel) throws -> [String: Int] {
    var numbers: [String: Int] = [:]
    var isTaken = [Bool](repeating: false, count: entities.count)
    let byName = Dictionary(grouping: entities.indices) { entities[$0].name }
    let byNumber = Dictionary(grouping: entities.indices) { entities[$0].number }
    func take(_ entity: String, of places: [Int]?) {
      guard numbers[entity] == nil, let place = places?.first(where: { !isTaken[$0] }) else { return }
      isTaken[place] = true
      numbers[entity] = entities[place].number
    }
    for entity in model.entities { take(entity.name, of: byName[entity.name]) }
    for entity in model.entities {
      if let former = entity.renamingIdentifier { take(entity.name, of: byName[former]) }
    }
    let standard = StoreSchema.standardNumbers(of: model)
    for entity in model.entities { take(entity.name, of: standard[entity.name].flatMap { byNumber[$0] }) }
    for entity in model.entities where numbers[entity.name] == nil {
      throw Self.wrong("entity '\(entity.name)' is not listed in Z_PRIMARYKEY")
    }
    for (number, names) in Dictionary(grouping: numbers, by: \.value) where names.count > 1 {
      let names = names.map { "'\($0.key)'" }.sorted().joined(separator: " and ")
      throw Self.wrong("\(names) have one number in Z_PRIMARYKEY, \(number)")
    }
    return numbers
  }

  /// The names that a root entity's table may bear.
  func formerNames(of root: String, _ numbers: [String: Int]) -> [String] {
    numbers[root].flatMap { namesByNumber[$0] }?.map { "Z" + $0.uppercased() } ?? []
  }

  /// The table with the names its columns have in the file, in the file's order.
  func actual(
    _ predicted: StoreSchema.EntityTable, names: [String], _ model: ManagedObjectModel
  ) throws -> StoreSchema.EntityTable {
    guard let name = ([predicted.name] + names).first(where: { tables[$0] != nil }), let present = tables[name]
    else {
      throw Self.wrong("table '\(predicted.name)' of entity '\(predicted.rootEntityName)' is missing")
    }
    var found: [Int: String] = [:]
    var free = Set(present.map(\.name))
    let types = Dictionary(present.map { ($0.name, $0.declaredType) }) { first, _ in first }
    for (index, column) in predicted.columns.enumerated()
    where free.contains(column.name) && Self.agree(types[column.name], column.declaredType) {
      found[index] = column.name
      free.remove(column.name)
    }
    var absent: Set<StoreSchema.ColumnRole> = []
    for (index, column) in predicted.columns.enumerated() where found[index] == nil {
      let pattern = Self.pattern(of: column, model)
      let candidates = present.filter {
        free.contains($0.name) && Self.agree($0.declaredType, column.declaredType) && pattern.matches($0.name)
      }
      // A column of the predicted name whose declared type was edited is still the one.
      guard let choice = candidates.first?.name ?? (free.contains(column.name) ? column.name : nil) else {
        // No known file shows whether this column exists.
        if case .foreignEntity(let owner, let name) = column.role,
          model.relationship(name, of: owner)?.isUnnamedInverse.value == true
        {
          absent.insert(column.role)
          continue
        }
        throw Self.wrong(
          "column '\(column.name)' of table '\(name)' is missing, \(column.role.content(root: predicted.rootEntityName))"
        )
      }
      found[index] = choice
      free.remove(choice)
    }
    let places = Dictionary(present.enumerated().map { ($1.name, $0) }) { first, _ in first }
    var columns: [StoreSchema.Column] = []
    for (index, column) in predicted.columns.enumerated() where !absent.contains(column.role) {
      var column = column
      column.name = found[index] ?? column.name
      columns.append(column)
    }
    columns.sort { (places[$0.name] ?? .max) < (places[$1.name] ?? .max) }
    return StoreSchema.EntityTable(name: name, rootEntityName: predicted.rootEntityName, columns: columns)
  }

  /// Whether declared types can be the same column's: only families are compared, as types were
  /// spelt otherwise by early versions.
  private static func agree(_ a: String?, _ b: String) -> Bool {
    guard let a else { return false }
    let families: [Set<String>] = [["FLOAT", "DOUBLE", "REAL"], ["VARCHAR", "TEXT"]]
    return a == b || families.contains { $0.contains(a) && $0.contains(b) }
  }

  /// `<head>[<number>]<name><digits>`
  struct Pattern {
    var head: String
    var hasNumber: Bool
    var number: Int?
    var name: String

    func matches(_ text: String) -> Bool {
      guard text.hasPrefix(head) else { return false }
      var rest = text.dropFirst(head.count)
      if hasNumber {
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        guard !digits.isEmpty, number == nil || Int(digits) == number else { return false }
        rest = rest.dropFirst(digits.count)
      }
      guard rest.hasPrefix(name) else { return false }
      return rest.dropFirst(name.count).allSatisfy { $0.isASCII && $0.isNumber }
    }
  }

  private static func pattern(of column: StoreSchema.Column, _ model: ManagedObjectModel) -> Pattern {
    func unnamed(_ owner: String, _ name: String) -> String? {
      model.relationship(name, of: owner).flatMap {
        $0.isUnnamedInverse.value ? $0.inverseName?.uppercased() : nil
      }
    }
    switch column.role {
    case .primaryKey, .entity, .optimisticLock:
      return Pattern(head: column.name, hasNumber: false, name: "")
    case .attribute(_, let name, _):
      let leaf = name.split(separator: ".").last ?? ""
      return Pattern(head: "Z", hasNumber: false, name: leaf.uppercased())
    case .foreignKey(let owner, let name):
      guard let own = unnamed(owner, name) else {
        return Pattern(head: "Z", hasNumber: false, name: name.uppercased())
      }
      return Pattern(head: "Z", hasNumber: true, name: own)
    case .foreignEntity(let owner, let name):
      // The column of a to-many without an inverse is found under its predicted name alone.
      guard unnamed(owner, name) == nil else { return Pattern(head: column.name, hasNumber: false, name: "") }
      return Pattern(head: "Z", hasNumber: true, name: "_" + name.uppercased())
    case .orderKey(let owner, let name):
      guard let own = unnamed(owner, name) else {
        return Pattern(head: "Z_FOK_", hasNumber: false, name: name.uppercased())
      }
      return Pattern(head: "Z_FOK_", hasNumber: true, name: own)
    }
  }

  /// Join tables under the name of either end, with their columns found by name in any order.
  func actual(_ predicted: [StoreSchema.JoinTable], numbers: [String: Int]) throws -> [StoreSchema.JoinTable] {
    try predicted.map { join in
      guard let inverse = join.inverseRelationshipName, let owner = numbers[join.ownerEntityName],
        let destination = numbers[join.destinationEntityName]
      else { return join }
      if join.isReflexive { return try reflexive(join, number: owner) }
      let other = "Z_\(destination)" + inverse.uppercased()
      let name = tables[join.name] != nil ? join.name : other
      guard let present = tables[name]?.map(\.name) else {
        throw Self.wrong(
          "join table '\(join.name)' of relationship '\(join.ownerEntityName).\(join.ownerRelationshipName)' is missing"
        )
      }
      let keys = present.filter { !$0.hasPrefix("Z_FOK_") }
      let ownerPattern = Pattern(head: "Z_", hasNumber: true, number: owner, name: inverse.uppercased())
      let destinationPattern = Pattern(
        head: "Z_", hasNumber: true, number: destination, name: join.ownerRelationshipName.uppercased())
      let columns = try Self.choose(
        keys, owner: (join.ownerColumn, ownerPattern), destination: (join.destinationColumn, destinationPattern),
        in: name)
      var actual = join
      actual.name = name
      actual.ownerColumn = columns.owner
      actual.destinationColumn = columns.destination
      actual.ownerOrderColumn = try join.ownerOrderColumn.map {
        try Self.orderColumn(present, $0, of: columns.destination, in: name)
      }
      actual.destinationOrderColumn = try join.destinationOrderColumn.map {
        try Self.orderColumn(present, $0, of: columns.owner, in: name)
      }
      // The owner is the one whose name the table bears.
      return name == join.name ? actual : actual.turned ?? actual
    }
  }

  /// The columns of the two ends: the pair of which each fits its end, with the fewest digits added to its names.
  private static func choose(
    _ columns: [String], owner: (predicted: String, pattern: Pattern),
    destination: (predicted: String, pattern: Pattern), in table: String
  ) throws -> (owner: String, destination: String) {
    func score(_ column: String, _ end: (predicted: String, pattern: Pattern)) -> Int? {
      guard end.pattern.matches(column) else { return nil }
      return column == end.predicted ? 0 : column.count
    }
    struct Choice {
      var score: Int
      var owner, destination: String
    }
    var best: Choice?
    for first in columns {
      guard let one = score(first, owner) else { continue }
      for second in columns where second != first {
        guard let two = score(second, destination) else { continue }
        if one + two < best?.score ?? .max {
          best = Choice(score: one + two, owner: first, destination: second)
        }
      }
    }
    if let best { return (best.owner, best.destination) }
    let hasOwner = columns.contains { owner.pattern.matches($0) }
    throw wrong("column '\(hasOwner ? destination.predicted : owner.predicted)' of join table '\(table)' is missing")
  }

  /// The columns that come first in an index, by table.
  func leadingColumns(
    of tables: [String], _ connection: StoreConnection, schema: String
  ) throws -> [String: Set<String>] {
    var columns: [String: Set<String>] = [:]
    for table in tables {
      let names = try connection.strings(
        """
        SELECT i.name FROM pragma_index_list(?1, ?2) AS l, pragma_index_info(l.name, ?2) AS i \
        WHERE i.seqno = 0 AND NOT l.partial
        """, [.text(table), .text(schema)])
      columns[table] = Set(names)
    }
    return columns
  }

  private func reflexive(_ join: StoreSchema.JoinTable, number: Int) throws -> StoreSchema.JoinTable {
    guard let present = tables[join.name]?.map(\.name) else {
      throw Self.wrong(
        "join table '\(join.name)' of relationship '\(join.ownerEntityName).\(join.ownerRelationshipName)' is missing")
    }
    let pattern = Pattern(
      head: "Z_", hasNumber: true, number: number, name: join.ownerRelationshipName.uppercased())
    let exact = Pattern(head: join.destinationColumn, hasNumber: false, name: "")
    var actual = join
    (actual.ownerColumn, actual.destinationColumn) = try Self.choose(
      present, owner: (join.ownerColumn, pattern), destination: (join.destinationColumn, exact), in: join.name)
    // The name of the order's column is a guess, so another one is read too, and a table without one has no order.
    let orders = present.filter { $0.hasPrefix("Z_FOK_") }
    actual.ownerOrderColumn = join.ownerOrderColumn.flatMap { orders.contains($0) ? $0 : orders.first }
    return actual
  }

  private static func orderColumn(
    _ columns: [String], _ predicted: String, of column: String, in table: String
  ) throws -> String {
    let exact = "Z_FOK_" + column.dropFirst(2)
    guard let found = [exact, predicted].first(where: columns.contains) else {
      throw wrong("column '\(predicted)' of join table '\(table)' is missing")
    }
    return found
  }
}

extension StoreSchema.JoinTable {
  /// The same table seen from its other end; nil without an inverse.
  var turned: Self? {
    inverseRelationshipName.map { inverse in
      .init(
        name: name, ownerEntityName: destinationEntityName, ownerRelationshipName: inverse,
        ownerColumn: destinationColumn, destinationColumn: ownerColumn, destinationEntityName: ownerEntityName,
        inverseRelationshipName: ownerRelationshipName, ownerOrderColumn: destinationOrderColumn,
        destinationOrderColumn: ownerOrderColumn)
    }
  }
}

extension StoreSchema.ColumnRole {
  /// The model's content of the column, as a message says it.
  fileprivate func content(root: String) -> String {
    switch self {
    case .primaryKey, .entity, .optimisticLock: "which every object of '\(root)' has"
    case .attribute(let entity, let name, _), .foreignKey(let entity, let name), .foreignEntity(let entity, let name),
      .orderKey(let entity, let name):
      "which holds '\(entity).\(name)'"
    }
  }
}
