import Foundation
import GodwitCLI
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// A bundle of three versions, a store of the first, and a job that infers nothing.
private struct Notes {
  let project = ProjectFixture()
  static let versions = ["Notes", "Notes 2", "Notes 3"]

  static func model(_ number: Int) throws -> ManagedObjectModel {
    let attributes = ["title", "body", "stars"].prefix(number).map { AttributeDescription(name: $0, type: .string) }
    return try ManagedObjectModel(name: versions[number - 1], entities: [.made("Note", Array(attributes))])
  }

  init(_ more: String = "mappings: models-only\n") throws {
    try project.bundle("Notes.xcdatamodeld", [1, 2, 3].map(Self.model))
    try project.store("notes.sqlite", Self.model(1)) { builder in
      for title in ["a", "b", "c"] { try builder.insert("Note", attributes: ["title": AttributeValue(title)]) }
      try builder.insert("Note", attributes: [:])
    }
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: notes.sqlite\ndestination: out.sqlite\nmodels: Notes.xcdatamodeld\n" + more)
  }

  func mapping(_ from: Int, _ to: Int, in folder: String = "") throws {
    try project.write(
      "\(folder)\(from)-\(to).mapping.yaml",
      """
      godwit-mapping: 1
      source-model: \(Self.versions[from - 1])
      destination-model: \(Self.versions[to - 1])
      entity-mappings:
        - {name: Notes, type: copy, source: Note, destination: Note}

      """)
  }

  func godwit(_ verb: String, _ more: String...) throws -> (status: Int32, output: String, diagnostics: String) {
    project.godwit([verb, try project.path("job.yaml")] + more)
  }
}

/// `mappings: models-only`.
struct ModelsOnlyTests {
  @Test func `a step without a mapping model is 69 at the key, until somebody writes the mapping model`() throws {
    let notes = try Notes()
    try notes.mapping(2, 3)
    let refused = try notes.godwit("plan")
    #expect(refused.status == 69)
    #expect(
      refused.diagnostics.contains(
        "job.yaml:5:1: no mapping model leads from 'Notes' to 'Notes 2', and no step is inferred"), "\(refused)")
    #expect(refused.diagnostics.contains("the path from 'Notes' to 'Notes 3' lacks this step"), "\(refused)")
    #expect(refused.diagnostics.contains("`godwit mapping new` drafts one"), "\(refused)")
    #expect(try notes.godwit("run").status == 69)

    try notes.mapping(1, 2)
    let plan = try notes.godwit("plan", "--details")
    #expect(plan.status == 0 && plan.output.contains("2-3.mapping.yaml"), "\(plan)")
    #expect(try notes.godwit("run").status == 0)
    #expect(try notes.godwit("verify").status == 0)
  }

  @Test func `words that are nearly it are told`() throws {
    for word in ["models", "modelsonly"] {
      let refused = try Notes("mappings: \(word)\n").godwit("plan")
      #expect(refused.status == 78 && refused.diagnostics.contains("write `mappings: models-only`"), "\(refused)")
    }
    let listed = try Notes("mappings: [models-only]\n").godwit("plan")
    #expect(listed.status == 78 && listed.diagnostics.contains("write `mappings: models-only` alone"), "\(listed)")
  }

  @Test func `a debug line has the version hashes of both models and what each mapping model names`() throws {
    let notes = try Notes()
    try notes.mapping(1, 3)
    let plan = try notes.godwit("plan", "--verbose")
    #expect(plan.status == 0, "\(plan)")
    for (role, number) in [("source", 1), ("destination", 3)] {
      let model = try Notes.model(number)
      let hash = try #require(model.versionHash(of: "Note"))
      #expect(
        plan.diagnostics.contains(
          "version hashes of the \(role) model hashes=Note \(hash.base64) model=\(model.name)"), "\(plan.diagnostics)")
    }
    #expect(
      plan.diagnostics.contains("models that a mapping model names destination=Notes 3 file="), "\(plan.diagnostics)")
  }
}

/// `rest` under `chunks.by` of a manifest.
struct RestInManifestTests {
  @Test func `it is the last predicate, and takes what is nil`() throws {
    let notes = try Notes("chunks:\n  by:\n    IEM_Transform_Note: [title == 'a', rest]\n")
    let plan = try notes.godwit("plan", "--details")
    #expect(plan.status == 0 && plan.output.contains("create    2 chunks, 4 rows"), "\(plan)")
    #expect(try notes.godwit("run").status == 0)
    #expect(try notes.godwit("verify").status == 0)
  }

  @Test func `before another predicate it is 78`() throws {
    let notes = try Notes("chunks:\n  by:\n    IEM_Transform_Note: [rest, title == 'a']\n")
    let refused = try notes.godwit("plan")
    #expect(refused.status == 78, "\(refused)")
    #expect(refused.diagnostics.contains("job.yaml:7:26: expected 'rest' as the last predicate"), "\(refused)")
  }
}

/// The counterparts of Core Data's `mergedModel(from:forStoreMetadata:)` and `NSMappingModel(from:forSourceModel:destinationModel:)`.
struct LibrarySearchTests {
  @Test func `the model of a store is found in folders, whole or merged from several`() throws {
    let notes = try Notes()
    let folder = URL(filePath: try notes.project.path("."))
    let metadata = try StoreMetadata(readingStoreAt: URL(filePath: notes.project.path("notes.sqlite")))
    let bundle = URL(filePath: try notes.project.path("Notes.xcdatamodeld"))
    for urls in [[folder], [bundle]] {
      #expect(try ManagedObjectModel.merged(from: urls, for: metadata)?.name == "Notes")
    }
    #expect(try ManagedObjectModel.merged(from: [], for: metadata) == nil)

    let tag = try ManagedObjectModel(name: "Tags", entities: [.made("Tag", [.init(name: "text", type: .string)])])
    try notes.project.bundle("Tags.xcdatamodeld", [tag])
    let both = try ManagedObjectModel(merging: [Notes.model(2), tag])
    let found = try ManagedObjectModel.merged(from: [folder], for: StoreMetadata(model: both))
    #expect(found?.versionHashes == both.versionHashes && found?.entityNames == ["Note", "Tag"])
    let strange = try ManagedObjectModel(name: "S", entities: [.made("Tag", [.init(name: "text", type: .date)])])
    #expect(try ManagedObjectModel.merged(from: [folder], for: StoreMetadata(model: strange)) == nil)
    let error = #expect(throws: GodwitError.self) {
      try ManagedObjectModel.merged(from: [folder.appending(path: "nosuch.momd")], for: metadata)
    }
    #expect(error?.code == .missingInput)
  }

  @Test func `the mapping model between two models is found, and two that differ are refused`() throws {
    let notes = try Notes()
    let folder = URL(filePath: try notes.project.path("maps"))
    try notes.mapping(1, 2, in: "maps/")
    let (first, second, third) = (try Notes.model(1), try Notes.model(2), try Notes.model(3))
    let found = try MappingModel(from: [folder], forSourceModel: first, destinationModel: second)
    #expect(found?.entityMappings.map(\.name) == ["Notes"] && found?.destinationModelName == "Notes 2")
    #expect(try MappingModel(from: [folder], forSourceModel: first, destinationModel: third) == nil)
    #expect(try MappingModel(from: [], forSourceModel: first, destinationModel: second) == nil)

    let mappings = try FoundMapping.search(in: [folder], among: [first, second, third])
    let steps = try MigrationPathFinder(models: [first, second, third], mappings: mappings).path(from: first, to: third)
    #expect(steps.map(\.origin) == ["1-2.mapping.yaml", "inferred"])

    let path = try notes.project.path("maps/1-2.mapping.yaml")
    let text = try String(contentsOfFile: path, encoding: .utf8).replacing("name: Notes,", with: "name: Other,")
    try notes.project.write("maps/other.mapping.yaml", text)
    let error = #expect(throws: GodwitError.self) {
      try MappingModel(from: [folder], forSourceModel: first, destinationModel: second)
    }
    #expect(error?.code == .configuration)
  }
}
