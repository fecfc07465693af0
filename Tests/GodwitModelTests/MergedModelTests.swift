import GodwitModel
import TestSupport
import Testing

private func model(_ name: String, _ entities: [EntityDescription], _ configurations: [String: [String]] = [:]) throws
  -> ManagedObjectModel
{
  try ManagedObjectModel(
    name: name, entities: entities, versionIdentifiers: [name], configurations: configurations)
}

private func entity(_ name: String, _ attribute: String = "a", parent: String? = nil) -> EntityDescription {
  EntityDescription(
    name: name, superentityName: parent, attributes: [AttributeDescription(name: attribute, type: .string)])
}

private func failure(_ body: () throws -> Void) -> GodwitError? {
  do {
    try body()
    return nil
  } catch { return error as? GodwitError }
}

struct `Models that form one` {
  @Test func `merged models have the entities, identifiers and configurations of all, each entity once`() throws {
    let shared = entity("Shared")
    let first = try model("A", [shared, entity("Note")], ["Local": ["Note"]])
    let second = try model("B", [shared, entity("Tag")], ["Local": ["Tag"], "Cloud": ["Shared"]])
    let merged = try ManagedObjectModel(merging: [first, second])
    #expect(merged.name == "A + B")
    #expect(merged.entityNames == ["Note", "Shared", "Tag"])
    #expect(merged.versionIdentifiers == ["A", "B"])
    #expect(merged.configurations == ["Local": ["Note", "Tag"], "Cloud": ["Shared"]])
    #expect(merged.versionHash(of: "Tag") == second.versionHash(of: "Tag"))
  }

  @Test func `merged models must agree on an entity that both define`() throws {
    let (first, second) = (try model("A", [entity("Note")]), try model("B", [entity("Note", "b")]))
    let error = failure { _ = try ManagedObjectModel(merging: [first, second]) }
    #expect(error?.code == .configuration)
    #expect(error?.message == "cannot merge the models 'A' and 'B': both define entity 'Note', and not alike")
  }
}

struct `A configuration` {
  @Test func `a configuration holds only its entities, whose hashes stay`() throws {
    let whole = try model(
      "A", [entity("Note"), entity("Memo", "b", parent: "Note"), entity("Tag")], ["Local": ["Note", "Memo"]])
    let part = try whole.restricted(toConfiguration: "Local")
    #expect(part.entityNames == ["Memo", "Note"])
    #expect(part.versionHashes == whole.versionHashes.filter { $0.key != "Tag" })
    #expect(try whole.restricted(toConfiguration: "Default") == whole)
  }

  @Test func `an unknown configuration, or one with relationships that leave it, is named`() throws {
    var note = entity("Note")
    note.relationships = [RelationshipDescription(name: "tag", destinationEntityName: "Tag")]
    let whole = try model(
      "A", [note, entity("Tag"), entity("Memo", "b", parent: "Note")], ["Local": ["Note"], "Memos": ["Memo"]])
    #expect(
      failure { _ = try whole.restricted(toConfiguration: "Lokal") }?.message
        == "cannot use configuration 'Lokal': model 'A' has none of this name (did you mean 'Local'?)")
    #expect(
      failure { _ = try whole.restricted(toConfiguration: "Local") }?.message
        == "cannot use configuration 'Local' of model 'A': relationship 'Note.tag' leads to 'Tag', which is not in it")
    #expect(
      failure { _ = try whole.restricted(toConfiguration: "Memos") }?.message
        == "cannot use configuration 'Memos' of model 'A': 'Memo' is in it, its parent 'Note' is not")
  }
}

struct `Published version hashes` {
  private let note: ManagedObjectModel
  private let unsure: ManagedObjectModel
  private let other = VersionHash(bytes: Array(repeating: 7, count: 32))!

  init() throws {
    note = try model("Plain", [entity("Note")])
    // Names beyond ASCII sort by a rule that nothing published confirms.
    unsure = try model("Unsure", [entity("Note", "größe")])
  }

  @Test func `published version hashes win over computed ones and end the warnings`() throws {
    #expect(!unsure.unconfirmedHashRules.isEmpty)
    let published = PublishedVersionHashes(
      origin: "VersionInfo.plist", versions: [.init(name: "Unsure", hashes: ["Note": other])])
    let adopted = try published.adopted(by: [note, unsure])
    #expect(adopted[0] == note)
    #expect(adopted[1].versionHashes == ["Note": other])
    #expect(adopted[1].computedVersionHashes == unsure.versionHashes)
    #expect(adopted[1].unconfirmedHashRules.isEmpty)
    #expect(adopted[1].isCompatible(with: ["Note": other]))
    #expect(adopted[1].versionChecksum != unsure.versionChecksum)
  }

  @Test func `published hashes without a version name apply only where a rule is unconfirmed`() throws {
    let published = PublishedVersionHashes(origin: "a.sqlite", versions: [.init(name: nil, hashes: ["Note": other])])
    #expect(try published.adopted(by: [note, unsure])[1].versionHashes == ["Note": other])
    let error = failure { _ = try published.adopted(by: [note]) }
    #expect(error?.code == .configuration)
    #expect(error?.message == "cannot use the hashes in 'a.sqlite': they belong to none of the models")
  }

  @Test func `published hashes that may belong to two models are refused`() throws {
    let second = try model("Unsure 2", [entity("Note", "höhe")])
    let published = PublishedVersionHashes(origin: "a.sqlite", versions: [.init(name: nil, hashes: ["Note": other])])
    let error = failure { _ = try published.adopted(by: [unsure, second]) }
    #expect(error?.message.hasSuffix("they may be those of 'Unsure' or of 'Unsure 2'") == true)
  }

  @Test func `published hashes of other entities are refused`() throws {
    let published = PublishedVersionHashes(
      origin: "VersionInfo.plist", versions: [.init(name: "Plain", hashes: ["Tag": other])])
    #expect(failure { _ = try published.adopted(by: [note]) }?.message.contains("are of other entities") == true)
    let unknown = PublishedVersionHashes(
      origin: "VersionInfo.plist", versions: [.init(name: "Plian", hashes: ["Note": other])])
    let error = failure { _ = try unknown.adopted(by: [note]) }
    #expect(error?.cause == "it names 'Plian'; the models are 'Plain'")
  }
}
