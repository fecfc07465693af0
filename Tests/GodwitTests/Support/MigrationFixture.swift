import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A source store made for one test, and the migration of it.
final class MigrationFixture {
  let folder: TemporaryFolder
  let source: ManagedObjectModel
  let destination: ManagedObjectModel
  var mappings: [EntityMapping] = []
  var chunkRows: Int? = 3
  var chunkPredicates: [String: [String]] = [:]
  /// Whether the mappings were inferred: then `run` does it in place by SQL too, and compares.
  private(set) var isInferred = false

  var sourcePath: String { folder.file("source.sqlite") }
  var destinationPath: String { folder.file("out/destination.sqlite") }

  init(_ source: [EntityDescription], to destination: [EntityDescription]) throws {
    folder = try TemporaryFolder()
    self.source = try ManagedObjectModel(name: "1", entities: source)
    self.destination = try ManagedObjectModel(name: "2", entities: destination)
  }

  init(_ source: ManagedObjectModel, to destination: ManagedObjectModel) throws {
    folder = try TemporaryFolder()
    self.source = source
    self.destination = destination
  }

  /// Makes the source store.
  func build(_ body: (StoreBuilder) throws -> Void) throws {
    let builder = try StoreBuilder(path: sourcePath, model: source)
    try body(builder)
    try builder.finish()
  }

  /// Changes the source store behind Core Data's back.
  func alter(_ sql: String) throws {
    let connection = try StoreConnection(path: sourcePath)
    try connection.execute(sql)
    try connection.close()
  }

  var job: MigrationJob {
    get throws {
      var job = MigrationJob(
        name: "test", sourcePath: sourcePath, destinationPath: destinationPath, sourceModel: source,
        destinationModel: destination, mappingModels: [MappingModel(entityMappings: mappings)], chunkRows: chunkRows)
      job.chunkPredicates = try chunkPredicates.mapValues { try $0.map { try FilterPredicate($0) } }
      return job
    }
  }

  /// Takes the mappings that can be inferred between the two models.
  @discardableResult
  func infer() throws -> MappingModel {
    let inferred = try MappingModel(inferredFrom: source, to: destination)
    mappings = inferred.entityMappings
    isInferred = true
    return inferred
  }

  /// Runs the job, and proves the result with the code that did not make it.
  @discardableResult
  func run() throws -> MigrationSummary {
    let summary = try MigrationManager(job).runAsPlanned()
    if summary.outcome == .finished {
      let report = try Verifier(job: job).runBothWays()
      #expect(report.isClean, "\(report)")
      if isInferred { try expectSameInPlace(as: summary) }
    }
    return summary
  }

  /// The program of the job's first step, and the plan, without writing anything.
  func planned() throws -> (StepProgram, MigrationPlan) {
    let connection = try StoreConnection(path: nil)
    let files = try StoreFiles(path: sourcePath)
    try connection.attachSource(files)
    let (plan, program) = try AttachedSource(connection, job: job, files: files).planner(job).plan(now: 0)
    return (program, plan)
  }

  /// The counts of the planner.
  func plannedFacts() throws -> PlanFacts { try planned().0.facts }

  /// Rows of the destination as text, columns joined by `|`.
  func rows(_ sql: String) throws -> [String] {
    let connection = try StoreConnection.openStore(readingAt: destinationPath)
    return try connection.rows(sql).map { $0.map(\.plain).joined(separator: "|") }
  }
}

extension SQLValue {
  var plain: String {
    switch self {
    case .null: "nil"
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)"
    case .text(let bytes): String(decoding: bytes, as: UTF8.self)
    case .blob(let bytes): "<\(bytes.map { String($0, radix: 16) }.joined(separator: " "))>"
    }
  }
}

extension ValueExpression {
  init(_ text: String) throws { self.init(try ValueExpression(parsing: text), source: SourceText(text)) }
}

extension EntityMapping {
  /// A mapping as a manifest would write it.
  static func make(
    _ source: String, _ destination: String, name: String? = nil, kind: Kind = .transform, filter: String? = nil,
    uniqueBy: [String] = [], attributes: [String: String] = [:],
    relationships: [String: RelationshipMapping.Value] = [:]
  ) throws -> EntityMapping {
    var mapping = EntityMapping(
      name: name ?? "\(source)To\(destination)", kind: kind, source: source, destination: destination)
    mapping.filter = try filter.map { try FilterPredicate($0) }
    mapping.uniqueBy = uniqueBy
    mapping.attributeMappings = try attributes.map { AttributeMapping(name: $0, value: try ValueExpression($1)) }
    mapping.relationshipMappings = relationships.map { RelationshipMapping(name: $0, value: $1) }
    return mapping
  }
}

extension EntityDescription {
  static func make(
    _ name: String, parent: String? = nil, isAbstract: Bool = false, _ attributes: [String: AttributeType] = [:],
    _ relationships: [RelationshipDescription] = []
  ) -> EntityDescription {
    EntityDescription(
      name: name, superentityName: parent, isAbstract: isAbstract,
      attributes: attributes.sorted { $0.key < $1.key }.map { AttributeDescription(name: $0.key, type: $0.value) },
      relationships: relationships)
  }
}

extension RelationshipDescription {
  static func toOne(_ name: String, _ destination: String, inverse: String?) -> RelationshipDescription {
    RelationshipDescription(name: name, destinationEntityName: destination, inverseName: inverse)
  }

  static func toMany(
    _ name: String, _ destination: String, inverse: String?, ordered: Bool = false
  ) -> RelationshipDescription {
    var relationship = RelationshipDescription(
      name: name, destinationEntityName: destination, inverseName: inverse, isToMany: true)
    relationship.isOrdered = ordered
    return relationship
  }
}

extension MigrationFixture {
  /// Forty notes in four chunks, and an attribute more in the destination.
  static func notes() throws -> MigrationFixture {
    let note = EntityDescription.make("Note", ["text": .string])
    let fixture = try MigrationFixture([note], to: [.make("Note", ["text": .string, "more": .string])])
    try fixture.build { store in
      for key in Int64(1)...40 { try store.insert("Note", key: key, attributes: ["text": .init("note \(key)")]) }
    }
    fixture.mappings = [try .make("Note", "Note", kind: .copy)]
    fixture.chunkRows = 10
    return fixture
  }
}

extension MigrationFixture {
  /// Runs the job until it is finished, stopped after one, two and three chunks in turns.
  ///
  /// - Returns: How often it was stopped.
  func runStoppingAfterChunks() throws -> Int {
    let job = try job
    var stops = 0
    while true {
      let control = MigrationControl()
      var count = 0
      let summary = try MigrationManager(job).run(control: control) { _ in
        count += 1
        if count == stops % 3 + 1 { control.stop(reason: "test") }
      }
      if summary.outcome == .finished { return stops }
      stops += 1
    }
  }

  /// The mappings under other names, which look each other up, for a job that appends after one with their own names.
  func mappings(renamed suffix: String) -> [EntityMapping] {
    mappings.map { mapping in
      var mapping = mapping
      mapping.name += suffix
      for place in mapping.relationshipMappings.indices {
        if case .mapping(let name, let path) = mapping.relationshipMappings[place].value {
          mapping.relationshipMappings[place].value = .mapping(name + suffix, keyPath: path)
        }
      }
      return mapping
    }
  }
}
