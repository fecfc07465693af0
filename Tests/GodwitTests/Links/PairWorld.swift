import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport

/// Pizzas with parts along a relationship of a random shape, whose links become objects.
///
/// The oracle knows the links as lists of keys, and makes the objects by hand: names and ranks of both ends, the place,
/// and the links to the objects that the mappings of the ends take.
struct PairWorld {
  enum Shape: CaseIterable {
    case manyToMany, oneToMany, withoutInverse, toItself, ownInverse
  }

  /// An object of the source: one with an odd key is of a subentity.
  private struct Thing {
    var name: String
    var rank: Int64?
  }

  let fixture: MigrationFixture
  let shape: Shape
  let isOrdered: Bool
  private var pizzas: [Int64: Thing] = [:]
  private var toppings: [Int64: Thing] = [:]
  /// The parts of each pizza, in the order of the source.
  private var links: [Int64: [Int64]] = [:]
  private var hasFilter = false
  private var hasFilteredEnds = false
  /// Whether the objects of links name their ends, or the ends name them, or both.
  private var namesEnds = true, namesLinks = true

  var what: String {
    "\(shape), ordered \(isOrdered), filter \(hasFilter), ends filtered \(hasFilteredEnds), ends \(namesEnds), links \(namesLinks)"
  }

  private var isToItself: Bool { shape == .toItself || shape == .ownInverse }
  private var element: String { isToItself ? "Pizza" : "Topping" }
  private var elements: [Int64: Thing] { isToItself ? pizzas : toppings }

  /// - Parameters:
  ///   - isPlain: No filters, and all links named from both ends.
  ///   - ordered: Whether the parts have an order; nil for a random choice.
  init(seed: UInt64, shape: Shape? = nil, isPlain: Bool = false, ordered: Bool? = nil) throws {
    var random = SeededGenerator(seed: seed)
    let shape = shape ?? Shape.allCases[random.below(Shape.allCases.count)]
    // The order of a relationship that is its own inverse, or has none, is unknown in Core Data.
    let isOrdered = shape != .ownInverse && shape != .withoutInverse && (ordered ?? random.chance(50))
    (self.shape, self.isOrdered) = (shape, isOrdered)
    fixture = try MigrationFixture(
      Self.source(shape, isOrdered: isOrdered), to: Self.destination(shape, isOrdered: isOrdered))
    for key in Int64(1)...12 {
      pizzas[key] = Thing(name: "p\(key)", rank: random.chance(85) ? Int64(random.below(9)) : nil)
      toppings[key + 3] = Thing(name: "t\(key + 3)", rank: random.chance(85) ? Int64(random.below(9)) : nil)
    }
    if !isPlain {
      (hasFilter, hasFilteredEnds) = (random.chance(50), random.chance(50))
      namesEnds = random.chance(60)
      namesLinks = !namesEnds || random.chance(50)
    }
    link(&random)
    try write()
    fixture.mappings = try mappings()
    fixture.chunkRows = [1, 3, 1000][random.below(3)]
  }

  private mutating func link(_ random: inout SeededGenerator) {
    let keys = elements.keys.sorted()
    if shape == .oneToMany || shape == .withoutInverse {
      for key in keys.shuffled(using: &random) where random.chance(85) {
        links[Int64(random.below(12)) + 1, default: []].append(key)
      }
      return
    }
    for pizza in pizzas.keys.sorted() {
      links[pizza] = keys.filter { _ in random.chance(25) }.shuffled(using: &random)
    }
    guard shape == .ownInverse else { return }
    for (pizza, parts) in links {
      for part in parts where links[part]?.contains(pizza) != true { links[part, default: []].append(pizza) }
    }
  }

  // MARK: Models and store

  private static func parts(_ shape: Shape, isOrdered: Bool) -> [RelationshipDescription] {
    switch shape {
    case .manyToMany: [.toMany("parts", "Topping", inverse: "wholes", ordered: isOrdered)]
    case .oneToMany: [.toMany("parts", "Topping", inverse: "whole", ordered: isOrdered)]
    case .withoutInverse: [.toMany("parts", "Topping", inverse: nil)]
    case .toItself:
      [.toMany("parts", "Pizza", inverse: "wholes", ordered: isOrdered), .toMany("wholes", "Pizza", inverse: "parts")]
    case .ownInverse: [.toMany("parts", "Pizza", inverse: "parts")]
    }
  }

  private static func source(_ shape: Shape, isOrdered: Bool) -> [EntityDescription] {
    let back: [RelationshipDescription] =
      switch shape {
      case .manyToMany: [.toMany("wholes", "Pizza", inverse: "parts", ordered: true)]
      case .oneToMany: [.toOne("whole", "Pizza", inverse: "parts")]
      case .withoutInverse, .toItself, .ownInverse: []
      }
    return [
      .make("Pizza", ["name": .string, "rank": .integer32], parts(shape, isOrdered: isOrdered)),
      .make("Calzone", parent: "Pizza"),
      .make("Topping", ["name": .string, "rank": .integer32], back), .make("Cheese", parent: "Topping"),
    ]
  }

  private static func destination(_ shape: Shape, isOrdered: Bool) -> [EntityDescription] {
    let isToItself = shape == .toItself || shape == .ownInverse
    let uses = RelationshipDescription.toMany("uses", "Part", inverse: "topping")
    return [
      .make(
        "Pizza", ["name": .string],
        [.toMany("items", "Part", inverse: "pizza", ordered: isOrdered)] + (isToItself ? [uses] : [])),
      .make("Calzone", parent: "Pizza"),
      .make("Topping", ["name": .string], isToItself ? [] : [uses]), .make("Cheese", parent: "Topping"),
      .make(
        "Part", ["whole": .string, "part": .string, "sum": .integer64, "place": .integer32],
        [
          .toOne("pizza", "Pizza", inverse: "items"),
          .toOne("topping", isToItself ? "Pizza" : "Topping", inverse: "uses"),
        ]),
    ]
  }

  private func write() throws {
    func attributes(_ thing: Thing) -> [String: AttributeValue] {
      ["name": .init(thing.name), "rank": thing.rank.map { .integer($0) } ?? .null]
    }
    try fixture.build { store in
      for (key, thing) in toppings.sorted(by: { $0.key < $1.key }) {
        try store.insert(key % 2 == 1 ? "Cheese" : "Topping", key: key, attributes: attributes(thing))
      }
      for (key, thing) in pizzas.sorted(by: { $0.key < $1.key }) {
        try store.insert(
          Self.isCalzone(key) ? "Calzone" : "Pizza", key: key, attributes: attributes(thing),
          relationships: links[key].map { ["parts": $0] } ?? [:])
      }
    }
  }

  private static func isCalzone(_ key: Int64) -> Bool { key % 5 == 0 }

  // MARK: Mappings

  private func lookUp(_ name: String, of end: RelationshipMapping.End) -> RelationshipMapping {
    var entry = RelationshipMapping(name: name, value: .mapping("Links", keyPath: []))
    entry.end = end
    return entry
  }

  private func mappings() throws -> [EntityMapping] {
    let name = ["name": "$source.name"]
    let filter = hasFilteredEnds ? "rank > 2" : nil
    var links = try EntityMapping.make(
      "Pizza", "Part", name: "Links",
      filter: hasFilter ? "$source.rank <= $element.rank AND $element.name != 't9'" : nil,
      attributes: [
        "whole": "$source.name", "part": "$element.name", "sum": "$source.rank + $element.rank",
        "place": isOrdered ? "$index" : "$source.rank",
      ])
    links.forEach = "parts"
    var made = [
      try EntityMapping.make("Pizza", "Pizza", filter: filter, attributes: name),
      try EntityMapping.make("Calzone", "Calzone", attributes: name),
      try EntityMapping.make("Topping", "Topping", filter: filter, attributes: name),
      try EntityMapping.make("Cheese", "Cheese", attributes: name),
    ]
    if namesLinks {
      made[0].relationshipMappings = [lookUp("items", of: .source)]
      for place in isToItself ? [0, 1] : [2, 3] {
        made[place].relationshipMappings.append(lookUp("uses", of: .element))
      }
    }
    if namesEnds {
      var pizza = RelationshipMapping(name: "pizza", value: .mapping("PizzaToPizza", keyPath: []))
      pizza.end = .source
      links.relationshipMappings = [
        pizza, RelationshipMapping(name: "topping", value: .sourceRelationship("$element")),
      ]
    }
    made.insert(links, at: 2)
    return made
  }

  // MARK: Objects

  private func isTaken(_ key: Int64, _ entity: String) -> Bool {
    let thing = entity == "Pizza" ? pizzas[key] : toppings[key]
    let isOfSubentity = entity == "Pizza" ? Self.isCalzone(key) : key % 2 == 1
    guard hasFilteredEnds, !isOfSubentity else { return thing != nil }
    return thing?.rank.map { $0 > 2 } ?? false
  }

  /// Each object as text: names of the ends, sum, place, and the names that its links lead to.
  func expected() -> [String] {
    links.flatMap { key, parts -> [String] in
      guard !Self.isCalzone(key), let pizza = pizzas[key] else { return [] }
      return parts.enumerated().compactMap { place, part -> String? in
        guard let topping = elements[part] else { return nil }
        if hasFilter {
          guard let a = pizza.rank, let b = topping.rank, a <= b, topping.name != "t9" else { return nil }
        }
        let sum = pizza.rank.flatMap { a in topping.rank.map { a + $0 } }
        let number = isOrdered ? Int64(place) : pizza.rank
        let ends = [
          isTaken(key, "Pizza") ? pizza.name : "nil", isTaken(part, element) ? topping.name : "nil",
        ]
        let values = [sum, number].map { $0.map(String.init) ?? "nil" }
        return ([pizza.name, topping.name] + values + ends).joined(separator: "|")
      }
    }.sorted()
  }

  func made(at path: String? = nil) throws -> [String] {
    let topping = isToItself ? "PIZZA" : "TOPPING"
    let connection = try StoreConnection.openStore(
      readingAt: path ?? fixture.destinationPath, model: fixture.destination)
    return try connection.rows(
      "SELECT l.ZWHOLE, l.ZPART, l.ZSUM, l.ZPLACE, p.ZNAME, t.ZNAME FROM source.ZPART AS l LEFT JOIN source.ZPIZZA AS p ON p.Z_PK = l.ZPIZZA LEFT JOIN source.Z\(topping) AS t ON t.Z_PK = l.ZTOPPING"
    ).map { $0.map(\.plain).joined(separator: "|") }.sorted()
  }

  /// By name of the pizza, the names of its parts in order.
  func expectedOrders() -> [String: [String]] {
    var orders: [String: [String]] = [:]
    for (key, parts) in links where !Self.isCalzone(key) && isTaken(key, "Pizza") {
      orders["p\(key)"] = parts.compactMap { elements[$0]?.name }
    }
    return orders
  }

  func orders() throws -> [String: [String]] {
    let reader = try ObjectReader(path: fixture.destinationPath, model: fixture.destination)
    var names: [Int64: String] = [:]
    try reader.forEachObject(of: ["Part"]) { object in
      if case .attribute(.string(let name), _)? = object.properties.first(where: { $0.name == "part" })?.value {
        names[object.reference.key] = name.string
      }
      return true
    }
    var orders: [String: [String]] = [:]
    try reader.forEachObject(of: ["Pizza"]) { object in
      guard case .attribute(.string(let name), _)? = object.properties.first(where: { $0.name == "name" })?.value,
        case .toMany(let items)? = object.properties.first(where: { $0.name == "items" })?.value, !items.isEmpty
      else { return true }
      orders[name.string] = items.compactMap { names[$0.key] }
      return true
    }
    return orders
  }
}
