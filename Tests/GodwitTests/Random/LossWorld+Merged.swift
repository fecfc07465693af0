import Godwit
import GodwitJob
import GodwitModel
import TestSupport

extension LossWorld {
  /// An object of the destination for each link of `friends`.
  struct Pairs {
    static let entity = EntityDescription.make(
      "P", ["tag": .string, "other": .string, "x": .string, "y": .string],
      [.toOne("c", "C", inverse: "uses"), .toOne("b", "B", inverse: "uses")])

    private let filter: String?
    private let values: [String: String]
    private let namesC, namesB: Bool

    init(_ random: inout SeededGenerator) {
      filter = [nil, nil, "$source.n < 5", "$element.n >= 3", "$source.n <= $element.n"][random.below(5)]
      values = ["x": ["$source.x", "$element.x", "$source.whole.x"][random.below(3)], "y": "$element.y"]
      (namesC, namesB) = (random.chance(70), random.chance(70))
    }

    func mapping(others: [EntityMapping], _ random: inout SeededGenerator) throws -> EntityMapping {
      var made = try EntityMapping.make(
        "C", "P", name: "Pairs", filter: filter,
        attributes: values.merging(["tag": "$source.tag", "other": "$element.tag"]) { one, _ in one })
      made.forEach = "friends"
      let owners = others.filter { $0.sourceEntityName == "C" }
      if namesC, let owner = owners.randomElement(using: &random) {
        var c = RelationshipMapping(name: "c", value: .mapping(owner.name, keyPath: []))
        c.end = .source
        made.relationshipMappings.append(c)
      }
      if namesB, others.contains(where: { $0.sourceEntityName == "B" }) {
        made.relationshipMappings.append(RelationshipMapping(name: "b", value: .sourceRelationship("$element")))
      }
      return made
    }

    func takes(_ c: Object, _ b: Object) -> Bool {
      switch filter {
      case "$source.n < 5": c.n < 5
      case "$element.n >= 3": b.n >= 3
      case "$source.n <= $element.n": c.n <= b.n
      default: true
      }
    }
  }

  /// The links of `friends`, and whether each becomes an object.
  var friends: [(c: Object, b: Object, isTaken: Bool)] {
    objects.filter { $0.entity == "C" }.flatMap { c in
      objects.filter { b in b.entity == "B" && c.links["friends"]?.contains(b.key) == true }.map { b in
        (c, b, pairs?.takes(c, b) ?? false)
      }
    }
  }

  /// The mappings, for messages.
  var description: String { MigrationJob.canonicalText(of: [MappingModel(entityMappings: fixture.mappings)]) }

  // MARK: Objects that become one

  /// The objects of each one that `unique` makes, the first one first.
  var groups: [[Object]] {
    guard let unique else { return [] }
    let taken = objects.filter { Self.takes(unique, $0) }
    return Dictionary(grouping: taken, by: \.n).values.map { group in
      group.sorted { a, b in
        for descriptor in unique.uniqueOrder {
          let (x, y) = (value(a, descriptor.keyPath) ?? "", value(b, descriptor.keyPath) ?? "")
          if x != y { return (x < y) == descriptor.isAscending }
        }
        return a.key < b.key
      }
    }
  }

  /// By tag of an object that became one with another: the tag of the other.
  var aliases: [String: String] {
    Dictionary(uniqueKeysWithValues: groups.flatMap { group in group.dropFirst().map { ($0.tag, group[0].tag) } })
  }

  /// The value at the end of a path, as a text.
  private func value(_ object: Object, _ path: String) -> String? {
    var object = object
    var names = path.split(separator: ".").map(String.init)
    while names.count > 1 {
      let family = Self.family(names[0] == "whole" ? "A" : "B")
      let key = object.links[names.removeFirst()]?.first
      guard let next = objects.first(where: { family.contains($0.entity) && $0.key == key }) else { return nil }
      object = next
    }
    switch names[0] {
    case "tag": return object.tag
    case "n": return "\(object.n)"
    case "m": return ["1.5", "0"].first { $0 == decimals[object.key] }
    case "$index":
      let owner = objects.first { Self.family("A").contains($0.entity) && [$0.key] == object.links["whole"] }
      return owner?.links["parts"]?.firstIndex(of: object.key).map { "\($0)" }
    default: return object.values[names[0]]
    }
  }

  /// By attribute of the destination: how many values differ from the one that stays, and these values.
  var mergedValues: [String: (count: Int, values: Set<String>)] {
    var found: [String: (count: Int, values: Set<String>)] = [:]
    for entry in unique?.attributeMappings ?? [] where entry.name != "n" {
      let text = entry.value.source.text
      let path = text.hasPrefix("$index") ? "$index" : text.replacing("$source.", with: "")
      for group in groups {
        let values = group.map { value($0, path) }
        let kept = unique?.fillsNil == true ? values.compactMap(\.self).first : values[0]
        let gone = values.compactMap(\.self).filter { $0 != kept }
        found[entry.name, default: (0, [])].count += gone.count
        found[entry.name, default: (0, [])].values.formUnion(gone)
      }
    }
    return found
  }
}
