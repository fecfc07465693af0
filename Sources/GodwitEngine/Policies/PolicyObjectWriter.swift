import GodwitJob
import GodwitModel
import GodwitStore

/// Writes the objects that policies make and change, and counts them.
///
/// New objects are buffered and written together, at the latest with the chunk. Any read or change of objects calls
/// `flush` first, so hooks do not notice the buffer.
final class PolicyObjectWriter {
  private let step: PolicyRunState
  private let limits: RowBatch.Limits
  /// The statements that write the objects of an entity.
  private var writings: [Key: Writing] = [:]
  /// The last of them.
  @exclusivity(unchecked) private var last: Writing?
  /// Objects made in this chunk, by entity, but for those that `writings` count.
  private var inserted: [String: Int64] = [:]
  /// The columns of links that are written with objects.
  var keyColumns: [String] = []
  /// Whether objects wait.
  @exclusivity(unchecked) private var hasWaiting = false

  private struct Key: Hashable {
    /// The entity's number.
    var number: Int
    /// Whether with the columns of links.
    var isKeyed: Bool
  }

  private final class Writing {
    let key: Key
    let entityName: String
    /// New objects that are written.
    var count: Int64 = 0
    /// The columns without `Z_PK`, `Z_ENT` and `Z_OPT`, with their places in a row.
    let attributes: [AttributeDescription]
    let places: [Int]
    let isExternal: Bool
    /// Inserts a row, and does not change an existing one.
    let insert: SQLStatement
    let update: SQLStatement
    let batch: RowBatch

    init(
      key: Key, entityName: String, attributes: [AttributeDescription], places: [Int], insert: SQLStatement,
      update: SQLStatement, batch: RowBatch
    ) {
      (self.key, self.entityName, self.attributes, self.places) = (key, entityName, attributes, places)
      (self.insert, self.update, self.batch) = (insert, update, batch)
      isExternal = attributes.contains(where: \.allowsExternalBinaryDataStorage)
    }
  }

  init(_ step: PolicyRunState) {
    self.step = step
    limits = step.batchLimits
  }

  // MARK: New objects

  /// Writes an object whose key no other row can have: at once, or with others.
  ///
  /// - Parameters:
  ///   - isKeyed: Whether it is written with the keys of links.
  ///   - prepared: The prepared object with those keys.
  func insertNew(_ object: ManagedObject, isKeyed: Bool, _ prepared: PreparedObject?) throws {
    let writing = try writing(of: object, isKeyed: isKeyed)
    // An object with external files is written at once, because buffering it saves little.
    if step.hasWaitingObjects, !writing.isExternal, try isWaiting(object, writing, prepared) { return }
    try step.checkChunk()
    try bind(object, to: writing.insert, of: writing, keys: prepared?.keys ?? [])
    try writing.insert.runBound()
    guard step.connection.changes == 1 else { throw Self.keyInUse(object.entityName) }
    writing.count += 1
  }

  /// Has an object wait for others.
  ///
  /// - Returns: false for an object with a large value, which has to fail in its own hook.
  private func isWaiting(_ object: ManagedObject, _ writing: Writing, _ prepared: PreparedObject?) throws -> Bool {
    let row = try object.row()
    let batch = writing.batch
    batch.add(object.key)
    batch.add(Int64(writing.key.number))
    batch.add(1)
    var fits = batch.add(row, at: writing.places)
    if fits, let keys = prepared?.keys {
      for key in keys where fits { fits = batch.add(key) }
    }
    guard fits else {
      batch.dropRow()
      return false
    }
    // The values of all rows after it would be those of other columns.
    guard batch.isRowComplete else {
      batch.dropRow()
      throw GodwitError(
        .internalBug, "cannot insert \(object): its values are not those of the columns of '\(writing.entityName)'")
    }
    hasWaiting = true
    if batch.endRow() { try flush(writing) }
    return true
  }

  private func flush(_ writing: Writing) throws {
    let count = Int64(writing.batch.count)
    guard try step.write(writing.batch) == count else { throw step.failing(Self.keyInUse(writing.entityName)) }
    writing.count += count
  }

  private static func keyInUse(_ entity: String) -> GodwitError {
    GodwitError(.internalBug, "cannot insert an object of '\(entity)': another object has its key")
  }

  /// Writes the objects that wait. Call it before anything reads or changes objects.
  func flush() throws {
    try step.checkChunk()
    guard hasWaiting else { return }
    for key in writings.keys.sorted(by: { ($0.number, $0.isKeyed ? 1 : 0) < ($1.number, $1.isKeyed ? 1 : 0) }) {
      if let writing = writings[key] { try flush(writing) }
    }
    hasWaiting = false
  }

  // MARK: Any object

  /// Writes an object that may have a row already.
  ///
  /// - Parameters: See `insertNew`.
  /// - Returns: false when there is a row with its key.
  func insert(_ object: ManagedObject, isKeyed: Bool, _ prepared: PreparedObject?) throws -> Bool {
    try flush()
    let writing = try writing(of: object, isKeyed: isKeyed)
    try bind(object, to: writing.insert, of: writing, keys: prepared?.keys ?? [])
    try writing.insert.runBound()
    guard step.connection.changes > 0 else { return false }
    writing.count += 1
    return true
  }

  /// Writes the attributes of an object that has a row.
  ///
  /// - Parameter isKeyed: See `insert`. The keys of links stay as they are.
  func update(_ object: ManagedObject, isKeyed: Bool) throws {
    try flush()
    let writing = try writing(of: object, isKeyed: isKeyed)
    try bind(object, to: writing.update, of: writing, keys: [])
    try writing.update.runBound()
    step.destinationContext.forget(entityName: object.entityName, key: object.key)
  }

  // MARK: The end of a chunk

  /// Ends the statements that write objects; their counts stay.
  func endStatements() throws {
    try flush()
    for writing in writings.values where writing.count > 0 { inserted[writing.entityName, default: 0] += writing.count }
    (writings, last) = ([:], nil)
  }

  /// How many objects the chunk has made, by entity. The next one begins at nothing.
  func takeInserted() throws -> [String: Int64] {
    try endStatements()
    defer { inserted = [:] }
    return inserted
  }

  /// Drops the objects of a chunk that was rolled back.
  func rollBack() { (writings, last, inserted, hasWaiting) = ([:], nil, [:], false) }

  // MARK: Values

  private func bind(
    _ object: ManagedObject, to statement: SQLStatement, of writing: Writing, keys: [SQLValue]
  ) throws {
    let row = try object.row()
    statement.bind(object.key, at: 1)
    statement.bind(Int64(object.entityNumber), at: 2)
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
      case .external(let name)? = StoredBinary(bytes)
    else { return value }
    if let carried = try mover.carry(bytes, salt: "\(object.entityName).\(attribute.name).p\(object.key)") {
      return .blob(carried)
    }
    if mover.missingFilesAreNil { return .null }
    throw GodwitError.missingFile(
      mover.source.path(of: name), of: attribute.name, entityName: object.entityName, key: object.key,
      action: "store", schema: step.program.destinationSchema)
  }

  // MARK: Statements

  private func writing(of object: ManagedObject, isKeyed: Bool) throws -> Writing {
    let key = Key(number: object.entityNumber, isKeyed: isKeyed)
    if let last, last.key == key { return last }
    let writing = try writings[key] ?? makeWriting(of: object, key, keyColumns: isKeyed ? keyColumns : [])
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
    let (target, leaving) = ("main.\(quoted(table.name))", "ON CONFLICT (Z_PK) DO NOTHING")
    func insertion(_ columns: [String]) -> String {
      let places = (1...columns.count).map { "?\($0)" }.joined(separator: ", ")
      return "INSERT INTO \(target) (\(columns.map(quoted).joined(separator: ", "))) VALUES (\(places))"
    }
    return Writing(
      key: key, entityName: entity, attributes: attributes, places: attributePlaces,
      insert: try step.connection.prepare("\(insertion(columns + keyColumns)) \(leaving)"),
      update: try step.connection.prepare("\(insertion(columns)) ON CONFLICT (Z_PK) \(conflict)"),
      batch: RowBatch(
        step.connection, into: target, columns: (columns + keyColumns).map(quoted), conflict: leaving, limits: limits))
  }
}
