import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

@Suite(.enabled(if: Corpus.kinds != nil, "the stores of further kinds are not beside this checkout"))
struct `A store that SwiftData wrote` {
  private static let path =
    Corpus.kinds?.appending(
      path: "Karim-ezzedine_CartKit/Tests/CartKitStorageSwiftDataTests/LegacySwiftData/CartKitSwiftData_v1.sqlite"
    ).path ?? ""

  @Test func `it is inspected, exported, migrated to a model with a composite attribute, and verified`() throws {
    let folder = try TemporaryFolder("godwit-swiftdata")
    let store = try CorpusStores.copy(Self.path, into: folder, named: "default.store")
    func godwit(_ arguments: String...) throws -> String {
      let result = try BuiltCommand.run(arguments, in: folder.path)
      #expect(result.status == 0, "\(arguments): \(result.output)\(result.diagnostics)")
      return result.output
    }
    #expect(try godwit("inspect", store).contains("model cache  fits"))
    let exported = try godwit("export", store, "--entity", "CartModel")
    #expect(exported.hasPrefix("{\"@entity\":\"CartModel\"") && exported.split(separator: "\n").count == 1)
    _ = try godwit("model", "extract", store, "-o", "Kit.xcdatamodeld", "--name", "Kit")
    let model = try ManagedObjectModel(contentsOf: folder.file("Kit.xcdatamodeld"))
    #expect(try model.isCompatible(with: StoreMetadata(readingStoreAt: store)))
    var entities = model.entities
    let cart = try #require(entities.firstIndex { $0.name == "CartModel" })
    entities[cart].attributes.append(.composite("owner", [.make("id", .uuid), .make("name")]))
    let next = try ManagedObjectModel(name: model.name, entities: entities)
    let version = folder.file("Kit.xcdatamodeld/Kit 2.xcdatamodel")
    try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: false)
    try Data(next.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
    try Data(
      """
      godwit: 1
      source: default.store
      destination: kit-2.store
      models: Kit.xcdatamodeld
      destination-model: Kit 2
      on-loss: fail
      """.utf8
    ).write(to: URL(filePath: folder.file("job.yaml")))
    _ = try godwit("run", "job.yaml", "--quiet")
    #expect(try godwit("verify", "job.yaml").hasSuffix("no difference found\n"))
    let made = try godwit("export", "kit-2.store", "--entity", "CartModel", "--model", "Kit.xcdatamodeld#Kit 2")
    #expect(made.contains("\"owner\":null"))
    let before = try #require(JSONSerialization.jsonObject(with: Data(exported.utf8)) as? [String: Any])
    let after = try #require(JSONSerialization.jsonObject(with: Data(made.utf8)) as? [String: Any])
    #expect(Set(after.keys).subtracting(before.keys) == ["owner"])
    for (key, value) in before { #expect("\(after[key] ?? "-")" == "\(value)", "\(key)") }
  }
}
