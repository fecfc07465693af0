import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Random stores of one random model, which one job merges.
///
/// The oracle knows the objects from before they were stored. An object is known by its attribute `id`, which is another
/// one in each store.
struct MergeWorld {
  let folder: TemporaryFolder
  let model: ManagedObjectModel
  /// The model with an attribute more.
  let destination: ManagedObjectModel
  let stores: [[RandomObject]]
  private let pairs: [RandomPair]
  var destinationPath: String { folder.file("out/all.sqlite") }
  var names: [String] { stores.indices.map { "\($0).sqlite" } }

  init(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var world = try RandomWorld(&random)
    var stores: [[RandomObject]] = []
    for place in 0..<random.below(3) + 2 {
      world.objects = []
      world.populate(&random)
      stores.append(
        world.objects.map { object in
          var object = object
          object.id += Int64(place) * 1000
          return object
        })
    }
    (folder, model, self.stores, pairs) = (try TemporaryFolder(), world.source, stores, world.sourcePairs)
    var entities = world.source.entities
    for place in entities.indices where entities[place].superentityName == nil {
      entities[place].attributes.append(AttributeDescription(name: "more", type: .string))
    }
    destination = try ManagedObjectModel(name: "2", entities: entities)
    for (name, objects) in zip(names, stores) {
      let store = try StoreBuilder(path: folder.file(name), model: model)
      for object in objects {
        try store.insert(
          object.entity, key: object.key,
          attributes: ["id": .integer(object.id), "n": object.n.map { .integer($0) } ?? .null],
          relationships: object.links)
      }
      try store.finish()
    }
  }

  func job(_ names: [String], chunkRows: Int = 3) throws -> MigrationJob {
    var job = MigrationJob(
      name: "merge", sourcePath: "", destinationPath: destinationPath, sourceModel: model,
      destinationModel: destination, mappingModels: [try MappingModel(inferredFrom: model, to: destination)],
      chunkRows: chunkRows)
    job.merged = try MergedSources(names.map { folder.file($0) })
    return job.readingMerged(in: job.workPath)
  }

  // MARK: Content

  /// The content of all stores: a line for each object, and one for each end of a relationship with its objects.
  var expected: [String] {
    var lines: [String] = []
    for objects in stores {
      func id(_ key: Int64, _ entity: String) -> Int64 {
        objects.first { $0.key == key && model.root(of: $0.entity)?.name == model.root(of: entity)?.name }?.id ?? 0
      }
      for object in objects {
        lines.append("\(object.entity) \(object.id) \(object.n.map(String.init) ?? "nil")")
        for relationship in model.relationships(of: object.entity) {
          let links = (object.links[relationship.name] ?? []).map { id($0, relationship.destinationEntityName) }
          guard !links.isEmpty else { continue }
          let listed = relationship.isToMany ? links.sorted() : links
          lines.append("\(object.id) \(relationship.name) \(listed)")
        }
      }
    }
    return lines.sorted()
  }

  /// The same, read with SQL from the store that the job made.
  func found() throws -> [String] {
    let schema = StoreSchema(model: destination)
    let connection = try StoreConnection.openStore(readingAt: destinationPath)
    func table(_ entity: String) -> String { "source.\(quoted(schema.table(of: entity)?.name ?? ""))" }
    var lines: [String] = []
    for entity in destination.entities {
      let number = schema.number(of: entity.name) ?? 0
      try connection.query("SELECT ZID, ZN FROM \(table(entity.name)) WHERE Z_ENT = \(number)") { row in
        lines.append("\(entity.name) \(row.int64(0)) \(row.isNull(1) ? "nil" : "\(row.int64(1))")")
        return true
      }
      for relationship in destination.relationships(of: entity.name) {
        let target = table(relationship.destinationEntityName)
        let joined: String
        switch schema.storage(of: relationship.name, in: entity.name) {
        case .foreignKey(_, let column, _, _):
          joined = "LEFT JOIN \(target) AS b ON b.Z_PK = a.\(quoted(column)) WHERE a.\(quoted(column)) NOT NULL"
        case .inverse(_, let column, _, _): joined = "JOIN \(target) AS b ON b.\(quoted(column)) = a.Z_PK WHERE TRUE"
        case .join(let join, let subject, let object, _):
          joined =
            "JOIN \(join.rows(in: "source")) AS j ON j.\(quoted(subject)) = a.Z_PK LEFT JOIN \(target) AS b ON b.Z_PK = j.\(quoted(object)) WHERE TRUE"
        case .none: continue
        }
        var links: [Int64: [Int64]] = [:]
        try connection.query("SELECT a.ZID, b.ZID FROM \(table(entity.name)) AS a \(joined) AND a.Z_ENT = \(number)") {
          links[$0.int64(0), default: []].append($0.int64(1))
          return true
        }
        for (id, list) in links { lines.append("\(id) \(relationship.name) \(list.sorted())") }
      }
    }
    return lines.sorted()
  }
}
