import GodwitModel
import TestSupport
import Testing

private typealias Attribute = AttributeDescription

private func model(_ name: String, _ attributes: [Attribute], _ more: [EntityDescription] = []) throws
  -> ManagedObjectModel
{
  try ManagedObjectModel(name: name, entities: [EntityDescription(name: "T", attributes: attributes)] + more)
}

/// The earlier name of each property of the later version that is not new.
private func origins(
  _ old: ManagedObjectModel, _ new: ManagedObjectModel, of entity: String = "T"
) -> [String: String] {
  let pairing = ModelPairing(from: old, to: new)
  guard let before = pairing.oldName(of: entity) else { return [:] }
  return Dictionary(
    ModelPairing.Property.all(of: entity, in: new).compactMap { property in
      pairing.origin(of: property, in: entity, from: before).map { (property.name, $0.name) }
    }
  ) { a, _ in a }
}

private func doubts(_ old: ManagedObjectModel, _ new: ManagedObjectModel) -> [String: RenamingDoubt] {
  Dictionary(ModelPairing(from: old, to: new).contradictions.map { ($0.path, $0.doubt) }) { a, _ in a }
}

struct `Pairing the properties of two versions` {
  @Test func `the identifier of a property that is renamed twice is its first name`() throws {
    let first = try model("1", [.make("a"), .make("k")])
    let second = try model("2", [.make("b", was: "a"), .make("k")])
    let third = try model("3", [.make("c", was: "a"), .make("k")])
    for (old, was) in [(first, "a"), (second, "b")] {
      #expect(origins(old, third) == ["c": was, "k": "k"])
      #expect(doubts(old, third) == [:])
    }
    // The canonical name is the first name, not the name in the version before.
    let other = try model("3", [.make("c", was: "b"), .make("k")])
    #expect(origins(second, other) == ["k": "k"] && origins(first, other) == ["k": "k"])
    #expect(doubts(second, other) == ["T.c": .namesRenamed("b", identifier: "a")])
  }

  @Test func `a name that is used again after a rename is new, from each version`() throws {
    let first = try model("1", [.make("date"), .make("k")])
    let second = try model("2", [.make("made", was: "date"), .make("k")])
    let third = try model("3", [.make("made", was: "date"), .make("date"), .make("k")])
    #expect(origins(first, third) == ["made": "date", "k": "k"])
    #expect(origins(second, third) == ["made": "made", "k": "k"])
    for old in [first, second] { #expect(doubts(old, third) == ["T.date": .reused(by: "made")]) }
    #expect(origins(third, third) == ["made": "made", "date": "date", "k": "k"])
    let fourth = try model("4", [.make("day", was: "date"), .make("date"), .make("k")])
    #expect(origins(third, fourth) == ["day": "made", "date": "date", "k": "k"])
    // The identifier is forgotten: the name decides.
    let forgotten = try model("3", [.make("made"), .make("date"), .make("k")])
    #expect(origins(second, forgotten) == ["made": "made", "k": "k"])
    #expect(
      doubts(second, forgotten) == ["T.made": .keptByName(was: "date", now: nil), "T.date": .reused(by: "made")])
  }

  @Test func `an inferred mapping and a draft say what was decided`() throws {
    let old = try model("1", [.make("b", was: "a")])
    let new = try model("2", [.make("c", was: "b"), .make("a")])
    let text = "its renaming identifier 'b' matches nothing, since 'b' has the identifier 'a'"
    #expect(
      MappingInference(from: old, to: new).remarks.contains {
        $0.subject == .attribute("c") && $0.text == "new: stays nil; " + text
      })
    #expect(
      MappingDraft(from: old, to: new).remarks.contains { $0.subject == .attribute("c") && $0.text == text })
  }

  @Test func `a property that gets its first name back is the same`() throws {
    let second = try model("2", [.make("b", was: "a"), .make("k")])
    let third = try model("3", [.make("a"), .make("k")])
    #expect(origins(second, third) == ["a": "b", "k": "k"] && doubts(second, third) == [:])
  }

  @Test func `an identifier that is added later loses no values`() throws {
    let before = try model("1", [.make("b"), .make("k")])
    let after = try model("2", [.make("b", was: "a"), .make("k"), .make("new")])
    #expect(origins(before, after) == ["b": "b", "k": "k"])
    #expect(doubts(before, after) == ["T.b": .keptByName(was: "b", now: "a")])
  }

  @Test func `two names that are exchanged follow their identifiers, unless all version hashes are equal`() throws {
    let plain = [Attribute.make("a"), .make("b")]
    let swapped = [Attribute.make("a", was: "b"), .make("b", was: "a")]
    let (old, new) = (try model("1", plain), try model("2", swapped))
    #expect(old.versionHashes == new.versionHashes)
    #expect(origins(old, new) == ["a": "a", "b": "b"])
    #expect(doubts(old, new) == ["T.a": .unseen(identifier: "b"), "T.b": .unseen(identifier: "a")])
    #expect(origins(old, try model("2", swapped + [.make("c")])) == ["a": "b", "b": "a"])
    let more = EntityDescription(name: "U", attributes: [.make("u")])
    #expect(origins(old, try model("2", swapped, [more])) == ["a": "b", "b": "a"])
  }

  @Test func `links follow as values do`() throws {
    func models(_ a: (String, String?), _ b: (String, String?), _ more: [Attribute], _ name: String) throws
      -> ManagedObjectModel
    {
      let sides = [a, b].map { side, was in
        var made = RelationshipDescription.toOne(side, "U", inverse: nil)
        made.renamingIdentifier = was
        return made
      }
      return try ManagedObjectModel(
        name: name,
        entities: [
          EntityDescription(name: "T", attributes: more, relationships: sides), EntityDescription(name: "U"),
        ])
    }
    let old = try models(("a", nil), ("b", nil), [], "1")
    #expect(origins(old, try models(("a", "b"), ("b", "a"), [], "2")) == ["a": "a", "b": "b"])
    #expect(origins(old, try models(("a", "b"), ("b", "a"), [.make("k")], "2")) == ["a": "b", "b": "a"])
    #expect(origins(old, try models(("c", "a"), ("a", nil), [], "2")) == ["c": "a"])
  }
}

struct `Pairing the entities of two versions` {
  private func model(_ name: String, _ entities: [(name: String, was: String?)], _ extra: Int = 0) throws
    -> ManagedObjectModel
  {
    try ManagedObjectModel(
      name: name,
      entities: entities.map { entity in
        var made = EntityDescription(name: entity.name, attributes: [.make("k")])
        made.renamingIdentifier = entity.was
        return made
      } + (0..<extra).map { EntityDescription(name: "X\($0)") })
  }

  private func names(_ old: ManagedObjectModel, _ new: ManagedObjectModel) -> [String: String] {
    let pairing = ModelPairing(from: old, to: new)
    return Dictionary(new.entities.compactMap { entity in pairing.oldName(of: entity.name).map { (entity.name, $0) } })
    { a, _ in a }
  }

  @Test func `entities are paired by canonical name too`() throws {
    let first = try model("1", [("A", nil)])
    let second = try model("2", [("B", "A")])
    let third = try model("3", [("B", "A"), ("A", nil)])
    #expect(names(first, third) == ["B": "A"] && names(second, third) == ["B": "B"])
    #expect(doubts(second, third) == ["A": .reused(by: "B")])
    #expect(names(second, try model("3", [("C", "A")])) == ["C": "B"])
    #expect(names(second, try model("3", [("C", "B")])) == [:])
  }

  @Test func `entities that exchange their names stay, if every version hash is equal`() throws {
    let old = try model("1", [("A", nil), ("B", nil)])
    #expect(names(old, try model("2", [("A", "B"), ("B", "A")])) == ["A": "A", "B": "B"])
    #expect(names(old, try model("2", [("A", "B"), ("B", "A")], 1)) == ["A": "B", "B": "A"])
  }
}

struct `Pairing the elements of composite attributes` {
  @Test func `an element keeps its values when the composite is renamed, whatever its own identifier`() throws {
    for (before, after) in [("value", "value"), ("value", nil), (nil, nil), (nil, "amount")] as [(String?, String?)] {
      let old = try model("1", [.composite("price", [.make("amount", was: before), .make("unit")]), .make("k")])
      let new = try model(
        "2", [.composite("cost", was: "price", [.make("amount", was: after), .make("unit")]), .make("k"), .make("l")])
      #expect(origins(old, new) == ["cost.amount": "price.amount", "cost.unit": "price.unit", "k": "k"])
    }
  }

  @Test func `an element that is renamed inside of a renamed composite is found`() throws {
    let old = try model("1", [.composite("price", [.make("value"), .make("unit")])])
    let new = try model("2", [.composite("cost", was: "price", [.make("amount", was: "value"), .make("value")])])
    #expect(origins(old, new) == ["cost.amount": "price.value"])
    #expect(doubts(old, new) == ["T.cost.value": .reused(by: "amount")])
    let deep = try model("1", [.composite("a", [.composite("b", [.make("c", was: "d")])])])
    let deeper = try model("2", [.composite("a", [.composite("x", was: "b", [.make("y", was: "d")])]), .make("k")])
    #expect(origins(deep, deeper) == ["a.x.y": "a.b.c"])
  }

  @Test func `the one element of an enum has the name of its attribute`() throws {
    let old = try model("1", [.composite("style", [.make("style")])])
    #expect(
      origins(old, try model("2", [.composite("kind", was: "style", [.make("kind")])])) == ["kind.kind": "style.style"])
    // Without an identifier it is another attribute.
    #expect(origins(old, try model("2", [.composite("kind", [.make("kind")])])) == [:])
  }

  @Test func `elements that version hashes do not tell apart stay in their columns`() throws {
    let old = try model("1", [.composite("price", [.make("amount"), .make("unit")])])
    // The hash knows an element by its own name alone.
    let renamed = try model("2", [.composite("cost", [.make("amount"), .make("unit")])])
    #expect(old.versionHashes == renamed.versionHashes)
    #expect(origins(old, renamed) == ["cost.amount": "price.amount", "cost.unit": "price.unit"])
    let swapped = try model(
      "2", [.composite("price", [.make("amount", was: "unit"), .make("unit", was: "amount")])])
    #expect(origins(old, swapped) == ["price.amount": "price.amount", "price.unit": "price.unit"])
  }
}
