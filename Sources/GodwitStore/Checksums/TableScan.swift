import CSQLite
import GodwitModel

/// One reading of the table of a root entity: the checksums of its objects and of the links that its rows hold.
final class TableScan {
  private struct Attribute {
    var place: Int
    /// Whether a value may be in a file of its own.
    var isExternal: Bool
  }

  /// The attributes of an entity, as a range of `attributes`, and the key of its digests.
  private struct Family {
    var attributes: Range<Int>
    var key: SipHash.Key
  }

  /// A relationship whose links are keys in the rows.
  private struct Link {
    var place: Int
    var entityPlace: Int?
    var orderPlace: Int?
    var key: SipHash.Key
  }

  private let table: StoreSchema.EntityTable
  private let schema: StoreSchema
  private let connection: StoreConnection
  private let support: ExternalFiles
  private let columns: [RowReader.Column]
  private let attributes: UnsafeBuffer<Attribute>
  private let families: UnsafeBuffer<Family>
  private let links: UnsafeBuffer<Link>
  /// The sums of the objects, in the order of `families`.
  private let entitySums: UnsafeBuffer<StoreChecksums.Entity>
  /// The sums of the links, in the order of `links`.
  private let linkSums: UnsafeBuffer<StoreChecksums.Relationship>
  /// Place in `families` by `Z_ENT`; -1 for the number of no entity of the table.
  private let places: NumberTable<Int>
  private let marks: NumberTable<UInt64>
  private let entityPlace: Int
  private let editPlace: Int
  private let limit: StoreChecksums.KeyLimits
  /// The name under which the store is attached.
  private let database: String

  init(
    _ table: StoreSchema.EntityTable, _ schema: StoreSchema, _ connection: StoreConnection, database: String,
    support: ExternalFiles, marks: NumberTable<UInt64>, limits: StoreChecksums.Limits?
  ) throws {
    self.database = database
    (self.table, self.schema, self.connection, self.support) = (table, schema, connection, support)
    self.marks = marks
    let root = table.rootEntityName
    limit = StoreChecksums.KeyLimits(limits, root: root)
    columns = table.columns.map { column in
      column.role == .entity
        ? .init(name: column.name, sql: schema.entityNumber(inTableOf: root)) : .init(name: column.name)
    }
    entityPlace = table.columns.firstIndex { $0.role == .entity } ?? 1
    editPlace = table.columns.firstIndex { $0.role == .optimisticLock } ?? 2
    let entities = Self.entities(of: table, schema)
    places = NumberTable(
      entities.enumerated().compactMap { place, entity in schema.number(of: entity.name).map { ($0, place) } },
      default: -1)
    entitySums = UnsafeBuffer(entities.map { StoreChecksums.Entity(name: $0.name) })
    attributes = UnsafeBuffer(entities.flatMap(\.attributes))
    var start = 0
    families = UnsafeBuffer(
      entities.map { entity in
        defer { start += entity.attributes.count }
        return Family(attributes: start..<start + entity.attributes.count, key: entity.key)
      })
    let links = Self.links(of: table, schema)
    linkSums = UnsafeBuffer(links.map(\.sum))
    self.links = UnsafeBuffer(links.map(\.link))
  }

  /// The mark of each entity in a link, by `Z_ENT`, since entity numbers may change.
  static func marks(of schema: StoreSchema) -> NumberTable<UInt64> {
    NumberTable(
      schema.entityNumbers.map { ($0.value, StoreChecksums.key(["entity", $0.key]).low) }, default: 1)
  }

  private struct ScannedEntity {
    var name: String
    var attributes: [Attribute]
    var key: SipHash.Key
  }

  private static func entities(
    of table: StoreSchema.EntityTable, _ schema: StoreSchema
  ) -> [ScannedEntity] {
    let columnPlaces = Dictionary(
      table.columns.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    return schema.model.family(of: table.rootEntityName).map { entity in
      var lines = ["entity", entity.name]
      var list: [Attribute] = []
      for attribute in schema.model.attributes(of: entity.name) {
        guard let place = schema.column(of: attribute.name, in: entity.name).flatMap({ columnPlaces[$0] }) else {
          continue
        }
        lines += [attribute.name, attribute.type.xcodeName]
        list.append(
          Attribute(
            place: place, isExternal: attribute.type == .binary && attribute.allowsExternalBinaryDataStorage))
      }
      return ScannedEntity(name: entity.name, attributes: list, key: StoreChecksums.key(lines))
    }
  }

  private static func links(
    of table: StoreSchema.EntityTable, _ schema: StoreSchema
  ) -> [(sum: StoreChecksums.Relationship, link: Link)] {
    let model = schema.model
    return table.columns.enumerated().compactMap { place, column in
      guard case .foreignKey(let entity, let name) = column.role else { return nil }
      var end = StoreChecksums.Relationship(entity: entity, name: name)
      // A to-many without an inverse has its keys in the rows that it leads to.
      if let stored = model.unnamedInverses(declaredIn: entity).first(where: { $0.name == name }),
        let owner = model.inverse(of: stored)
      {
        end = .init(entity: stored.destinationEntityName, name: owner.name)
      }
      func other(_ role: StoreSchema.ColumnRole) -> Int? { table.columns.firstIndex { $0.role == role } }
      return (
        end,
        Link(
          place: place, entityPlace: other(.foreignEntity(entity: entity, relationship: name)),
          orderPlace: other(.orderKey(entity: entity, relationship: name)),
          key: StoreChecksums.key(entity: end.entity, relationship: end.name))
      )
    }
  }

  /// The counts and checksums of the objects and links.
  var result: (entities: [StoreChecksums.Entity], relationships: [StoreChecksums.Relationship]) {
    (entitySums.elements, linkSums.elements)
  }

  private func clear() {
    for index in 0..<entitySums.count { entitySums[index] = .init(name: entitySums[index].name) }
    for index in 0..<linkSums.count {
      linkSums[index] = .init(entity: linkSums[index].entity, name: linkSums[index].name)
    }
  }

  /// - Parameter keys: The keys whose rows are read; nil for all of them.
  func run(_ keys: ClosedRange<Int64>?, inPieces isInPieces: Bool, check: () throws -> Void) throws {
    let name = "\(StoreSchema.identifier(database)).\(StoreSchema.identifier(table.name)) NOT INDEXED"
    let rows = name + (keys.map { " WHERE Z_PK BETWEEN \($0.lowerBound) AND \($0.upperBound)" } ?? "")
    if columns.count <= RowFeed.columnLimit, !isInPieces {
      let isRead = try RowFeed(connection).run(
        columns: columns.map(\.sql), from: rows, lengthLimit: LargeValue.limit, check: check
      ) { values, _ in
        try add(ArgumentRow(values: values))
      }
      if isRead { return }
      clear()
    }
    try walk(rows, check: check)
  }

  /// Reads row by row, large values in pieces.
  private func walk(_ rows: String, check: () throws -> Void) throws {
    let keys = try connection.prepare("SELECT Z_PK FROM \(rows) ORDER BY Z_PK")
    defer { keys.finalize() }
    let reader = try RowReader(
      connection, database: database, table: table.name, columns: columns)
    var count = 0
    try keys.bind([])
    while try keys.step() {
      count &+= 1
      if count & 1023 == 0 { try check() }
      guard let row = try reader.row(keys.row.int64(0)) else { continue }
      try add(RowInPieces(row: row, connection: connection))
    }
  }

  @inline(__always) private func add<Row: ChecksumRow>(_ row: Row) throws {
    let key = row.int64(0)
    let number = row.int64(entityPlace)
    // A row of no known entity is one of the root's, and differs by its number.
    let known = places[number]
    let entity = max(known, 0)
    let owner = limit.owner(of: key)
    switch owner {
    case .later: entitySums[entity].laterObjects &+= 1
    case .other: entitySums[entity].newerObjects &+= 1
    case .receipt:
      entitySums[entity].edits &+= row.int64(editPlace)
      var hash = SipHash(families[entity].key)
      hash.add(UInt64(bitPattern: key))
      if known < 0 { hash.add(integer: number) }
      for index in families[entity].attributes {
        let attribute = attributes[index]
        try row.add(attribute.place, to: &hash, files: attribute.isExternal ? support : nil)
      }
      entitySums[entity].objects.add(hash.digest())
    }
    for index in 0..<links.count {
      let place = links[index].place
      guard !row.isNull(place) else { continue }
      switch owner {
      case .later: linkSums[index].laterLinks &+= 1
      case .other: linkSums[index].newerLinks &+= 1
      case .receipt:
        var hash = SipHash(links[index].key)
        hash.add(UInt64(bitPattern: key))
        try row.add(place, to: &hash, files: nil)
        if let place = links[index].entityPlace { hash.add(mark(row, place)) }
        if let place = links[index].orderPlace { try row.add(place, to: &hash, files: nil) }
        linkSums[index].links.add(hash.digest())
      }
    }
  }

  @inline(__always) private func mark<Row: ChecksumRow>(_ row: Row, _ place: Int) -> UInt64 {
    guard !row.isNull(place) else { return 0 }
    return marks[row.int64(place)]
  }
}

/// A row whose values are added to digests.
private protocol ChecksumRow {
  func int64(_ place: Int) -> Int64
  func isNull(_ place: Int) -> Bool
  func add(_ place: Int, to hash: inout SipHash, files: ExternalFiles?) throws
}

/// The arguments of a call from SQL.
private struct ArgumentRow: ChecksumRow {
  let values: UnsafePointer<OpaquePointer?>

  @inline(__always) func int64(_ place: Int) -> Int64 { sqlite3_value_int64(values[place]) }
  @inline(__always) func isNull(_ place: Int) -> Bool { sqlite3_value_type(values[place]) == SQLITE_NULL }
  @inline(__always) func add(_ place: Int, to hash: inout SipHash, files: ExternalFiles?) throws {
    try hash.add(values[place], files: files)
  }
}

/// A row with its large values left where they are.
private struct RowInPieces: ChecksumRow {
  let row: StoredRow
  let connection: StoreConnection

  func int64(_ place: Int) -> Int64 { if case .integer(let number) = row.values[place] { number } else { 0 } }
  func isNull(_ place: Int) -> Bool { row.content(place).isNull }
  func add(_ place: Int, to hash: inout SipHash, files: ExternalFiles?) throws {
    try hash.add(row.content(place), files: files, on: connection)
  }
}

/// Values by entity number. Core Data counts from 1, but a store may have any numbers.
final class NumberTable<Value> {
  /// The span of numbers up to which each number has a place of its own.
  private static var spanLimit: Int { 1 << 16 }

  private let lowest: Int64
  private let near: UnsafeBuffer<Value>
  private let far: [Int64: Value]
  private let defaultValue: Value

  init(_ pairs: [(number: Int, value: Value)], default defaultValue: Value) {
    self.defaultValue = defaultValue
    let numbers = pairs.map { Int64($0.number) }
    lowest = numbers.min() ?? 0
    let (span, isHuge) = (numbers.max() ?? -1).subtractingReportingOverflow(lowest)
    if isHuge || span >= Self.spanLimit {
      near = UnsafeBuffer([])
      far = Dictionary(pairs.map { (Int64($0.number), $0.value) }, uniquingKeysWith: { _, last in last })
    } else {
      var values = [Value](repeating: defaultValue, count: Int(span) + 1)
      for pair in pairs { values[pair.number - Int(lowest)] = pair.value }
      near = UnsafeBuffer(values)
      far = [:]
    }
  }

  @inline(__always) subscript(_ number: Int64) -> Value {
    let place = number &- lowest
    if place >= 0, place < near.count { return near[Int(place)] }
    return far.isEmpty ? defaultValue : far[number] ?? defaultValue
  }
}

/// An array of fixed size without checks, for loops over millions of rows.
private final class UnsafeBuffer<Element> {
  let count: Int
  private let start: UnsafeMutablePointer<Element>

  init(_ elements: [Element]) {
    count = elements.count
    start = .allocate(capacity: elements.count)
    start.initialize(from: elements, count: count)
  }

  deinit {
    start.deinitialize(count: count)
    start.deallocate()
  }

  var elements: [Element] { Array(UnsafeBufferPointer(start: start, count: count)) }

  @inline(__always) subscript(_ index: Int) -> Element {
    get { start[index] }
    _modify { yield &start[index] }
  }
}
