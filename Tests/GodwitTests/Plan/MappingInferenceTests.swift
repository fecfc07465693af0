import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import GodwitXcode
import TestSupport
import Testing

private func refusals(_ before: [EntityDescription], _ after: [EntityDescription]) throws -> [String] {
  MappingInference(
    from: try ManagedObjectModel(name: "1", entities: before), to: try ManagedObjectModel(name: "2", entities: after)
  ).refusals.map(\.description)
}

private func entity(
  _ name: String, parent: String? = nil, isAbstract: Bool = false, _ attributes: [AttributeDescription] = [],
  _ relationships: [RelationshipDescription] = []
) -> EntityDescription {
  EntityDescription(
    name: name, superentityName: parent, isAbstract: isAbstract, attributes: attributes, relationships: relationships)
}

private func required(_ name: String, _ type: AttributeType = .string) -> AttributeDescription {
  AttributeDescription(name: name, type: type, isOptional: false)
}

private func optional(_ name: String, _ type: AttributeType = .string) -> AttributeDescription {
  AttributeDescription(name: name, type: type)
}

struct `What cannot be inferred` {
  @Test func `every reason against an inference is given, not only the first`() throws {
    var friend = RelationshipDescription.toOne("friend", "A", inverse: nil)
    friend.isOptional = false
    let found = try refusals(
      [
        entity("A", [optional("n", .integer32), optional("o"), required("p")], [.toMany("many", "B", inverse: "a")]),
        entity("B", [optional("x")], [.toOne("a", "A", inverse: "many")]),
      ],
      [
        entity(
          "A", [optional("n"), required("o"), required("p", .date), required("q")],
          [.toOne("many", "B", inverse: nil), friend]), entity("B", isAbstract: true, [optional("x")]),
      ])
    #expect(
      found == [
        "A.n: type Integer 32 to String",
        "A.o: optional to required without a default: no value can replace nil",
        "A.p: type String to Date", "A.q: new, required and without a default",
        "A.friend: new and required, so every object would break its rule",
        "A.many: to-many to to-one: nothing tells which of several objects to keep",
        "entity B: it becomes abstract, so its objects would have no entity",
      ])
  }

  @Test func `numeric types change among themselves, and Boolean to integers, and no other types`() throws {
    let types = AttributeType.allCases.filter { ![.objectID, .composite, .undefined].contains($0) }
    for was in types {
      for now in types where was != now {
        let found = try refusals([entity("A", [optional("n", was)])], [entity("A", [optional("n", now)])])
        let isInferred = was.isNumeric && now.isNumeric || was == .boolean && now.isInteger
        #expect(found.isEmpty == isInferred, "\(was.xcodeName) to \(now.xcodeName): \(found)")
      }
    }
    #expect(
      try refusals([entity("A", [optional("n", .double)])], [entity("A", [optional("n", .boolean)])])
        == ["A.n: type Double to Boolean: whether Core Data infers it is not known"])
  }

  @Test func `the error of a failed inference names every reason`() throws {
    let before = try ManagedObjectModel(name: "1", entities: [entity("A", [optional("n", .integer32), optional("o")])])
    let after = try ManagedObjectModel(name: "2", entities: [entity("A", [optional("n"), required("o")])])
    let error = #expect(throws: GodwitError.self) { try MappingModel(inferredFrom: before, to: after) }
    #expect(error?.code == .noPath)
    #expect(error?.message == "no mapping model can be inferred from '1' to '2'")
    #expect(
      error?.cause
        == "A.n: type Integer 32 to String\nA.o: optional to required without a default: no value can replace nil"
    )
    #expect(error?.remedy?.contains("godwit mapping new") == true)
  }

  @Test func `inference does not merge hierarchies without a common parent`() throws {
    let merged = "entity P: its hierarchy merges those of 'A' and 'B', which have no common parent in '1'"
    #expect(
      try refusals([entity("A"), entity("B")], [entity("P"), entity("A", parent: "P"), entity("B", parent: "P")])
        == [merged])
    #expect(try refusals([entity("A"), entity("B")], [entity("A"), entity("B", parent: "A")]).count == 1)
    // With a common parent, also one that is gone or new in between, nothing is merged.
    let family = [entity("P"), entity("A", parent: "P"), entity("B", parent: "P")]
    #expect(try refusals(family, [entity("Q"), entity("A", parent: "Q"), entity("B", parent: "Q")]) == [])
    #expect(try refusals(family, [entity("P"), entity("A", parent: "P"), entity("B", parent: "A")]) == [])
    #expect(try refusals([entity("A")], [entity("P"), entity("A", parent: "P"), entity("New", parent: "P")]) == [])
  }

  @Test func `inference does not turn an attribute into a relationship`() throws {
    let value = [entity("A", [optional("b")]), entity("B")]
    let link = [entity("A", [], [.toOne("b", "B", inverse: nil)]), entity("B")]
    #expect(try refusals(value, link) == ["A.b: an attribute becomes a relationship"])
    #expect(try refusals(link, value) == ["A.b: a relationship becomes an attribute"])
  }

  @Test func `inference reports links to objects that leave the destination's hierarchy`() throws {
    let before = [
      entity("P"), entity("C", parent: "P"), entity("A", [], [.toOne("ps", "P", inverse: nil)]),
    ]
    let after = [entity("P"), entity("C"), entity("A", [], [.toOne("ps", "P", inverse: nil)])]
    #expect(try refusals(before, after) == [])
    let apart = [entity("P"), entity("C"), entity("Q"), entity("A", [], [.toOne("ps", "Q", inverse: nil)])]
    #expect(try refusals(before, apart) == [])
    let models = (
      try ManagedObjectModel(name: "1", entities: before), try ManagedObjectModel(name: "2", entities: apart)
    )
    let remarks = MappingInference(from: models.0, to: models.1).remarks
    #expect(remarks.contains { $0.text.contains("without links to 'C' and 'P': the plan counts them") })
    let elsewhere = [entity("Q"), entity("A", [], [.toOne("ps", "Q", inverse: nil)])]
    #expect(try refusals(before, elsewhere) == [], "its links drop")
    var required = RelationshipDescription.toOne("ps", "Q", inverse: nil)
    required.isOptional = false
    #expect(
      try refusals(before, [entity("Q"), entity("A", [], [required])])
        == ["A.ps: it leads to 'Q' and is required, and 'P' is gone"])
    #expect(
      try refusals(before, [entity("P"), entity("C", parent: "P"), entity("A", [], [.toOne("ps", "C", inverse: nil)])])
        == [])
  }

  @Test func `the rules of a moved property apply to every entity that lacked it`() throws {
    let before = [entity("P"), entity("C", parent: "P", [required("n")]), entity("D", parent: "P")]
    let after = [entity("P", isAbstract: false, [required("n")]), entity("C", parent: "P"), entity("D", parent: "P")]
    #expect(
      try refusals(before, after)
        == ["D.n: new, required and without a default", "P.n: new, required and without a default"])
  }

  @Test func `a required relationship that its inverse fills can be inferred`() throws {
    var owner = RelationshipDescription.toOne("owner", "A", inverse: "bs")
    owner.isOptional = false
    let was = RelationshipDescription.toOne("was", "A", inverse: "bs")
    let before = [entity("A", [], [.toMany("bs", "B", inverse: "was")]), entity("B", [], [was])]
    let after = [entity("A", [], [.toMany("bs", "B", inverse: "owner")]), entity("B", [], [owner])]
    #expect(try refusals(before, after) == [])
  }
}

struct `Required to-many relationships` {
  private func model(_ many: RelationshipDescription?) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: many == nil ? "1" : "2",
      entities: [
        entity("A", [], many.map { [$0] } ?? []),
        entity("B", [], many == nil ? [] : [.toOne("a", "A", inverse: "many")]),
      ])
  }

  private func many(least: Int) -> RelationshipDescription {
    var many = RelationshipDescription.toMany("many", "B", inverse: "a")
    (many.isOptional, many.minCount) = (false, least)
    return many
  }

  @Test func `a new required to-many without a minimum is inferred`() throws {
    let inference = MappingInference(from: try model(nil), to: try model(many(least: 0)))
    #expect(inference.refusals == [])
    #expect(inference.remarks.contains { $0.text == "new: leads nowhere" && $0.mapping == "IEM_Transform_A" })
    let refused = MappingInference(from: try model(nil), to: try model(many(least: 1))).refusals
    #expect(refused.map(\.description) == ["A.many: new and required, so every object would break its rule"])
  }

  @Test func `only the minimum of a changed required to-many can stop a run`() throws {
    for (least, text) in [
      (0, "optional to required"), (1, "optional to required: an object without one stops the run"),
    ] {
      let inference = MappingInference(
        from: try model(.toMany("many", "B", inverse: "a")), to: try model(many(least: least)))
      #expect(inference.remarks.contains { $0.text == text }, "\(inference.remarks)")
    }
  }
}

struct `Reasons of an inference` {
  @Test func `every stored property of an inferred mapping has a reason`() throws {
    var renamed = optional("title")
    renamed.renamingIdentifier = "name"
    var standard = required("rank", .integer16)
    standard.defaultValue = .integer(1)
    var derived = optional("size", .integer64)
    derived.derivationExpression = "length(title)"
    let before = try ManagedObjectModel(
      name: "1",
      entities: [entity("A", [optional("name"), required("kept"), optional("rank", .integer16), optional("old")])])
    let after = try ManagedObjectModel(
      name: "2", entities: [entity("A", [renamed, optional("kept"), standard, optional("fresh"), derived])])
    let inference = MappingInference(from: before, to: after)
    let texts = Dictionary(
      inference.remarks.compactMap { remark in remark.subject.property.map { ($0, remark.text) } }
    ) { a, _ in a }
    #expect(
      texts == [
        "title": "renamed from name", "kept": "required to optional",
        "rank": "optional to required: nil becomes the default",
        "fresh": "new: stays nil", "size": "derived from what is there",
        "old": "the earlier 'old' is gone: its values are dropped",
      ])
    #expect(inference.remarks.contains { $0.subject == .entity && $0.text == "its version hash differs" })
  }
}

struct `Drafts of mapping models` {
  @Test func `a draft has placeholders for open values, and Xcode's defaults for the rest`() throws {
    var friend = RelationshipDescription.toOne("friend", "A", inverse: nil)
    friend.isOptional = false
    let before = try ManagedObjectModel(
      name: "1",
      entities: [
        entity(
          "A", [optional("n", .integer32), optional("same")],
          [.toOne("bs", "B", inverse: nil), .toOne("cs", "C", inverse: nil)]),
        entity("B"), entity("C"), entity("D", parent: "C"), entity("Gone"),
      ])
    let after = try ManagedObjectModel(
      name: "2",
      entities: [
        entity(
          "A", [optional("n"), optional("same"), required("q"), optional("free")],
          [.toOne("bs", "B", inverse: nil), .toOne("cs", "C", inverse: nil), friend]), entity("B"), entity("C"),
        entity("D", parent: "C"), entity("New"),
      ])
    let draft = MappingDraft(from: before, to: after)
    #expect(draft.model.entityMappings.map(\.name) == ["AToA", "BToB", "CToC", "DToD", "New"])
    #expect(draft.remarks.filter(\.isPlaceholder).compactMap(\.subject.property) == ["q", "friend"])
    let a = draft.model["AToA"]
    #expect(a?.attributeMappings.map(\.name) == ["n", "same"])
    #expect(a?.relationshipMappings.map(\.value) == [.mapping("BToB", keyPath: ["bs"]), .sourceRelationship("cs")])
    #expect(
      draft.remarks.contains { $0.mapping == nil && $0.text == "'Gone' was removed: no mapping takes its objects" })
    #expect(draft.model["New"]?.kind == .add)
  }

  @Test func `a draft names the properties whose data it drops`() throws {
    let before = EntityDescription.make("A", ["wide": .string, "kept": .string], [.toOne("b", "A", inverse: nil)])
    let draft = try MappingDraft(
      from: ManagedObjectModel(name: "1", entities: [before]),
      to: ManagedObjectModel(name: "2", entities: [.make("A", ["kept": .string, "late": .string])]))
    #expect(
      draft.remarks.filter { $0.text.contains("dropped") }.map(\.text) == [
        "the earlier 'wide' is gone: its values are dropped", "the earlier 'b' is gone: its links are dropped",
      ])
  }

  @Test func `a draft without placeholders runs unchanged`() throws {
    let shapes: [EntityDescription] = [
      .make("A", ["n": .integer16], [.toOne("b", "B", inverse: "a")]),
      .make("B", ["m": .integer16], [.toMany("a", "A", inverse: "b")]),
    ]
    let fixture = try MigrationFixture(shapes, to: shapes)
    try fixture.build { store in
      try store.insert("B", key: 1, attributes: ["m": .integer(2)])
      for key in 1...3 as ClosedRange<Int64> {
        try store.insert("A", key: key, attributes: ["n": .integer(key)], relationships: ["b": [1]])
      }
    }
    let draft = MappingDraft(from: fixture.source, to: fixture.destination)
    #expect(draft.remarks.filter(\.isPlaceholder).isEmpty)
    fixture.mappings = draft.model.entityMappings
    try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, ZN, ZB FROM source.ZA ORDER BY 1") == ["1|1|1", "2|2|1", "3|3|1"])
  }
}

@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Inference on the corpus` {
  /// Every version after a store's own, in the bundle's order.
  private static let steps: [(pair: CorpusPair, destination: ManagedObjectModel)] = {
    var bundles: [ModelBundle] = []
    guard let root = Corpus.folder?.path, let walk = FileManager.default.enumerator(atPath: root) else { return [] }
    for case let name as String in walk where name.hasSuffix(".xcdatamodeld") {
      if let bundle = try? ModelBundle(contentsOf: root + "/" + name) { bundles.append(bundle) }
    }
    var steps: [(CorpusPair, ManagedObjectModel)] = []
    for pair in CorpusPair.all {
      let project = String(pair.name.prefix { $0 != "/" })
      let own = bundles.filter { $0.path.contains("/" + project + "/") }.compactMap { try? $0.models() }
      guard let models = own.first(where: { $0.contains(pair.model) }), let place = models.firstIndex(of: pair.model)
      else { continue }
      steps += models[(place + 1)...].map { (pair, $0) }
    }
    return steps
  }()

  @Test func `corpus versions are migrated with inferred mappings, or the refusal gives reasons`() throws {
    var (inferred, refused, unsupported, bySQL) = (0, 0, 0, 0)
    for (pair, destination) in TestTier.sample(Self.steps, each: 5) {
      let inference = MappingInference(from: pair.model, to: destination)
      guard inference.refusals.isEmpty else {
        refused += 1
        continue
      }
      let folder = try TemporaryFolder()
      let store = try CorpusStores.copy(pair.path, into: folder)
      let job = MigrationJob(
        name: "inferred", sourcePath: store, destinationPath: folder.file("out/made.sqlite"), sourceModel: pair.model,
        destinationModel: destination, mappingModels: [try inference.mappingModel()])
      do {
        let summary = try MigrationManager(job).run()
        #expect(summary.outcome == .finished)
        let report = try Verifier(job: job).run()
        #expect(report.isClean, "\(pair.name) to \(destination.name): \(report.findings.prefix(3))")
        inferred += 1
        if try expectSameInPlace(job, as: pair, folder) { bySQL += 1 }
      } catch let error as GodwitError {
        // A model or store may use what no migration does yet; a mapping that does not resolve would be a bug.
        #expect(!error.message.contains("mapping '"), "\(pair.name) to \(destination.name): \(error)")
        unsupported += 1
      }
    }
    print(
      "corpus: \(inferred) inferred and run, \(refused) refused, \(unsupported) with features that are not supported")
    #expect(inferred >= TestTier.choose(3, long: 20) && refused >= TestTier.choose(1, long: 10))
    #expect(inferred + unsupported >= TestTier.choose(4, long: 30))
    #expect(bySQL >= TestTier.choose(2, long: 10), "\(bySQL) in place by SQL")
  }

  /// Migrates copies of the store in place too, and compares.
  ///
  /// - Returns: Whether SQL alone did it.
  private func expectSameInPlace(_ job: MigrationJob, as pair: CorpusPair, _ folder: TemporaryFolder) throws -> Bool {
    func content(_ path: String) throws -> InPlaceContent {
      var content = try InPlaceContent(path)
      // The digest of the job counts a log that is written back before a store is replaced.
      content.dump.lines.removeAll { $0.hasPrefix("metadata GodwitJobs") || $0.contains("x'62706c697374") }
      return content
    }
    let expected = try content(job.destinationPath)
    var isBySQL = false
    for keepsOld in [true, false] {
      var inPlace = job
      inPlace.sourcePath = try CorpusStores.copy(pair.path, into: folder, named: "place-\(keepsOld).sqlite")
      inPlace.destinationPath = inPlace.sourcePath
      inPlace.steps[0].origin = MigrationStep.inferredOrigin
      inPlace.existingDestination = .inPlace(keepsOld: keepsOld)
      let manager = MigrationManager(inPlace)
      guard try !manager.isFinished() else { continue }
      let way = try manager.plan().steps.first?.way
      #expect(try manager.run().outcome == .finished)
      if way == MigrationPlan.wayOfDefinitions {
        let schema = StoreSchema(model: job.destinationModel)
        let dumps = try [inPlace.sourcePath, job.destinationPath].map {
          try StoreDump(byColumnName: $0, schema: schema)
        }
        #expect(
          dumps[0] == dumps[1],
          "\(pair.name) to \(job.destinationModel.name): \(dumps[0].firstDifference(from: dumps[1]) ?? "")")
        print("corpus: \(pair.name) to \(job.destinationModel.name) by definition")
        continue
      }
      isBySQL = way == "in place by SQL, loading no rows"
      let found = try content(inPlace.sourcePath)
      #expect(
        found == expected,
        "\(pair.name) to \(job.destinationModel.name): \(found.firstDifference(from: expected) ?? "")")
    }
    return isBySQL
  }
}

struct `What an inferred step loses` {
  private func model(_ name: String, _ attributes: [AttributeDescription]) throws -> ManagedObjectModel {
    try ManagedObjectModel(name: name, entities: [entity("A", attributes)])
  }

  @Test func `an attribute that becomes transient is lost, one with the renaming identifier of an older name is not`()
    throws
  {
    let stored = try model("1", [optional("a"), optional("b")])
    var transient = optional("a")
    transient.isTransient = true
    #expect(InferredLoss.isDoubtful(from: stored, to: try model("2", [transient, optional("b")])))
    var renamed = optional("c")
    renamed.renamingIdentifier = "a"
    let later = try model("2", [renamed, optional("b")])
    #expect(!InferredLoss.isDoubtful(from: stored, to: later))
    // The third version has the name, but not the values, unless a run goes through the second.
    let last = try model("3", [optional("c"), transient, optional("b")])
    let found = InferredLoss.differences(through: [stored, later, last])
    #expect(found == [.init(name: "A.a", through: .init(entity: "A", property: "c"), direct: nil)])
  }
}
