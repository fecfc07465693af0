import ArgumentParser
import Foundation
import GodwitModel
import GodwitStore

/// How plain SQLite tables have decimals.
enum DecimalForm: String, CaseIterable, ExpressibleByArgument {
  /// Numbers, which compare as such.
  case number
  /// Texts with all digits.
  case text
}

/// Writes objects into plain SQLite tables with the model's names, for tools that know nothing of Core Data.
///
/// | in the model | in the file |
/// |---|---|
/// | an entity | a table of its name, with the inherited properties too; one row for each object |
/// | the object's key | `pk` |
/// | an attribute | a column of its name; of decimals and dates, numbers or texts |
/// | a to-one | a column with the key; `NAME_entity` too where the destination has subentities |
/// | a to-many with a to-one inverse | nothing more: the inverse's column has the key |
/// | any other to-many | a table `ENTITY_NAME` with one row for each link, and `position` if it is ordered |
///
/// Both ends of a many-to-many relationship share a table unless both are ordered. A to-many whose inverse is not
/// exported as a whole has a table of its own.
final class SQLiteExport {
  private let reader: ObjectReader
  private let selection: ObjectSelection
  private let connection: StoreConnection
  private var model: ManagedObjectModel { reader.schema.model }
  /// The names of tables and indexes, which SQLite keeps in one list.
  private var names = SQLiteNames()
  /// The names of tables, by entity.
  private var tableNames: [String: String] = [:]
  private var keyColumns: [String: String] = [:]
  private var rows: [String: ObjectRows] = [:]
  private var links: [RelationshipName: LinkTable] = [:]
  private var linkOrder: [RelationshipName] = []
  private var indexes: [(table: String, column: String)] = []
  private let decimals: DecimalForm
  private let dates: DateForm
  /// Decimals that the file has with fewer digits, or as the text `NaN`.
  private var inexact = 0
  private lazy var inserter = RowInserter(connection, tables: Set(tableNames.values))

  /// A relationship by the entity that declares it.
  private struct RelationshipName: Hashable {
    var entity, name: String

    static func < (a: Self, b: Self) -> Bool { (Text(a.entity), Text(a.name)) < (Text(b.entity), Text(b.name)) }
  }

  private struct ObjectRows {
    var insert: SQLStatement
    /// In the order of the parameters after the key.
    var properties: [(name: String, hasEntity: Bool)] = []
    var columns: [String] = []
    /// The to-many relationships that have a table.
    var linked: [(property: String, table: RelationshipName)] = []
  }

  private struct LinkTable {
    var name: String
    /// The definitions of the columns.
    var columns: [String]
    var hasOwnerEntity, hasObjectEntity, isOrdered: Bool
    var insert: SQLStatement?
  }

  private init(
    _ reader: ObjectReader, _ selection: ObjectSelection, _ decimals: DecimalForm, _ dates: DateForm,
    on connection: StoreConnection
  ) {
    (self.reader, self.selection, self.connection) = (reader, selection, connection)
    (self.decimals, self.dates) = (decimals, dates)
  }

  /// Writes a new file that has its name when it is complete.
  ///
  /// - Parameter store: The store, whose permissions the file gets.
  /// - Returns: How many decimals the file does not hold exactly.
  /// - Throws: `.cannotCreate` (73) when something is at the path.
  static func write(
    _ selection: ObjectSelection, from reader: ObjectReader, to path: String, like store: String,
    decimals: DecimalForm, dates: DateForm = .iso
  ) throws -> Int {
    var inexact = 0
    try NewDatabase.write(to: path, like: store) { connection in
      let export = SQLiteExport(reader, selection, decimals, dates, on: connection)
      try export.write()
      inexact = export.inexact
    }
    return inexact
  }

  private func write() throws {
    reader.leavesLargeValues = true
    try makeTables()
    for group in selection.groups {
      try reader.forEachObject(of: group, where: selection.condition) { object in
        try insert(object)
        return true
      }
    }
    for rows in rows.values { rows.insert.finalize() }
    for table in links.values { table.insert?.finalize() }
    for (table, column) in indexes {
      let name = quoted(names.add("index_\(table)_\(column)"))
      try connection.execute(
        "CREATE INDEX \(name) ON \(quoted(table)) (\(quoted(column)))")
    }
  }

  // MARK: Tables

  private func makeTables() throws {
    for entity in selection.entities { tableNames[entity] = names.add(entity) }
    for entity in selection.entities { keyColumns[entity] = columns(of: entity).key }
    for entity in selection.entities { try planLinks(of: entity) }
    for entity in selection.entities { try makeTable(of: entity) }
    for link in linkOrder {
      guard let table = links[link] else { continue }
      links[link]?.insert = try NewDatabase.makeTable(
        table.name, of: "relationship '\(link.name)'", columns: table.columns, in: connection)
    }
  }

  private struct PropertyColumn {
    var name, column: String
    /// The entity of the object that a to-one leads to, where it may be one of several.
    var entityColumn: String?
  }

  /// The columns of an entity's properties, and the one of the key, which gives way to a property of its name.
  private func columns(
    of entity: String
  ) -> (key: String, properties: [PropertyColumn]) {
    var names = SQLiteNames()
    let properties = reader.propertyNames(of: entity).filter { model.relationship($0, of: entity)?.isToMany != true }
    let columns = properties.map { names.add($0) }
    let key = names.add("pk")
    return (
      key,
      zip(properties, columns).map { property, column in
        let destination = model.relationship(property, of: entity)?.destinationEntityName
        let isKind = destination.map(model.hasSubentities) ?? false
        return PropertyColumn(
          name: property, column: column, entityColumn: isKind ? names.add(column + "_entity") : nil)
      }
    )
  }

  private func makeTable(of entity: String) throws {
    let table = tableNames[entity] ?? entity
    let (key, properties) = columns(of: entity)
    var definitions = ["\(quoted(key)) INTEGER PRIMARY KEY"]
    for property in properties {
      let (name, column, entityColumn) = (property.name, property.column, property.entityColumn)
      let columnName = quoted(column)
      if let relationship = model.relationship(name, of: entity) {
        definitions.append("\(columnName) INTEGER" + reference(to: relationship.destinationEntityName))
        if let entityColumn { definitions.append("\(quoted(entityColumn)) TEXT") }
        indexes.append((table, column))
      } else if let attribute = model.attribute(name, of: entity) {
        definitions.append("\(columnName) \(columnType(of: attribute.type))")
      }
    }
    rows[entity] = ObjectRows(
      insert: try NewDatabase.makeTable(table, of: "entity '\(entity)'", columns: definitions, in: connection),
      properties: properties.map { ($0.name, $0.entityColumn != nil) },
      columns: [key] + properties.flatMap { [$0.column] + ($0.entityColumn.map { [$0] } ?? []) },
      linked: toManyNames(of: entity).compactMap { name in
        let link = declared(name, of: entity)
        return links[link] == nil ? nil : (name, link)
      })
  }

  /// A foreign key where every link leads to a row of one table.
  private func reference(to entity: String) -> String {
    guard selection.condition == nil, !model.hasSubentities(entity), let table = tableNames[entity],
      let key = keyColumns[entity]
    else { return "" }
    return " REFERENCES \(quoted(table)) (\(quoted(key)))"
  }

  private func columnType(of type: AttributeType) -> String {
    switch type {
    case .decimal where decimals == .number: "NUMERIC"
    case .integer16, .integer32, .integer64, .boolean: "INTEGER"
    case .double, .float: "REAL"
    case .date where dates != .iso: "REAL"
    case .binary, .transformable: "BLOB"
    default: "TEXT"
    }
  }

  // MARK: Links

  private func toManyNames(of entity: String) -> [String] {
    reader.propertyNames(of: entity).filter { model.relationship($0, of: entity)?.isToMany == true }
  }

  private func declared(_ relationship: String, of entity: String) -> RelationshipName {
    let owner = model.lineage(of: entity).first { $0.relationships.contains { $0.name == relationship } }
    return RelationshipName(entity: owner?.name ?? entity, name: relationship)
  }

  /// Whether every object of an entity and its subentities is exported.
  private func isWhole(_ entity: String) -> Bool {
    selection.condition == nil
      && model.family(of: entity).allSatisfy { $0.isAbstract || tableNames[$0.name] != nil }
  }

  private func planLinks(of entity: String) throws {
    for name in toManyNames(of: entity) {
      guard let relationship = model.relationship(name, of: entity) else { continue }
      let link = declared(name, of: entity)
      guard links[link] == nil, needsTable(relationship, link) else { continue }
      let (owner, destination) = (link.entity, relationship.destinationEntityName)
      let table = names.add("\(owner)_\(name)")
      var columnNames = SQLiteNames()
      let (ownerColumn, objectColumn) = (columnNames.add(owner), columnNames.add(name))
      let ownerIsKind = model.hasSubentities(owner)
      let objectIsKind = model.hasSubentities(destination)
      var columns = ["\(quoted(ownerColumn)) INTEGER NOT NULL" + reference(to: owner)]
      func add(_ name: String, _ type: String) { columns.append("\(quoted(columnNames.add(name))) \(type)") }
      if ownerIsKind { add(ownerColumn + "_entity", "TEXT NOT NULL") }
      columns.append("\(quoted(objectColumn)) INTEGER NOT NULL" + reference(to: destination))
      if objectIsKind { add(objectColumn + "_entity", "TEXT NOT NULL") }
      if relationship.isOrdered { add("position", "INTEGER NOT NULL") }
      links[link] = LinkTable(
        name: table, columns: columns, hasOwnerEntity: ownerIsKind, hasObjectEntity: objectIsKind,
        isOrdered: relationship.isOrdered)
      linkOrder.append(link)
      indexes += [(table, ownerColumn), (table, objectColumn)]
    }
  }

  /// Whether the links of a to-many cannot be read from its inverse.
  private func needsTable(_ relationship: RelationshipDescription, _ link: RelationshipName) -> Bool {
    guard !relationship.isOrdered, isWhole(relationship.destinationEntityName),
      let inverse = model.inverse(of: relationship)
    else { return true }
    let destination = relationship.destinationEntityName
    guard model.relationship(inverse.name, of: destination) != nil,
      reader.propertyNames(of: destination).contains(inverse.name)
    else { return true }
    guard inverse.isToMany else { return false }
    let other = declared(inverse.name, of: destination)
    return other == link || !(inverse.isOrdered || other < link)
  }

  // MARK: Rows

  private func insert(_ object: ObjectReader.Object) throws {
    let entity = object.reference.entity
    guard let rows = rows[entity], let table = tableNames[entity] else { return }
    var large: [Int: any LargeBytes] = [:]
    let values = Dictionary(object.properties.map { ($0.name, $0.value) }) { first, _ in first }
    var arguments: [SQLValue] = [.integer(object.reference.key)]
    for (name, hasEntity) in rows.properties {
      switch values[name] {
      case .toOne(let reference):
        arguments.append(reference.map { .integer($0.key) } ?? .null)
        if hasEntity { arguments.append(reference.map { .text($0.entity) } ?? .null) }
      case .attribute(let value, _): arguments.append(stored(value))
      case .large(let value, _):
        let isReadable = try !value.isText || reader.bytes(of: value).forEachText { _ in }
        large[arguments.count] = try reader.open(value, asBlob: !isReadable)
        arguments.append(.null)
      case .missingFile(let file): arguments.append(.text("missing-file:" + file))
      case .toMany, nil: arguments.append(.null)
      }
    }
    try inserter.insert(arguments, large: large, by: rows.insert, into: table, columns: rows.columns)
    for (property, link) in rows.linked {
      guard case .toMany(let references)? = values[property], let table = links[link] else { continue }
      for (position, reference) in references.enumerated() {
        var arguments: [SQLValue] = [.integer(object.reference.key)]
        if table.hasOwnerEntity { arguments.append(.text(object.reference.entity)) }
        arguments.append(.integer(reference.key))
        if table.hasObjectEntity { arguments.append(.text(reference.entity)) }
        if table.isOrdered { arguments.append(.int(position)) }
        try table.insert?.run(arguments)
      }
    }
  }

  private func stored(_ value: AttributeValue) -> SQLValue {
    switch value {
    case .decimal(let number) where decimals == .number:
      if let whole = number.wholeNumber { return .integer(whole) }
      let nearest = number.nearestDouble
      if Decimal(stored: nearest) != number { inexact += 1 }
      return nearest.isNaN ? .text("NaN") : .real(nearest)
    case .date(let seconds): return dates.number(seconds).map { .real($0) } ?? Self.value(value)
    default: return Self.value(value)
    }
  }

  private static func value(_ value: AttributeValue) -> SQLValue {
    switch value {
    case .null: .null
    case .boolean(let truth): .int(truth ? 1 : 0)
    case .integer(let number): .integer(number)
    case .double(let number): .real(number)
    // Text that is not UTF-8 would stop most readers of the whole column.
    case .string(let text), .uri(let text):
      String(validating: text.utf8, as: UTF8.self) == nil ? .blob(text.utf8) : .text(text.utf8)
    case .data(let bytes): .blob(bytes)
    case .decimal, .date, .uuid: .text(ObjectWriter.plain(value))
    }
  }
}
