import GodwitModel

/// One reading of the table of a root entity: the checksums of its objects and of the links that its rows hold.
final class TableScan {
  private struct Attribute {
    var place: Int
    /// Whether a value may be in a file of its own.
    var isExternal: Bool
  }

  /// A relationship whose links are keys in the rows.
  private struct Link {
    var place: Int
    var entityPlace: Int?
    var orderPlace: Int?
    var key: SipHash.Key
  }

  private(set) var entities: [StoreChecksums.Entity] = []
  private(set) var relationships: [StoreChecksums.Relationship] = []

  private let table: StoreSchema.EntityTable
  private let schema: StoreSchema
  private let connection: StoreConnection
  private let support: ExternalFiles
  private let columns: [RowReader.Column]
  /// By place of `entities`.
  private var attributes: [[Attribute]] = []
  private var keys: [SipHash.Key] = []
  private var links: [Link] = []
  /// Place in `entities` by `Z_ENT`.
  private var places: [Int64: Int] = [:]
  /// By `Z_ENT`, of all entities: what stands for the entity in a link, since numbers may change.
  private let marks: [Int64: UInt64]
  private let entityPlace: Int
  private let editPlace: Int
  private let limit: Int64
  private let laterLimit: Int64

  init(
    _ table: StoreSchema.EntityTable, _ schema: StoreSchema, _ connection: StoreConnection, support: ExternalFiles,
    limits: StoreChecksums.Limits?
  ) throws {
    (self.table, self.schema, self.connection, self.support) = (table, schema, connection, support)
    let root = table.rootEntityName
    limit = limits.map { $0.highest[root] ?? 0 } ?? .max
    laterLimit = limits.map { max($0.later[root] ?? 0, $0.highest[root] ?? 0) } ?? .max
    columns = table.columns.map { column in
      column.role == .entity
        ? .init(name: column.name, sql: schema.entityNumber(inTableOf: root)) : .init(name: column.name)
    }
    entityPlace = table.columns.firstIndex { $0.role == .entity } ?? 1
    editPlace = table.columns.firstIndex { $0.role == .optimisticLock } ?? 2
    marks = Dictionary(
      schema.entityNumbers.map { (Int64($1), StoreChecksums.key(["entity", $0]).low) }, uniquingKeysWith: { $1 })
    addEntities()
    addLinks()
  }

  private func addEntities() {
    let model = schema.model
    let columnPlaces = Dictionary(
      table.columns.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    for entity in model.family(of: table.rootEntityName) {
      var lines = ["entity", entity.name]
      var list: [Attribute] = []
      for attribute in model.attributes(of: entity.name) {
        guard let place = schema.column(of: attribute.name, in: entity.name).flatMap({ columnPlaces[$0] }) else {
          continue
        }
        lines += [attribute.name, attribute.type.xcodeName]
        list.append(
          Attribute(
            place: place, isExternal: attribute.type == .binary && attribute.allowsExternalBinaryDataStorage))
      }
      if let number = schema.number(of: entity.name) { places[Int64(number)] = entities.count }
      entities.append(.init(name: entity.name))
      attributes.append(list)
      keys.append(StoreChecksums.key(lines))
    }
  }

  private func addLinks() {
    let model = schema.model
    for (place, column) in table.columns.enumerated() {
      guard case .foreignKey(let entity, let name) = column.role else { continue }
      var end = (entity: entity, name: name)
      // A to-many without an inverse has its keys in the rows that it leads to.
      if let stored = model.unnamedInverses(declaredIn: entity).first(where: { $0.name == name }),
        let owner = model.inverse(of: stored)
      {
        end = (stored.destinationEntityName, owner.name)
      }
      func other(_ role: StoreSchema.ColumnRole) -> Int? { table.columns.firstIndex { $0.role == role } }
      links.append(
        Link(
          place: place, entityPlace: other(.foreignEntity(entity: entity, relationship: name)),
          orderPlace: other(.orderKey(entity: entity, relationship: name)),
          key: StoreChecksums.key(entity: end.entity, relationship: end.name)))
      relationships.append(.init(entity: end.entity, name: end.name))
    }
  }

  func run(check: () throws -> Void) throws {
    let list = columns.map(\.sql).joined(separator: ", ")
    let name =
      "\(StoreSchema.identifier(StoreConnection.sourceSchema)).\(StoreSchema.identifier(table.name))"
    let walk = try connection.prepare("SELECT \(list) FROM \(name) WHERE Z_PK >= ?1 ORDER BY Z_PK")
    defer { walk.finalize() }
    let reader = try RowReader(
      connection, database: StoreConnection.sourceSchema, table: table.name, columns: columns)
    try walk.bind(.integer(.min))
    var rows = 0
    var last: Int64?
    while true {
      rows &+= 1
      if rows & 4095 == 0 { try check() }
      switch try walk.step(lengthLimit: LargeValue.limit) {
      case .done: return
      case .row:
        let row = walk.row
        last = row.int64(0)
        try add(row)
      case .tooLarge:
        let next = try connection.integer(
          "SELECT MIN(Z_PK) FROM \(name) WHERE \(last == nil ? "?1 IS NULL" : "Z_PK > ?1")",
          [last.map { .integer($0) } ?? .null])
        guard let next, let row = try reader.row(next) else { return }
        try add(row, key: next)
        guard next < .max else { return }
        last = next
        try walk.bind(.integer(next + 1))
      }
    }
  }

  /// Counts an object.
  ///
  /// - Returns: false for one that is not summed up.
  @inline(__always) private func count(_ key: Int64, _ entity: Int, edits: Int64) -> Bool {
    if key > limit {
      if key > laterLimit { entities[entity].newerObjects += 1 } else { entities[entity].laterObjects += 1 }
      return false
    }
    entities[entity].edits &+= edits
    return true
  }

  private func add(_ row: SQLRow) throws {
    let key = row.int64(0)
    let number = row.int64(entityPlace)
    // A row of no known entity is one of the root's, and differs by its number.
    let known = places[number]
    let entity = known ?? 0
    let isSummed = count(key, entity, edits: row.int64(editPlace))
    if isSummed {
      var hash = SipHash(keys[entity])
      hash.add(UInt64(bitPattern: key))
      if known == nil { hash.add(integer: number) }
      for attribute in attributes[entity] {
        try hash.add(row, attribute.place, files: attribute.isExternal ? support : nil)
      }
      entities[entity].objects.add(hash.digest())
    }
    for index in links.indices {
      let link = links[index]
      guard !row.isNull(link.place) else { continue }
      guard isSummed else {
        relationships[index].laterLinks += 1
        continue
      }
      var hash = SipHash(link.key)
      hash.add(UInt64(bitPattern: key))
      try hash.add(row, link.place, files: nil)
      if let place = link.entityPlace { hash.add(row.isNull(place) ? 0 : marks[row.int64(place)] ?? 1) }
      if let place = link.orderPlace { try hash.add(row, place, files: nil) }
      relationships[index].links.add(hash.digest())
    }
  }

  /// As the other, for a row with large values.
  private func add(_ row: StoredRow, key: Int64) throws {
    func integer(_ place: Int) -> Int64 { if case .integer(let number) = row.values[place] { number } else { 0 } }
    let number = integer(entityPlace)
    let known = places[number]
    let entity = known ?? 0
    let isSummed = count(key, entity, edits: integer(editPlace))
    if isSummed {
      var hash = SipHash(keys[entity])
      hash.add(UInt64(bitPattern: key))
      if known == nil { hash.add(integer: number) }
      for attribute in attributes[entity] {
        try hash.add(
          row.content(attribute.place), files: attribute.isExternal ? support : nil, on: connection)
      }
      entities[entity].objects.add(hash.digest())
    }
    for index in links.indices {
      let link = links[index]
      guard !row.content(link.place).isNull else { continue }
      guard isSummed else {
        relationships[index].laterLinks += 1
        continue
      }
      var hash = SipHash(link.key)
      hash.add(UInt64(bitPattern: key))
      try hash.add(row.content(link.place), files: nil, on: connection)
      if let place = link.entityPlace {
        hash.add(row.content(place).isNull ? 0 : marks[integer(place)] ?? 1)
      }
      if let place = link.orderPlace { try hash.add(row.content(place), files: nil, on: connection) }
      relationships[index].links.add(hash.digest())
    }
  }
}
