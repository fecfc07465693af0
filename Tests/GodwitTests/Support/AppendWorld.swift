import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Sources of a shop, and the destination that several jobs fill one after the other.
final class AppendWorld {
  let folder: TemporaryFolder
  let source: ManagedObjectModel
  let destination: ManagedObjectModel
  var destinationPath: String { folder.file("out/shop.sqlite") }
  var workFolder: String { WorkFolder.path(forDestination: destinationPath) }

  static let sourceEntities: [EntityDescription] = [
    .make(
      "Customer", ["name": .string, "city": .string],
      [
        .toMany("orders", "Order", inverse: "customer"), .toMany("tags", "Tag", inverse: "customers"),
        .toOne("card", "Card", inverse: "customer"),
      ]),
    .make(
      "Order", ["number": .integer32],
      [.toOne("customer", "Customer", inverse: "orders"), .toMany("lines", "Line", inverse: "order", ordered: true)]),
    .make("Line", ["text": .string], [.toOne("order", "Order", inverse: "lines")]),
    .make("Tag", ["name": .string], [.toMany("customers", "Customer", inverse: "tags")]),
    .make("Card", ["code": .string], [.toOne("customer", "Customer", inverse: "card")]),
  ]

  /// The same, with a class of its own for a city.
  static let destinationEntities: [EntityDescription] =
    sourceEntities.map { entity in
      guard entity.name == "Customer" else { return entity }
      var entity = entity
      entity.attributes = [AttributeDescription(name: "name", type: .string)]
      entity.relationships.append(.toOne("home", "City", inverse: "people"))
      return entity
    } + [.make("City", ["name": .string], [.toMany("people", "Customer", inverse: "home")])]

  init(changing change: (inout [EntityDescription]) -> Void = { _ in }) throws {
    folder = try TemporaryFolder()
    source = try ManagedObjectModel(name: "Shop", entities: Self.sourceEntities)
    var entities = Self.destinationEntities
    change(&entities)
    destination = try ManagedObjectModel(name: "Shop 2", entities: entities)
  }

  /// Makes a source store with twice as many orders as customers.
  func build(_ name: String, customers: Int64 = 4, firstKey: Int64 = 1) throws {
    let store = try StoreBuilder(path: folder.file(name), model: source)
    for tag in Int64(1)...2 { try store.insert("Tag", key: tag, attributes: ["name": .init("\(name) tag \(tag)")]) }
    for place in 0..<customers {
      let key = firstKey + place
      try store.insert(
        "Customer", key: key, attributes: ["name": .init("\(name) \(key)"), "city": .init("city \(key % 2)")],
        relationships: ["tags": [1, key % 2 + 1]])
      try store.insert(
        "Card", key: key, attributes: ["code": .init("\(name)-\(key)")], relationships: ["customer": [key]])
      for number in 1...Int64(2) {
        let order = key * 2 + number
        try store.insert(
          "Order", key: order, attributes: ["number": .integer(order % 1000)], relationships: ["customer": [key]])
        for line in Int64(1)...2 {
          try store.insert("Line", attributes: ["text": .init("line \(line)")], relationships: ["order": [order]])
        }
      }
    }
    try store.finish()
  }

  /// A destination that an application made and filled.
  func buildDestination() throws {
    try FileManager.default.createDirectory(atPath: folder.file("out"), withIntermediateDirectories: true)
    var metadata = StoreMetadata(model: destination)
    metadata.values["com.example.note"] = .string("kept")
    let store = try StoreBuilder(path: destinationPath, model: destination, metadata: metadata)
    try store.insert("Customer", key: 7, attributes: ["name": .init("old")])
    try store.insert("Order", key: 3, attributes: ["number": .integer(1)], relationships: ["customer": [7]])
    try store.insert("Tag", key: 9, attributes: ["name": .init("old tag")], relationships: ["customers": [7]])
    try store.finish()
  }

  static func all() throws -> [EntityMapping] {
    try [
      .make(
        "Customer", "Customer", kind: .copy, relationships: ["home": .mapping("Cities", keyPath: [])]),
      .make("Customer", "City", name: "Cities", uniqueBy: ["name"], attributes: ["name": "$source.city"]),
    ] + ["Order", "Line", "Tag", "Card"].map { try .make($0, $0, kind: .copy) }
  }

  func job(_ source: String, _ mappings: [EntityMapping]? = nil, rows: Int = 3) throws -> MigrationJob {
    var job = MigrationJob(
      name: source, sourcePath: folder.file(source), destinationPath: destinationPath, sourceModel: self.source,
      destinationModel: destination, mappingModels: [MappingModel(entityMappings: try mappings ?? Self.all())],
      chunkRows: rows)
    job.existingDestination = .append
    return job
  }

  /// Runs a job, and proves what it made with the code that did not make it.
  @discardableResult
  func run(_ job: MigrationJob, sourceLocation: SourceLocation = #_sourceLocation) throws -> MigrationSummary {
    let summary = try MigrationManager(job).run()
    if summary.outcome == .finished { try verify(job, sourceLocation: sourceLocation) }
    return summary
  }

  func verify(_ job: MigrationJob, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)", sourceLocation: sourceLocation)
  }

  func refusal(_ job: MigrationJob, sourceLocation: SourceLocation = #_sourceLocation) throws -> GodwitError {
    try #require(throws: GodwitError.self, sourceLocation: sourceLocation) { try MigrationManager(job).run() }
  }

  /// Rows of the destination as text, columns joined by `|`.
  func rows(_ sql: String) throws -> [String] {
    let connection = try StoreConnection.openStore(readingAt: destinationPath)
    return try connection.rows(sql).map { $0.map(\.plain).joined(separator: "|") }
  }

  func alter(_ name: String, _ sql: String) throws {
    let connection = try StoreConnection(path: folder.file(name))
    try connection.execute(sql)
    try connection.close()
  }

  func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.file("out")).sorted() }
}
