import Foundation
import GodwitJob
import GodwitModel
import TestSupport
import Testing

@testable import Godwit

private func attribute(
  _ name: String, _ type: AttributeType = .string, isOptional: Bool = true, default value: AttributeValue = .null,
  was: String? = nil, _ change: (inout AttributeDescription) -> Void = { _ in }
) -> AttributeDescription {
  var attribute = AttributeDescription(name: name, type: type, isOptional: isOptional)
  attribute.defaultValue = value
  attribute.renamingIdentifier = was
  change(&attribute)
  return attribute
}

private func entity(
  _ name: String, parent: String? = nil, _ attributes: [AttributeDescription] = [],
  _ relationships: [RelationshipDescription] = [], was: String? = nil,
  _ change: (inout EntityDescription) -> Void = { _ in }
) -> EntityDescription {
  var entity = EntityDescription(
    name: name, superentityName: parent, attributes: attributes, relationships: relationships)
  entity.renamingIdentifier = was
  change(&entity)
  return entity
}

extension RelationshipDescription {
  fileprivate func with(_ change: (inout RelationshipDescription) -> Void) -> RelationshipDescription {
    var relationship = self
    change(&relationship)
    return relationship
  }
}

/// Inferred steps through versions `V1`, `V2`, …
private func steps(_ versions: [[EntityDescription]]) throws -> [MigrationStep] {
  let models = try versions.enumerated().map { try ManagedObjectModel(name: "V\($0 + 1)", entities: $1) }
  return try zip(models, models.dropFirst()).map { source, destination in
    MigrationStep(
      sourceModel: source, destinationModel: destination,
      mappingModels: [try MappingModel(inferredFrom: source, to: destination)], origin: MigrationStep.inferredOrigin)
  }
}

/// Why two steps stay apart; `fused` where they do not.
private func outcome(_ versions: [EntityDescription]...) throws -> String? {
  let steps = try steps(versions)
  switch StepFusion.outcome(steps[0], steps[1]) {
  case .fused(let step)?:
    #expect(step.versions == ["V1", "V2", "V3"])
    #expect(step.isInferred)
    return "fused"
  case .apart(let reason)?: return reason
  case nil: return nil
  }
}

/// The same for the attributes of one entity `A`.
private func outcome(
  _ first: [AttributeDescription], _ between: [AttributeDescription], _ last: [AttributeDescription]
) throws -> String? {
  try outcome([entity("A", first)], [entity("A", between)], [entity("A", last)])
}

struct `Fusing of inferred steps` {
  // MARK: Values

  @Test func `steps that add, remove and rename are fused`() throws {
    let a = attribute("a")
    #expect(try outcome([a], [a, attribute("b")], [a, attribute("b"), attribute("c")]) == "fused")
    #expect(try outcome([a, attribute("b")], [a], [a, attribute("c")]) == "fused", "gone in the first step")
    #expect(try outcome([a], [attribute("b", was: "a")], [attribute("b", was: "a"), attribute("c")]) == "fused")
    #expect(try outcome([a], [a, attribute("b")], [a]) == "fused", "new and gone again")
    #expect(
      try outcome(
        [entity("A", [a]), entity("B")], [entity("Z", [a], was: "A")], [entity("Z", [a], was: "A"), entity("B")])
        == "'B' takes the objects of 'B' directly, and is new through 'V2'")
    #expect(
      try outcome(
        [entity("A", [a])], [entity("Z", [a], was: "A")], [entity("Z", [a], was: "A"), entity("B")]) == "fused")
  }

  @Test func `a name that is removed and added again is a new property`() throws {
    let a = attribute("a")
    #expect(
      try outcome([a, attribute("b")], [a], [a, attribute("b")]) == "'A.b' is dropped before 'V2' and new after it")
    #expect(
      try outcome([a], [attribute("b", was: "a")], [attribute("b")])
        == "'A.b' has no values directly, and some through 'V2'")
    // An identifier that is the name before, where that has its own, takes nothing on either way.
    let chained = try outcome([a], [attribute("b", was: "a")], [attribute("c", was: "b")])
    #expect(chained == "the values of 'A.b' pass through 'V2' and are gone in 'V3'")
    #expect(
      try outcome(
        [a, attribute("b")], [attribute("a", was: "b"), attribute("c", was: "a")], [attribute("a"), attribute("c")])
        == "'A.a' was 'a' directly, and 'b' through 'V2'")
    #expect(
      try outcome([a], [a, attribute("t") { $0.isTransient = true }], [a, attribute("t")]) == "fused")
    #expect(
      try outcome([a, attribute("t")], [a, attribute("t") { $0.isTransient = true }], [a, attribute("t")])
        == "'A.t' is dropped before 'V2' and new after it")
  }

  @Test func `defaults of the model between keep steps apart`() throws {
    func b(_ value: Int64, isOptional: Bool = false) -> AttributeDescription {
      attribute("b", .integer32, isOptional: isOptional, default: .integer(value))
    }
    let nilable = attribute("b", .integer32)
    #expect(try outcome([], [b(1)], [b(1)]) == "fused")
    #expect(try outcome([], [b(1)], [b(2)]) == "'A.b' has another default in 'V2'")
    #expect(try outcome([], [b(1, isOptional: true)], [nilable]) == "'A.b' has another default in 'V2'")
    #expect(try outcome([], [nilable], [b(1)]) == "fused", "nil becomes the default in the second step")
    #expect(try outcome([nilable], [b(1)], [b(1)]) == "fused")
    #expect(try outcome([nilable], [b(1)], [b(2)]) == "nil becomes another value of 'A.b' in 'V2'")
    #expect(try outcome([nilable], [b(1)], [b(1, isOptional: true)]) == "nil becomes another value of 'A.b' in 'V2'")
    let zero = attribute("b", .double, isOptional: false, default: .double(0))
    let minus = attribute("b", .double, isOptional: false, default: .double(-0.0))
    #expect(try outcome([], [minus], [zero]) == "'A.b' has another default in 'V2'")
  }

  @Test func `rules of the model between must be in the last model too`() throws {
    func a(_ isOptional: Bool = true, _ change: @escaping (inout AttributeDescription) -> Void = { _ in })
      -> AttributeDescription
    { attribute("a", isOptional: isOptional, default: .init("d"), change) }
    func n(_ low: AttributeValue?, _ high: AttributeValue?) -> AttributeDescription {
      attribute("a", .integer64) { ($0.minimumValue, $0.maximumValue) = (low, high) }
    }
    let stricter = "the rules of 'A.a' are stricter in 'V2' than in 'V3'"
    #expect(try outcome([a(false)], [a(false)], [a()]) == "'A.a' is required in 'V2' and optional in 'V3'")
    #expect(try outcome([a(false)], [a()], [a()]) == "fused")
    #expect(try outcome([a(false)], [a(false)], [a(false)]) == "fused")
    #expect(try outcome([a()], [a { $0.maximumLength = 5 }], [a()]) == stricter)
    #expect(try outcome([a()], [a { $0.maximumLength = 5 }], [a { $0.maximumLength = 6 }]) == stricter)
    #expect(try outcome([a()], [a { $0.maximumLength = 5 }], [a { $0.maximumLength = 4 }]) == "fused")
    #expect(try outcome([a()], [a { $0.minimumLength = 5 }], [a { $0.minimumLength = 4 }]) == stricter)
    #expect(try outcome([a()], [a { $0.minimumLength = 5 }], [a { $0.minimumLength = 5 }]) == "fused")
    #expect(try outcome([a()], [a { $0.regularExpression = "x*" }], [a { $0.regularExpression = "x+" }]) == stricter)
    #expect(try outcome([a()], [a()], [a { $0.regularExpression = "x+" }]) == "fused")
    #expect(try outcome([n(nil, nil)], [n(.integer(1), nil)], [n(.integer(0), nil)]) == stricter)
    #expect(try outcome([n(nil, nil)], [n(.integer(1), nil)], [n(.integer(2), nil)]) == "fused")
    #expect(try outcome([n(nil, nil)], [n(nil, .integer(9))], [n(nil, .integer(10))]) == stricter)
    #expect(try outcome([n(nil, nil)], [n(nil, .integer(9))], [n(nil, .integer(8))]) == "fused")
    #expect(
      try outcome([], [a { $0.maximumLength = 0 }], []) == "the rules of 'A.a' in 'V2' are gone in 'V3'")
  }

  @Test func `a value that the first step reads must be in the last model`() throws {
    let a = attribute("a")
    #expect(
      try outcome([a], [a], []) == "the values of 'A.a' pass through 'V2' and are gone in 'V3'")
    #expect(
      try outcome([entity("A"), entity("B")], [entity("A"), entity("B")], [entity("A")])
        == "the objects of 'B' pass through 'V2' and are gone in 'V3'")
    #expect(try outcome([entity("A"), entity("B")], [entity("A")], [entity("A")]) == "fused")
    #expect(try outcome([entity("A")], [entity("A"), entity("B")], [entity("A")]) == "fused")
  }

  @Test func `external storage that is removed and added again keeps steps apart`() throws {
    func data(_ isExternal: Bool) -> AttributeDescription {
      attribute("a", .binary) { $0.allowsExternalBinaryDataStorage = isExternal }
    }
    for (a, b, c, isFused) in [
      (true, true, true, true), (true, true, false, true), (true, false, false, true), (false, true, true, true),
      (true, false, true, false), (false, true, false, false),
    ] {
      let reason = "the external storage of 'A.a' differs in 'V2'"
      #expect(try outcome([data(a)], [data(b)], [data(c)]) == (isFused ? "fused" : reason), "\(a) \(b) \(c)")
    }
  }

  @Test func `composite attributes fuse by their leaves`() throws {
    func place(_ x: AttributeType, _ other: String?) -> AttributeDescription {
      .composite("place", [.make("x", x)] + (other.map { [.make($0)] } ?? []))
    }
    #expect(try outcome([place(.integer16, "y")], [place(.integer16, "y")], [place(.integer32, "y")]) == "fused")
    #expect(
      try outcome([place(.integer16, "y")], [place(.integer16, nil)], [place(.integer16, "y")])
        == "'A.place.y' is dropped before 'V2' and new after it")
  }

  // MARK: Entities

  @Test func `a key counter must come from the same tables`() throws {
    // New in the middle beside B, so B's table lends it its counter, and then a table of its own.
    #expect(
      try outcome(
        [entity("P"), entity("B", parent: "P")],
        [entity("P"), entity("B", parent: "P"), entity("N", parent: "P")],
        [entity("P"), entity("B", parent: "P"), entity("N")]) == "'N' would number its objects differently")
    #expect(
      try outcome(
        [entity("P"), entity("B", parent: "P")], [entity("P"), entity("B")], [entity("P"), entity("B")]) == "fused")
  }

  @Test func `a uniqueness constraint of the model between must be in the last model`() throws {
    func unique(_ names: [String]..., attributes: [AttributeDescription] = [attribute("a"), attribute("b")])
      -> [EntityDescription]
    { [entity("A", attributes) { $0.uniquenessConstraints = names }] }
    #expect(try outcome(unique(), unique(["a"]), unique()) == "'A' is unique by a in 'V2', but not in 'V3'")
    #expect(
      try outcome(unique(), unique(["a"]), unique(["a", "b"])) == "'A' is unique by a in 'V2', but not in 'V3'")
    #expect(try outcome(unique(), unique(["a", "b"]), unique(["b", "a"])) == "fused")
    #expect(try outcome(unique(["a"]), unique(), unique()) == "fused")
    let renamed = [attribute("z", was: "a"), attribute("b")]
    #expect(try outcome(unique(["a"]), unique(["a"]), unique(["z"], attributes: renamed)) == "fused")
    #expect(
      try outcome(unique(["a"]), unique(["a"]), unique(["b"], attributes: renamed))
        == "'A' is unique by a in 'V2', but not in 'V3'")
  }

  @Test func `derived attributes of the model between must stay, and nothing may be renamed beside them`() throws {
    func derived(_ text: String) -> AttributeDescription {
      attribute("d", .integer64) { $0.derivationExpression = text }
    }
    func world(_ more: [AttributeDescription], _ name: AttributeDescription = attribute("n")) -> [EntityDescription] {
      [
        entity("A", [name] + more, [.toMany("bs", "B", inverse: "a")]),
        entity("B", [], [.toOne("a", "A", inverse: "bs")]),
      ]
    }
    let count = derived("bs.@count")
    #expect(try outcome(world([]), world([count]), world([count])) == "fused")
    #expect(try outcome(world([count]), world([count]), world([count])) == "fused")
    let differs = "a derived attribute of 'V2' differs in 'V3'"
    #expect(try outcome(world([]), world([count]), world([])) == differs)
    #expect(try outcome(world([count]), world([]), world([count])) == differs)
    #expect(try outcome(world([]), world([count]), world([derived("n.length")])) == differs)
    #expect(
      try outcome(world([]), world([count]), world([count], attribute("m", was: "n")))
        == "'A' or a property of it is renamed beside derived attributes")
    #expect(
      try outcome(world([]), world([count]), world([attribute("d", .integer64)]))
        == "'A.d' keeps what is derived in 'V2'")
  }

  @Test func `an expression index of the model between must be in the last model`() throws {
    func indexed(_ text: String?) -> [EntityDescription] {
      [
        entity("A", [attribute("a")]) { entity in
          guard let text else { return }
          entity.fetchIndexes = [
            .init(
              name: "byText",
              elements: [.init(propertyName: nil, expressionText: text, isRTree: false, isAscending: true)])
          ]
        }
      ]
    }
    #expect(
      try outcome(indexed(nil), indexed("lowercase:(a)"), indexed(nil))
        == "index 'byText' of 'A' in 'V2' is not in 'V3'")
    #expect(try outcome(indexed(nil), indexed("lowercase:(a)"), indexed("lowercase:(a)")) == "fused")
    #expect(try outcome(indexed("lowercase:(a)"), indexed(nil), indexed(nil)) == "fused")
  }

  // MARK: Links

  /// `A` and `B`, linked both ways by `r` and `i`.
  private func linked(
    r: RelationshipDescription? = .toOne("r", "B", inverse: "i"),
    i: RelationshipDescription? = .toMany("i", "A", inverse: "r"), b: String = "B",
    more: [EntityDescription] = []
  ) -> [EntityDescription] {
    [entity("A", [attribute("x")], [r].compactMap(\.self)), entity(b, [], [i].compactMap(\.self))] + more
  }

  @Test func `steps are fused if one of them leaves the links unchanged`() throws {
    let none = linked(r: nil, i: nil)
    let many = linked(r: .toMany("r", "B", inverse: "i"))
    #expect(try outcome(linked(), linked(), linked()) == "fused")
    #expect(try outcome(none, linked(), linked()) == "fused")
    #expect(try outcome(linked(), none, none) == "fused")
    #expect(try outcome(linked(), many, many) == "fused")
    #expect(try outcome(linked(), linked(), many) == "fused")
    #expect(try outcome(linked(), none, linked()) == "'A.r' is dropped before 'V2' and new after it")
    #expect(
      try outcome(linked(), linked(), none) == "the links of 'A.r' pass through 'V2' and are gone in 'V3'")
    let alone = linked(r: .toOne("r", "B", inverse: nil), i: nil)
    #expect(try outcome(alone, linked(), linked()) == "fused")
    #expect(try outcome(alone, linked(), many) == "'A.r' or its inverse differs before, in and after 'V2'")
    #expect(try outcome(alone, linked(), alone) == "'A.r' or its inverse differs before, in and after 'V2'")
  }

  @Test func `a link stored on both sides keeps steps apart if it is renamed`() throws {
    let one = linked(i: .toOne("i", "A", inverse: "r"))
    #expect(try outcome(one, one, one) == "fused")
    #expect(
      try outcome(one, one, linked(i: .toMany("i", "A", inverse: "r")))
        == "'A.r' is stored on both sides, and changes after 'V2'")
    let renamed = linked(
      r: .toOne("s", "B", inverse: "i").with { $0.renamingIdentifier = "r" }, i: .toOne("i", "A", inverse: "s"))
    #expect(try outcome(one, one, renamed) == "'A.r' is stored on both sides, and changes after 'V2'")
    #expect(try outcome(one, renamed, renamed) == "fused")
  }

  @Test func `a changed ordered relationship keeps steps apart`() throws {
    let ordered = linked(i: .toMany("i", "A", inverse: "r", ordered: true))
    #expect(try outcome(ordered, ordered, ordered) == "fused")
    #expect(try outcome(linked(), linked(), ordered) == "fused")
    #expect(try outcome(ordered, linked(), linked()) == "fused")
    #expect(try outcome(ordered, linked(), ordered) == "'A.r' or its inverse differs before, in and after 'V2'")
    #expect(try outcome(linked(), ordered, ordered) == "'A.r' or its inverse is ordered in 'V2', and changes")
    #expect(try outcome(ordered, ordered, linked()) == "'A.r' or its inverse is ordered in 'V2', and changes")
    let both = linked(
      r: .toMany("r", "B", inverse: "i", ordered: true), i: .toMany("i", "A", inverse: "r", ordered: true))
    #expect(try outcome(both, both, both) == "'A.r' and its inverse are both ordered")
  }

  @Test func `links that only the model between rejects keep steps apart`() throws {
    func world(_ target: String) -> [EntityDescription] {
      [
        entity("A", [], [.toOne("r", target, inverse: nil)]), entity("P"), entity("C", parent: "P"),
        entity("D", parent: "P"),
      ]
    }
    #expect(
      try outcome(world("P"), world("C"), world("P"))
        == "'A.r' does not accept 'D' in 'V2', but does in 'V3'")
    #expect(try outcome(world("P"), world("P"), world("C")) == "fused")
    #expect(try outcome(world("P"), world("C"), world("C")) == "fused")
    #expect(try outcome(world("C"), world("P"), world("P")) == "fused")
  }

  @Test func `two changes of an attribute's type keep steps apart`() throws {
    func typed(_ type: AttributeType) -> [AttributeDescription] { [attribute("a", type)] }
    #expect(try outcome(typed(.integer16), typed(.integer16), typed(.double)) == "fused")
    #expect(try outcome(typed(.integer16), typed(.double), typed(.double)) == "fused")
    #expect(
      try outcome(typed(.integer64), typed(.integer16), typed(.double))
        == "the type of 'A.a' differs before, in and after 'V2'")
    #expect(
      try outcome(typed(.integer64), typed(.integer16), typed(.integer64))
        == "the type of 'A.a' differs before, in and after 'V2'")
  }

  @Test func `relationship counts are rules like others`() throws {
    let stricter = "how many objects 'A.r' leads to is a stricter rule in 'V2' than in 'V3'"
    let required = linked(r: .toOne("r", "B", inverse: "i").with { $0.isOptional = false })
    #expect(try outcome(linked(), required, linked()) == stricter)
    #expect(try outcome(linked(), required, required) == "fused")
    #expect(try outcome(required, linked(), linked()) == "fused")
    func counted(_ low: Int, _ high: Int, isOptional: Bool = true) -> [EntityDescription] {
      linked(
        r: .toMany("r", "B", inverse: "i").with {
          ($0.minCount, $0.maxCount, $0.isOptional) = (low, high, isOptional)
        })
    }
    #expect(try outcome(counted(0, 0), counted(0, 3), counted(0, 0)) == stricter)
    #expect(try outcome(counted(0, 0), counted(0, 3), counted(0, 4)) == stricter)
    #expect(try outcome(counted(0, 0), counted(0, 3), counted(0, 2)) == "fused")
    #expect(try outcome(counted(0, 0), counted(2, 0), counted(1, 0)) == stricter)
    #expect(try outcome(counted(0, 0), counted(2, 0), counted(2, 0)) == "fused")
    #expect(try outcome(counted(1, 0), counted(1, 0, isOptional: false), counted(1, 0)) == stricter)
    #expect(
      try outcome(counted(1, 0), counted(1, 0, isOptional: false), counted(1, 0, isOptional: false)) == "fused")
    // Required without a minimum asks for nothing.
    #expect(try outcome(counted(0, 0), counted(0, 0, isOptional: false), counted(0, 0)) == "fused")
    #expect(
      try outcome(counted(0, 0), counted(1, 0, isOptional: false), counted(0, 0, isOptional: false)) == stricter)
  }

  // MARK: Steps

  private let chain: [[EntityDescription]] = [
    [entity("A", [attribute("a")])], [entity("A", [attribute("a"), attribute("b")])],
    [entity("A", [attribute("a"), attribute("b"), attribute("c")])],
    [entity("A", [attribute("a"), attribute("b"), attribute("c"), attribute("d")])],
  ]

  private func job(_ steps: [MigrationStep]) -> MigrationJob {
    MigrationJob(
      name: "test", sourcePath: "in.sqlite", destinationPath: "out.sqlite", first: steps[0],
      later: Array(steps.dropFirst()))
  }

  @Test func `all steps of a chain become one, and the job keeps its digest`() throws {
    var plain = try job(steps(chain))
    let fused = MigrationManager(plain).job
    #expect(fused.steps.map(\.versions) == [["V1", "V2", "V3", "V4"]])
    #expect(MigrationManager(fused).job.steps.count == 1)
    plain.hooks.fusesSteps = false
    #expect(MigrationManager(plain).job.steps.count == 3)
    #expect(JobFingerprint(MigrationManager(fused).job) == JobFingerprint(MigrationManager(plain).job))
    // The mappings are told, not who says that they are inferred.
    for index in plain.steps.indices { plain.steps[index].origin = nil }
    plain.hooks.fusesSteps = true
    #expect(MigrationManager(plain).job.steps.count == 1)
  }

  @Test func `an explicit mapping, a hook, chunks.by and append keep steps apart`() throws {
    func reasons(_ change: (inout MigrationJob) -> Void) throws -> [String?] {
      var job = try job(steps(Array(chain[0...2])))
      change(&job)
      return MigrationManager(job).job.steps.map(\.reasonApart)
    }
    #expect(try reasons { _ in } == [nil])
    #expect(try reasons { $0.steps[1].origin = "V2toV3.mapping.yaml" } == [nil, nil])
    #expect(try reasons { $0.steps[0].mappingModels[0].entityMappings[0].policyName = "P" } == [nil, nil])
    #expect(
      try reasons { $0.steps[1].mappingModels[0].entityMappings[0].filter = try? FilterPredicate("a == nil") }
        == [nil, nil])
    let hook = MigrationStage.Hook("look") { _ in }
    let hooked: [String?] = [nil, "the hook 'look' runs before or after them"]
    #expect(try reasons { $0.steps[0].willMigrate = hook } == hooked)
    #expect(try reasons { $0.steps[0].didMigrate = hook } == hooked)
    #expect(try reasons { $0.steps[1].willMigrate = hook } == hooked)
    #expect(try reasons { $0.steps[1].didMigrate = hook } == hooked)
    #expect(
      try reasons { $0.chunkPredicates = ["IEM_Transform_A": []] } == [nil, "'chunks.by' cuts 'IEM_Transform_A'"])
    #expect(try reasons { $0.chunkPredicates = ["Another": []] } == [nil])
    #expect(try reasons { $0.existingDestination = .append } == [nil, "the job appends"])
  }

  @Test func `steps stay apart if no direct mapping can be inferred`() throws {
    let text = attribute("v", .string)
    let number = attribute("v", .integer32)
    #expect(
      try outcome([text], [], [number]) == "'V1' to 'V3' cannot be inferred: A.v: type String to Integer 32")
  }
}
