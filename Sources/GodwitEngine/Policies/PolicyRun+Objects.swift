package import GodwitJob
import GodwitLowering
package import GodwitModel
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
      throw GodwitError(.dataWrong, "cannot number the objects of '\(root)': no keys are left above those in use")
    }
    state.nextKeys[root] = key + 1
    return key
  }

  /// The key that the mapping would give the source object of the running hook; once for each.
  private func mappedKey(_ source: ManagedObject, _ index: Int) throws -> Int64? {
    guard policyIndexes[current] == index, keyedSource == source else { return nil }
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

  /// The key of an object made by name: that of the mapping, where it is the first of the mapping's entity that the running
  /// hook makes of its source object.
  private func newKey(_ entity: String) throws -> Int64 {
    if let source = keyedSource, let index = policyIndexes[current],
      program.mappings[index].destination.name == entity, let key = try mappedKey(source, index)
    {
      return key
    }
    return try freshKey(entity)
  }

  /// The index among mappings that make objects of source objects.
  func index(of mapping: EntityMapping) throws -> Int {
    if let index = policyIndexes[current], Self.isSame(mapping, mappings[current]) { return index }
    guard let found = program.mappings.first(where: { Self.isSame(mapping, $0.mapping) }) else {
      let isAdd = mapping.kind == .add
      throw failure(
        isAdd
          ? "mapping '\(mapping.name)' is of type add: it has no source objects"
          : "the step has no mapping '\(mapping.name)'"
            + Spelling.suggestion(for: mapping.name, among: program.mappings.map(\.name)))
    }
    return found.index
  }

  private static func isSame(_ a: EntityMapping, _ b: EntityMapping) -> Bool {
    a.name == b.name && a.sourceEntityName == b.sourceEntityName && a.destinationEntityName == b.destinationEntityName
  }

  // MARK: Source objects

  /// The next source objects that a mapping takes, by key, with what it gives them.
  ///
  /// - Parameter ahead: What reads them on a second core; nil afterwards when it cannot go on.
  /// - Returns: The key to go on from; nil when these are the last.
  func page(
    of index: Int, from first: Int64, through last: Int64, ahead: inout SourcePagePrefetcher?
  ) throws -> (objects: [PreparedObject], next: Int64?) {
    if let known = ahead {
      if known.generation == generation, let page = known.page(from: first) {
        return try prepare(page, of: index, known.query)
      }
      known.stop()
      ahead = nil
    }
    func read(_ query: SourcePageQuery) throws -> (objects: [PreparedObject], next: Int64?) {
      let statement = query.statement
      let page = try functions.running(statement, site: "policy '\(program.resolved.policies[current].name)'") {
        try query.page(cached(statement.sql), from: first, through: last)
      }
      return try prepare(page, of: index, query)
    }
    guard try mappedRow(index).isPlain else { return try read(pageQuery(index, isPrepared: false)) }
    do { return try read(pageQuery(index, isPrepared: true)) } catch let error as GodwitError
      where error.code == .dataWrong
    {
      // A value that does not fit is an error once the policy asks for it.
      return try read(pageQuery(index, isPrepared: false))
    }
  }

  /// Has a second core read the pages from a key on; nil where only this connection can.
  func readAhead(of index: Int, from first: Int64, through last: Int64) throws -> SourcePagePrefetcher? {
    let query = try pageQuery(index, isPrepared: try mappedRow(index).isPlain)
    guard query.statement.builder.functions.evaluations.isEmpty, !query.statement.builder.readsSpill,
      let reader = try connection.anotherReader(cache: .init(bytes: memory.bytes / 32))
    else { return nil }
    let own = try SQLFunctions(connection: reader, sourceSchema: program.sourceSchema, now: now)
    // They are complete, and nobody changes them.
    for index in query.statement.builder.functions.keySets {
      own.rows.setKeySet(functions.rows.keySet(index), for: index)
    }
    return SourcePagePrefetcher(
      query, generation: generation, from: first, through: last, reader: reader, functions: own)
  }

  private func pageQuery(_ index: Int, isPrepared: Bool) throws -> SourcePageQuery {
    guard let table = sourceContext.table(of: program.mappings[index].source.name),
      let keyPlace = table.table.columns.firstIndex(where: { $0.role == .primaryKey })
    else { throw GodwitError(.internalBug, "cannot find the table of '\(program.mappings[index].source.name)'") }
    let (statement, keyColumns) = try programNow.policy.policyPage(
      index, columns: table.columns.aliased, isPrepared: isPrepared, limit: EngineTuning.current.pages.rowsPerPage)
    return SourcePageQuery(
      statement: statement, keyColumns: keyColumns, width: table.table.columns.count, keyPlace: keyPlace,
      mapped: isPrepared ? try mappedRow(index) : nil, limitBytes: Int(clamping: max(64 << 10, memory.bytes / 32)))
  }

  private func prepare(
    _ page: SourcePage, of index: Int, _ query: SourcePageQuery
  ) throws -> (objects: [PreparedObject], next: Int64?) {
    keyColumns = query.keyColumns
    keyLayout = keyColumns.isEmpty ? nil : try mappedRow(index).layout
    let table = sourceContext.table(of: program.mappings[index].source.name)
    let objects = page.rows.compactMap { row in
      table?.layout(of: row.values).map { layout in
        PreparedObject(
          mapping: index, key: row.key,
          object: ManagedObject(layout, key: row.key, values: row.values, context: sourceContext, run: self),
          mapped: row.mapped, keys: row.keys)
      }
    }
    return (objects, page.next)
  }

  // MARK: Making

  package func makeObject(_ entity: String) throws -> ManagedObject {
    let model = program.resolved.destinationModel
    let key = try newKey(entity)
    guard model.entity(entity)?.isAbstract == false else {
      throw failure("cannot make an object of '\(entity)': the entity is abstract")
    }
    let layout = try layout(of: entity)
    var values = [SQLValue](repeating: .null, count: layout.places.count)
    for attribute in layout.attributes.values {
      guard let place = attribute.place, case let described = attribute.description,
        !described.isDerived && !described.defaultValue.isNull
      else { continue }
      values[place] = try SQLValue(encoding: described.defaultValue, as: described)
    }
    return ManagedObject(layout, key: key, values: values, context: draftContext, run: self, call: calls)
  }

  private func layout(of entity: String) throws -> ObjectLayout {
    guard let layout = draftContext.layout(of: entity) else {
      throw GodwitError(.internalBug, "cannot find the table of '\(entity)'")
    }
    return layout
  }

  package func makeObject(forSource source: ManagedObject, in mapping: EntityMapping) throws -> ManagedObject {
    let index = try index(of: mapping)
    let mapped = try mappedRow(index)
    guard source.isSource, source.entityName == mapped.sourceEntityName else {
      throw failure("mapping '\(mapping.name)' takes objects of '\(mapped.sourceEntityName)', found \(source)")
    }
    let row: [SQLValue]
    if prepared?.mapping == index, prepared?.key == source.key, let known = prepared?.mapped {
      row = known
    } else {
      let values = try mappedValues(mapped, of: source)
      row = mapped.row { values[$0] }
    }
    let key = try mappedKey(source, index) ?? freshKey(mapped.layout.entityName)
    if !mapped.watches.isEmpty { try noteNils(index, mapped, row: row, key: key, of: source) }
    return ManagedObject(mapped.layout, key: key, values: row, context: draftContext, run: self, call: calls)
  }

  func mappedRow(_ index: Int) throws -> MappedRow {
    if let known = rows[index] { return known }
    let made = try program.policy.mappedRow(index, layout: try layout(of: program.mappings[index].destination.name))
    rows[index] = made
    return made
  }

  private func mappedValues(_ mapped: MappedRow, of source: ManagedObject) throws -> [SQLValue] {
    functions.mover?.servesPolicy = true
    let outer = functions.evaluation.policyCall
    functions.evaluation.policyCall = { [unowned self] in try answer($0, mapping: mapped.mapping) }
    defer {
      functions.mover?.servesPolicy = false
      functions.evaluation.policyCall = outer
    }
    guard let values = try rows(mapped.statement, from: source.key, through: source.key).first else {
      throw failure("cannot find \(source) in the source")
    }
    return values
  }

  /// An object of an expression as policies see it.
  private func managed(_ object: any EvaluatedObject) throws -> any EvaluatedObject {
    let stored = try (object as? HandedObject)?.stored() ?? object as? StoredObject
    guard let stored else { return object }
    // Evaluation has a context of its own.
    return ManagedObject(stored.layout, key: stored.key, values: stored.values, context: sourceContext, run: self)
  }

  /// What the policy answers to an expression of its mapping.
  func answer(_ call: ExpressionCall, mapping: EntityMapping) throws -> EvaluatedValue {
    let policy = program.resolved.policies.firstIndex { $0.mapping.name == mapping.name && $0.index != nil } ?? current
    var call = call
    call.arguments = try call.arguments.map { argument in
      switch argument {
      case .object(let object?): .object(try managed(object))
      case .objects(let objects, let ordered): .objects(try objects.map(managed), ordered: ordered)
      default: argument
      }
    }
    var pass = PolicyContext(self)
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
    if let related, related.pair.destination == object.key, related.pair.entity == Int64(object.layout.number),
      state.several?.contains(related.mapping) != true
    {
      return true
    }
    for mapping in program.mappings where mapping.destination.name == object.entityName {
      if !program.isPolicy(mapping.index), try !sources(of: object, mapping.index).isEmpty { return false }
    }
    return true
  }

  func isInserted(_ object: Identity) throws -> Bool {
    try destinationObject(object.entity, key: object.key) != nil
  }

  /// Whether the running hook has made the object; a no may be wrong.
  func isNew(_ object: ManagedObject) -> Bool {
    made.contains(.init(number: object.layout.number, key: object.key))
  }

  package func write(_ object: ManagedObject) throws {
    guard !object.isSource else { throw failure("cannot insert \(object): it belongs to the source") }
    if let problem = object.problem { throw problem.error }
    guard !isReplaying else { return }
    let isDraft = object.context === draftContext
    // Whether its own hook associates it shows when that is over.
    let isKeyed = isDraft && object.call == calls && keyLayout === object.layout && !keyColumns.isEmpty
    let writing = try writing(of: object, .init(number: object.layout.number, isKeyed: isKeyed))
    if isDraft {
      try bind(object, to: writing.insert, of: writing, keys: isKeyed ? prepared?.keys : nil)
      try writing.insert.runBound()
      if connection.changes > 0 {
        if isKeyed, let index = policyIndexes[current] {
          keyed.append(OwnPair(mapping: index, entity: Int64(object.layout.number), destination: object.key))
        }
        _ = made.insert(.init(number: object.layout.number, key: object.key))
        writing.count += 1
        try countNils(of: object)
        return
      }
    } else if try !isMade(object) {
      throw failure(
        "cannot save \(object): a mapping without a policy made it",
        try: "give that mapping a policy too, or make the change in its expressions")
    }
    try bind(object, to: writing.update, of: writing, keys: nil)
    try writing.update.runBound()
    destinationContext.forget(entityName: object.entityName, key: object.key)
  }

  private func bind(
    _ object: ManagedObject, to statement: SQLStatement, of writing: Writing, keys: [SQLValue]?
  ) throws {
    let row = try object.row()
    statement.bind(object.key, at: 1)
    statement.bind(Int64(object.layout.number), at: 2)
    statement.bind(1, at: 3)
    var position = 4
    if writing.isExternal {
      for (attribute, place) in zip(writing.attributes, writing.places) {
        try statement.bind(carried(row[place], attribute, of: object), at: position)
        position += 1
      }
    } else {
      for place in writing.places {
        try statement.bind(row[place], at: position)
        position += 1
      }
    }
    for key in keys ?? [] {
      try statement.bind(key, at: position)
      position += 1
    }
  }

  private func writing(of object: ManagedObject, _ key: WritingKey) throws -> Writing {
    if let lastWriting, lastWriting.key == key { return lastWriting }
    let writing = try writings[key] ?? makeWriting(of: object, key)
    (writings[key], lastWriting) = (writing, writing)
    return writing
  }

  private func makeWriting(of object: ManagedObject, _ key: WritingKey) throws -> Writing {
    let entity = object.entityName
    let schema = program.destinationSchema
    guard let table = schema.table(of: entity) else {
      throw GodwitError(.internalBug, "cannot find the table of '\(entity)'")
    }
    var attributes: [AttributeDescription] = []
    var attributePlaces: [Int] = []
    var columns = ["Z_PK", "Z_ENT", "Z_OPT"]
    for attribute in program.resolved.destinationModel.attributes(of: entity) where !attribute.isDerived {
      guard let place = object.layout.attributes[attribute.name]?.place else { continue }
      attributes.append(attribute)
      attributePlaces.append(place)
      columns.append(table.columns[place].name)
    }
    let keys = key.isKeyed ? keyColumns : []
    let updates = columns.dropFirst(3).map { "\(quoted($0)) = excluded.\(quoted($0))" }
    let conflict = updates.isEmpty ? "DO NOTHING" : "DO UPDATE SET \(updates.joined(separator: ", "))"
    func insertion(_ columns: [String]) -> String {
      let places = (1...columns.count).map { "?\($0)" }.joined(separator: ", ")
      return
        "INSERT INTO main.\(quoted(table.name)) (\(columns.map(quoted).joined(separator: ", "))) VALUES (\(places)) ON CONFLICT (Z_PK)"
    }
    return Writing(
      key: key, entityName: entity, attributes: attributes, places: attributePlaces,
      insert: try connection.prepare("\(insertion(columns + keys)) DO NOTHING"),
      update: try connection.prepare("\(insertion(columns)) \(conflict)"))
  }

  /// A value that refers to a file brings the file along, under a name of its own.
  private func carried(
    _ value: SQLValue, _ attribute: AttributeDescription, of object: ManagedObject
  ) throws -> SQLValue {
    guard attribute.allowsExternalBinaryDataStorage, case .blob(let bytes) = value, let mover = functions.mover,
      case .external(let name)? = StoredBinary(bytes), mover.source.size(of: name) != nil
    else { return value }
    return .blob(try mover.carry(bytes, salt: "\(object.entityName).\(attribute.name).p\(object.key)"))
  }

  // MARK: Finding

  package func destinationObject(_ entity: String, key: Int64) throws -> ManagedObject? {
    _ = try root(of: entity)
    guard let found = try destinationContext.object(entityName: entity, key: key),
      program.resolved.destinationModel.isKind(found.entityName, of: entity)
    else { return nil }
    return ManagedObject(found, run: self)
  }

  package func find(_ entity: String, where name: String, equals value: AttributeValue) throws -> ManagedObject? {
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
    try makeIndex("godwit_find_\(table)_\(column)", on: "\(quoted(table)) (\(quoted(column)))")
    let condition = schema.isObject(of: model.family(of: entity).map(\.name)).further
    let found = try rows(
      "SELECT Z_PK FROM main.\(quoted(table)) WHERE \(quoted(column)) IS ?1\(condition) ORDER BY Z_PK LIMIT 1",
      [wanted]
    ).first?.first
    guard case .integer(let key)? = found else { return nil }
    return try destinationObject(entity, key: key)
  }

  package func objects(_ entity: String, isSource: Bool, after last: Int64?, limit: Int) throws -> [ManagedObject] {
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
      return try context.object(entityName: entity, key: key).map { ManagedObject($0, run: self) }
    }
  }
}
