import Foundation
package import GodwitModel

/// The objects of a store as expressions see them, faulted in row by row: a context.
///
/// Made fresh for a chunk and dropped with it; it keeps at most `limitRows` rows of a table, and none between chunks.
package final class ObjectContext {
  let connection: StoreConnection
  package let schema: StoreSchema
  /// The database the tables are in: `source` or `main`.
  package let database: String
  /// Whether they are those of the source.
  package let isSource: Bool
  /// Called before rows are read, for writers that buffer rows.
  package var willRead: () throws -> Void = {}
  /// The folder of external binary data; nil if external data cannot be read.
  package var support: SupportFolder?
  /// Whether a value whose external file is missing is read as nil; otherwise reading it is an error.
  package var missingFilesAreNil = false
  /// Whether values above `LargeValue.limit` are left in their rows and read on demand, for a comparison that need not
  /// hold values that are only copied.
  package var leavesLargeValues = false
  /// The largest external file that an expression reads.
  package static let externalLimit = ByteCount.mebibytes(16)
  private static let limitRows = 500
  /// The most bytes of all cached rows together.
  private static let limitBytes = 1 << 20
  private var keptBytes = 0
  private var knownIdentifier: Text?
  /// The places of the objects of owners, by to-one and owner.
  private var indexes: [String: [Int64: PlacedMembers]] = [:]
  private var indexCount = 0
  private static let limitIndexes = 200_000
  private var statements: [String: SQLStatement] = [:]
  /// The readers by table.
  private var readers: [String: RowReader] = [:]
  /// The tables by entity name.
  private var tables: [String: ObjectTable] = [:]

  package init(connection: StoreConnection, schema: StoreSchema, database: String) {
    self.connection = connection
    self.schema = schema
    self.database = database
    isSource = database == StoreConnection.sourceSchema
  }

  package func reset() {
    dropRows()
    statements = [:]
    readers = [:]
    // The source does not change during a run, and its places take long to read.
    if !isSource { dropIndexes() }
  }

  private func dropIndexes() { (indexes, indexCount) = ([:], 0) }

  private func dropRows() {
    for table in tables.values where !table.rows.isEmpty { table.rows = [:] }
    keptBytes = 0
  }

  /// Drops the cached values of a row that is about to change.
  package func forget(entityName: String, key: Int64) {
    // The row may have been read by the name of an ancestor.
    guard let table = table(of: entityName), !table.rows.isEmpty else { return }
    table.rows[key] = nil
  }

  /// The table of an entity; nil when the model has no such entity.
  package func table(of entity: String) -> ObjectTable? {
    if let known = tables[entity] { return known }
    guard let root = schema.model.root(of: entity)?.name,
      let table = tables[root] ?? ObjectTable(of: root, schema: schema, database: database)
    else { return nil }
    (tables[root], tables[entity]) = (table, table)
    return table
  }

  package func layout(of entity: String) -> ObjectLayout? {
    schema.number(of: entity).flatMap { table(of: entity)?.layouts[Int64($0)] }
  }

  package func layout(ofNumber number: Int64) -> ObjectLayout? {
    schema.entityName(Int(truncatingIfNeeded: number)).flatMap { table(of: $0)?.layouts[number] }
  }

  /// The object with a primary key among an entity and its subentities; nil without one.
  package func object(entityName: String, key: Int64) throws -> StoredObject? {
    guard let table = table(of: entityName) else { return nil }
    let row: StoredRow
    if let known = table.rows[key] {
      row = known
    } else {
      guard let found = try load(table, key: key) else { return nil }
      if table.rows.count >= Self.limitRows || keptBytes > Self.limitBytes { dropRows() }
      table.rows[key] = found
      keptBytes += found.values.byteCount
      row = found
    }
    guard let layout = table.layout(of: row.values), table.holds(layout, asKindOf: entityName) else { return nil }
    return StoredObject(context: self, layout: layout, key: key, values: row.values, large: row.large)
  }

  private func load(_ table: ObjectTable, key: Int64) throws -> StoredRow? {
    try willRead()
    if leavesLargeValues { return try reader(of: table).row(key) }
    let statement = try connection.prepare(table.reading, keptIn: &statements)
    try statement.bind(.integer(key))
    guard try statement.step() else { return nil }
    let values = statement.row.values(0..<table.table.columns.count)
    statement.reset()
    return StoredRow(values: values)
  }

  /// The place of an object among the objects of its owner, in the order of the to-many; nil without an owner.
  ///
  /// - Parameter toOne: The to-one that leads to the owner.
  func index(of key: Int64, of entity: String, along toOne: RelationshipDescription) throws -> Int64? {
    guard case .foreignKey(let table, let column, _, let order?) = schema.storage(of: toOne.name, in: entity) else {
      return nil
    }
    let (rows, link) = ("\(quoted(database)).\(quoted(table))", quoted(column))
    guard
      let owner = try keys("SELECT \(link) FROM \(rows) WHERE Z_PK = ?1 AND typeof(\(link)) = 'integer'", key).first,
      try object(entityName: toOne.destinationEntityName, key: owner) != nil
    else { return nil }
    let name = "\(table).\(column)"
    if let known = indexes[name]?[owner] { return known.place(of: key) }
    let members = try keys(
      "SELECT Z_PK FROM \(rows) WHERE \(link) = ?1 ORDER BY \(quoted(order)) IS NULL, \(quoted(order)), Z_PK", owner)
    if indexCount + members.count > Self.limitIndexes { dropIndexes() }
    indexCount += members.count
    let places = PlacedMembers(members)
    indexes[name, default: [:]][owner] = places
    return places.place(of: key)
  }

  /// The row with a primary key in the table of an entity, its large values left where they are; nil without one.
  package func storedRow(_ key: Int64, of entity: String) throws -> StoredRow? {
    try table(of: entity).flatMap { try reader(of: $0).row(key) }
  }

  private func reader(of table: ObjectTable) throws -> RowReader {
    if let known = readers[table.table.name] { return known }
    let reader = try RowReader(connection, database: database, table: table.table.name, columns: table.selected)
    readers[table.table.name] = reader
    return reader
  }

  /// The identifier of the store.
  ///
  /// - Throws: `.dataWrong` when its metadata has none.
  func storeIdentifier() throws -> Text {
    if let knownIdentifier { return knownIdentifier }
    let rows = try connection.rows(
      "SELECT Z_UUID FROM \(StoreSchema.identifier(database)).Z_METADATA ORDER BY Z_VERSION LIMIT 1")
    guard case .text(let bytes)? = rows.first?.first else {
      throw GodwitError(.dataWrong, "cannot make a UUID: the store has no identifier")
    }
    knownIdentifier = Text(utf8: bytes)
    return Text(utf8: bytes)
  }

  /// Primary keys by one query with one key as parameter.
  func keys(_ sql: String, _ key: Int64) throws -> [Int64] {
    try willRead()
    let statement = try connection.prepare(sql, keptIn: &statements)
    try statement.bind(.integer(key))
    var keys: [Int64] = []
    while try statement.step() { keys.append(statement.row.int64(0)) }
    statement.reset()
    return keys
  }
}

/// One stored object, its row read and its relationships followed on demand.
package struct StoredObject: EvaluatedObject {
  package let context: ObjectContext
  package let layout: ObjectLayout
  package let key: Int64
  /// In the order of the table's columns; NULL in the place of a value that was left in the row.
  package let values: [SQLValue]
  /// Values that were left in the row, by place.
  package var large: [Int: LargeValue] = [:]

  package init(
    context: ObjectContext, layout: ObjectLayout, key: Int64, values: [SQLValue], large: [Int: LargeValue] = [:]
  ) {
    self.context = context
    self.layout = layout
    self.key = key
    self.values = values
    self.large = large
  }

  package var entityName: String { layout.entityName }

  /// The value of a column, as a whole.
  package func stored(_ column: String) throws -> SQLValue {
    try layout.places[column].map { try value(at: $0) } ?? .null
  }

  /// The content of a column. A value that was left in the store stays there.
  package func content(_ column: String) -> StoredContent {
    guard let place = layout.places[column] else { return .value(.null) }
    return large[place].map { .large($0) } ?? .value(values[place])
  }

  private func value(at place: Int) throws -> SQLValue {
    guard !large.isEmpty, let large = large[place] else { return values[place] }
    return try context.connection.whole(large)
  }

  package func value(_ property: String) throws -> EvaluatedValue {
    if let attribute = layout.attributes[property] { return .value(try value(of: attribute)) }
    guard let relationship = layout.relationships[property] else {
      return try .object(context.composite(property, of: self))
    }
    return try context.value(of: relationship, from: key) { place in
      if case .integer(let key) = values[place] { key } else { nil }
    }
  }

  func value(of attribute: ObjectLayout.Attribute) throws -> AttributeValue {
    guard let place = attribute.place else { return .null }
    return try context.value(value(at: place), of: attribute, entityName: entityName, key: key)
  }
}

extension ObjectContext {
  /// The composite attribute of that name, which is neither an attribute nor a relationship of the object's layout.
  func composite(_ name: String, of object: some EvaluatedObject) throws -> CompositePart {
    guard schema.model.composite(name, of: object.entityName) != nil else {
      throw GodwitError(.configuration, "'\(object.entityName)' has no property '\(name)'")
    }
    return CompositePart(name, of: object)
  }

  /// The value of a column, decoded by the attribute's type.
  package func value(
    _ stored: SQLValue, of attribute: ObjectLayout.Attribute, entityName: @autoclosure () -> String,
    key: @autoclosure () -> Int64
  ) throws -> AttributeValue {
    if !attribute.isExternal, let known = AttributeValue(stored: stored, as: attribute.type) { return known }
    return try externalValue(stored, of: attribute.description, entityName: entityName(), key: key())
  }

  /// A value that may be stored in an external file, or that does not fit.
  private func externalValue(
    _ stored: SQLValue, of attribute: AttributeDescription, entityName: String, key: Int64
  ) throws -> AttributeValue {
    var problem: GodwitError?
    var isMissing = false
    do {
      return try AttributeValue(
        decoding: stored, as: attribute,
        external: { [support, schema] name in
          do {
            if let bytes = try support?.bytes(of: name, limit: ObjectContext.externalLimit) { return bytes }
            isMissing = true
            problem = .missingFile(
              support?.path(of: name) ?? name, of: attribute.name, entityName: entityName, key: key, schema: schema)
          } catch let error as GodwitError { problem = error }
          throw problem ?? GodwitError(.dataWrong, "cannot read an external file").about(.externalFile)
        })
    } catch {
      if isMissing, missingFilesAreNil { return .null }
      if let problem { throw problem }
      throw GodwitError(
        .dataWrong,
        "cannot evaluate '\(attribute.name)' for \(entityName) p\(key): expected \(attribute.type.phrase), found \(stored.kind)",
        remedy: "repair the source, then `godwit discard` the job and run again"
      ).about(.rejectedRow)
    }
  }
}

extension [SQLValue] {
  /// Memory, about.
  package var byteCount: Int {
    reduce(0) { sum, value in
      switch value {
      case .null, .integer, .real: sum + 16
      case .text(let bytes), .blob(let bytes): sum + 48 + bytes.count
      }
    }
  }
}

/// The places of the objects of one owner, which may have a million: 16 bytes each.
private struct PlacedMembers {
  /// By key. A damaged table may have a key twice; the check of the source says so, and the first place counts.
  private let members: [(key: Int64, place: Int64)]

  /// - Parameter keys: In the order of the owner.
  init(_ keys: [Int64]) {
    members = zip(keys, Int64(0)...).map { (key: $0, place: $1) }.sorted { ($0.key, $0.place) < ($1.key, $1.place) }
  }

  func place(of key: Int64) -> Int64? {
    var (low, high) = (0, members.count)
    while low < high {
      let middle = (low + high) / 2
      if members[middle].key < key { low = middle + 1 } else { high = middle }
    }
    return low < members.count && members[low].key == key ? members[low].place : nil
  }
}
