import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

@testable import GodwitCLI

struct `Extracting the model inside a store` {
  private func godwit(_ arguments: [String]) -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: arguments, in: session)
    return (status, session.output.text, session.diagnostics.text)
  }

  /// A store of `Note` with an archive in `Z_MODELCACHE`.
  private func store(in folder: TemporaryFolder, cached: [UInt8]?, of model: ManagedObjectModel) throws -> String {
    let path = folder.file("notes.sqlite")
    let store = try EmptyStore.create(
      at: path, schema: StoreSchema(model: model), metadata: StoreMetadata(model: model))
    if let cached {
      try store.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
      try store.execute("INSERT INTO Z_MODELCACHE VALUES (?1)", [.blob(cached)])
    }
    try store.close()
    return path
  }

  private func archive(_ attributes: String..., default value: [UInt8]? = nil) -> [UInt8] {
    var archive = ArchiveFixture()
    var more: [String: PropertyListValue] = [:]
    if let value { more["NSDefaultValue"] = archive.object("NSMutableData", ["NS.data": .data(value)]) }
    let properties = attributes.map { archive.attribute($0, .binary, more) }
    return archive.model([archive.entity("Note", properties)])
  }

  @Test func `the model inside a store becomes a bundle with the same version hashes`() throws {
    let folder = try TemporaryFolder()
    let bytes = archive("title", "text")
    let model = try ManagedObjectModel(compiled: bytes, name: "Notes")
    let path = try store(in: folder, cached: bytes.deflated, of: model)
    let output = folder.file("Notes.xcdatamodeld")
    let result = godwit(["model", "extract", path, "-o", output, "--name", "Notes 3"])
    #expect(result.status == 0 && result.diagnostics.isEmpty, "\(result.diagnostics)")
    #expect(result.output == "\(output): version 'Notes 3' with 1 entity, version hashes checked\n")
    let bundle = try ModelBundle(contentsOf: output)
    #expect(bundle.versions == ["Notes 3"] && bundle.currentVersion == "Notes 3")
    #expect(try bundle.currentModel().versionHashes == model.versionHashes)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
    #expect(godwit(["model", "extract", path, "-o", output]).status == 73)

    let lone = folder.file("Lone.xcdatamodel")
    let json = godwit(["model", "extract", path, "-o", lone, "--format", "json"])
    #expect(json.output.contains("\"fitsStore\" : true") && json.output.contains(model.versionChecksum))
    #expect(try ModelBundle(contentsOf: lone).currentModel().versionHashes == model.versionHashes)
  }

  private func archive(_ attributes: [String], identifier: String, renamed: String? = nil) -> [UInt8] {
    var archive = ArchiveFixture()
    let properties = attributes.map { name in
      archive.attribute(
        name, .binary, renamed.map { ["NSRenamingIdentifier": archive.string($0)] } ?? [:])
    }
    let identifiers = archive.object("NSSet", ["NS.objects": .array([archive.string(identifier)])])
    return archive.model([archive.entity("Note", properties)], ["NSVersionIdentifiers": identifiers])
  }

  private func store(_ name: String, in folder: TemporaryFolder, _ bytes: [UInt8]) throws -> String {
    let made = try store(in: folder, cached: bytes.deflated, of: ManagedObjectModel(compiled: bytes, name: "Notes"))
    try FileManager.default.moveItem(atPath: made, toPath: folder.file(name))
    return folder.file(name)
  }

  @Test func `several stores make one bundle with a version for each model, the last one current`() throws {
    let folder = try TemporaryFolder()
    let models = [archive("title"), archive("title", "text"), archive("title", "text", "more")]
    var stores: [String] = []
    for (place, model) in [0, 2, 0, 1].enumerated() {
      stores.append(try store("\(place).sqlite", in: folder, models[model]))
    }
    let output = folder.file("App.xcdatamodeld")
    let result = godwit(["model", "extract"] + stores + ["-o", output])
    #expect(result.status == 0 && result.diagnostics.isEmpty, "\(result)")
    #expect(
      result.output == """
        \(output): 3 versions, the current one 'App 3', version hashes checked
          'App 1' with 1 entity, from \(stores[0]), \(stores[2])
          'App 2' with 1 entity, from \(stores[1])
          'App 3' with 1 entity, from \(stores[3])

        """)
    let bundle = try ModelBundle(contentsOf: output)
    #expect(bundle.versions == ["App 1", "App 2", "App 3"] && bundle.currentVersion == "App 3")
    for (version, model) in zip(bundle.versions, [0, 2, 1]) {
      let made = try bundle.model(named: version)
      #expect(try made.versionHashes == ManagedObjectModel(compiled: models[model], name: "Notes").versionHashes)
    }
    // The last store may be of an earlier version.
    let older = folder.file("Older.xcdatamodeld")
    #expect(godwit(["model", "extract"] + stores + [stores[0], "-o", older]).status == 0)
    #expect(try ModelBundle(contentsOf: older).currentVersion == "Older 1")
    #expect(godwit(["model", "extract"] + stores + ["-o", folder.file("X.xcdatamodel")]).status == 64)
    #expect(godwit(["model", "extract"] + stores + ["-o", folder.file("X.xcdatamodeld"), "--name", "X"]).status == 64)
  }

  @Test func `version identifiers name the versions and tell the newest`() throws {
    let folder = try TemporaryFolder()
    let stores = [
      try store("a.sqlite", in: folder, archive(["title", "text"], identifier: "1.10.0")),
      try store("b.sqlite", in: folder, archive(["title"], identifier: "1.9.0")),
      try store("c.sqlite", in: folder, archive(["title"], identifier: "1.9.0", renamed: "name")),
    ]
    let output = folder.file("App.xcdatamodeld")
    let result = godwit(["model", "extract"] + stores + ["-o", output])
    let bundle = try ModelBundle(contentsOf: output)
    #expect(bundle.versions == ["1.9.0", "1.10.0"] && bundle.currentVersion == "1.10.0", "\(result)")
    // Models of equal version hashes may differ in what no hash contains.
    #expect(
      result.output.contains("left out     the renaming identifier of 'Note.title' in '\(stores[1])'"), "\(result)")
    // Two models of one identifier are numbered.
    let twice = [stores[0], try store("d.sqlite", in: folder, archive(["x"], identifier: "1.10.0"))]
    #expect(godwit(["model", "extract"] + twice + ["-o", folder.file("Two.xcdatamodeld")]).status == 0)
    #expect(try ModelBundle(contentsOf: folder.file("Two.xcdatamodeld")).versions == ["Two 1", "Two 2"])
    // So are those of one identifier on a disk that ignores case, and of one that no path to a version can have.
    for (number, names) in [("5", ["v", "V"]), ("6", ["a#b", "c"])] {
      let list = try zip(["x", "y"], names).map { attribute, name in
        try store("\(number)\(attribute).sqlite", in: folder, archive([attribute], identifier: name))
      }
      let made = folder.file("N\(number).xcdatamodeld")
      #expect(godwit(["model", "extract"] + list + ["-o", made]).status == 0)
      #expect(try ModelBundle(contentsOf: made).versions == ["N\(number) 1", "N\(number) 2"])
    }
    // A store without a model keeps the bundle from being made.
    let none = try store(in: folder, cached: nil, of: ManagedObjectModel(compiled: archive("title"), name: "Notes"))
    let refused = godwit(["model", "extract", none] + stores + ["-o", folder.file("None.xcdatamodeld")])
    #expect(refused.status == 66 && !FileManager.default.fileExists(atPath: folder.file("None.xcdatamodeld")))
  }

  @Test func `what Xcode's files cannot hold of a model is listed`() throws {
    let folder = try TemporaryFolder()
    let bytes = archive("cover", default: [1, 2])
    let path = try store(in: folder, cached: bytes.deflated, of: try ManagedObjectModel(compiled: bytes, name: "Notes"))
    let result = godwit(["model", "extract", path, "-o", folder.file("X.xcdatamodeld")])
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(result.output.contains("left out     the default value of 'Note.cover'"), "\(result.output)")
  }

  @Test func `a partial index that only code can make is left out and told`() throws {
    func archive(_ predicate: (inout ArchiveFixture) -> PropertyListValue) -> [UInt8] {
      var a = ArchiveFixture()
      let title = a.attribute("title", .string)
      let element = a.object(
        "NSFetchIndexElementDescription", ["NSPropertyName": a.string("title"), "NSFetchIndexElementType": .integer(0)])
      let elements = a.array([element])
      let partial = predicate(&a)
      let index = a.object(
        "NSFetchIndexDescription",
        ["NSIndexName": a.string("some"), "NSIndexElements": elements, "NSPartialIndexPredicate": partial])
      let indexes = a.array([index])
      return a.model([a.entity("Note", [title], ["NSFetchIndexDescriptions": indexes])])
    }
    let model = try ManagedObjectModel(compiled: self.archive("title"), name: "Notes")
    let told = "left out     unknown class 'NSBlockPredicate': index 'some' of entity 'Note' is left out"
    for (bytes, isKept) in [
      (archive { $0.comparison($0.keyPath("title"), 4, $0.constant($0.string("x"))) }, true),
      (archive { $0.object("NSBlockPredicate", [:]) }, false),
    ] {
      let folder = try TemporaryFolder()
      let path = try store(in: folder, cached: bytes.deflated, of: model)
      let output = folder.file("Notes.xcdatamodel")
      let result = godwit(["model", "extract", path, "-o", output])
      #expect(result.status == 0 && result.output.contains(told) == !isKept, "\(result)")
      let indexes = try ModelBundle(contentsOf: output).currentModel().entities[0].fetchIndexes
      #expect(indexes.map(\.partialPredicateText) == (isKept ? ["title == \"x\""] : []))
      let inspected = godwit(["inspect", path])
      #expect(inspected.status == 0 && inspected.output.contains("NSBlockPredicate") == !isKept, "\(inspected)")
    }
  }

  @Test func `a store without a readable model is 66, and one of another version is a warning`() throws {
    let model = try ManagedObjectModel(compiled: archive("title"), name: "Notes")
    for cached in [nil, [1, 2, 3]] as [[UInt8]?] {
      let folder = try TemporaryFolder()
      let path = try store(in: folder, cached: cached, of: model)
      let result = godwit(["model", "extract", path, "-o", folder.file("X.xcdatamodeld")])
      #expect(result.status == 66 && result.diagnostics.contains("notes.sqlite"), "\(result.diagnostics)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["notes.sqlite"])
    }
    let folder = try TemporaryFolder()
    let path = try store(in: folder, cached: archive("other").deflated, of: model)
    let result = godwit(["model", "extract", path, "-o", folder.file("X.xcdatamodeld")])
    #expect(result.status == 0 && result.diagnostics.contains("is of another version"))
    #expect(godwit(["model", "extract", path, "-o", folder.file("X.xml")]).status == 64)
    #expect(godwit(["model", "extract", path, "-o", folder.file("Y.xcdatamodeld"), "--name", "a/b"]).status == 64)
  }

  @Test func `a model with other version hashes when it is read back is an error that names the entity`() throws {
    let model = try ManagedObjectModel(compiled: archive("title"), name: "Notes")
    let other = try ManagedObjectModel(compiled: archive("title", "text"), name: "Notes")
    let error = #expect(throws: GodwitError.self) {
      try ModelExtraction.compareHashes(of: other, with: model, store: "s")
    }
    #expect(error?.code == .dataWrong && error?.message.contains("'Note'") == true)
    #expect(error?.cause == "'Note.text'")
    try ModelExtraction.compareHashes(of: model, with: model, store: "s")
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `the models inside stores of the corpus keep their version hashes as Xcode's files`() throws {
    var extracted = 0
    for path in TestTier.sample(CorpusStores.allPaths, each: 3) {
      guard let metadata = try? StoreMetadata(readingStoreAt: path),
        case .fits(let cached) = try StoredModel(inStoreAt: path, metadata: metadata)
      else { continue }
      let folder = try TemporaryFolder()
      let output = folder.file("X.xcdatamodeld")
      let result = godwit(["model", "extract", path, "-o", output])
      // Only code can make a negative maximum, which the version hash contains.
      if cached.model.entities.contains(where: { $0.relationships.contains { $0.maxCount < 0 } }) {
        #expect(result.status == 65 && result.diagnostics.contains("the max count of"), "\(path)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        continue
      }
      #expect(result.status == 0, "\(path): \(result.diagnostics)")
      #expect(try ModelBundle(contentsOf: output).currentModel().versionHashes == cached.model.versionHashes)
      extracted += 1
    }
    #expect(extracted >= TestTier.choose(2, long: 8))
  }
}
