package import GodwitModel

/// A table as a context reads its rows: which value of a row each property of each entity is.
///
/// Made once for a context, so that a row costs no search through models and schemas.
package final class ObjectTable {
  package let table: StoreSchema.EntityTable
  /// The columns of a row as SQL, without and with the alias `s`.
  package let columns: (bare: String, aliased: String)
  /// The place of the entity's number in a row.
  package let entityPlace: Int
  package private(set) var layouts: [Int64: ObjectLayout] = [:]
  private let places: [String: Int]
  /// The numbers of an entity and its subentities, by name; the root entity, which every row is a kind of, is left out.
  private var kinds: [String: Set<Int>] = [:]

  let reading: String
  /// As `reading`, column by column.
  package let selected: [RowReader.Column]
  /// Rows kept, by key.
  var rows: [Int64: StoredRow] = [:]

  init?(of entity: String, schema: StoreSchema, database: String) {
    guard let table = schema.table(of: entity),
      let entityPlace = table.columns.firstIndex(where: { $0.role == .entity })
    else { return nil }
    self.table = table
    self.entityPlace = entityPlace
    func expressions(_ alias: String?) -> [String] {
      table.columns.map { column in
        column.role == .entity
          ? schema.entityNumber(inTableOf: table.rootEntityName, row: alias)
          : (alias.map { $0 + "." } ?? "") + quoted(column.name)
      }
    }
    let bare = expressions(nil)
    columns = (bare.joined(separator: ", "), expressions("s").joined(separator: ", "))
    selected = zip(table.columns, bare).map { .init(name: $0.name, sql: $1) }
    reading = "SELECT \(columns.bare) FROM \(quoted(database)).\(quoted(table.name)) WHERE Z_PK = ?1"
    places = Dictionary(table.columns.enumerated().map { ($1.name, $0) }) { first, _ in first }
    for described in schema.model.family(of: table.rootEntityName) {
      guard let number = schema.number(of: described.name) else { continue }
      layouts[Int64(number)] = ObjectLayout(
        entityName: described.name, number: number, schema: schema, database: database, places: places)
      guard described.name != table.rootEntityName else { continue }
      kinds[described.name] = Set(schema.model.family(of: described.name).map(\.name).compactMap(schema.number))
    }
  }

  /// Whether a row with the layout is an object of an entity or of one of its subentities.
  func holds(_ layout: ObjectLayout, asKindOf entity: String) -> Bool {
    guard layout.entityName != entity, let numbers = kinds[entity] else { return true }
    return numbers.contains(layout.number)
  }

  func place(of column: String) -> Int? { places[column] }

  /// The layout of a row's entity; nil when its number is not one of the table's.
  package func layout(of row: [SQLValue]) -> ObjectLayout? {
    guard case .integer(let number) = row[entityPlace] else { return nil }
    return layouts[number]
  }
}

/// The places of one entity's properties in the rows of its table.
package final class ObjectLayout {
  package final class Attribute {
    package let description: AttributeDescription
    /// nil for one that is not stored.
    package let place: Int?
    let type: AttributeType
    /// Whether it has a text or a URI.
    package let isText: Bool
    /// Whether a value may be stored in an external file.
    let isExternal: Bool
    package let isDerived: Bool

    init(_ description: AttributeDescription, place: Int?) {
      (self.description, self.place, isDerived) = (description, place, description.isDerived)
      isText = description.type == .string || description.type == .uri
      (type, isExternal) = (description.type, description.allowsExternalBinaryDataStorage)
    }
  }

  package final class Relationship {
    enum Storage {
      /// The row has the other object's key.
      case key(place: Int)
      /// The query gives the other objects' keys for this one's.
      case query(String)
      case none
    }
    package let description: RelationshipDescription
    let storage: Storage

    init(_ description: RelationshipDescription, _ storage: Storage) {
      (self.description, self.storage) = (description, storage)
    }
  }

  package let entityName: String
  package let number: Int
  /// The number of the entity whose table it is.
  package let rootNumber: Int
  package let attributes: [String: Attribute]
  package let relationships: [String: Relationship]
  /// The places by column.
  package let places: [String: Int]

  init(entityName: String, number: Int, schema: StoreSchema, database: String, places: [String: Int]) {
    self.entityName = entityName
    self.number = number
    self.places = places
    rootNumber = schema.model.root(of: entityName).flatMap { schema.number(of: $0.name) } ?? number
    var attributes: [String: Attribute] = [:]
    for attribute in schema.model.attributes(of: entityName) {
      let place = schema.column(of: attribute.name, in: entityName).flatMap { places[$0] }
      attributes[attribute.name] = Attribute(attribute, place: place)
    }
    self.attributes = attributes
    var relationships: [String: Relationship] = [:]
    for relationship in schema.model.relationships(of: entityName) {
      let storage = schema.storage(of: relationship.name, in: entityName)
      relationships[relationship.name] = Relationship(
        relationship, Self.access(storage, database: database, places: places))
    }
    self.relationships = relationships
  }

  private static func access(
    _ storage: StoreSchema.RelationshipStorage, database: String, places: [String: Int]
  ) -> Relationship.Storage {
    switch storage {
    case .foreignKey(_, let column, _, _): return places[column].map { .key(place: $0) } ?? .none
    case .inverse(let table, let column, _, let order):
      let sort = order.map { "\(quoted($0)), Z_PK" } ?? "Z_PK"
      return .query(
        "SELECT Z_PK FROM \(quoted(database)).\(quoted(table)) WHERE \(quoted(column)) = ?1 ORDER BY \(sort)")
    case .join(let join, let subject, let object, let order):
      let sort = order.map { "\(quoted($0)), \(quoted(object))" } ?? quoted(object)
      return .query(
        "SELECT \(quoted(object)) FROM \(join.rows(in: database)) WHERE \(quoted(subject)) = ?1 ORDER BY \(sort)")
    case .none: return .none
    }
  }
}
