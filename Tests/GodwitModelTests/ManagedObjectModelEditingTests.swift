import Foundation
import GodwitModel
import Testing

/// A model read from Xcode and changed in code: one line a change, checked as a whole.
struct ManagedObjectModelEditingTests {
  private func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "People",
      entities: [
        EntityDescription(
          name: "Person", attributes: [AttributeDescription(name: "name", type: .string)],
          relationships: [
            RelationshipDescription(name: "home", destinationEntityName: "Home", inverseName: "people")
          ]),
        EntityDescription(
          name: "Pupil", superentityName: "Person", attributes: [AttributeDescription(name: "form", type: .integer16)]),
        EntityDescription(
          name: "Home",
          relationships: [
            RelationshipDescription(
              name: "people", destinationEntityName: "Person", inverseName: "home", isToMany: true)
          ]),
      ])
  }

  @Test func `a renaming identifier is set in one line and changes no version hash`() throws {
    var model = try model()
    let hashes = model.versionHashes
    try model.edit(attribute: "name", of: "Person") { $0.renamingIdentifier = "fullName" }
    try model.edit(entity: "Home") { $0.renamingIdentifier = "House" }
    #expect(model.attribute("name", of: "Pupil")?.renamingIdentifier == "fullName")
    #expect(model.entity("Home")?.renamingIdentifier == "House")
    #expect(model.versionHashes == hashes)
  }

  @Test func `a hash modifier changes the version hashes of the entity and of its subentities`() throws {
    var model = try model()
    let hashes = model.versionHashes
    try model.edit(relationship: "home", of: "Person") { $0.versionHashModifier = "2" }
    #expect(model.versionHash(of: "Person") != hashes["Person"])
    #expect(model.versionHash(of: "Pupil") != hashes["Pupil"])
    #expect(model.versionHash(of: "Home") == hashes["Home"])
  }

  @Test func `published hashes stay where the change does not touch the hash`() throws {
    let original = try model()
    let published = original.versionHashes.mapValues { _ in VersionHash(data: Data(repeating: 7, count: 32)) }
    var model = try #require(original.adopting(published.compactMapValues { $0 }))
    try model.edit(attribute: "name", of: "Person") { $0.renamingIdentifier = "fullName" }
    #expect(model.publishedVersionHashes.count == 3)
    try model.edit(attribute: "form", of: "Pupil") { $0.versionHashModifier = "2" }
    #expect(Set(model.publishedVersionHashes.keys) == ["Person", "Home"])
    #expect(model.versionHash(of: "Person")?.data == Data(repeating: 7, count: 32))
    #expect(model.versionHash(of: "Pupil") == model.computedVersionHashes["Pupil"])
  }

  @Test func `a name that the model does not declare is an error that names the nearest or the owner`() throws {
    var model = try model()
    let before = model
    #expect { try model.edit(entity: "Persn") { $0.isAbstract = true } } throws: {
      "\($0)".contains("has no entity 'Persn' (did you mean 'Person'?)")
    }
    #expect { try model.edit(attribute: "nme", of: "Person") { $0.isOptional = false } } throws: {
      "\($0)".contains("'Person' has no attribute 'nme' (did you mean 'name'?)")
    }
    #expect { try model.edit(attribute: "name", of: "Pupil") { $0.isOptional = false } } throws: {
      "\($0)".contains("'Pupil' inherits attribute 'name' from 'Person'; edit it there")
    }
    #expect { try model.edit(relationship: "home", of: "Pupil") { $0.isOptional = false } } throws: {
      "\($0)".contains("'Pupil' inherits relationship 'home' from 'Person'; edit it there")
    }
    #expect(model == before)
  }

  @Test func `a change that breaks the model is refused and leaves the model as it was`() throws {
    var model = try model()
    let before = model
    #expect(throws: GodwitError.self) {
      try model.edit(relationship: "home", of: "Person") { $0.inverseName = "pupils" }
    }
    #expect(throws: GodwitError.self) { try model.edit(entity: "Home") { $0.name = "House" } }
    #expect(model == before)
  }
}
