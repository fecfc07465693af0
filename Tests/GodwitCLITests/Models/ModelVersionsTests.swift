import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

@testable import GodwitManifest

private func model(_ name: String, attributes: [String], more: [String] = []) throws -> ManagedObjectModel {
  var entities = [
    EntityDescription(name: "Note", attributes: attributes.map { AttributeDescription(name: $0, type: .string) })
  ]
  entities += more.map { EntityDescription(name: $0) }
  return try ManagedObjectModel(name: name, entities: entities)
}

/// Writes a bundle of models; without a current version unless one is named.
private func bundle(
  _ name: String, in folder: TemporaryFolder, _ models: [ManagedObjectModel], current: String? = nil
) throws -> String {
  let path = folder.file(name + ".xcdatamodeld")
  for model in models {
    let version = path + "/\(model.name).xcdatamodel"
    try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
    try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
  }
  if let current {
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": current + ".xcdatamodel"], format: .xml, options: 0)
    try marker.write(to: URL(filePath: path + "/.xccurrentversion"))
  }
  return path
}

private func error(_ body: () throws -> Void) -> GodwitError? {
  do {
    try body()
    return nil
  } catch { return error as? GodwitError }
}

struct `Finding the models of a job` {
  @Test func `versions are ordered by name, with a bundle's current version last`() throws {
    let folder = try TemporaryFolder()
    func models(_ names: [String]) throws -> [ManagedObjectModel] { try names.map { try model($0, attributes: [$0]) } }
    let app = try bundle("App", in: folder, models(["App 2", "App 10", "Store 5"]), current: "App 10")
    #expect(try ModelVersions(references: [app]).oldestFirst().map(\.name) == ["App 2", "Store 5", "App 10"])
    // A way to another version does not end at the current one.
    #expect(
      try ModelVersions(references: [app]).oldestFirst(leadingTo: "Store 5").map(\.name)
        == ["App 2", "App 10", "Store 5"])
    let other = try bundle("Other", in: folder, models(["B", "A", "Z"]), current: "A")
    #expect(
      try ModelVersions(references: [other, app]).oldestFirst().map(\.name)
        == ["App 2", "B", "Store 5", "App 10", "Z", "A"])
    #expect(
      try ModelVersions(references: [app + "#App 10", app + "#Store 5"]).oldestFirst().map(\.name) == [
        "App 10", "Store 5",
      ])
  }

  @Test func `the source model is the one with the store's hashes`() throws {
    let folder = try TemporaryFolder()
    let models = [try model("N 1", attributes: ["a"]), try model("N 2", attributes: ["a", "b"])]
    let versions = try ModelVersions(references: [try bundle("N", in: folder, models)])
    for model in models {
      #expect(try versions.model(fitting: StoreMetadata(model: model), path: "s").name == model.name)
    }
  }

  @Test func `if no model fits, the nearest one and the first entity that differs are named`() throws {
    let folder = try TemporaryFolder()
    let path = try bundle(
      "N", in: folder,
      [try model("N 1", attributes: ["a"], more: ["Tag", "User"]), try model("N 2", attributes: ["x"], more: ["Tag"])])
    let versions = try ModelVersions(references: [path])
    let store = StoreMetadata(model: try model("?", attributes: ["b"], more: ["Tag", "User"]))
    let problem = try #require(error { _ = try versions.model(fitting: store, path: "s.sqlite") })
    #expect(problem.code == .noPath)
    #expect(problem.message == "no model fits the store 's.sqlite'")
    #expect(problem.cause == "the nearest is 'N 1', which 2 of 3 entities fit; entity 'Note' differs")
    let larger = StoreMetadata(model: try model("?", attributes: ["a"], more: ["Card", "Tag", "User"]))
    let other = try #require(error { _ = try versions.model(fitting: larger, path: "s") })
    #expect(
      other.cause?.hasSuffix(
        "the store has the entity 'Card', which the model lacks\nall entities of 'N 1' fit, and the store has more")
        == true)
  }

  @Test func `an unknown model name is 78 with the nearest name and its place`() throws {
    let folder = try TemporaryFolder()
    let path = try bundle("N", in: folder, [try model("Notes 1", attributes: ["a"])])
    let versions = try ModelVersions(references: [path])
    let place = GodwitError.Location(file: "job.yaml", line: 3, column: 20)
    let name = Located(value: "Note 1", location: place)
    let problem = try #require(error { _ = try versions.model(named: name, key: "destination-model") })
    #expect(problem.code == .configuration)
    #expect(problem.location == place)
    #expect(problem.message.contains("did you mean 'Notes 1'?"))
  }

  @Test func `a name of two different models is 78`() throws {
    let folder = try TemporaryFolder()
    let first = try bundle("A", in: folder, [try model("N", attributes: ["a"])])
    let second = try bundle("B", in: folder, [try model("N", attributes: ["b"])])
    let twice = try ModelVersions(references: [first, second])
    let problem = try #require(
      error {
        _ = try twice.model(
          named: Located(value: "N", location: .init(file: "job.yaml", line: 1, column: 1)), key: "destination-model")
      })
    #expect(problem.code == .configuration)
    let same = try ModelVersions(references: [first, first])
    #expect(
      try same.model(
        named: Located(value: "N", location: .init(file: "job.yaml", line: 1, column: 1)), key: "destination-model"
      ).name == "N")
  }

  @Test func `the destination is the current version if there is one`() throws {
    let folder = try TemporaryFolder()
    let models = [try model("N 1", attributes: ["a"]), try model("N 2", attributes: ["b"])]
    let clear = try bundle("A", in: folder, models, current: "N 1")
    let unclear = try bundle("B", in: folder, models)
    #expect(try ModelVersions(references: [clear]).currentModel().name == "N 1")
    #expect(try ModelVersions(references: [clear + "#N 2"]).currentModel().name == "N 2")
    for references in [[unclear], [clear, unclear]] {
      let versions = try ModelVersions(references: references)
      #expect(error { _ = try versions.currentModel() }?.code == .configuration)
    }
  }

  @Test func `an old version that cannot be read does not stop the job`() throws {
    let folder = try TemporaryFolder()
    let current = try model("N 2", attributes: ["b"])
    let path = try bundle("N", in: folder, [current], current: "N 2")
    try FileManager.default.createDirectory(atPath: path + "/N 1.xcdatamodel", withIntermediateDirectories: true)
    try Data().write(to: URL(filePath: path + "/N 1.xcdatamodel/elements"))
    let versions = try ModelVersions(references: [path])
    #expect(try versions.model(fitting: StoreMetadata(model: current), path: "s").name == "N 2")
    let other = StoreMetadata(model: try model("?", attributes: ["c"]))
    let problem = try #require(error { _ = try versions.model(fitting: other, path: "s") })
    #expect(problem.cause?.contains("not considered: cannot read '\(path)/N 1.xcdatamodel/elements'") == true)
  }

  @Test func `each unreadable version is named with its line, including the current one`() throws {
    let folder = try TemporaryFolder()
    let good = try model("N 2", attributes: ["b"])
    let path = try bundle("N", in: folder, [try model("N 1", attributes: ["a"]), good], current: "N 3")
    for (name, text) in [("N 3", "<model>\n<<<<<<< HEAD\n"), ("N 4", "<model>\n<entity name=\"A\">")] {
      let version = path + "/\(name).xcdatamodel"
      try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
      try Data(text.utf8).write(to: URL(filePath: version + "/contents"))
    }
    let versions = try ModelVersions(references: [path])
    #expect(try versions.model(fitting: StoreMetadata(model: good), path: "s").name == "N 2")
    // Found before the damaged ones were opened.
    #expect(versions.models.compactMap(\.problem).isEmpty)
    let other = StoreMetadata(model: try model("?", attributes: ["c"]))
    let cause = try #require(error { _ = try versions.model(fitting: other, path: "s") }?.cause)
    #expect(cause.contains("not considered: \(path)/N 3.xcdatamodel/contents:2:1: cannot read the file: it holds the"))
    #expect(cause.contains("not considered: \(path)/N 4.xcdatamodel/contents:2:18: cannot read the file as XML"))
    #expect(error { _ = try versions.currentModel() }?.location?.line == 2)
  }

  @Test func `a model found by its published hashes is the only one read`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("N.momd")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    // The archive holds an entity without properties; the other version is damaged.
    var archive = ArchiveFixture()
    let entity = archive.entity("Note", [])
    try Data(archive.model([entity])).write(to: URL(filePath: path + "/N 2.mom"))
    try Data("damaged".utf8).write(to: URL(filePath: path + "/N 1.mom"))
    let model = try ManagedObjectModel(name: "N 2", entities: [EntityDescription(name: "Note")])
    let hashes = model.versionHashes.mapValues { Data($0.bytes) }
    let info: [String: Any] = ["NSManagedObjectModel_VersionHashes": ["N 2": hashes]]
    try PropertyListSerialization.data(fromPropertyList: info, format: .binary, options: 0)
      .write(to: URL(filePath: path + "/VersionInfo.plist"))
    let versions = try ModelVersions(references: [path])
    #expect(try versions.model(fitting: StoreMetadata(model: model), path: "s").name == "N 2")
    #expect(versions.models.compactMap(\.problem).isEmpty)
  }

  @Test func `of merged models only the needed versions are read`() throws {
    let folder = try TemporaryFolder()
    let models = try (1...3).map { try model("N \($0)", attributes: ["a\($0)"]) }
    let path = try bundle("N", in: folder, models, current: "N 3")
    func read(_ store: ManagedObjectModel) throws -> [String] {
      let merged = try MergedModels([.init(raw: path, resolved: path, location: .init(file: "j", line: 1, column: 1))])
      #expect(try merged.model(fitting: store.versionHashes) != nil)
      return merged.readVersions
    }
    #expect(try read(models[2]) == [])
    #expect(try read(models[1]) == ["N 2"])
    #expect(try read(models[0]) == ["N 1", "N 2"])
  }
}
