import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport

/// A small store whose entities share names of properties, with random mappings.
///
/// | entity | attributes | relationships |
/// |---|---|---|
/// | A | x, y | owner to B, parts to many C (ordered) |
/// | S, a subentity of A | x, y, z | the same |
/// | B | x, y, m (a decimal, there a Double) | items to many A, things to many C, friends to many C |
/// | C | x | whole to A, owner to B, friends to many B |
///
/// A table `app` and a column `ZB.extra`, which no model names, have a few values.
///
/// In the destination, a C has also a `place`, and a P, made of each link of `friends`, has tags and values of its ends.
///
/// Every object has a `tag` that no other has, and every value is its own. No two objects are linked by more than one
/// relationship or path. So a value is gone if the destination has it nowhere, and a link is gone if the destination
/// links no images of its two objects.
struct LossWorld {
  struct Object {
    var entity: String
    var key: Int64
    var n: Int64
    var values: [String: String] = [:]
    var links: [String: [Int64]] = [:]

    var tag: String { "\(entity)\(key)" }
  }

  /// A relationship and its inverse, in both models.
  struct Pair {
    var from: String
    var name: String
    var to: String
    var inverse: String
  }

  static let pairs: [Pair] = [
    Pair(from: "A", name: "owner", to: "B", inverse: "items"),
    Pair(from: "C", name: "whole", to: "A", inverse: "parts"),
    Pair(from: "C", name: "owner", to: "B", inverse: "things"),
    Pair(from: "C", name: "friends", to: "B", inverse: "friends"),
  ]
  static let attributes: [String: [String]] = ["A": ["x", "y"], "S": ["x", "y", "z"], "B": ["x", "y"], "C": ["x"]]
  static func family(_ entity: String) -> [String] { entity == "A" ? ["A", "S"] : [entity] }

  let fixture: MigrationFixture
  private(set) var objects: [Object] = []
  /// Whether `parts` is ordered in the destination too.
  let keepsOrder: Bool
  /// Whether `order-by` sorts `parts`; whether each C has its place among them as a number.
  let sortsParts, placesParts: Bool
  /// How the links of `friends` become objects, and which mapping makes one object of several.
  private(set) var pairs: Pairs?
  private(set) var unique: EntityMapping?
  /// The numbers of values that no model names, by table or column.
  private(set) var foreign: [String: Int] = [:]
  /// By the key of a B: what its `m` holds.
  private(set) var decimals: [Int64: String] = [:]
  var random: SeededGenerator

  /// - Parameter part: Which objects: others have the same models and mappings.
  init(seed: UInt64, part: UInt64 = 0) throws {
    var random = SeededGenerator(seed: seed)
    keepsOrder = random.chance(50)
    (sortsParts, placesParts) = (keepsOrder && random.chance(30), random.chance(30))
    fixture = try MigrationFixture(Self.model(ordered: true), to: Self.model(ordered: keepsOrder, isDestination: true))
    if random.chance(40) { pairs = Pairs(&random) }
    self.random = SeededGenerator(seed: seed &* 977 &+ part)
    makeObjects()
    try write()
    try writeForeign()
    self.random = random
    fixture.mappings = try mappings()
  }

  private static func model(ordered: Bool, isDestination: Bool = false) -> [EntityDescription] {
    func named(_ names: [String]) -> [String: AttributeType] {
      var found: [String: AttributeType] = ["tag": .string, "n": .integer64]
      for name in names + (isDestination ? ["e", "f"] : []) { found[name] = .string }
      return found
    }
    let number: [String: AttributeType] = ["m": isDestination ? .double : .decimal]
    return [
      .make(
        "A", named(["x", "y"]),
        [.toOne("owner", "B", inverse: "items"), .toMany("parts", "C", inverse: "whole", ordered: ordered)]),
      .make("S", parent: "A", ["z": .string]),
      .make(
        "B", named(["x", "y"]).merging(number) { one, _ in one },
        [
          .toMany("items", "A", inverse: "owner"), .toMany("things", "C", inverse: "owner"),
          .toMany("friends", "C", inverse: "friends"),
        ] + (isDestination ? [.toMany("uses", "P", inverse: "b")] : [])),
      .make(
        "C", named(["x"]).merging(isDestination ? ["place": .integer64] : [:]) { one, _ in one },
        [
          .toOne("whole", "A", inverse: "parts"), .toOne("owner", "B", inverse: "things"),
          .toMany("friends", "B", inverse: "friends"),
        ] + (isDestination ? [.toMany("uses", "P", inverse: "c")] : [])),
    ] + (isDestination ? [Pairs.entity] : [])
  }

  // MARK: Objects

  private mutating func makeObjects() {
    let counts: [(String, ClosedRange<Int64>)] = [("A", 1...4), ("S", 5...7), ("B", 1...5), ("C", 1...9)]
    for (entity, keys) in counts {
      for key in keys {
        var object = Object(entity: entity, key: key, n: Int64(random.below(10)))
        for name in Self.attributes[entity] ?? [] where random.chance(80) {
          object.values[name] = "\(object.tag).\(name)"
        }
        objects.append(object)
      }
    }
    var owners: [Int64: Int64] = [:]
    for index in objects.indices where ["A", "S"].contains(objects[index].entity) && random.chance(80) {
      let owner = Int64(random.below(5) + 1)
      owners[objects[index].key] = owner
      objects[index].links["owner"] = [owner]
    }
    for index in objects.indices where objects[index].entity == "C" {
      var free = Set(Int64(1)...5)
      if random.chance(80) {
        let whole = Int64(random.below(7) + 1)
        objects[index].links["whole"] = [whole]
        if let owner = owners[whole] { free.remove(owner) }
      }
      if random.chance(75), let owner = free.sorted().randomElement(using: &random) {
        free.remove(owner)
        objects[index].links["owner"] = [owner]
      }
      objects[index].links["friends"] = free.sorted().filter { _ in random.chance(40) }
    }
    // The order of the parts of each A.
    for index in objects.indices where ["A", "S"].contains(objects[index].entity) {
      let key = objects[index].key
      let parts = objects.filter { $0.entity == "C" && $0.links["whole"] == [key] }.map(\.key)
      objects[index].links["parts"] = parts.shuffled(using: &random)
    }
  }

  private func write() throws {
    try fixture.build { store in
      for object in objects {
        var values: [String: AttributeValue] = ["tag": .init(object.tag), "n": .integer(object.n)]
        for (name, value) in object.values { values[name] = .init(value) }
        var links = object.links
        // The other end names them, in their order.
        links["whole"] = nil
        try store.insert(object.entity, key: object.key, attributes: values, relationships: links)
      }
    }
  }

  private mutating func writeForeign() throws {
    let (rows, values) = (random.below(4), random.below(4))
    foreign = ["app": rows, "ZB.extra": values]
    try fixture.alter("CREATE TABLE app (x)")
    for _ in 0..<rows { try fixture.alter("INSERT INTO app VALUES (1)") }
    try fixture.alter("ALTER TABLE ZB ADD COLUMN extra")
    try fixture.alter("UPDATE ZB SET extra = 1 WHERE Z_PK <= \(values)")
    for key in Int64(1)...5 {
      decimals[key] = ["NULL", "1.5", "'NaN'", "9e999", "-1e127", "1e-130", "0"].randomElement(using: &random)
      try fixture.alter("UPDATE ZB SET ZM = \(decimals[key] ?? "NULL") WHERE Z_PK = \(key)")
    }
  }

  /// How many decimals without a value become nil. An object that became one with another before it does not count,
  /// unless such objects fill what the first lacks.
  var nils: Int {
    let merged = unique?.fillsNil == true ? [] : Set(groups.flatMap { $0.dropFirst() }.map(\.tag))
    return fixture.mappings.filter { $0.attributeMappings.contains { $0.name == "m" } }.reduce(0) { sum, mapping in
      sum
        + objects.count { object in
          object.entity == "B" && !["NULL", "1.5", "0"].contains(decimals[object.key]) && Self.takes(mapping, object)
            && !merged.contains(object.tag)
        }
    }
  }

  static func takes(_ mapping: EntityMapping, _ object: Object) -> Bool {
    guard mapping.sourceEntityName == object.entity else { return false }
    return switch mapping.filter?.source.text {
    case "n < 5": object.n < 5
    case "n >= 5": object.n >= 5
    case "n >= 3": object.n >= 3
    default: true
    }
  }

  // MARK: Mappings

  private mutating func mappings() throws -> [EntityMapping] {
    let filters: [String?] = [nil, "n < 5", "n >= 5", "n >= 3"]
    let whole = ["A", "B", "C"][random.below(3)]
    var found: [EntityMapping] = []
    for entity in ["A", "S", "B", "C"] {
      let count = entity == whole ? 1 + random.below(2) : random.chance(15) ? 0 : 1 + random.below(2)
      for number in 0..<count {
        let filter = entity == whole && number == 0 ? nil : filters[random.below(filters.count)]
        let destination = entity == "S" && random.chance(20) ? "A" : entity
        found.append(
          try .make(
            entity, destination, name: "\(entity)\(number)", filter: filter,
            attributes: values(of: entity, destination)))
      }
    }
    try mergeObjects(in: &found)
    for pair in Self.pairs { setLinks(pair, in: &found) }
    if let pairs { found.append(try pairs.mapping(others: found, &random)) }
    return found.shuffled(using: &random)
  }

  /// Makes one object of those with the same `n`, in an entity whose objects one mapping takes.
  private mutating func mergeObjects(in mappings: inout [EntityMapping]) throws {
    let single = mappings.indices.filter { place in
      mappings[place].sourceEntityName != "S"
        && mappings.count { $0.sourceEntityName == mappings[place].sourceEntityName } == 1
    }
    guard random.chance(50), let place = single.randomElement(using: &random) else { return }
    let orders: [[EntityMapping.SortDescriptor]] = [
      [], [.init("tag", ascending: false)], [.init("x"), .init("tag", ascending: false)],
      [.init(mappings[place].sourceEntityName == "B" ? "x" : "owner.x", ascending: false)],
    ]
    mappings[place].uniqueBy = ["n"]
    mappings[place].uniqueOrder = orders[random.below(orders.count)]
    mappings[place].fillsNil = random.chance(40)
    unique = mappings[place]
  }

  private mutating func values(of entity: String, _ destination: String) -> [String: String] {
    var found: [String: String] = ["tag": "$source.tag", "n": "$source.n"]
    let own = Self.attributes[entity] ?? []
    for name in Self.attributes[destination] ?? [] where random.chance(60) {
      found[name] = "$source." + (random.chance(80) ? name : own[random.below(own.count)])
    }
    let paths: [String: [String]] = [
      "A": ["owner.x", "owner.y"], "S": ["owner.x", "owner.y"],
      "C": ["whole.x", "whole.y", "whole.owner.x", "owner.y", "owner.x"],
    ]
    if entity == "B", random.chance(70) { found["m"] = "$source.m" }
    if entity == "C", placesParts { found["place"] = random.chance(50) ? "$index" : "$index.whole" }
    for name in ["e", "f"] where random.chance(30) {
      guard let choice = paths[entity]?.randomElement(using: &random) else { continue }
      found[name] = "$source." + choice
    }
    return found
  }

  /// Sets a pair of relationships from neither end, one, or both; or from one end along a longer path.
  private mutating func setLinks(_ pair: Pair, in mappings: inout [EntityMapping]) {
    if pair.name == "friends", pairs != nil { return }
    // The oracle knows links of the source only, and not those along a longer path.
    var style = random.below(pair.name == "owner" && pair.from == "C" && unique == nil ? 5 : 4)
    let isSorted = pair.name == "whole" && sortsParts
    if isSorted { style = 2 }
    let ends: [(entity: String, name: String, other: String)]
    switch style {
    case 0: return
    case 1, 4: ends = [(pair.from, pair.name, pair.to)]
    case 2: ends = [(pair.to, pair.inverse, pair.from)]
    default: ends = [(pair.from, pair.name, pair.to), (pair.to, pair.inverse, pair.from)]
    }
    for end in ends {
      let others = mappings.filter { Self.family(end.other).contains($0.sourceEntityName ?? "") }.map(\.name)
      for index in mappings.indices where Self.family(end.entity).contains(mappings[index].sourceEntityName ?? "") {
        guard random.chance(75) || isSorted else { continue }
        var value = RelationshipMapping.Value.sourceRelationship(end.name)
        // Both ends find the same only if both look everywhere.
        if style != 3, random.chance(50), let name = others.randomElement(using: &random) {
          value = .mapping(name, keyPath: [end.name])
        }
        if style == 4 {
          guard let name = others.randomElement(using: &random) else { continue }
          value = .mapping(name, keyPath: ["whole", "owner"])
        }
        var entry = RelationshipMapping(name: end.name, value: value)
        if isSorted { entry.order = [.init("n")] }
        mappings[index].relationshipMappings.append(entry)
      }
    }
  }
}

/// The content of the destination, by the tags of its objects.
struct LossRemains {
  var tags: Set<String> = []
  var values: Set<String> = []
  /// By the name of the pair's first relationship and its entity.
  var links: [String: Set<[String]>] = [:]
  /// The objects that were made of links: the tags of both ends, and those of the objects that they name.
  var pairs: [(c: String, b: String, ends: [String?])] = []
  /// The parts of each object that has some, in the order of the store.
  var parts: [(owner: String, parts: [String])] = []

  init(_ world: LossWorld) throws {
    let fixture = world.fixture
    let schema = StoreSchema(model: fixture.destination)
    for entity in ["A", "B", "C"] {
      let names = ["tag", "x", "y", "z", "e", "f"]
      // The columns of subentities are in the table of their root.
      let columns = names.filter { name in
        LossWorld.family(entity).contains { schema.column(of: name, in: $0) != nil }
      }
      let list = columns.map { "Z" + $0.uppercased() }.joined(separator: ", ")
      for row in try fixture.rows("SELECT \(list) FROM source.Z\(entity)") {
        let cells = row.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
        tags.insert(cells[0])
        values.formUnion(cells.dropFirst())
      }
    }
    let made =
      "SELECT p.ZTAG, p.ZOTHER, c.ZTAG, b.ZTAG, p.ZX, p.ZY FROM source.ZP AS p LEFT JOIN source.ZC AS c ON c.Z_PK = p.ZC "
      + "LEFT JOIN source.ZB AS b ON b.Z_PK = p.ZB"
    for row in try fixture.rows(made) {
      let cells = row.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
      pairs.append((cells[0], cells[1], cells[2...3].map { $0 == "nil" ? nil : $0 }))
      values.formUnion(cells[4...])
    }
    for pair in LossWorld.pairs {
      let sql: String
      switch schema.storage(of: pair.name, in: pair.from) {
      case .foreignKey(_, let column, _, _):
        sql =
          "SELECT h.ZTAG, t.ZTAG FROM source.Z\(pair.from) AS h JOIN source.Z\(pair.to) AS t ON t.Z_PK = h.\(column)"
      case .join(let join, let subject, let object, _):
        sql =
          "SELECT h.ZTAG, t.ZTAG FROM source.\(join.name) AS j JOIN source.Z\(pair.from) AS h ON h.Z_PK = j.\(subject) "
          + "JOIN source.Z\(pair.to) AS t ON t.Z_PK = j.\(object)"
      default: continue
      }
      links[pair.from + pair.name] = Set(
        try fixture.rows(sql).map { $0.split(separator: "|").map(String.init) })
    }
    guard world.keepsOrder, case .foreignKey(_, let column, _, let order?) = schema.storage(of: "whole", in: "C")
    else { return }
    var byOwner: [String: (owner: String, parts: [String])] = [:]
    let ordered = try fixture.rows(
      "SELECT a.Z_PK, a.ZTAG, c.ZTAG FROM source.ZC AS c JOIN source.ZA AS a ON a.Z_PK = c.\(column) "
        + "ORDER BY a.Z_PK, c.\(order)")
    for row in ordered {
      let cells = row.split(separator: "|").map(String.init)
      byOwner[cells[0], default: (cells[1], [])].parts.append(cells[2])
    }
    parts = byOwner.sorted { $0.key < $1.key }.map(\.value)
  }
}
