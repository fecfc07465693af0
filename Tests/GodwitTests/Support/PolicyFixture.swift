import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import Synchronization
import TestSupport

/// Core Data's default policy, registered by hand.
struct PlainPolicy: EntityMigrationPolicy {}

/// The calls of hooks, in order, by all policies of a test.
final class HookLog: Sendable {
  private let lines = Mutex<[String]>([])
  func note(_ line: String) { lines.withLock { $0.append(line) } }
  var all: [String] { lines.withLock { $0 } }
}

/// Notes every hook with the number of the instance, and does what the default does.
final class RecordingPolicy: EntityMigrationPolicy {
  private let log: HookLog
  private var calls = 0

  init(_ log: HookLog) { self.log = log }

  private func note(_ hook: String, _ mapping: EntityMapping, _ object: ManagedObject? = nil) {
    calls += 1
    log.note("\(mapping.name) \(hook)\(object.map { " \($0)" } ?? "")")
    // The instance is the same from hook to hook.
    if hook == "end" { log.note("\(mapping.name) calls \(calls)") }
  }

  func begin(_ mapping: EntityMapping, with manager: inout PolicyContext) throws { note("begin", mapping) }

  func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
  ) throws {
    note("create", mapping, source)
    try manager.createDestinationInstances(forSource: source, in: mapping)
  }

  func endInstanceCreation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws {
    note("endInstanceCreation", mapping)
  }

  func createRelationships(
    forDestination destination: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
  ) throws {
    note("relate", mapping, destination)
    try manager.createRelationships(forDestination: destination, in: mapping)
  }

  func endRelationshipCreation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws {
    note("endRelationshipCreation", mapping)
  }

  func performCustomValidation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws {
    note("validate", mapping)
  }

  func end(_ mapping: EntityMapping, manager: inout PolicyContext) throws { note("end", mapping) }
}

/// A policy made of closures, so that a test reads in one place.
struct ClosurePolicy: EntityMigrationPolicy, Sendable {
  typealias Hook = @Sendable (EntityMapping, inout PolicyContext) throws -> Void
  typealias ObjectHook = @Sendable (ManagedObject, EntityMapping, inout PolicyContext) throws -> Void

  var begin: Hook?
  var create: ObjectHook?
  var endCreate: Hook?
  var relate: ObjectHook?
  var endRelate: Hook?
  var validate: Hook?
  var end: Hook?
  var answer: (@Sendable (ExpressionCall, EntityMapping, inout PolicyContext) throws -> EvaluatedValue)?

  func begin(_ mapping: EntityMapping, with manager: inout PolicyContext) throws { try begin?(mapping, &manager) }

  func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
  ) throws {
    guard let create else { return try manager.createDestinationInstances(forSource: source, in: mapping) }
    try create(source, mapping, &manager)
  }

  func endInstanceCreation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws {
    try endCreate?(mapping, &manager)
  }

  func createRelationships(
    forDestination destination: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
  ) throws {
    guard let relate else { return try manager.createRelationships(forDestination: destination, in: mapping) }
    try relate(destination, mapping, &manager)
  }

  func endRelationshipCreation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws {
    try endRelate?(mapping, &manager)
  }

  func performCustomValidation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws {
    try validate?(mapping, &manager)
  }

  func end(_ mapping: EntityMapping, manager: inout PolicyContext) throws { try end?(mapping, &manager) }

  func value(of call: ExpressionCall, in mapping: EntityMapping, manager: inout PolicyContext) throws -> EvaluatedValue
  {
    guard let answer else { throw GodwitError(.configuration, "nothing answers '\(call.selector)'") }
    return try answer(call, mapping, &manager)
  }
}

/// People who live in homes become contacts at places.
///
/// | source | destination |
/// |---|---|
/// | Person (`fullName`, `age`), `home` | Contact (`given`, `family`, `age`), `place`, `tags` |
/// | Home (`street`), `people` | Place (`street`), ordered `contacts` |
/// | | Tag (`name`), `contacts` |
func policyFixture(people: Int64 = 12, rows: Int? = 3) throws -> MigrationFixture {
  let fixture = try MigrationFixture(
    [
      .make(
        "Person", ["fullName": .string, "age": .integer32], [.toOne("home", "Home", inverse: "people")]),
      .make("Home", ["street": .string], [.toMany("people", "Person", inverse: "home")]),
    ],
    to: [
      .make(
        "Contact", ["given": .string, "family": .string, "age": .integer32],
        [.toOne("place", "Place", inverse: "contacts"), .toMany("tags", "Tag", inverse: "contacts")]),
      .make("Place", ["street": .string], [.toMany("contacts", "Contact", inverse: "place", ordered: true)]),
      .make("Tag", ["name": .string], [.toMany("contacts", "Contact", inverse: "tags")]),
    ])
  try fixture.build { store in
    for key in Int64(1)...6 {
      try store.insert("Home", key: key, attributes: ["street": .init("street \(key % 3)")], relationships: [:])
    }
    for key in stride(from: Int64(1), through: people * 2, by: 2) {
      let names = ["Ada Lovelace", "Alan", "Grace Brewster Hopper", "Kurt Gödel"]
      try store.insert(
        "Person", key: key,
        attributes: ["fullName": .init(names[Int(key / 2 % 4)]), "age": .integer(key)],
        relationships: ["home": [key % 6 + 1]])
    }
  }
  fixture.chunkRows = rows
  fixture.mappings = [
    try .make("Home", "Place", attributes: ["street": "$source.street"]),
    try .make(
      "Person", "Contact", attributes: ["age": "$source.age + 1"],
      relationships: ["place": .mapping("HomeToPlace", keyPath: ["home"])]),
  ]
  return fixture
}

/// Makes none to three objects of a source object by its key, some of them associated with two.
///
/// - Parameter isReassociating: Whether to associate once more what is associated: it changes nothing, but from then on
///   relationships are set object by object.
func severalOfOne(isReassociating: Bool) -> ClosurePolicy {
  var policy = ClosurePolicy()
  policy.create = { source, mapping, manager in
    for number in 0..<(abs(source.key) % 4) {
      let object = try manager.createDestinationInstance(forSource: source, in: mapping)
      try manager.insert(object)
      manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
      guard number == 1, let entity = mapping.destinationEntityName else { continue }
      if let other = try manager.destinationInstances(ofEntityNamed: entity, limit: 1).first,
        try !manager.sourceInstances(forEntityMappingNamed: mapping.name, destinationInstances: [other]).isEmpty
      {
        manager.associate(sourceInstance: source, withDestinationInstance: other, for: mapping)
        manager.associate(sourceInstance: source, withDestinationInstance: other, for: mapping)
      }
    }
  }
  policy.endCreate = { mapping, manager in
    guard isReassociating, let entity = mapping.sourceEntityName else { return }
    for source in try manager.sourceInstances(ofEntityNamed: entity, limit: 20) {
      let found = try manager.destinationInstances(forEntityMappingNamed: mapping.name, sourceInstances: [source])
      guard let object = found.first else { continue }
      return manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
    }
  }
  return policy
}

extension MigrationFixture {
  /// Gives a mapping a policy.
  func setPolicy(_ name: String, of mapping: String) {
    for index in mappings.indices where mappings[index].name == mapping { mappings[index].policyName = name }
  }

  func job(_ policies: PolicyRegistry) throws -> MigrationJob {
    var job = try self.job
    job.policies = policies
    return job
  }

  /// Runs with policies, and has all that can be proved proved.
  @discardableResult
  func run(_ policies: PolicyRegistry) throws -> (MigrationSummary, VerificationReport) {
    let job = try job(policies)
    let summary = try MigrationManager(job).run()
    return (summary, try Verifier(job: job).run())
  }

  /// Every row of the finished store but its metadata, and its schema.
  func content() throws -> [String] {
    let connection = try StoreConnection.openStore(readingAt: destinationPath)
    var lines = try connection.rows("SELECT sql FROM source.sqlite_master WHERE sql NOT NULL ORDER BY sql").map {
      $0[0].plain
    }
    for row in try connection.rows(
      "SELECT name FROM source.sqlite_master WHERE type = 'table' AND name NOT IN ('Z_METADATA') ORDER BY name")
    {
      lines += try connection.rows("SELECT * FROM source.\(quoted(row[0].plain)) ORDER BY 1, 2").map {
        row[0].plain + " " + $0.map(\.plain).joined(separator: "|")
      }
    }
    return lines
  }
}
