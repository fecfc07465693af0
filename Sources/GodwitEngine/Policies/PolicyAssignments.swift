import GodwitJob
import GodwitModel
import GodwitStore

/// The tables of assignments to relationships. Statements set them one by one, or together for many objects.
final class PolicyAssignments {
  /// The target of an assignment: the object, its place among the others, and the place of the assigned object at its
  /// end.
  struct Target {
    var key, place, inversePlace: Int64
  }

  /// The position of an assignment in the order of all assignments.
  typealias Place = (mapping: Int64, sequence: Int64)

  private let step: PolicyRunState
  private let associations: PolicyAssociations
  /// `Entity.relationship` to the link and its end.
  private let ends: [String: (link: LinkID, end: InversePair.End)]
  /// Objects of this chunk, by mapping, whose relationships are set by the mapping when a hook first reads them. The
  /// sequence of each is the one before its assignments'.
  private var asked: [MappingID: [PolicyPair]] = [:]
  /// The statements that set them, by mapping.
  private var requests: [RequestKey: PolicyRequests] = [:]
  /// How many of them wait at most.
  private static let limitWaiting = 4096
  /// Assignments of this chunk that wait to be written, by link.
  private var batches: [RowBatch?]

  private struct RequestKey: Hashable {
    var mapping: MappingID
    var hasManySources: Bool
  }

  init(_ step: PolicyRunState, _ associations: PolicyAssociations) {
    (self.step, self.associations) = (step, associations)
    var ends: [String: (link: LinkID, end: InversePair.End)] = [:]
    for (index, link) in step.program.links.numbered {
      for end in [InversePair.End.first, .second] {
        if let side = link.side(end) { ends["\(side.entityName).\(side.relationship.name)"] = (index, end) }
      }
    }
    self.ends = ends
    batches = step.program.links.map { _ in nil }
  }

  /// Drops the requests of a chunk that was rolled back.
  func rollBack() { (asked, requests, batches) = ([:], [:], batches.map { _ in nil }) }

  /// Drops the statements that set relationships, because the links that are written with their objects have changed.
  func forgetRequests() { requests = [:] }

  /// A relationship of an object, and the end of its link at which the object is.
  struct LinkEnd {
    var link: LinkID
    var end: InversePair.End
    var relationship: RelationshipDescription
  }

  /// The link of a relationship, seen from an object.
  func end(
    of name: String, in entity: String
  ) throws -> LinkEnd {
    guard let relationship = step.model.relationship(name, of: entity) else {
      let hint = Spelling.suggestion(for: name, among: step.model.relationships(of: entity).map(\.name))
      throw step.failure("'\(entity)' has no relationship '\(name)'\(hint)")
    }
    let declaring = step.model.declaringEntity(of: name, in: entity)?.name ?? entity
    guard let found = ends["\(declaring).\(name)"] else {
      throw step.failure("relationship '\(declaring).\(name)' is not stored: it is transient")
    }
    return LinkEnd(link: found.link, end: found.end, relationship: relationship)
  }

  private func table(_ link: LinkID) -> String { "main.\(StepProgram.linkTable(link))" }

  // MARK: One assignment

  func assign(
    _ link: LinkID, _ end: InversePair.End, _ subject: Int64, _ targets: [Target], isToMany: Bool, at place: Place
  ) throws {
    func write(_ target: Target?) throws {
      try insert(
        link, end, subject: subject, target: target?.key, at: place, position: target?.place,
        inversePosition: target?.inversePlace)
    }
    // A row without a target records the assignment itself.
    if isToMany || targets.isEmpty { try write(nil) }
    for target in targets { try write(target) }
  }

  /// Joins an object to the later one of the last assignments to the two ends, so that it overrides nothing and is not
  /// overridden. Without an earlier assignment to either end, it comes before everything.
  func join(_ target: Int64, to object: Int64, _ link: LinkID, _ end: InversePair.End) throws {
    let far: InversePair.End = step.program.links[link].isOwnInverse ? .first : end == .first ? .second : .first
    let (own, other) = (try last(link, end, object), try last(link, far, target))
    let isFar: Bool
    switch (own, other) {
    case (let own?, let other?):
      isFar = (own.place.mapping, own.place.sequence) < (other.place.mapping, other.place.sequence)
    case (nil, .some): isFar = true
    case (.some, nil): isFar = false
    // Always from the first end: at one place in the order, an assignment from the second would override it.
    case (nil, nil): isFar = end == .second
    }
    let chosen = (isFar ? other : own) ?? ((-(1 << 40), 0), 0)
    let (side, subject, found) = isFar ? (far, target, object) : (end, object, target)
    try insert(
      link, side, subject: subject, target: found, at: chosen.place, position: chosen.position,
      inversePosition: Int64(step.program.resolved.policies[step.current].position))
  }

  /// The last assignment to an object, and the position after those of all.
  private func last(
    _ link: LinkID, _ side: InversePair.End, _ subject: Int64
  ) throws -> (place: Place, position: Int64)? {
    try write()
    let row = try step.rows(
      """
      SELECT mapping, turn, \
      (SELECT MAX(position) FROM \(table(link)) WHERE side = ?1 AND subject = ?2) FROM \(table(link)) \
      WHERE side = ?1 AND subject = ?2 ORDER BY 1 DESC, 2 DESC LIMIT 1
      """, [.int(side.rawValue), .integer(subject)]
    ).first
    guard case .integer(let mapping)? = row?[0], case .integer(let sequence)? = row?[1] else { return nil }
    guard case .integer(let highest)? = row?[2], highest < .max else { return ((mapping, sequence), 0) }
    return ((mapping, sequence), highest + 1)
  }

  private func insert(
    _ link: LinkID, _ end: InversePair.End, subject: Int64, target: Int64?, at place: Place, position: Int64?,
    inversePosition: Int64?
  ) throws {
    let batch = batch(link)
    batch.add(Int64(end.rawValue))
    batch.add(place.mapping)
    batch.add(subject)
    batch.add(target)
    batch.add(position)
    batch.add(inversePosition)
    batch.add(place.sequence)
    if batch.endRow() { try step.write(batch) }
  }

  private func batch(_ link: LinkID) -> RowBatch {
    if let known = batches[link.number] { return known }
    let made = RowBatch(
      step.connection, into: table(link),
      columns: ["side", "mapping", "subject", "target", "position", "inverse_position", "turn"],
      limits: step.batchLimits)
    batches[link.number] = made
    return made
  }

  /// Writes the assignments that wait; before anything reads them.
  func write() throws { for case let batch? in batches { try step.write(batch) } }

  /// Writes the assignments that wait, and ends the statements that do.
  func finishChunk() throws {
    try write()
    for batch in batches { batch?.endStatements() }
  }

  // MARK: Assignments of many objects

  /// The statements that set the relationships of many objects of a mapping.
  ///
  /// - Parameter program: As it stands.
  func requests(_ index: MappingID, hasManySources: Bool, _ program: StepProgram) throws -> PolicyRequests {
    let key = RequestKey(mapping: index, hasManySources: hasManySources)
    if let known = requests[key] { return known }
    let made = try program.policy.requests(index, hasManySources: hasManySources)
    requests[key] = made
    return made
  }

  var hasAsked: Bool { !asked.isEmpty }

  /// Adds an object to the request that sets the relationships of many objects together.
  ///
  /// - Returns: Whether as many wait as may.
  func ask(_ one: PolicyPair, _ index: MappingID) -> Bool {
    asked[index, default: []].append(one)
    return asked[index]?.count == Self.limitWaiting
  }

  /// Sets the requested relationships. Call it before assignments are read, and before a change to the data that they
  /// are looked up by.
  ///
  /// - Parameter program: As it stands.
  /// - Returns: How many to-one relationships found several objects.
  func writeAsked(_ state: PolicyState, _ program: StepProgram) throws -> Int64 {
    guard !asked.isEmpty else { return 0 }
    let waiting = asked
    asked = [:]
    try associations.write()
    try makeAskedTable()
    var ambiguous: Int64 = 0
    for index in waiting.keys.sorted() {
      let hasManySources = state.hasManySources(index)
      if hasManySources { try associations.makeIndex(index) }
      for one in waiting[index] ?? [] { try writeAsked(one) }
      let requests = try requests(index, hasManySources: hasManySources, program)
      for statement in requests.statements { _ = try step.rows(statement, from: Int64(index.number), through: 0) }
      for statement in requests.counts {
        if case .integer(let count)? = try step.rows(statement, from: 0, through: 0).first?.first { ambiguous += count }
      }
      try emptyAskedTable()
    }
    return ambiguous
  }

  func makeAskedTable() throws {
    try step.connection.execute("CREATE TEMP TABLE IF NOT EXISTS \(StepProgram.requestTable)")
  }

  func emptyAskedTable() throws { try step.connection.execute("DELETE FROM temp.godwit_asked") }

  func writeAsked(_ one: PolicyPair) throws {
    let insert = try step.cached(
      "INSERT INTO temp.godwit_asked (turn, source, entity, destination) VALUES (?1, ?2, ?3, ?4)")
    insert.bind(one.sequence, at: 1)
    insert.bind(one.source, at: 2)
    insert.bind(one.entity, at: 3)
    insert.bind(one.destination, at: 4)
    try insert.runBound()
  }
}
