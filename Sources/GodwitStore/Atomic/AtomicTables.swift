import GodwitModel

/// Reads an atomic store without its model into plain tables: one for each entity, under the names of the file.
///
/// | column | holds |
/// |---|---|
/// | `id` | the object's identifier, such as `z102`, in a binary store its key; `id_` where a property has the name |
/// | an attribute | XML: a number for `int16` to `int64`, `bool`, `float`, `double` and `date`; bytes for `binary` and `transformable`; a text for all others, and where the text is no such value |
/// | `value1`, `value2` and so on | an attribute of a binary store, which has a place and no name: a number, a text or bytes; a date as seconds since 2001; any other object as a keyed archive |
/// | a relationship | the identifiers that it names, with a space between |
///
/// An attribute that an object lacks is NULL. Memory holds one object and the names; the tables are in a temporary
/// database, which SQLite removes from its folder as soon as it is made.
package enum AtomicTables {
  enum Kind: Hashable {
    case attribute(Text)
    case relationship(Text)
  }

  /// An object under the names of the file.
  struct Object {
    var entity: String
    var identifier: String
    var place: GodwitError.Location?
    /// Each with the declared type of its column.
    var properties: [(kind: Kind, type: String, value: () throws -> SQLValue)] = []
  }

  private struct Table {
    var places: [Kind: Int] = [:]
    /// The declared type of each column but the first; empty where objects differ.
    var types: [String] = []
    var kinds: [Kind] = []

    mutating func note(_ kind: Kind, _ type: String) {
      if let place = places[kind] {
        if types[place] != type { types[place] = "" }
        return
      }
      places[kind] = kinds.count
      kinds.append(kind)
      types.append(type)
    }

    /// The names of all columns, the identifier first: no two are the same.
    var names: [String] {
      var taken: Set<String> = []
      func free(_ name: String) -> String {
        var name = name
        while !taken.insert(name.lowercased()).inserted { name += "_" }
        return name
      }
      // Attributes keep their names.
      var names = [String](repeating: "", count: kinds.count)
      for (place, kind) in kinds.enumerated() {
        if case .attribute(let name) = kind { names[place] = free(name.string) }
      }
      for (place, kind) in kinds.enumerated() {
        if case .relationship(let name) = kind { names[place] = free(name.string) }
      }
      return [free("id")] + names
    }
  }

  /// More than any model has.
  private static let tablesMaximum = 10_000
  /// The most columns that SQLite gives a table.
  private static let columnsMaximum = 2000

  /// A connection to memory with the tables attached as `source`.
  ///
  /// - Throws: `.dataWrong` (65) with line and column when the file is damaged; as `StoreFiles.init`.
  package static func open(_ files: StoreFiles) throws -> StoreConnection {
    let connection = try StoreConnection(path: nil, cache: .mebibytes(1))
    try connection.execute("PRAGMA temp_store = FILE")
    try connection.attach("")
    var tables: [Text: Table] = [:]
    try forEachObject(of: files) { object in
      var table = tables[object.entity] ?? Table()
      for property in object.properties { table.note(property.kind, property.type) }
      tables[object.entity] = table
      guard tables.count <= tablesMaximum, table.kinds.count < columnsMaximum else {
        throw GodwitError(
          .dataWrong,
          "cannot read tables of '\(files.givenPath)': expected at most \(tablesMaximum) entities of \(columnsMaximum - 1) properties, found more",
          location: object.place)
      }
    }
    try connection.transaction {
      var inserts: [Text: SQLStatement] = [:]
      defer { for insert in inserts.values { insert.finalize() } }
      for (name, table) in tables {
        let names = table.names
        let columns = zip(names, ["TEXT"] + table.types).map { "\(quoted($0)) \($1)" }.joined(separator: ", ")
        let target = "\(StoreConnection.sourceSchema).\(quoted(name.string))"
        try connection.execute("CREATE TABLE \(target) (\(columns))")
        let values = names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        inserts[name] = try connection.prepare("INSERT INTO \(target) VALUES (\(values))")
      }
      try forEachObject(of: files) { object in
        guard let table = tables[object.entity], let insert = inserts[object.entity] else {
          throw GodwitError(
            .stopped, "stopped: '\(files.givenPath)' changed while it was read",
            remedy: "make sure nothing writes to it and run the same command", stopReason: .sourceChanged)
        }
        var values = [SQLValue](repeating: .null, count: table.kinds.count + 1)
        values[0] = .text(object.identifier)
        for property in object.properties {
          guard let place = table.places[property.kind] else { continue }
          values[place + 1] = try property.value()
        }
        try insert.run(values)
      }
    }
    return connection
  }

  private static func forEachObject(of files: StoreFiles, _ body: (Object) throws -> Void) throws {
    switch files.type {
    case .binary:
      let reader = try BinaryStoreReader(path: files.path, name: files.givenPath)
      while let object = try reader.nextRaw() { try body(object) }
    default:
      let reader = try XMLStoreReader(path: files.path, name: files.givenPath)
      while let object = try reader.next() { try body(raw(object)) }
    }
  }

  // MARK: XML

  private static func raw(_ found: XMLStoreReader.Object) -> Object {
    var object = Object(entity: found.type, identifier: found.identifier, place: found.place)
    for attribute in found.attributes {
      object.properties.append((.attribute(Text(attribute.name)), declaredType(attribute.type), { value(attribute) }))
    }
    for relationship in found.relationships {
      object.properties.append(
        (.relationship(Text(relationship.name)), "TEXT", { .text(relationship.identifiers.joined(separator: " ")) }))
    }
    return object
  }

  private static func declaredType(_ type: String) -> String {
    switch type {
    case "int16", "int32", "int64", "bool": "INTEGER"
    case "float", "double", "date": "REAL"
    case "binary", "transformable": "BLOB"
    default: "TEXT"
    }
  }

  private static func value(_ attribute: XMLStoreReader.Attribute) -> SQLValue {
    func word() -> String {
      let text = String(decoding: attribute.text, as: UTF8.self)
      return String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
    switch declaredType(attribute.type) {
    case "INTEGER": if let number = Int64(word()) { return .integer(number) }
    case "REAL": if let number = Double(word()), number.isFinite { return .real(number) }
    case "BLOB": if let bytes = Base64.bytes(of: attribute.text) { return .blob(bytes) }
    default: break
    }
    return .text(attribute.text)
  }
}
