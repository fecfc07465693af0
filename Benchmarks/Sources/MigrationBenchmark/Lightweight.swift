import Foundation
import Godwit
import GodwitModel
import GodwitStore

/// An attribute is added, in place, whose column stands before another's in a new store. The copy of the file is
/// measured apart: its way is `sql`, with the statement on it.
enum Lightweight: Workload {
  static let name = "lightweight"
  static let ways: [Way] = [.sql, .place]

  static func source() throws -> ManagedObjectModel { try People.source() }

  static func destination() throws -> ManagedObjectModel {
    var entities = try source().entities
    let person = entities.firstIndex { $0.name == "Person" } ?? 0
    entities[person].attributes.append(attribute("district", .string))
    return try ManagedObjectModel(name: "2", entities: entities)
  }

  static func mappings() throws -> [EntityMapping] {
    try MappingModel(inferredFrom: source(), to: destination()).entityMappings
  }

  static func fill(_ connection: StoreConnection, rows: Int64) throws { try People.fill(connection, rows: rows) }
  static func insert(_ connection: StoreConnection) throws {}
  static let checks: [String] = []

  static func run(_ way: Way, from source: String, to output: String, memory: ByteCount) throws {
    try FileManager.default.copyItem(atPath: source, toPath: output)
    // Without this sync, the first sync of the measured work would write the copy.
    let copy = try FileHandle(forUpdating: URL(filePath: output))
    try copy.synchronize()
    try copy.close()
    let start = Date()
    if way == .sql {
      let connection = try StoreConnection(path: output)
      try connection.execute("ALTER TABLE ZPERSON ADD COLUMN ZDISTRICT VARCHAR")
      try connection.close()
    } else {
      let step = MigrationStep(
        sourceModel: try self.source(), destinationModel: try destination(),
        mappingModels: [try MappingModel(inferredFrom: self.source(), to: destination())],
        origin: MigrationStep.inferredOrigin)
      var job = MigrationJob(
        name: name, source: URL(filePath: output), destination: URL(filePath: output), first: step, memory: memory)
      job.existingDestination = .inPlace(keepsOld: false)
      try MigrationManager(job).run()
    }
    print("without the copy: \(String(format: "%.3f", Date().timeIntervalSince(start))) s")
  }
}
