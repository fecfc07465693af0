package import GodwitJob
package import GodwitModel
import GodwitStore

/// Relationships that a policy sets. An assignment is written down and settled with all others when links are resolved:
/// what stands in the end is what setting one after the other would have given.
extension PolicyRun {
  // MARK: Order of assignments

  /// Where an assignment stands among all: those of instance creation before every mapping's, those of the last hooks
  /// after them.
  private func place() -> (mapping: Int64, turn: Int64) {
    state.turn += 1
    let policy = program.resolved.policies[current]
    let far: Int64 = 1 << 32
    switch hook {
    case .begin, .createDestinationInstances, .endInstanceCreation: return (Int64(current) - far, state.turn)
    case .createRelationships, .endRelationshipCreation:
      if let index = policy.index { return (Int64(index), state.turn) }
      // After all that the mapping before it assigns, whose turns are keys.
      return (Int64(policy.position) - 1, (1 << 62) + state.turn)
    case .performCustomValidation: return (Int64(current) + far, state.turn)
    case .end: return (Int64(current) + far * 2, state.turn)
    }
  }

  /// The link of a relationship, seen from an object.
  private func end(
    of name: String, in entity: String
  ) throws -> (link: Int, end: InversePair.End, relationship: RelationshipDescription) {
    let model = program.resolved.destinationModel
    guard let relationship = model.relationship(name, of: entity) else {
      let hint = Spelling.suggestion(for: name, among: model.relationships(of: entity).map(\.name))
      throw failure("'\(entity)' has no relationship '\(name)'\(hint)")
    }
    let declaring = model.declaringEntity(of: name, in: entity)?.name ?? entity
    guard let found = ends["\(declaring).\(name)"] else {
      throw failure(
        "relationship '\(declaring).\(name)' is not stored: it is transient")
    }
    return (found.link, found.end, relationship)
  }

  /// Makes ready what reads the assignments of a link while they are being gathered.
  private func settle(_ link: Int) throws {
    try gather([link], isReading: true)
    try writeAsked()
    for index in program.resolution.linkIndexes(link) { try makeIndex(index.name, on: index.columns) }
  }

  private func table(_ link: Int) -> String { "main.\(StepProgram.linkTable(link))" }

  // MARK: Reading

  package func related(_ object: ManagedObject, _ name: String) throws -> [ManagedObject] {
    guard let (link, end, relationship) = try? end(of: name, in: object.entityName) else { return [] }
    try settle(link)
    let keys = try rows(program.policy.related(link, from: end), [.integer(object.key)])
    return try keys.compactMap { row in
      guard case .integer(let key)? = row.first else { return nil }
      return try destinationObject(relationship.destinationEntityName, key: key)
    }
  }

  // MARK: Setting

  package func setRelationship(_ name: String, of object: ManagedObject, to targets: [ManagedObject]) throws {
    guard !object.isSource else {
      throw failure("cannot set '\(name)' of \(object): objects of the source are read only")
    }
    let (link, end, relationship) = try end(of: name, in: object.entityName)
    guard targets.count < 2 || relationship.isToMany else {
      throw failure("cannot set '\(name)' of \(object): it is a to-one, found \(targets.count) objects")
    }
    try check(targets, relationship, of: object)
    let isOwn = try isMade(object)
    guard try isReplaying || isOwn || (!targets.isEmpty && targets.allSatisfy { try isMade($0) }) else {
      throw failure(
        "cannot set '\(name)' of \(object): no policy made one of the ends",
        try: "give the object's mapping a policy too, or set the relationship in its mapping; insert new objects first")
    }
    guard !isReplaying else { return }
    try gather([link])
    let (mapping, turn) = place()
    try assign(
      link, end, object.key,
      targets.enumerated().map { ($1.key, Int64($0), Int64(program.resolved.policies[current].position)) },
      isToMany: relationship.isToMany, mapping: mapping, turn: turn)
  }

  private func check(
    _ targets: [ManagedObject], _ relationship: RelationshipDescription, of object: ManagedObject
  ) throws {
    for target in targets {
      let isKind = program.resolved.destinationModel.isKind(
        target.entityName, of: relationship.destinationEntityName)
      guard !target.isSource, isKind else {
        throw failure(
          "cannot set '\(relationship.name)' of \(object): expected a destination object of '\(relationship.destinationEntityName)', found \(target)\(target.isSource ? " of the source" : "")"
        )
      }
      if !isReplaying { mustBeInserted(target) }
    }
    if !isReplaying { mustBeInserted(object) }
  }

  private func assign(
    _ link: Int, _ end: InversePair.End, _ subject: Int64,
    _ targets: [(key: Int64, place: Int64, inversePlace: Int64)], isToMany: Bool, mapping: Int64, turn: Int64
  ) throws {
    let insert = try cached(
      "INSERT INTO \(table(link)) (side, mapping, subject, target, position, inverse_position, turn) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
    )
    func write(_ target: SQLValue, _ place: SQLValue, _ inversePlace: SQLValue) throws {
      try insert.run([
        .int(end.rawValue), .integer(mapping), .integer(subject), target, place, inversePlace, .integer(turn),
      ])
    }
    // That the assignment happened, whatever it led to.
    if isToMany || targets.isEmpty { try write(.null, .null, .null) }
    for target in targets { try write(.integer(target.key), .integer(target.place), .integer(target.inversePlace)) }
  }

  package func add(_ target: ManagedObject, toRelationship name: String, of object: ManagedObject) throws {
    guard !object.isSource else {
      throw failure("cannot add to '\(name)' of \(object): objects of the source are read only")
    }
    let (link, end, relationship) = try end(of: name, in: object.entityName)
    guard relationship.isToMany else { throw failure("cannot add to '\(name)' of \(object): it is a to-one") }
    let model = program.resolved.destinationModel
    try check([target], relationship, of: object)
    if let inverse = model.inverse(of: relationship), !inverse.isToMany {
      return try setRelationship(inverse.name, of: target, to: [object])
    }
    guard try isReplaying || isMade(object) || isMade(target) else {
      throw failure("cannot add to '\(name)' of \(object): no policy made one of the ends")
    }
    guard !isReplaying, try !related(object, name).contains(target) else { return }
    try settle(link)
    // It joins the later one of the last assignments to the two ends, so that it displaces nothing and is not
    // displaced. Where neither end was assigned to, it comes before everything.
    func last(_ side: InversePair.End, _ subject: Int64) throws -> (mapping: Int64, turn: Int64, position: Int64)? {
      let row = try rows(
        """
        SELECT mapping, turn, \
        (SELECT MAX(position) FROM \(table(link)) WHERE side = ?1 AND subject = ?2) FROM \(table(link)) \
        WHERE side = ?1 AND subject = ?2 ORDER BY 1 DESC, 2 DESC LIMIT 1
        """, [.int(side.rawValue), .integer(subject)]
      ).first
      guard case .integer(let mapping)? = row?[0], case .integer(let turn)? = row?[1] else { return nil }
      guard case .integer(let highest)? = row?[2], highest < .max else { return (mapping, turn, 0) }
      return (mapping, turn, highest + 1)
    }
    let far: InversePair.End =
      program.links[link].isOwnInverse ? .first : end == .first ? .second : .first
    let (own, other) = (try last(end, object.key), try last(far, target.key))
    let isFar: Bool
    switch (own, other) {
    case (let own?, let other?): isFar = (own.mapping, own.turn) < (other.mapping, other.turn)
    case (nil, .some): isFar = true
    case (.some, nil): isFar = false
    // Always from the first end: at one place in the order, an assignment from the second would displace it.
    case (nil, nil): isFar = end == .second
    }
    let chosen = (isFar ? other : own) ?? (-(1 << 40), 0, 0)
    let (side, subject, found) = isFar ? (far, target.key, object.key) : (end, object.key, target.key)
    try cached(
      "INSERT INTO \(table(link)) (side, mapping, subject, target, position, inverse_position, turn) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
    ).run([
      .int(side.rawValue), .integer(chosen.mapping), .integer(subject), .integer(found), .integer(chosen.position),
      .int(program.resolved.policies[current].position), .integer(chosen.turn),
    ])
  }

  // MARK: As the mapping says

  package func setMappedRelationships(of object: ManagedObject, in mapping: EntityMapping) throws {
    let index = try index(of: mapping)
    if isRelated(object, index) {
      isLeftToMapping = true
      if isAllDirect[index] { return }
    } else {
      try gather(directOf[index])
    }
    let resolved = program.mappings[index]
    // A policy may have made objects of other entities, of which the mapping says nothing.
    guard !object.isSource, !resolved.relationships.isEmpty,
      program.resolved.destinationModel.isKind(object.entityName, of: resolved.destination.name)
    else { return }
    if try isAskedTogether(object, index) { return }
    guard !isReplaying else { return }
    let sources = try self.sources(of: [object], mappings: [index])
    guard let first = sources.first else { return }
    for source in resolved.relationships {
      let (link, end, relationship) = try end(of: source.relationship.name, in: object.entityName)
      if direct.contains(link) { continue }
      if let call = source.policyCall {
        let answered = try evaluated(call, for: first, mapping: resolved.mapping, property: relationship.name)
        let targets = relationship.isToMany ? answered : Array(answered.prefix(1))
        if targets.count < answered.count { several += 1 }
        try setRelationship(relationship.name, of: object, to: targets)
        continue
      }
      var targets: [(key: Int64, place: Int64, inversePlace: Int64)] = []
      for from in relationship.isToMany ? sources : [first] {
        let found = try self.targets(of: source, from: from, index: index)
        targets += relationship.isToMany ? found : Array(found.prefix(1))
        if !relationship.isToMany, Set(found.map(\.key)).count > 1 { several += 1 }
      }
      let (mapping, turn) = place()
      try assign(
        link, end, object.key, targets, isToMany: relationship.isToMany, mapping: mapping, turn: turn)
    }
  }

  /// Leaves the relationships of an object to one statement for many, where that gives the same.
  private func isAskedTogether(_ object: ManagedObject, _ index: Int) throws -> Bool {
    guard isRelated(object, index), let pair = related?.pair, state.foreign?.contains(index) != true else {
      return false
    }
    let requests = try requests(index)
    guard requests.isPossible else { return false }
    guard !isReplaying else { return true }
    if requests.statements.isEmpty { return true }
    asked[index, default: []].append(Asked(pair, turn: state.turn))
    state.turn += Int64(requests.relationships)
    if asked[index]?.count == Self.limitWaiting { try writeAsked() }
    return true
  }

  /// Whether the running `createRelationships` is for that object and mapping.
  private func isRelated(_ object: ManagedObject, _ index: Int) -> Bool {
    guard let (mapping, pair) = related else { return false }
    return mapping == index && pair.destination == object.key && pair.entity == Int64(object.layout.number)
  }

  private func requests(_ index: Int) throws -> PolicyRequests {
    let key = RequestKey(mapping: index, isSeveral: state.several?.contains(index) == true)
    if let known = requests[key] { return known }
    let made = try programNow.policy.requests(index, isSeveral: key.isSeveral)
    requests[key] = made
    return made
  }

  /// Sets the relationships that were left to one statement for many objects; before anything reads assignments, and
  /// before anything changes what they are looked up by.
  func writeAsked() throws {
    guard !asked.isEmpty else { return }
    let waiting = asked
    asked = [:]
    try writePairs()
    try connection.execute("CREATE TEMP TABLE IF NOT EXISTS \(StepProgram.requestTable)")
    for index in waiting.keys.sorted() {
      if state.several?.contains(index) == true { try makePairIndex(index) }
      for one in waiting[index] ?? [] { try writeAsked(one) }
      for statement in try requests(index).statements {
        _ = try rows(statement, from: Int64(index), through: 0)
      }
      for statement in try requests(index).counts {
        if case .integer(let count)? = try rows(statement, from: 0, through: 0).first?.first { several += count }
      }
      try connection.execute("DELETE FROM temp.godwit_asked")
    }
  }

  func writeAsked(_ one: Asked) throws {
    let insert = try cached(
      "INSERT INTO temp.godwit_asked (turn, source, entity, destination) VALUES (?1, ?2, ?3, ?4)")
    insert.bind(one.turn, at: 1)
    insert.bind(one.source, at: 2)
    insert.bind(one.entity, at: 3)
    insert.bind(one.destination, at: 4)
    try insert.runBound()
  }

  private func evaluated(
    _ call: ParsedExpression, for source: ManagedObject, mapping: EntityMapping, property: String
  ) throws -> [ManagedObject] {
    let result = try compiled(call.expression, mapping: mapping, property: property).evaluate(with: source)
    switch result {
    case .object(let object): return (object as? ManagedObject).map { [$0] } ?? []
    case .objects(let objects, _): return objects.compactMap { $0 as? ManagedObject }
    case .value(.null), .values([]): return []
    case .value, .values:
      throw failure("cannot set '\(property)' for \(source): expected objects of '\(call.source.text)', found values")
    }
  }

  private func compiled(_ expression: ValueExpression, mapping: EntityMapping, property: String)
    -> CompiledExpression
  {
    if let known = compiledExpressions[mapping.name]?[property] { return known }
    let host = SourceHost(
      context: sourceContext, now: now, fetches: FetchedObjects(),
      policyCall: { [unowned self] in try answer($0, mapping: mapping) })
    let evaluator = ExpressionEvaluator(
      now: now, role: .value, mapping: .init(mapping, property: property), host: host, bindsSource: true)
    let compiled = evaluator.compile(expression)
    compiledExpressions[mapping.name, default: [:]][property] = compiled
    return compiled
  }

  /// The objects that a relationship source finds from one source object, in the order of lookups and then keys.
  private func targets(
    of source: ResolvedEntityMapping.RelationshipSource, from object: ManagedObject, index: Int
  ) throws -> [(key: Int64, place: Int64, inversePlace: Int64)] {
    var reached = [object]
    for hop in source.path { reached = try reached.flatMap { try $0.objects(hop.relationship.name) } }
    let isOrdered = source.path.last?.relationship.isOrdered == true
    let wanted = source.relationship.destinationEntityName
    var found: [(key: Int64, place: Int64, inversePlace: Int64)] = []
    for lookup in source.lookups {
      var those: [(key: Int64, place: Int64, inversePlace: Int64)] = []
      for (place, other) in reached.enumerated() {
        for made in try destinations(of: [other], mappings: [lookup])
        where program.resolved.destinationModel.isKind(made.entityName, of: wanted) {
          let inverse = try inversePlace(of: object, among: source, at: other) ?? Int64(index)
          those.append((made.key, isOrdered ? Int64(place) : Int64(lookup), inverse))
        }
      }
      found += those.sorted { $0.key < $1.key }
    }
    return found
  }

  /// The source's order key of an object among those of the object it leads to by one hop; nil where there is no order.
  private func inversePlace(
    of object: ManagedObject, among source: ResolvedEntityMapping.RelationshipSource, at other: ManagedObject
  ) throws -> Int64? {
    guard source.path.count == 1, let hop = source.path.first else { return nil }
    let found: SQLValue?
    switch program.sourceSchema.storage(of: hop.relationship.name, in: object.entityName) {
    case .foreignKey(_, _, _, let order?): found = try object.layout.places[order].map { try object.row()[$0] }
    case .join(let join, let subject, let far, _):
      let order = subject == join.ownerColumn ? join.destinationOrderColumn : join.ownerOrderColumn
      guard let order else { return nil }
      found = try rows(
        "SELECT \(quoted(order)) FROM \(StoreConnection.sourceSchema).\(quoted(join.name)) WHERE \(quoted(subject)) = ?1 AND \(quoted(far)) = ?2",
        [.integer(object.key), .integer(other.key)]
      ).first?.first
    default: return nil
    }
    guard case .integer(let place)? = found else { return nil }
    return place
  }
}
