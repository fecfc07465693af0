import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

/// Links that are written with their objects as long as no policy sets them, and associations that are computed as long
/// as policies make them as their mappings would.
///
/// What the mappings give for such a link is in the objects' rows from the beginning, and no assignment is stored.
/// When a policy does something that only the order of assignments can settle, `gather` writes down what mappings have
/// assigned up to then, and from there on the link is one like the others.
extension PolicyRun {
  /// Has links resolved in the order of assignments.
  ///
  /// Call it before what it is for: a policy sets or reads a link, associates otherwise than the default does, or does
  /// not leave an object's relationships to its mapping.
  ///
  /// - Parameter isReading: Whether a hook looks; what it would write is set aside while `begin` runs again.
  func gather(_ links: Set<Int>, isReading: Bool = false) throws {
    var wanted = links.intersection(direct)
    guard !wanted.isEmpty, !isReplaying || isReading else { return }
    if hook == .createDestinationInstances, let index = policyIndexes[current] {
      let own = directOf[index]
      if !own.isDisjoint(with: wanted) {
        // The rows at hand were read with the keys of all of them.
        wanted.formUnion(own)
        (keyColumns, keyLayout) = ([], nil)
      }
    }
    try writeAsked()
    setShortCuts(direct: direct.subtracting(wanted), plain: plain)
    dropWritings()
    try writePairs()
    for link in wanted.sorted() {
      if let clearing = program.policy.clearing(link) { try connection.execute(clearing) }
      try relateAgain(link)
      for assignment in program.links[link].assignments where program.isPolicy(assignment.mapping) {
        try assignLeft(assignment, of: link)
      }
    }
  }

  /// The rows of `temp.godwit_asked` at a time.
  private static let limitLeft = 50_000

  /// Writes down what a mapping has assigned to the objects that were left to it.
  private func assignLeft(_ assignment: InversePair.Assignment, of link: Int) throws {
    let index = assignment.mapping
    var last = left[index]
    if isLeftToMapping, let related, related.mapping == index {
      last = PolicyState.Place(source: related.pair.source, turn: related.pair.turn)
    }
    guard let last else { return }
    // What comes from now on comes later.
    state.turn += Int64(program.mappings[index].relationships.count)
    let statement = try programNow.policy.request(assignment, of: link)
    try writePairs()
    try connection.execute("CREATE TEMP TABLE IF NOT EXISTS \(StepProgram.requestTable)")
    var place = PolicyState.Place(source: .min, turn: -1)
    while let end = try note(index, after: place, through: last) {
      _ = try rows(statement, from: Int64(index), through: 0)
      try connection.execute("DELETE FROM temp.godwit_asked")
      place = end
    }
  }

  /// Puts associations of a mapping with objects of its entity into `temp.godwit_asked`.
  ///
  /// - Returns: The last of them; nil when there are no more.
  private func note(
    _ index: Int, after place: PolicyState.Place, through last: PolicyState.Place
  ) throws -> PolicyState.Place? {
    guard !plain.contains(index) else {
      let pairs = try computedPairs(index, after: place, through: last.source, limit: Self.limitLeft)
      for pair in pairs { try writeAsked(.init(pair)) }
      return pairs.last.map { .init(source: $0.source, turn: $0.turn) }
    }
    let model = program.resolved.destinationModel
    let numbers = model.family(of: program.mappings[index].destination.name).compactMap {
      program.destinationSchema.number(of: $0.name).map(String.init)
    }
    try connection.execute(
      """
      INSERT INTO temp.godwit_asked (turn, source, entity, destination) \
      SELECT turn, source, entity, destination FROM main.\(StepProgram.pairTable(index)) \
      WHERE (source, turn) > (?1, ?2) AND (source, turn) <= (?3, ?4) AND entity IN (\(numbers.joined(separator: ", "))) \
      ORDER BY source, turn LIMIT \(Self.limitLeft)
      """, [place.source, place.turn, last.source, last.turn].map { .integer($0) })
    let end = try rows(
      "SELECT source, turn FROM temp.godwit_asked ORDER BY source DESC, turn DESC LIMIT 1", []
    ).first
    guard let end, case (.integer(let source), .integer(let turn)) = (end[0], end[1]) else { return nil }
    return .init(source: source, turn: turn)
  }

  /// At the end of a `createRelationships`: an object that was not left to its mapping ends the writing with objects.
  func finishRelating() throws {
    guard let (mapping, pair) = related, !directOf[mapping].isEmpty else { return }
    if isLeftToMapping {
      left[mapping] = PolicyState.Place(source: pair.source, turn: pair.turn)
    } else {
      try gather(directOf[mapping])
    }
  }

  /// At the end of a `createDestinationInstances`: objects have the keys if their own hook has associated them.
  func settleKeys() throws {
    if own.count == keyed.count, keyed.allSatisfy(own.contains) { return }
    let own = own.elements
    guard let layout = keyLayout, let prepared,
      let table = program.destinationSchema.table(of: layout.entityName)?.name
    else { return }
    let written = Set(keyed)
    let places = keyColumns.indices.map { "\(quoted(keyColumns[$0])) = ?\($0 + 2)" }.joined(separator: ", ")
    let update = try cached("UPDATE main.\(quoted(table)) SET \(places) WHERE Z_PK = ?1")
    func set(_ pairs: Set<OwnPair>, _ keys: [SQLValue]) throws {
      for pair in pairs.sorted(by: { $0.destination < $1.destination }) {
        guard let entity = program.destinationSchema.entityName(Int(truncatingIfNeeded: pair.entity)),
          program.resolved.destinationModel.isKind(entity, of: layout.entityName)
        else { continue }
        try update.run([.integer(pair.destination)] + keys)
      }
    }
    try set(written.subtracting(own), keyColumns.map { _ in .null })
    try set(own.subtracting(written), prepared.keys)
  }

  // MARK: Associations that are computed

  /// Has the associations of a mapping lie in its table: those so far are written down.
  ///
  /// Call it before a policy makes one that its mapping would not make.
  func writeByHand(_ index: Int) throws {
    guard plain.contains(index), !isReplaying else { return }
    try writeAsked()
    setShortCuts(direct: direct, plain: plain.subtracting([index]))
    if let last = plainThrough[index] {
      _ = try rows(try program.associationStage.pairsWritten(index), from: .min, through: last)
    }
    if policyIndexes[current] == index {
      pairs[index, default: []] += ownPairs
      ownPairs = []
    }
    try gather(programNow.directLinks(lookingUp: index))
  }

  /// Whether an association is the one that its mapping computes.
  func isComputed(_ pair: Pair, _ index: Int) throws -> Bool {
    guard case .offset(let offset) = program.facts.mappings[index].keys else { return false }
    let number = try mappedRow(index).layout.number
    return pair.destination == pair.source &+ offset && Int(pair.entity) == number
  }

  /// Whether a source object has been associated by a mapping whose associations are computed, if the mapping takes it.
  func isComputed(_ key: Int64, _ index: Int) -> Bool {
    if let last = plainThrough[index], key <= last { return true }
    return policyIndexes[current] == index && ownPairs.contains { $0.source == key }
  }

  /// The associations of a mapping that are computed, after one of them.
  func computedPairs(_ index: Int, after place: PolicyState.Place, through last: Int64, limit: Int) throws -> [Pair] {
    let mapping = program.mappings[index]
    guard case .offset(let offset) = program.facts.mappings[index].keys,
      let root = sourceContext.layout(of: mapping.source.name)?.rootNumber, place.turn < 0 || place.source < .max
    else { return [] }
    let entity = Int64(try mappedRow(index).layout.number)
    let statement = try program.associationStage.takenKeys(index, limit: limit)
    return try functions.running(statement, site: "policy '\(program.resolved.policies[current].name)'") {
      let prepared = try cached(statement.sql)
      defer { prepared.reset() }
      try prepared.bind(
        statement.builder.arguments(from: place.turn < 0 ? place.source : place.source + 1, through: last))
      var pairs: [Pair] = []
      while try prepared.step() {
        let key = prepared.row.int64(0)
        pairs.append(Pair(turn: 0, root: Int64(root), source: key, entity: entity, destination: key &+ offset))
      }
      return pairs
    }
  }

  /// At the end of a `createDestinationInstances`: whether the hook has made of its source object what its mapping
  /// would.
  func settlePair() throws {
    guard let index = policyIndexes[current], plain.contains(index), let prepared else { return }
    if ownPairs.count == 1 {
      plainThrough[index] = prepared.key
      ownPairs.removeAll(keepingCapacity: true)
    } else {
      try writeByHand(index)
    }
  }
}
