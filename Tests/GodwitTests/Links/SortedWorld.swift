import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport

/// Lists with items, whose mappings sort the items of each list by random descriptors.
///
/// The oracle sorts by hand: by the descriptors, nil below every value; then by the order of the source if it has one;
/// then by the item's key in the destination.
struct SortedWorld {
  private struct Item {
    var key: Int64
    var rank: Int64?
    var name: String?
    var owner: Int64?
    var list: Int64?
  }

  let fixture: MigrationFixture
  private var items: [Item] = []
  /// The keys of the items of each list, in the order of the source.
  private var orders: [Int64: [Int64]] = [:]
  private var descriptors: [EntityMapping.SortDescriptor] = []
  private let isOrdered: Bool
  /// Whether two mappings take the items: those with an even key, and the others.
  private var isSplit = false
  private static let people: [Int64: String?] = [1: "Zoe", 2: "anna", 3: nil]
  /// The random choices, for messages.
  var what: String { "\(descriptors), ordered \(isOrdered), split \(isSplit)" }

  /// - Parameters:
  ///   - isPlain: By rank alone, and set from both ends.
  ///   - isOrdered: Whether the source has an order; nil for a random choice.
  init(seed: UInt64, isPlain: Bool = false, isOrdered: Bool? = nil) throws {
    var random = SeededGenerator(seed: seed)
    let ordered = isOrdered ?? (isPlain ? false : random.chance(50))
    self.isOrdered = ordered
    fixture = try MigrationFixture(Self.model(ordered: ordered), to: Self.model(ordered: true))
    for key in Int64(1)...30 {
      items.append(
        Item(
          key: key, rank: random.chance(85) ? Int64(random.below(5)) - 2 : nil,
          name: random.chance(85) ? ["b", "a", "B", "\u{e9}", ""][random.below(5)] : nil,
          owner: random.chance(80) ? Int64(random.below(3) + 1) : nil,
          list: random.chance(90) ? Int64(random.below(4) + 1) : nil))
    }
    for key in Int64(1)...5 {
      orders[key] = items.filter { $0.list == key }.map(\.key).shuffled(using: &random)
    }
    let all: [[EntityMapping.SortDescriptor]] = [
      [.init("rank")], [.init("rank", ascending: false)], [.init("name"), .init("rank", ascending: false)],
      [.init("owner.name", ascending: false), .init("name")], [.init("rank"), .init("owner.name")],
    ]
    descriptors = isPlain ? all[0] : all[random.below(all.count)]
    isSplit = !isPlain && random.chance(50)
    let isMirrored = isPlain || random.chance(50)
    try write()
    fixture.mappings = try mappings(isMirrored: isMirrored)
    fixture.chunkRows = [1, 3, 1000][random.below(3)]
  }

  private static func model(ordered: Bool) -> [EntityDescription] {
    [
      .make("List", ["name": .string], [.toMany("items", "Item", inverse: "list", ordered: ordered)]),
      .make(
        "Item", ["rank": .integer16, "name": .string, "number": .integer64],
        [.toOne("list", "List", inverse: "items"), .toOne("owner", "Person", inverse: "things")]),
      .make("Person", ["name": .string], [.toMany("things", "Item", inverse: "owner")]),
    ]
  }

  private func write() throws {
    try fixture.build { store in
      for (key, name) in Self.people {
        try store.insert("Person", key: key, attributes: ["name": name.map { .init($0) } ?? .null])
      }
      for item in items {
        try store.insert(
          "Item", key: item.key,
          attributes: [
            "rank": item.rank.map { .integer($0) } ?? .null, "name": item.name.map { .init($0) } ?? .null,
            "number": .integer(item.key),
          ], relationships: item.owner.map { ["owner": [$0]] } ?? [:])
      }
      for (key, order) in orders {
        try store.insert("List", key: key, attributes: ["name": .init("l\(key)")], relationships: ["items": order])
      }
    }
  }

  private func mappings(isMirrored: Bool) throws -> [EntityMapping] {
    let attributes = ["rank": "$source.rank", "name": "$source.name", "number": "$source.number"]
    let toList: [String: RelationshipMapping.Value] =
      isMirrored ? ["list": .mapping("ListToList", keyPath: ["list"])] : [:]
    var lists = try EntityMapping.make("List", "List", attributes: ["name": "$source.name"])
    var sorted = RelationshipMapping(
      name: "items", value: isSplit ? .sourceRelationship("items") : .mapping("ItemToItem", keyPath: ["items"]))
    sorted.order = descriptors
    lists.relationshipMappings = [sorted]
    guard isSplit else {
      return [try .make("Item", "Item", attributes: attributes, relationships: toList), lists]
    }
    return [
      try .make(
        "Item", "Item", name: "Odd", filter: "modulus:by:(number, 2) == 1", attributes: attributes,
        relationships: toList),
      lists,
      try .make(
        "Item", "Item", name: "Even", filter: "modulus:by:(number, 2) == 0", attributes: attributes,
        relationships: toList),
    ]
  }

  // MARK: Orders

  /// By name of the list: the numbers of its items.
  func expected() -> [String: [Int64]] {
    let byKey = Dictionary(uniqueKeysWithValues: items.map { ($0.key, $0) })
    return Dictionary(
      uniqueKeysWithValues: orders.map { key, order in
        let places = isOrdered ? order : order.sorted()
        return (
          "l\(key)",
          places.enumerated().sorted { a, b in
            guard let one = byKey[a.element], let two = byKey[b.element] else { return false }
            for descriptor in descriptors {
              if let isBefore = Self.precedes(one, two, descriptor) { return isBefore }
            }
            return a.offset < b.offset
          }.map(\.element)
        )
      })
  }

  private static func precedes(_ a: Item, _ b: Item, _ descriptor: EntityMapping.SortDescriptor) -> Bool? {
    func order<T: Comparable>(_ a: T?, _ b: T?) -> Bool? {
      switch (a, b) {
      case (nil, nil): return nil
      case (nil, _): return descriptor.isAscending
      case (_, nil): return !descriptor.isAscending
      case (let a?, let b?): return a == b ? nil : (a < b) == descriptor.isAscending
      }
    }
    func bytes(_ text: String?) -> String? { text.map { $0.utf8.map { String(format: "%02x", $0) }.joined() } }
    func owner(_ item: Item) -> String? { item.owner.flatMap { people[$0] ?? nil } }
    switch descriptor.keyPath {
    case "rank": return order(a.rank, b.rank)
    case "name": return order(bytes(a.name), bytes(b.name))
    default: return order(bytes(owner(a)), bytes(owner(b)))
    }
  }

  /// The lists of the destination with the numbers of their items, in their order.
  func lists() throws -> [(name: String, order: [Int64])] {
    let reader = try ObjectReader(path: fixture.destinationPath, model: fixture.destination)
    var numbers: [Int64: Int64] = [:]
    try reader.forEachObject(of: ["Item"]) { object in
      if case .attribute(.integer(let number), _)? = object.properties.first(where: { $0.name == "number" })?.value {
        numbers[object.reference.key] = number
      }
      return true
    }
    var found: [(name: String, order: [Int64])] = []
    try reader.forEachObject(of: ["List"]) { object in
      guard case .attribute(.string(let name), _)? = object.properties.first(where: { $0.name == "name" })?.value,
        case .toMany(let items)? = object.properties.first(where: { $0.name == "items" })?.value
      else { return true }
      found.append((name.string, items.compactMap { numbers[$0.key] }))
      return true
    }
    return found
  }

  func made() throws -> [String: [Int64]] {
    Dictionary(uniqueKeysWithValues: try lists().map { ($0.name, $0.order) })
  }
}
