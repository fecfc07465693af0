import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// A model as Xcode's editor archives it: entity `A` with a query, and two configurations.
///
/// - Parameter hadParent: Whether what is left of a removed parent, a generalisation that names no entity, is in it.
private func archived(hadParent: Bool = false) -> [UInt8] {
  var a = ArchiveFixture()
  let empty = a.dictionary([])
  func property(_ name: String, _ className: String) -> PropertyListValue {
    a.object(className, ["_name": a.string(name), "XDBucketForStereotypesstorage": empty])
  }
  let found = property("found", "XDPMFetchedProperty")
  let properties = a.dictionary([("found", found)])
  let parents = a.array(hadParent ? [a.object("XDUMLGeneralizationImp", ["_visibility": .integer(0)])] : [])
  let entity = a.object(
    "XDPMEntity",
    [
      "_name": a.string("A"), "XDBucketForStereotypesstorage": empty, "XDBucketForGeneralizationsstorage": parents,
      "XDBucketForOwnedAttributesstorage": properties,
    ])
  let package = a.object("XDModelPackage", ["XDBucketForClassesstorage": a.dictionary([("A", entity)])])
  let members = a.array([entity])
  let names = a.array([a.string("A")])
  let unknown = a.object("XDNew", [:])
  let configurations = a.dictionary([("Local", members), ("Cloud", names), ("New", unknown)])
  let root = a.object("XDPMModel", ["_xd_rootPackage": package, "_configurationsByName": configurations])
  return a.archive(root)
}

struct `Models as the editor archives them` {
  @Test func `fetched properties and configurations of editor archives are read`() throws {
    let model = try EditorModelReader.read(embedded: archived(), name: "M")
    #expect(model.entity("A")?.fetchedProperties.map(\.name) == ["found"])
    #expect(model.configurations == ["Local": ["A"], "Cloud": ["A"]])
    #expect(model.remarks.map(\.text) == ["the configuration 'New' is left out: its form is not known"])
  }

  @Test func `an entity whose parent was removed has no parent`() throws {
    let former = try EditorModelReader.read(embedded: archived(hadParent: true), name: "M")
    #expect(try former.versionHashes == EditorModelReader.read(embedded: archived(), name: "M").versionHashes)
    #expect(former.entity("A")?.superentityName == nil)
  }

  @Test func `an error in an elements file has its path`() throws {
    let bytes = archived()
    do {
      _ = try EditorModelReader.read(elements: Array(bytes.dropLast(20)), name: "M", file: "M.xcdatamodel/elements")
      Issue.record("a file that is cut off was read")
    } catch let error as GodwitError {
      #expect(error.code == .missingInput)
      #expect(error.message.contains("M.xcdatamodel/elements") && error.message.contains("cut off"))
    }
  }
}

@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Elements files of the corpus` {
  /// The proof: entities, attributes and relationships enter the hashes.
  @Test func `the hashes of an elements file are those of a store that Core Data wrote`() throws {
    let folder = "RestKit_RestKit/Examples/RKTwitterCoreData/"
    let model = try ManagedObjectModel(
      contentsOf: Corpus.path(folder + "Resources/RKTwitterCoreData.xcdatamodel"))
    let metadata = try StoreMetadata(readingStoreAt: Corpus.path(folder + "RKSeedDatabase.sqlite"))
    #expect(model.entityNames == ["Tweet", "User"])
    #expect(model.versionHashes == metadata.entityVersionHashes)
    #expect(model.remarks == [])
  }

  @Test func `all ten elements files of the corpus are read`() throws {
    let root = try #require(Corpus.folder).path
    let walk = try #require(FileManager.default.enumerator(atPath: root))
    var counts: [String: Int] = [:]
    for case let name as String in walk where name.hasSuffix(".xcdatamodel/elements") {
      #expect(XcodeFileKind.identify(root + "/" + name) == .archivedModel)
      let model = try ManagedObjectModel(contentsOf: root + "/" + name)
      counts[name] = model.entities.count
      // Every relationship of these models has an inverse.
      for entity in model.entities {
        #expect(model.relationships(of: entity.name).allSatisfy { model.inverse(of: $0) != nil }, "\(name)")
      }
    }
    #expect(counts.values.sorted() == [1, 1, 2, 2, 2, 2, 2, 6, 6, 18])
    let people = try ManagedObjectModel(contentsOf: Corpus.path("RestKit_RestKit/Tests/Models/Data Model.xcdatamodel"))
    #expect(people.entities.count { $0.superentityName != nil } == 7)
  }
}
