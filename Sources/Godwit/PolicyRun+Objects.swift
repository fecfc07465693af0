import GodwitModel
import GodwitStore

/// Making, writing and finding objects.
extension PolicyRun {
  // MARK: Keys

  private func root(of entity: String) throws -> String {
    guard let root = program.resolved.destinationModel.root(of: entity)?.name else {
      let names = program.resolved.destinationModel.entityNames
      throw failure("the destination has no entity '\(entity)'\(Spelling.suggestion(for: entity, among: names))")
    }
    return root
  }

  private func freshKey(_ entity: String) throws -> Int64 {
    let root = try root(of: entity)
    let key = state.nextKeys[root] ?? 1
    guard key < .max else {
      throw GodwitError(.dataWrong, "cannot number the objects of '\(root)': no room is left above the keys in use")
    }
    state.nextKeys[root] = key + 1
    return key
  }

  /// The key that the mapping would give the source object of the running hook; once for each.
  private func mappedKey(_ source: ManagedObject, _ index: Int) throws -> Int64? {
    guard program.resolved.policies[current].index == index, keyedSource == source else { return nil }
    keyedSource = nil
    switch program.facts.mappings[index].keys {
    case .offset(let offset):
      let (key, overflow) = source.key.addingReportingOverflow(offset)
      return overflow ? nil : key
    case .dense(let first):
      let given = state.dense[current] ?? 0
      let (key, overflow) = first.addingReportingOverflow(given)
      guard !overflow, given < program.facts.mappings[index].rows else { return nil }
      state.dense[current] = given + 1
      return key
    }
  }

  /// The index among mappings that make objects of source objects.
  func index(of mapping: EntityMapping) throws -> Int {
    let found = program.mappings.first {
      $0.name == mapping.name && $0.mapping.sourceEntityName == mapping.sourceEntityName
        && $0.mapping.destinationEntityName == mapping.destinationEntityName
    }
    guard let found else {
      let isAdd = mapping.kind == .add
      throw failure(
        isAdd
          ? "mapping '\(mapping.name)' is of type add: it has no source objects"
          : "the step has no mapping '\(mapping.name)'"
            + Spelling.suggestion(for: mapping.name, among: program.mappings.map(\.name)))
    }
    return found.index
  }

  // MARK: Making

  func makeObject(_ entity: String) throws -> ManagedObject {
    let model = program.resolved.destinationModel
    let key = try freshKey(entity)
    guard model.entity(entity)?.isAbstract == false else {
      throw failure("cannot make an object of '\(entity)': the entity is abstract")
    }
    var row: [String: SQLValue] = [:]
    for attribute in model.attributes(of: entity) where !attribute.isDerived && !attribute.defaultValue.isNull {
      guard let column = program.destinationSchema.column(of: attribute.name, in: entity) else { continue }
      row[column] = try SQLValue(encoding: attribute.defaultValue, as: attribute)
    }
    return ManagedObject(entityName: entity, key: key, row: row, context: draftContext, run: self)
  }

  func makeObject(forSource source: ManagedObject, in mapping: EntityMapping) throws -> ManagedObject {
    let index = try index(of: mapping)
    let resolved = program.mappings[index]
    guard source.isSource, source.entityName == resolved.source.name else {
      throw failure("mapping '\(mapping.name)' takes objects of '\(resolved.source.name)', found \(source)")
    }
    let mapped = try rows[index] ?? program.mappedRow(index)
    rows[index] = mapped
    functions.mover?.servesPolicy = true
    let outer = functions.evaluation.policyCall
    functions.evaluation.policyCall = { [unowned self] in try answer($0, mapping: resolved.mapping) }
    defer {
      functions.mover?.servesPolicy = false
      functions.evaluation.policyCall = outer
    }
    guard let values = try rows(mapped.statement, from: source.key, through: source.key).first else {
      throw failure("cannot find \(source) in the source")
    }
    var row: [String: SQLValue] = [:]
    for (column, value) in zip(mapped.columns, values) { row[column] = value }
    let key = try mappedKey(source, index) ?? freshKey(resolved.destination.name)
    return ManagedObject(entityName: resolved.destination.name, key: key, row: row, context: draftContext, run: self)
  }

  /// What the policy answers to an expression of its mapping.
  func answer(_ call: ExpressionCall, mapping: EntityMapping) throws -> EvaluatedValue {
    let policy = program.resolved.policies.firstIndex { $0.mapping.name == mapping.name && $0.index != nil } ?? current
    var call = call
    call.arguments = call.arguments.map { argument in
      switch argument {
      case .object(let object as StoredObject): .object(ManagedObject(object, isSource: true, run: self))
      case .objects(let objects, let ordered):
        .objects(
          objects.map { object in
            (object as? StoredObject).map { ManagedObject($0, isSource: true, run: self) } ?? object
          }, ordered: ordered)
      default: argument
      }
    }
    var pass = MigrationPass(self)
    do { return try instances[policy].value(of: call, in: mapping, manager: &pass) } catch {
      if error is GodwitError { throw error }
      throw GodwitError(
        .dataWrong, "policy '\(program.resolved.policies[policy].name)' failed in '\(call.selector)': \(error)")
    }
  }

  // MARK: Writing

  func isMade(_ object: ManagedObject) throws -> Bool {
    guard !object.isSource else { return false }
    // What is not inserted by the end of the hook fails it.
    if object.context === draftContext { return true }
    let number = program.destinationSchema.number(of: try root(of: object.entityName)) ?? -1
    return try !rows(
      "SELECT 1 FROM main.\(StepProgram.madeTable) WHERE root = ?1 AND key = ?2", [.int(number), .integer(object.key)]
    ).isEmpty
  }

  func isInserted(_ object: ManagedObject) throws -> Bool {
    try destinationObject(object.entityName, key: object.key) != nil
  }

  func write(_ object: ManagedObject) throws {
    guard !object.isSource else { throw failure("cannot insert \(object): it belongs to the source") }
    if let problem = object.problem { throw problem }
    guard !isReplaying else { return }
    let root = try root(of: object.entityName)
    let schema = program.destinationSchema
    guard let table = schema.table(of: object.entityName), let number = schema.number(of: object.entityName) else {
      throw GodwitError(.internalBug, "cannot find the table of '\(object.entityName)'")
    }
    let writing = writings[object.entityName] ?? writing(of: object.entityName, in: table)
    let isNew = try rows(writing.probe, [.integer(object.key)]).isEmpty
    if !isNew, object.context !== draftContext, try !isMade(object) {
      throw failure(
        "cannot save \(object): a mapping without a policy made it",
        try: "give that mapping a policy too, or say the change in its expressions")
    }
    var values: [SQLValue] = [.integer(object.key), .int(number), .integer(1)]
    for (attribute, column) in writing.attributes {
      values.append(try carried(object.row[column] ?? .null, attribute, of: object))
    }
    try cached(writing.sql).run(values)
    destinationContext.forget(entityName: object.entityName, key: object.key)
    guard isNew else { return }
    try cached("INSERT INTO main.\(StepProgram.madeTable) (root, key) VALUES (?1, ?2)").run([
      .int(schema.number(of: root) ?? -1), .integer(object.key),
    ])
    inserted[object.entityName, default: 0] += 1
  }

  /// A value that refers to a file brings the file along, under a name of its own.
  private func writing(of entity: String, in table: StoreSchema.EntityTable) -> Writing {
    let attributes = program.resolved.destinationModel.attributes(of: entity).compactMap { attribute in
      attribute.isDerived
        ? nil : program.destinationSchema.column(of: attribute.name, in: entity).map { (attribute, $0) }
    }
    let columns = ["Z_PK", "Z_ENT", "Z_OPT"] + attributes.map { $0.1 }
    let updates = columns.dropFirst(3).map { "\(quoted($0)) = excluded.\(quoted($0))" }
    let conflict = updates.isEmpty ? "DO NOTHING" : "DO UPDATE SET \(updates.joined(separator: ", "))"
    let places = (1...columns.count).map { "?\($0)" }.joined(separator: ", ")
    let name = "main.\(quoted(table.name))"
    let writing = Writing(
      attributes: attributes, probe: "SELECT 1 FROM \(name) WHERE Z_PK = ?1",
      sql:
        "INSERT INTO \(name) (\(columns.map(quoted).joined(separator: ", "))) VALUES (\(places)) ON CONFLICT (Z_PK) \(conflict)"
    )
    writings[entity] = writing
    return writing
  }

  private func carried(
    _ value: SQLValue, _ attribute: AttributeDescription, of object: ManagedObject
  ) throws -> SQLValue {
    guard attribute.allowsExternalBinaryDataStorage, case .blob(let bytes) = value, let mover = functions.mover,
      case .external(let name)? = StoredBinary(bytes), mover.source.size(of: name) != nil
    else { return value }
    return .blob(try mover.carry(bytes, salt: "\(object.entityName).\(attribute.name).p\(object.key)"))
  }

  // MARK: Finding

  func destinationObject(_ entity: String, key: Int64) throws -> ManagedObject? {
    _ = try root(of: entity)
    guard let found = try destinationContext.object(entityName: entity, key: key),
      program.resolved.destinationModel.isKind(found.entityName, of: entity)
    else { return nil }
    return ManagedObject(found, isSource: false, run: self)
  }

  func find(_ entity: String, where name: String, equals value: AttributeValue) throws -> ManagedObject? {
    _ = try root(of: entity)
    let (schema, model) = (program.destinationSchema, program.resolved.destinationModel)
    guard let attribute = model.attribute(name, of: entity), let column = schema.column(of: name, in: entity),
      let table = schema.table(of: entity)?.name
    else {
      let hint = Spelling.suggestion(for: name, among: model.attributes(of: entity).map(\.name))
      throw failure("'\(entity)' has no stored attribute '\(name)'\(hint)")
    }
    let wanted: SQLValue
    do { wanted = try SQLValue(encoding: value, as: attribute) } catch let error as GodwitError {
      throw failure(error.message)
    }
    let index = "godwit_find_\(table)_\(column)"
    if indexes.insert(index).inserted {
      try connection.execute(
        "CREATE INDEX IF NOT EXISTS main.\(quoted(index)) ON \(quoted(table)) (\(quoted(column)))")
    }
    let condition = schema.isObject(of: model.family(of: entity).map(\.name)).further
    let found = try rows(
      "SELECT Z_PK FROM main.\(quoted(table)) WHERE \(quoted(column)) IS ?1\(condition) ORDER BY Z_PK LIMIT 1",
      [wanted]
    ).first?.first
    guard case .integer(let key)? = found else { return nil }
    return try destinationObject(entity, key: key)
  }

  func objects(_ entity: String, isSource: Bool, after last: Int64?, limit: Int) throws -> [ManagedObject] {
    let context = isSource ? sourceContext : destinationContext
    guard let table = context.schema.table(of: entity)?.name else {
      let names = context.schema.model.entityNames
      throw failure(
        "the \(isSource ? "source" : "destination") has no entity '\(entity)'"
          + Spelling.suggestion(for: entity, among: names))
    }
    let condition = context.schema.isObject(of: context.schema.model.family(of: entity).map(\.name)).further
    let keys = try rows(
      "SELECT Z_PK FROM \(quoted(context.database)).\(quoted(table)) WHERE Z_PK >= ?1 AND Z_PK IS NOT ?2\(condition) ORDER BY Z_PK LIMIT ?3",
      [.integer(last ?? .min), last.map { .integer($0) } ?? .null, .int(max(0, min(limit, 10_000)))])
    return try keys.compactMap { row in
      guard case .integer(let key)? = row.first else { return nil }
      return try context.object(entityName: entity, key: key).map { ManagedObject($0, isSource: isSource, run: self) }
    }
  }
}
