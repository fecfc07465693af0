import Foundation
package import GodwitJob
import GodwitModel
package import GodwitStore

/// Finds the results of an object of one step, and the origins of an object.
///
/// The association tables are gone when a step is finished. Keys are computed again from the plan of the step, which is
/// the same for the same source. A filter and `unique-by` are evaluated for the object in question; with `unique-by`, or
/// where keys were numbered densely, this reads the objects of the mapping's source entity.
package final class ObjectTracer {
  /// An object of either store.
  package typealias Reference = ObjectReader.Reference

  /// How a mapping made an object of another.
  package struct Association: Sendable {
    package var mapping: ResolvedEntityMapping
    /// The source object that gave the destination object its key and its values.
    package var source: Reference
    package var destination: Reference
    /// The other source objects that became the same object, by key.
    package var merged: [Reference] = []
    /// The two objects of the link, where the source object is one.
    package var ends: [Reference] = []
    package var chunk: ChunkPosition?
  }

  /// The position of a chunk among those that create the objects of its mapping.
  package struct ChunkPosition: Sendable, Hashable {
    /// Counted from 1.
    package var number, count, pass: Int
    package var range: String
  }

  /// The results of a source object.
  package struct Results: Sendable {
    package var made: [Association] = []
    package var refused: [Refusal] = []
    /// How many of its links are not looked at, because there are too many.
    package var linksLeftOut: Int64 = 0
  }

  /// How many links of a source object are looked at.
  private static let linksMaximum = 100

  /// Why a mapping did not take a source object.
  package enum Refusal: Sendable {
    case filter(ResolvedEntityMapping)
    /// The policy of the mapping decided, and the store has no record of its decision.
    case policy(ResolvedEntityMapping, policy: String)
  }

  private let program: StepProgram
  private let chunks: [Chunk]
  private let predicates: [String: [FilterPredicate]]
  private let objects: ObjectContext
  private let connection: StoreConnection
  private let now: Double
  private let host: SourceHost
  private let evaluator: ExpressionEvaluator
  private var filters: [MappingID: CompiledPredicate] = [:]
  private var identities: [MappingID: (Int64) throws -> [SQLValue]] = [:]

  /// - Parameters:
  ///   - job: One step, whose source and mappings are those of the run.
  ///   - now: The value of `now()` in filters, in seconds since 2001.
  ///   - files: The external files of the source, where it has no folder of its own; nil where it has.
  package init(_ job: MigrationJob, now: Double, files: SupportFolder? = nil) throws {
    guard let source = try SourceFiles(job).attached else {
      throw GodwitError(.internalBug, "the source is not attached")
    }
    let (plan, program) = try source.planner(job).plan(now: now)
    self.program = program
    chunks = plan.chunks
    predicates = job.chunkPredicates
    connection = source.connection
    objects = ObjectContext(
      connection: source.connection, schema: source.sourceSchema, database: StoreConnection.sourceSchema)
    objects.leavesLargeValues = true
    objects.support = files ?? job.sourceSupport
    objects.missingFilesAreNil = job.missingFilesAreNil
    self.now = now
    host = SourceHost(context: objects, now: now, fetches: FetchedObjects())
    evaluator = ExpressionEvaluator(now: now, role: .filter, host: host)
  }

  // MARK: Forwards

  /// The source object with a key among an entity and its subentities; nil without one.
  package func sourceObject(_ entity: String, key: Int64) throws -> Reference? {
    try objects.object(entityName: entity, key: key).map { Reference(entity: $0.entityName, key: $0.key) }
  }

  /// The objects that mappings made of a source object, and the reasons why other mappings did not take it, in mapping
  /// order. Both are empty for an entity that no mapping takes.
  ///
  /// An object with links that become objects has those objects too.
  package func results(of source: Reference) throws -> Results {
    var results = Results()
    for mapping in program.mappings where mapping.earlier == nil {
      guard mapping.source.name != source.entity else {
        try addResults(of: source.key, in: mapping, to: &results)
        continue
      }
      guard let links = try links(of: source, in: mapping) else { continue }
      results.linksLeftOut += links.total - Int64(links.keys.count)
      for key in links.keys { try addResults(of: key, in: mapping, to: &results) }
    }
    return results
  }

  private func addResults(of key: Int64, in mapping: ResolvedEntityMapping, to results: inout Results) throws {
    guard try takes(mapping, key) else { return results.refused.append(.filter(mapping)) }
    if let policy = policy(mapping) {
      results.refused.append(.policy(mapping, policy: policy))
    } else if let winner = try winner(mapping, key) {
      results.made.append(try association(mapping, winner: winner))
    }
  }

  /// The first links of an object, at either end, for which a mapping makes objects; nil for any other mapping.
  private func links(of source: Reference, in mapping: ResolvedEntityMapping) throws -> (keys: [Int64], total: Int64)? {
    let model = program.resolved.sourceModel
    guard let pair = model.pairEntity(mapping.source.name) else { return nil }
    let columns = PairEntity.End.allCases.filter { model.isKind(source.entity, of: pair.entityName(of: $0)) }
      .compactMap { end -> String? in
        guard case .foreignKey(_, let column, _, _) = objects.schema.storage(of: end.toOne, in: pair.name) else {
          return nil
        }
        return "\(quoted(column)) = ?1"
      }
    guard !columns.isEmpty else { return nil }
    let rows = "FROM source.\(quoted(try program.sourceTable(pair.name))) WHERE \(columns.joined(separator: " OR "))"
    let keys = try connection.rows(
      "SELECT Z_PK \(rows) ORDER BY Z_PK LIMIT \(Self.linksMaximum)", [.integer(source.key)])
    return (
      keys.compactMap { if case .integer(let key) = $0[0] { key } else { nil } },
      try connection.integer("SELECT COUNT(*) \(rows)", [.integer(source.key)]) ?? 0
    )
  }

  // MARK: Backwards

  /// The source objects of an object of the destination, in mapping order; and the mappings whose policies may have
  /// made it without a record.
  package func origins(of destination: Reference) throws -> Results {
    var results = Results()
    for mapping in program.mappings where mapping.earlier == nil && mapping.destination.name == destination.entity {
      if let policy = policy(mapping) {
        results.refused.append(.policy(mapping, policy: policy))
        continue
      }
      guard let key = try sourceKey(mapping, of: destination.key), try takes(mapping, key),
        try winner(mapping, key) == key
      else { continue }
      results.made.append(try association(mapping, winner: key))
    }
    return results
  }

  // MARK: One mapping

  private func policy(_ mapping: ResolvedEntityMapping) -> String? {
    program.resolved.policies.first { $0.index == mapping.index }?.name
  }

  private func object(_ mapping: ResolvedEntityMapping, _ key: Int64) throws -> StoredObject? {
    let found = try objects.object(entityName: mapping.source.name, key: key)
    return found?.entityName == mapping.source.name ? found : nil
  }

  private func takes(_ mapping: ResolvedEntityMapping, _ key: Int64) throws -> Bool {
    guard let object = try object(mapping, key) else { return false }
    guard let filter = mapping.filter else { return true }
    let compiled = filters[mapping.index] ?? evaluator.compile(filter)
    filters[mapping.index] = compiled
    return try compiled.matches(object) == true
  }

  /// The keys of the objects that a mapping takes, in order, until `body` returns false.
  private func forEachTaken(_ mapping: ResolvedEntityMapping, _ body: (Int64) throws -> Bool) throws {
    let condition = objects.schema.isObject(of: [mapping.source.name]).clause
    let table = quoted(try program.sourceTable(mapping.source.name))
    try connection.query("SELECT Z_PK FROM source.\(table)\(condition) ORDER BY Z_PK") { row in
      let key = row.int64(0)
      return try takes(mapping, key) ? try body(key) : true
    }
  }

  /// The keys of the objects that gave their keys to objects of the destination, in order, until `body` returns false.
  private func forEachWinner(_ mapping: ResolvedEntityMapping, _ body: (Int64) throws -> Bool) throws {
    guard !mapping.mapping.uniqueBy.isEmpty else { return try forEachTaken(mapping, body) }
    var winners: [[SQLValue]: Int64] = [:]
    try forEachTaken(mapping) { key in
      let identity = try identity(mapping, key)
      if let known = winners[identity], try !precedes(mapping, key, known) { return true }
      winners[identity] = key
      return true
    }
    for key in winners.values.sorted() { guard try body(key) else { return } }
  }

  /// The first of the objects that have the values of `unique-by` in common with one; the object itself without
  /// `unique-by`.
  private func winner(_ mapping: ResolvedEntityMapping, _ key: Int64) throws -> Int64? {
    guard !mapping.mapping.uniqueBy.isEmpty else { return key }
    let wanted = try identity(mapping, key)
    var winner: Int64?
    try forEachTaken(mapping) { other in
      guard try identity(mapping, other) == wanted else { return true }
      if try winner.map({ try precedes(mapping, other, $0) }) ?? true { winner = other }
      // Without an order, the lowest key is the first.
      return mapping.ordersUnique
    }
    return winner
  }

  /// Whether an object comes before another with a lower key, in the order of a mapping.
  private func precedes(_ mapping: ResolvedEntityMapping, _ key: Int64, _ other: Int64) throws -> Bool {
    guard !mapping.mapping.uniqueOrder.isEmpty, let one = try object(mapping, key), let two = try object(mapping, other)
    else { return false }
    for descriptor in mapping.mapping.uniqueOrder {
      let values = try [one, two].map { object -> AttributeValue in
        if case .value(let value) = try evaluator.compile(descriptor.expression).evaluate(with: object) {
          value
        } else {
          .null
        }
      }
      let order = values[0].sortOrder(values[1])
      if order != 0 { return (order < 0) == descriptor.isAscending }
    }
    return false
  }

  /// The values of `unique-by`, as the destination stores them.
  private func identity(_ mapping: ResolvedEntityMapping, _ key: Int64) throws -> [SQLValue] {
    if let known = identities[mapping.index] { return try known(key) }
    let parts = mapping.attributes.filter { mapping.mapping.uniqueBy.contains($0.attribute.name) }.map { entry in
      let evaluator = ExpressionEvaluator(
        now: now, role: .value, mapping: MappingBindings(mapping.mapping, property: entry.attribute.name), host: host,
        bindsSource: true)
      let value = Self.value(of: entry.source, evaluator)
      return { (object: StoredObject) throws -> SQLValue in
        let found = try value?(object) ?? entry.attribute.defaultValue
        var usesDefault = false
        if case .defaultForNil = entry.source { usesDefault = true }
        return try Self.stored(usesDefault && found.isNull ? entry.attribute.defaultValue : found, as: entry.attribute)
      }
    }
    let known: (Int64) throws -> [SQLValue] = { [self] key in
      guard let object = try object(mapping, key) else { return [] }
      let values = try parts.map { try $0(object) }
      // An object with nil is one with no other.
      return mapping.mapping.mergesNil || !values.contains(.null) ? values : [.integer(key)] + values
    }
    identities[mapping.index] = known
    return try known(key)
  }

  /// A value as a run stores it: a number in a column of another type of numbers is turned into one of that type.
  private static func stored(_ value: AttributeValue, as attribute: AttributeDescription) throws -> SQLValue {
    do { return try SQLValue(encoding: value, as: attribute) } catch {
      guard let fitted = attribute.type.fitted(SQLValue(value), takingLowest: true) else { throw error }
      return fitted
    }
  }

  /// The function that computes an attribute; nil where it has the model's default.
  private static func value(
    of source: ResolvedEntityMapping.AttributeSource, _ evaluator: ExpressionEvaluator
  ) -> ((StoredObject) throws -> AttributeValue)? {
    func single(_ value: EvaluatedValue) -> AttributeValue {
      if case .value(let value) = value { value } else { .null }
    }
    switch source.withoutDefault {
    case .copy(let name): return { single(try $0.value(name)) }
    case .expression(let parsed):
      let compiled = evaluator.compile(parsed)
      return { single(try compiled.evaluate(with: $0)) }
    case .modelDefault, .defaultForNil: return nil
    }
  }

  private func association(_ mapping: ResolvedEntityMapping, winner: Int64) throws -> Association {
    var association = Association(
      mapping: mapping, source: Reference(entity: mapping.source.name, key: winner),
      destination: Reference(entity: mapping.destination.name, key: try destinationKey(mapping, of: winner)))
    if !mapping.mapping.uniqueBy.isEmpty {
      let wanted = try identity(mapping, winner)
      try forEachTaken(mapping) { other in
        if other != winner, try identity(mapping, other) == wanted {
          association.merged.append(Reference(entity: mapping.source.name, key: other))
        }
        return true
      }
    }
    association.chunk = try chunk(mapping, of: winner)
    association.ends = try ends(mapping, of: winner)
    return association
  }

  /// The two objects of a link; empty for any other object.
  private func ends(_ mapping: ResolvedEntityMapping, of key: Int64) throws -> [Reference] {
    guard program.resolved.sourceModel.pairEntity(mapping.source.name) != nil, let link = try object(mapping, key)
    else { return [] }
    return try PairEntity.End.allCases.compactMap { end -> Reference? in
      guard case .object(let object?) = try link.value(end.toOne) else { return nil }
      return Reference(entity: object.entityName, key: object.key)
    }
  }

  private func destinationKey(_ mapping: ResolvedEntityMapping, of source: Int64) throws -> Int64 {
    switch program.facts.mappings[mapping.index].keys {
    case .offset(let offset): return source &+ offset
    case .dense(let first):
      var place: Int64 = 0
      try forEachWinner(mapping) { key in
        guard key < source else { return false }
        place += 1
        return true
      }
      return first &+ place
    }
  }

  private func sourceKey(_ mapping: ResolvedEntityMapping, of destination: Int64) throws -> Int64? {
    switch program.facts.mappings[mapping.index].keys {
    case .offset(let offset):
      let (key, overflow) = destination.subtractingReportingOverflow(offset)
      return overflow ? nil : key
    case .dense(let first):
      guard destination >= first else { return nil }
      var left = destination &- first
      var found: Int64?
      try forEachWinner(mapping) { key in
        if left == 0 { found = key }
        left -= 1
        return found == nil
      }
      return found
    }
  }

  private func chunk(_ mapping: ResolvedEntityMapping, of source: Int64) throws -> ChunkPosition? {
    let own = chunks.filter { chunk in
      if case .create(mapping.index, _) = chunk.work { true } else { false }
    }
    guard
      let place = try own.firstIndex(where: { chunk in
        guard let number = chunk.predicate else { return chunk.range.first <= source && source <= chunk.range.last }
        guard let predicate = predicates[mapping.name]?[number], let object = try object(mapping, source) else {
          return false
        }
        return try evaluator.compile(predicate).matches(object) == true
      })
    else { return nil }
    return ChunkPosition(
      number: place + 1, count: own.count, pass: own[place].pass,
      range: own[place].context(entityName: mapping.source.name))
  }
}

extension AttributeValue {
  /// Below 0 if the value sorts before another of the same attribute: nil before all, texts byte by byte.
  fileprivate func sortOrder(_ other: AttributeValue) -> Int {
    func order<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }
    func order(_ a: [UInt8], _ b: [UInt8]) -> Int { a.lexicographicallyPrecedes(b) ? -1 : a == b ? 0 : 1 }
    switch (self, other) {
    case (.null, .null): return 0
    case (.null, _): return -1
    case (_, .null): return 1
    case (.boolean(let a), .boolean(let b)): return order(a ? 1 : 0, b ? 1 : 0)
    case (.integer(let a), .integer(let b)): return order(a, b)
    case (.double(let a), .double(let b)), (.date(let a), .date(let b)): return order(a, b)
    // A decimal without a value is nil, and a run compares the numbers that the store holds.
    case (.decimal(let a), .decimal(let b)):
      return a.isNaN || b.isNaN ? order(a.isNaN ? 0 : 1, b.isNaN ? 0 : 1) : order(a.nearestDouble, b.nearestDouble)
    case (.string(let a), .string(let b)), (.uri(let a), .uri(let b)): return order(Array(a.utf8), Array(b.utf8))
    case (.uuid(let a), .uuid(let b)):
      return order(withUnsafeBytes(of: a.uuid, Array.init), withUnsafeBytes(of: b.uuid, Array.init))
    default: return 0
    }
  }
}
