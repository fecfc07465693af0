package import GodwitJob
package import GodwitModel
import GodwitStore

/// Reading source objects; making, writing and finding objects.
extension PolicyRun {
  // MARK: Source objects

  /// The next source objects that a mapping matches, by key, with the values that it gives them.
  ///
  /// - Parameter ahead: The prefetcher on a second core; nil afterwards when it cannot continue.
  func page(
    of index: MappingID, from first: Int64, through last: Int64, ahead: inout SourcePagePrefetcher?
  ) throws -> (page: SourcePage, query: SourcePageQuery) {
    let (page, query) = try sourceReader.page(of: index, from: first, through: last, shortcuts, ahead: &ahead)
    (hook.keyColumns, writer.keyColumns) = (query.keyColumns, query.keyColumns)
    hook.keyLayout = query.keyColumns.isEmpty ? nil : try step.mappedRow(index).layout
    return (page, query)
  }

  /// Calls a body for each object of a page, while the running hook is prepared for it.
  func forEach(
    _ page: SourcePage, _ query: SourcePageQuery, of index: MappingID, _ body: (ManagedObject) throws -> Void
  ) throws {
    guard let table = sourceContext.table(of: program.mappings[index].source.name) else { return }
    var kind: ObjectKind?
    let prepared = PreparedObject(mapping: index)
    hook.prepared = prepared
    defer { hook.prepared = nil }
    let (width, mappedCount) = (query.width, query.mappedCount)
    let (values, mapped) = (page.values, query.mapped)
    for (place, key) in page.keys.enumerated() {
      let start = place * query.valuesPerRow
      let row = values.values(start..<start + width)
      guard case .integer(let number) = row[table.entityPlace] else { continue }
      if kind.map({ Int64($0.number) != number }) ?? true {
        kind = table.layout(of: row).map { ObjectKind($0, sourceContext, run: self) }
      }
      guard let kind else { continue }
      prepared.set(
        PolicyObjectKey(number: kind.number, key: key), mapped: mapped?.row { values.value(start + width + $0) })
      prepared.setKeys(values, start + width + mappedCount..<start + query.valuesPerRow)
      try body(ManagedObject(kind, key: key, values: row))
    }
  }

  // MARK: Keys

  private func freshKey(_ entity: String) throws -> Int64 {
    let root = try step.root(of: entity)
    let key = state.nextKeys[root] ?? 1
    guard key < .max else {
      throw GodwitError(.dataWrong, "cannot number the objects of '\(root)': no keys are left above those in use")
    }
    state.nextKeys[root] = key + 1
    return key
  }

  /// The key that the mapping would give the source object of the running hook; once for each.
  private func mappedKey(_ source: PolicyObjectKey, _ index: MappingID) throws -> Int64? {
    guard step.currentMapping == index, let keyed = hook.keyedSource, keyed == source else { return nil }
    hook.keyedSource = nil
    if let offset = step.keyOffsets[index.number] {
      let (key, overflow) = source.key.addingReportingOverflow(offset)
      return overflow ? nil : key
    }
    switch program.facts.mappings[index].keys {
    case .offset: return nil
    case .dense(let first):
      let given = state.dense[step.current] ?? 0
      let (key, overflow) = first.addingReportingOverflow(given)
      guard !overflow, given < program.facts.mappings[index].rows else { return nil }
      state.dense[step.current] = given + 1
      return key
    }
  }

  /// The key of an object made by name: that of the mapping, where it is the first of the mapping's entity that the running
  /// hook makes of its source object.
  private func newKey(_ entity: String) throws -> Int64 {
    if let source = hook.keyedSource, let index = step.currentMapping,
      program.mappings[index].destination.name == entity, let key = try mappedKey(source, index)
    {
      return key
    }
    return try freshKey(entity)
  }

  // MARK: Making

  package func makeObject(_ entity: String) throws -> ManagedObject {
    let key = try newKey(entity)
    let new = try step.newObject(entity)
    return draft(new.layout, key: key, values: new.row)
  }

  private func draft(_ layout: ObjectLayout, key: Int64, values: [SQLValue]) -> ManagedObject {
    func make() -> ObjectKind { ObjectKind(layout, step.draftContext, run: self) }
    let kind = hook.prepared?.kind(of: layout, make) ?? make()
    return ManagedObject(kind, key: key, values: values, call: hook.number)
  }

  package func makeObject(forSource source: ManagedObject, in mapping: EntityMapping) throws -> ManagedObject {
    let index = try step.index(of: mapping)
    let mapped = try step.mappedRow(index)
    guard source.isSource, source.entityNumber == mapped.sourceNumber else {
      throw step.failure("mapping '\(mapping.name)' takes objects of '\(mapped.sourceEntityName)', found \(source)")
    }
    let row: [SQLValue]
    let identity = PolicyObjectKey(source)
    if let prepared = hook.prepared, prepared.mapping == index, prepared.source == identity,
      let known = prepared.takeMapped()
    {
      row = known
    } else {
      let values = try mappedValues(mapped, of: source)
      row = mapped.row { values[$0] }
    }
    let key = try mappedKey(identity, index) ?? freshKey(mapped.layout.entityName)
    if !mapped.watches.isEmpty, !isReplaying {
      let turned = try PolicyLosses.turnedValues(index, mapped, row: row, of: source)
      losses.note(turned, of: PolicyObjectKey(number: mapped.layout.number, key: key))
    }
    return draft(mapped.layout, key: key, values: row)
  }

  private func mappedValues(_ mapped: MappedRow, of source: ManagedObject) throws -> [SQLValue] {
    let inputs = StatementInputs(
      policyCall: { [unowned self] in try answer($0, mapping: mapped.mapping) }, servesPolicy: true)
    let rows = try step.rows(mapped.statement, from: source.key, through: source.key, with: inputs)
    guard let values = rows.first else { throw step.failure("cannot find \(source) in the source") }
    return values
  }

  // MARK: Writing

  func isMade(_ object: ManagedObject) throws -> Bool {
    guard !object.isSource else { return false }
    // An object that is not inserted by the end of the hook fails the hook.
    if object.isDraft { return true }
    if let (mapping, pair) = hook.related, pair.destination == object.key, pair.entity == Int64(object.entityNumber),
      !state.hasManySources(mapping)
    {
      return true
    }
    for mapping in program.mappings where mapping.destination.name == object.entityName {
      if !program.isPolicy(mapping.index), try !sources(of: object, mapping.index).isEmpty { return false }
    }
    return true
  }

  /// Has the hook fail at its end when the object is in no store by then.
  func mustBeInserted(_ object: ManagedObject) {
    // The hook may have made the object itself.
    guard object.isDraft, !hook.made.contains(PolicyObjectKey(object)) else { return }
    hook.unproved.insert(PolicyIdentity(object))
  }

  package func write(_ object: ManagedObject) throws {
    guard !object.isSource else { throw step.failure("cannot insert \(object): it belongs to the source") }
    try object.checkValues()
    guard !isReplaying else { return }
    // Whether its own hook associates it shows when that is over.
    let isKeyed =
      object.call == hook.number && object.entityNumber == hook.keyNumber && !hook.keyColumns.isEmpty
    let prepared = isKeyed ? hook.prepared : nil
    if object.isDraft {
      // In the hook that makes the object, no other code can have written a row with its key.
      if object.call == hook.number, !hook.made.contains(PolicyObjectKey(object)) {
        try writer.insertNew(object, isKeyed: isKeyed, prepared)
        return try noteInserted(object, isKeyed: isKeyed)
      }
      if try writer.insert(object, isKeyed: isKeyed, prepared) {
        return try noteInserted(object, isKeyed: isKeyed)
      }
    } else if try !isMade(object) {
      throw step.failure(
        "cannot save \(object): a mapping without a policy made it",
        try: "give that mapping a policy too, or make the change in its expressions")
    }
    try writer.update(object, isKeyed: isKeyed)
  }

  private func noteInserted(_ object: ManagedObject, isKeyed: Bool) throws {
    _ = hook.made.insert(PolicyObjectKey(object))
    if isKeyed, let index = step.currentMapping {
      hook.keyed.append(PolicyOwnPair(mapping: index, entity: Int64(object.entityNumber), destination: object.key))
    }
    if !hook.unproved.isEmpty { hook.unproved.remove(PolicyIdentity(object)) }
    try losses.countNils(of: object)
  }

  // MARK: Finding

  package func destinationObject(_ entity: String, key: Int64) throws -> ManagedObject? {
    _ = try step.root(of: entity)
    guard let found = try step.destinationContext.object(entityName: entity, key: key),
      destinationModel.isKind(found.entityName, of: entity)
    else { return nil }
    return ManagedObject(found, run: self)
  }

  package func find(_ entity: String, where name: String, equals value: AttributeValue) throws -> ManagedObject? {
    _ = try step.root(of: entity)
    let (schema, model) = (program.destinationSchema, destinationModel)
    guard let attribute = model.attribute(name, of: entity), let column = schema.column(of: name, in: entity),
      let table = schema.table(of: entity)?.name
    else {
      let hint = Spelling.suggestion(for: name, among: model.attributes(of: entity).map(\.name))
      throw step.failure("'\(entity)' has no stored attribute '\(name)'\(hint)")
    }
    let wanted: SQLValue
    do { wanted = try SQLValue(encoding: value, as: attribute) } catch let error as GodwitError {
      throw step.failure(error.message)
    }
    try step.makeIndex("godwit_find_\(table)_\(column)", on: "\(quoted(table)) (\(quoted(column)))")
    let condition = schema.isObject(of: model.family(of: entity).map(\.name)).further
    try writer.flush()
    let found = try step.rows(
      "SELECT Z_PK FROM main.\(quoted(table)) WHERE \(quoted(column)) IS ?1\(condition) ORDER BY Z_PK LIMIT 1",
      [wanted]
    ).first?.first
    guard case .integer(let key)? = found else { return nil }
    return try destinationObject(entity, key: key)
  }

  package func objects(_ entity: String, isSource: Bool, after last: Int64?, limit: Int) throws -> [ManagedObject] {
    let context = isSource ? sourceContext : step.destinationContext
    guard let table = context.schema.table(of: entity)?.name else {
      let names = context.schema.model.entityNames
      throw step.failure(
        "the \(isSource ? "source" : "destination") has no entity '\(entity)'"
          + Spelling.suggestion(for: entity, among: names))
    }
    if !isSource { try writer.flush() }
    let condition = context.schema.isObject(of: context.schema.model.family(of: entity).map(\.name)).further
    let keys = try step.rows(
      "SELECT Z_PK FROM \(quoted(context.database)).\(quoted(table)) WHERE Z_PK >= ?1 AND Z_PK IS NOT ?2\(condition) ORDER BY Z_PK LIMIT ?3",
      [.integer(last ?? .min), last.map { .integer($0) } ?? .null, .int(max(0, min(limit, 10_000)))])
    return try keys.compactMap { row in
      guard case .integer(let key)? = row.first else { return nil }
      return try context.object(entityName: entity, key: key).map { ManagedObject($0, run: self) }
    }
  }
}
