import GodwitModel

/// Reads an XML store without its model into plain tables: one for each entity, under the names of the file.
///
/// | column | holds |
/// |---|---|
/// | `id` | the object's identifier, such as `z102`; `id_` where a property has the name |
/// | an attribute | a number for `int16` to `int64`, `bool`, `float`, `double` and `date`; bytes for `binary` and `transformable`; a text for all others, and where the text is no such value |
/// | a relationship | the identifiers that it names, with a space between |
///
/// An attribute that an object lacks is NULL. Memory holds one object and the names; the tables are in a temporary
/// database, which SQLite removes from its folder as soon as it is made.
package enum XMLTables {
  private enum Kind: Hashable {
    case attribute(String)
    case relationship(String)
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
      for (place, kind) in kinds.enumerated() { if case .attribute(let name) = kind { names[place] = free(name) } }
      for (place, kind) in kinds.enumerated() { if case .relationship(let name) = kind { names[place] = free(name) } }
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
    var tables: [String: Table] = [:]
    let first = try XMLStoreReader(path: files.path, name: files.givenPath)
    while let object = try first.next() {
      var table = tables[object.type] ?? Table()
      for attribute in object.attributes { table.note(.attribute(attribute.name), declaredType(attribute.type)) }
      for relationship in object.relationships { table.note(.relationship(relationship.name), "TEXT") }
      tables[object.type] = table
      guard tables.count <= tablesMaximum, table.kinds.count < columnsMaximum else {
        throw GodwitError(
          .dataWrong,
          "cannot read tables of '\(files.givenPath)': expected at most \(tablesMaximum) entities of \(columnsMaximum - 1) properties, found more",
          location: object.place)
      }
    }
    try connection.transaction {
      var inserts: [String: SQLStatement] = [:]
      defer { for insert in inserts.values { insert.finalize() } }
      for (name, table) in tables {
        let names = table.names
        let columns = zip(names, ["TEXT"] + table.types).map { "\(quoted($0)) \($1)" }.joined(separator: ", ")
        let target = "\(StoreConnection.sourceSchema).\(quoted(name))"
        try connection.execute("CREATE TABLE \(target) (\(columns))")
        let values = names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        inserts[name] = try connection.prepare("INSERT INTO \(target) VALUES (\(values))")
      }
      let second = try XMLStoreReader(path: files.path, name: files.givenPath)
      while let object = try second.next() {
        guard let table = tables[object.type], let insert = inserts[object.type] else {
          throw GodwitError(
            .stopped, "stopped: '\(files.givenPath)' changed while it was read",
            remedy: "make sure nothing writes to it and run the same command", stopReason: .sourceChanged)
        }
        var values = [SQLValue](repeating: .null, count: table.kinds.count + 1)
        values[0] = .text(object.identifier)
        for attribute in object.attributes {
          guard let place = table.places[.attribute(attribute.name)] else { continue }
          values[place + 1] = value(attribute)
        }
        for relationship in object.relationships {
          guard let place = table.places[.relationship(relationship.name)] else { continue }
          values[place + 1] = .text(relationship.identifiers.joined(separator: " "))
        }
        try insert.run(values)
      }
    }
    return connection
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
