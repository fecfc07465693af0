import Foundation
import Godwit
import GodwitModel
import GodwitStore

/// How the work is done.
enum Way: String {
  /// By Godwit.
  case godwit
  /// By Godwit, with a policy in Swift.
  case policy
  /// By Godwit in place: the source is copied first, which the time holds.
  case place
  /// By hand-written SQL with the same durability, indexes and checks: the floor.
  case sql
  /// The proof of a store with its source, and with its receipt alone.
  case verify, receipt
  /// By a loop over rows: SQLite's C interface, GRDB, Python.
  case c, grdb, python
}

/// A source store, a job, and the same work by hand.
protocol Workload {
  static var name: String { get }
  static var ways: [Way] { get }
  static func source() throws -> ManagedObjectModel
  static func destination() throws -> ManagedObjectModel
  static func mappings() throws -> [EntityMapping]
  /// Rows of the source, as statements.
  static func fill(_ connection: StoreConnection, rows: Int64) throws
  /// The tables by hand; the tables are there, and the source is attached.
  static func insert(_ connection: StoreConnection) throws
  /// Queries that must count nothing.
  static var checks: [String] { get }
  static func run(_ way: Way, from source: String, to output: String, memory: ByteCount) throws
  /// Further changes of `make` to the source store.
  static func prepare(_ file: String) throws
}

extension Workload {
  static func prepare(_ file: String) throws {}

  static func make(_ file: String, rows: Int64) throws {
    let model = try source()
    let schema = StoreSchema(model: model)
    for suffix in ["", "-journal"] { try? FileManager.default.removeItem(atPath: file + suffix) }
    let connection = try EmptyStore.create(
      at: file, schema: schema, metadata: StoreMetadata(model: model, uuid: UUID()),
      cache: .mebibytes(64))
    try connection.execute("PRAGMA synchronous = OFF")
    try connection.transaction { try fill(connection, rows: rows) }
    try EmptyStore.createIndexes(of: schema, on: connection)
    try EmptyStore.updatePrimaryKeyCounters(of: schema, on: connection)
    try connection.close()
    try prepare(file)
  }

  static func job(from source: String, to output: String, memory: ByteCount) throws -> MigrationJob {
    var job = MigrationJob(
      name: name, source: URL(filePath: source), destination: URL(filePath: output), sourceModel: try self.source(),
      destinationModel: try destination(), mappingModels: [MappingModel(entityMappings: try mappings())], memory: memory
    )
    // Words behind the file.
    let words = CommandLine.arguments.dropFirst(4)
    if words.contains("receipt") { job.receipt = .besideDestination }
    if words.contains("unchecked") { job.sourceCheck = .none }
    return job
  }

  static func run(_ way: Way, from source: String, to output: String, memory: ByteCount) throws {
    switch way {
    case .godwit: try MigrationManager(job(from: source, to: output, memory: memory)).run()
    case .sql: try byHand(from: source, to: output) { try insert($0) }
    default: fatalError("no such way")
    }
  }

  /// An empty store with the source attached, filled by `body`; then the indexes, the checks, and a sync.
  static func byHand(from source: String, to output: String, _ body: (StoreConnection) throws -> Void) throws {
    let schema = StoreSchema(model: try destination())
    let connection = try EmptyStore.create(
      at: output, schema: schema, metadata: StoreMetadata(model: schema.model, uuid: UUID()),
      cache: .mebibytes(16))
    try connection.execute("PRAGMA synchronous = NORMAL")
    try connection.execute("ATTACH DATABASE ?1 AS source", [.text(source)])
    try connection.execute("PRAGMA source.cache_size = -8192")
    try connection.transaction { try body(connection) }
    for sql in schema.indexStatements { try connection.execute(sql) }
    for check in checks {
      guard try connection.integer(check) == 0 else {
        print("check failed: \(check)")
        exit(1)
      }
    }
    _ = try connection.value("PRAGMA main.quick_check")
    try EmptyStore.updatePrimaryKeyCounters(of: schema, on: connection)
    try connection.close()
    let handle = try FileHandle(forUpdating: URL(filePath: output))
    try handle.synchronize()
    try handle.close()
  }
}

func attribute(_ name: String, _ type: AttributeType, isOptional: Bool = true) -> AttributeDescription {
  var attribute = AttributeDescription(name: name, type: type)
  attribute.isOptional = isOptional
  return attribute
}

func toOne(_ name: String, _ entity: String, inverse: String) -> RelationshipDescription {
  RelationshipDescription(name: name, destinationEntityName: entity, inverseName: inverse)
}

func toMany(_ name: String, _ entity: String, inverse: String) -> RelationshipDescription {
  RelationshipDescription(name: name, destinationEntityName: entity, inverseName: inverse, isToMany: true)
}

func mapping(
  _ source: String, _ destination: String, name: String? = nil, filter: String? = nil, uniqueBy: [String] = [],
  attributes: [String: String], relationships: KeyValuePairs<String, RelationshipMapping.Value> = [:]
) throws -> EntityMapping {
  var mapping = EntityMapping(name: name ?? "\(source)To\(destination)", source: source, destination: destination)
  mapping.filter = try filter.map { try FilterPredicate($0) }
  mapping.uniqueBy = uniqueBy
  mapping.attributeMappings = try attributes.sorted { $0.key < $1.key }.map {
    AttributeMapping(name: $0, value: try ValueExpression($1))
  }
  mapping.relationshipMappings = relationships.map { RelationshipMapping(name: $0, value: $1) }
  return mapping
}

/// The numbers from 1 to `count` as rows `n(i)`.
func numbers(_ count: Int64) -> String {
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(max(1, count)))"
}
