import GodwitJob
import GodwitModel
import GodwitStore

/// Statistics of the objects of a store, by entity and property, for `inspect --details`.
struct StoreDetails: Encodable {
  struct Attribute: Encodable {
    let name, type: String
    let isOptional: Bool
    /// Objects without a value.
    let nulls: Int64
    /// For numbers, Booleans and dates; as `export` writes them.
    var minimum, maximum: String?
    /// For texts and binary data, in the store's file.
    var minimumBytes, maximumBytes, totalBytes: Int64?
  }

  struct Relationship: Encodable {
    let name, destination: String
    let isToMany, isOrdered, isOptional: Bool
    /// Pairs of an object and a related one.
    let links: Int64
    /// Objects without a related one, of a to-one.
    let nulls: Int64?
  }

  struct Entity: Encodable {
    let name: String
    let rows: Int64
    let attributes: [Attribute]
    let relationships: [Relationship]
  }

  let entities: [Entity]

  /// Scans every entity table a few times.
  ///
  /// - Parameter model: The store's model.
  init(ofStoreAt path: String, model: ManagedObjectModel) throws {
    let connection = try StoreConnection.openStore(readingAt: path, cache: .mebibytes(8), model: model)
    let schema = try StoreSchema(model: model, probing: connection)
    entities = try model.entities.map { entity in
      try Self.entity(entity.name, connection, schema)
    }
  }

  private static let prefix = StoreConnection.sourceSchema + "."

  private static func entity(
    _ name: String, _ connection: StoreConnection, _ schema: StoreSchema
  ) throws -> Entity {
    let model = schema.model
    guard let table = schema.table(of: name) else {
      return Entity(name: name, rows: 0, attributes: [], relationships: [])
    }
    let source =
      "FROM \(prefix)\(quoted(table.name)) AS m" + schema.isObject(of: [name], row: "m").clause
    let rows = try connection.integer("SELECT count(*) \(source)") ?? 0
    let attributes = try model.attributes(of: name).compactMap { attribute in
      try schema.column(of: attribute.name, in: name).map {
        try Self.attribute(attribute, "m." + quoted($0), source, rows, connection)
      }
    }
    let relationships = try model.relationships(of: name).compactMap { relationship -> Relationship? in
      guard let sql = links(of: relationship.name, in: name, table.name, source, schema) else { return nil }
      let links = try connection.integer(sql) ?? 0
      return Relationship(
        name: relationship.name, destination: relationship.destinationEntityName, isToMany: relationship.isToMany,
        isOrdered: relationship.isOrdered, isOptional: relationship.isOptional, links: links,
        nulls: relationship.isToMany ? nil : rows - links)
    }
    return Entity(name: name, rows: rows, attributes: attributes, relationships: relationships)
  }

  private static func attribute(
    _ attribute: AttributeDescription, _ column: String, _ source: String, _ rows: Int64, _ connection: StoreConnection
  ) throws -> Attribute {
    let isSized = [.string, .uri, .binary, .transformable].contains(attribute.type)
    // The length of a BLOB is in the head of its row; a text has to be read.
    let size = "CASE typeof(\(column)) WHEN 'blob' THEN length(\(column)) ELSE length(CAST(\(column) AS BLOB)) END"
    // The limit keeps SQLite from reading a text once for each of the four.
    let found =
      try connection.rows(
        isSized
          ? "SELECT count(n), min(n), max(n), total(n) FROM (SELECT \(size) AS n \(source) LIMIT -1)"
          : "SELECT count(\(column)), min(\(column)), max(\(column)) \(source)"
      ).first ?? []
    func integer(_ place: Int) -> Int64? {
      guard found.indices.contains(place) else { return nil }
      return switch found[place] {
      case .integer(let number): number
      case .real(let number): Int64(exactly: number)
      default: nil
      }
    }
    var result = Attribute(
      name: attribute.name, type: attribute.type.xcodeName, isOptional: attribute.isOptional,
      nulls: rows - (integer(0) ?? 0))
    guard result.nulls < rows else { return result }
    if isSized {
      (result.minimumBytes, result.maximumBytes, result.totalBytes) = (integer(1), integer(2), integer(3))
    } else if attribute.type != .uuid {
      (result.minimum, result.maximum) = (text(found[1], attribute), text(found[2], attribute))
    }
    return result
  }

  /// A value as `export` writes it; one that does not fit its attribute as SQLite holds it.
  private static func text(_ value: SQLValue, _ attribute: AttributeDescription) -> String? {
    let decoded = try? AttributeValue(decoding: value, as: attribute)
    switch decoded {
    case .boolean?, .integer?, .double?, .decimal?, .date?: return decoded.map(ObjectWriter.plain)
    default: break
    }
    return switch value {
    case .null: nil
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    // Never the text itself: it is data of a user.
    case .text(let bytes): "a text of \(bytes.count) bytes"
    case .blob(let bytes): "\(bytes.count) bytes"
    }
  }

  /// Counts the links from the objects of an entity; nil for a relationship that is not stored.
  private static func links(
    of relationship: String, in entity: String, _ table: String, _ source: String, _ schema: StoreSchema
  ) -> String? {
    let condition = schema.isObject(of: [entity], row: "m").further
    let own = "\(prefix)\(quoted(table)) AS m"
    switch schema.storage(of: relationship, in: entity) {
    case .none: return nil
    case .foreignKey(_, let column, _, _): return "SELECT count(m.\(quoted(column))) \(source)"
    case .inverse(let other, let column, _, _):
      return "SELECT count(*) FROM \(prefix)\(quoted(other)) AS o CROSS JOIN \(own)"
        + " ON m.Z_PK = o.\(quoted(column))\(condition)"
    case .join(let join, let subject, _, _):
      return "SELECT count(*) FROM \(join.rows(in: StoreConnection.sourceSchema)) AS j CROSS JOIN \(own)"
        + " ON m.Z_PK = j.\(quoted(subject))\(condition)"
    }
  }
}

extension StoreDetails {
  /// As lines of text.
  var lines: [String] { ["  details"] + entities.flatMap(\.lines) }
}

extension StoreDetails.Entity {
  fileprivate var lines: [String] {
    let names = attributes.map(\.name) + relationships.map(\.name)
    let width = names.map(\.count).max() ?? 0
    var lines = ["    \(name): \(rows.counted("row"))"]
    func add(_ name: String, _ facts: [String?]) {
      lines.append("      \(name.padded(to: width))  " + facts.compactMap(\.self).joined(separator: ", "))
    }
    for attribute in attributes { add(attribute.name, attribute.facts) }
    for relationship in relationships { add(relationship.name, relationship.facts) }
    return lines
  }
}

extension StoreDetails.Attribute {
  fileprivate var facts: [String?] {
    [
      type, "\(nulls) NULL", minimum.map { "\($0) to \(maximum ?? "")" },
      minimumBytes.map { "\($0) to \(maximumBytes ?? 0) bytes" },
      totalBytes.map { "\(ByteCount(bytes: $0)) in all" },
    ]
  }
}

extension StoreDetails.Relationship {
  fileprivate var facts: [String?] {
    let kind = isOrdered ? "ordered to-many" : isToMany ? "to-many" : "to-one"
    return ["\(kind) \(destination)", nulls.map { "\($0) NULL" }, links.counted("link")]
  }
}
