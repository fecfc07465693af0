import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

/// Writes the objects that policies make and change, and counts them.
final class PolicyObjectWriter {
  private let step: PolicyStep
  /// What writes the objects of an entity.
  private var writings: [Key: Writing] = [:]
  /// The last of them.
  private var last: Writing?
  /// Objects made in this chunk, by entity, but for those that `writings` count.
  private var inserted: [String: Int64] = [:]

  private struct Key: Hashable {
    /// The entity's number.
    var number: Int
    /// Whether with the columns of links.
    var isKeyed: Bool
  }

  private final class Writing {
    let key: Key
    let entityName: String
    /// New objects.
    var count: Int64 = 0
    /// By column, `Z_PK`, `Z_ENT` and `Z_OPT` apart, and where a row has them.
    let attributes: [AttributeDescription]
    let places: [Int]
    let isExternal: Bool
    /// Leaves a row that is there.
    let insert: SQLStatement
    let update: SQLStatement

    init(
      key: Key, entityName: String, attributes: [AttributeDescription], places: [Int], insert: SQLStatement,
      update: SQLStatement
    ) {
      (self.key, self.entityName, self.attributes, self.places) = (key, entityName, attributes, places)
      (self.insert, self.update) = (insert, update)
      isExternal = attributes.contains(where: \.allowsExternalBinaryDataStorage)
    }
  }

  init(_ step: PolicyStep) { self.step = step }

  /// Writes a new object.
  ///
  /// - Parameters:
  ///   - columns: Those of links that are written with the object; empty for none.
  ///   - keys: What stands in them.
  /// - Returns: false when there is a row with its key.
  func insert(_ object: ManagedObject, columns: [String], keys: [SQLValue]) throws -> Bool {
    let writing = try writing(of: object, columns: columns)
    try bind(object, to: writing.insert, of: writing, keys: keys)
    try writing.insert.runBound()
    guard step.connection.changes > 0 else { return false }
    writing.count += 1
    return true
  }

  /// Writes the attributes of an object whose row is there.
  ///
  /// - Parameter columns: See `insert`. The columns themselves stay as they are.
  func update(_ object: ManagedObject, columns: [String]) throws {
    let writing = try writing(of: object, columns: columns)
    try bind(object, to: writing.update, of: writing, keys: [])
    try writing.update.runBound()
    step.destinationContext.forget(entityName: object.entityName, key: object.key)
  }

  /// Ends the statements that write objects; what they counted stays.
  func endStatements() {
    for writing in writings.values where writing.count > 0 { inserted[writing.entityName, default: 0] += writing.count }
    (writings, last) = ([:], nil)
  }

  /// How many objects the chunk has made, by entity. The next one begins at nothing.
  func takeInserted() -> [String: Int64] {
    endStatements()
    defer { inserted = [:] }
    return inserted
  }

  private func bind(
    _ object: ManagedObject, to statement: SQLStatement, of writing: Writing, keys: [SQLValue]
  ) throws {
    let row = try object.row()
    statement.bind(object.key, at: 1)
    statement.bind(Int64(object.layout.number), at: 2)
    statement.bind(1, at: 3)
    var position = 4
    if writing.isExternal {
      for (attribute, place) in zip(writing.attributes, writing.places) {
        try statement.bind(withFile(row[place], attribute, of: object), at: position)
        position += 1
      }
    } else {
      for place in writing.places {
        try statement.bind(row[place], at: position)
        position += 1
      }
    }
    for key in keys {
      try statement.bind(key, at: position)
      position += 1
    }
  }

  /// A value that refers to a file brings the file along, under a name of its own.
  private func withFile(
    _ value: SQLValue, _ attribute: AttributeDescription, of object: ManagedObject
  ) throws -> SQLValue {
    guard attribute.allowsExternalBinaryDataStorage, case .blob(let bytes) = value, let mover = step.functions.mover,
      case .external(let name)? = StoredBinary(bytes), mover.source.size(of: name) != nil
    else { return value }
    return .blob(try mover.carry(bytes, salt: "\(object.entityName).\(attribute.name).p\(object.key)"))
  }

  private func writing(of object: ManagedObject, columns: [String]) throws -> Writing {
    let key = Key(number: object.layout.number, isKeyed: !columns.isEmpty)
    if let last, last.key == key { return last }
    let writing = try writings[key] ?? makeWriting(of: object, key, keyColumns: columns)
    (writings[key], last) = (writing, writing)
    return writing
  }

  private func makeWriting(of object: ManagedObject, _ key: Key, keyColumns: [String]) throws -> Writing {
    let entity = object.entityName
    guard let table = step.program.destinationSchema.table(of: entity) else {
      throw GodwitError(.internalBug, "cannot find the table of '\(entity)'")
    }
    var attributes: [AttributeDescription] = []
    var attributePlaces: [Int] = []
    var columns = ["Z_PK", "Z_ENT", "Z_OPT"]
    for attribute in step.model.attributes(of: entity) where !attribute.isDerived {
      guard let place = object.layout.attributes[attribute.name]?.place else { continue }
      attributes.append(attribute)
      attributePlaces.append(place)
      columns.append(table.columns[place].name)
    }
    let updates = columns.dropFirst(3).map { "\(quoted($0)) = excluded.\(quoted($0))" }
    let conflict = updates.isEmpty ? "DO NOTHING" : "DO UPDATE SET \(updates.joined(separator: ", "))"
    func insertion(_ columns: [String]) -> String {
      let places = (1...columns.count).map { "?\($0)" }.joined(separator: ", ")
      return
        "INSERT INTO main.\(quoted(table.name)) (\(columns.map(quoted).joined(separator: ", "))) VALUES (\(places)) ON CONFLICT (Z_PK)"
    }
    return Writing(
      key: key, entityName: entity, attributes: attributes, places: attributePlaces,
      insert: try step.connection.prepare("\(insertion(columns + keyColumns)) DO NOTHING"),
      update: try step.connection.prepare("\(insertion(columns)) \(conflict)"))
  }
}
