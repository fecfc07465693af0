import Foundation
import GodwitModel
import TestSupport
import Testing

/// A relationship with its inverse, in a random model.
struct RandomPair {
  struct End {
    var entity: String
    var name: String
    var isToMany: Bool
    var isOrdered = false
  }

  var a: End
  /// nil: no inverse.
  var b: End?
  var isOwnInverse = false

  var ends: [End] { [a] + (b.map { [$0] } ?? []) }
}

struct RandomObject {
  var entity: String
  var key: Int64
  var id: Int64
  var n: Int64?
  /// Keys by relationship, in the order of the relationship.
  var links: [String: [Int64]] = [:]
}

/// Two random models, objects of the first, and mappings to the second.
struct RandomWorld {
  var source: ManagedObjectModel
  var destination: ManagedObjectModel
  var sourcePairs: [RandomPair]
  var destinationPairs: [RandomPair]
  var mappings: [EntityMapping] = []
  var objects: [RandomObject] = []
  /// Whether relationships of the destination are set from those of the source that have their names.
  var isMirrored: Bool
  var filters: [(RandomObject) -> Bool] = []

  static func relationships(_ pairs: [RandomPair], _ entity: String) -> [RelationshipDescription] {
    var list: [RelationshipDescription] = []
    for pair in pairs {
      func side(_ own: RandomPair.End, _ other: RandomPair.End?, target: String) {
        guard own.entity == entity else { return }
        list.append(
          own.isToMany
            ? .toMany(own.name, target, inverse: other?.name, ordered: own.isOrdered)
            : .toOne(own.name, target, inverse: other?.name))
      }
      if pair.isOwnInverse {
        side(pair.a, pair.a, target: entity)
      } else if let b = pair.b {
        side(pair.a, b, target: b.entity)
        side(b, pair.a, target: pair.a.entity)
      } else {
        side(pair.a, nil, target: pair.a.entity)
      }
    }
    return list
  }

  static func pairs(_ entities: [String], prefix: String, count: Int, isSource: Bool, _ random: inout SeededGenerator)
    -> [RandomPair]
  {
    (0..<count).map { number in
      let (x, y) = (entities[random.below(entities.count)], entities[random.below(entities.count)])
      // Names are drawn so that either end may sort first.
      let names = ["\(prefix)\(number)x", "\(prefix)\(number)y"].shuffled(using: &random)
      if !isSource, random.chance(10) {
        return RandomPair(a: .init(entity: x, name: names[0], isToMany: false), b: nil)
      }
      if random.chance(10) {
        return RandomPair(a: .random(x, names[0], toMany: 60, &random), b: nil, isOwnInverse: true)
      }
      return RandomPair(
        a: .random(x, names[0], toMany: 50, &random), b: .random(y, names[1], toMany: 60, &random))
    }
  }

  /// Pairs of the same names, so that each can be set from the one it is named for, from both sides.
  static func mirrors(of pairs: [RandomPair], _ random: inout SeededGenerator) -> [RandomPair] {
    pairs.map { pair in
      func end(_ own: RandomPair.End) -> RandomPair.End {
        let entity = own.entity.replacingOccurrences(of: "E", with: "F")
        if random.chance(80) {
          return .init(
            entity: entity, name: own.name, isToMany: own.isToMany, isOrdered: own.isToMany && random.chance(50))
        }
        return .random(entity, own.name, toMany: 60, &random)
      }
      guard let b = pair.b else {
        return RandomPair(a: end(pair.a), b: nil, isOwnInverse: pair.isOwnInverse)
      }
      var mirror = RandomPair(a: end(pair.a), b: end(b))
      // With another name a to-many is set from its inverse only.
      if random.chance(40) {
        if mirror.b?.isToMany == true { mirror.b?.name += "z" } else { mirror.a.name += "z" }
      }
      return mirror
    }
  }
}

extension RandomPair.End {
  fileprivate static func random(
    _ entity: String, _ name: String, toMany percent: Int, _ random: inout SeededGenerator
  ) -> Self {
    let isToMany = random.chance(percent)
    return .init(entity: entity, name: name, isToMany: isToMany, isOrdered: isToMany && random.chance(40))
  }
}

extension RandomWorld {
  /// - Parameter hops: How many relationships a look-up follows; drawn from these.
  init(_ random: inout SeededGenerator, hops: [Int] = [0, 1, 1, 1, 1, 2]) throws {
    let sourceNames = ["E0", "E1", "E2"]
    let destinationNames = ["F0", "F1", "F2"]
    sourcePairs = Self.pairs(sourceNames, prefix: "s", count: 1 + random.below(3), isSource: true, &random)
    isMirrored = random.chance(50)
    destinationPairs =
      isMirrored
      ? Self.mirrors(of: sourcePairs, &random)
      : Self.pairs(destinationNames, prefix: "d", count: 1 + random.below(2), isSource: false, &random)
    let (sp, dp) = (sourcePairs, destinationPairs)
    let inheritsS = random.chance(40)
    let inheritsD = isMirrored ? inheritsS : random.chance(40)
    source = try ManagedObjectModel(
      name: "1",
      entities: sourceNames.map { name in
        let inherits = inheritsS && name == "E2"
        return .make(
          name, parent: inherits ? "E1" : nil, inherits ? [:] : ["id": .integer64, "n": .integer64],
          Self.relationships(sp, name))
      })
    destination = try ManagedObjectModel(
      name: "2",
      entities: destinationNames.map { name in
        let inherits = inheritsD && name == "F2"
        return .make(
          name, parent: inherits ? "F1" : nil, inherits ? [:] : ["tag": .integer64, "n": .integer64],
          Self.relationships(dp, name))
      })
    populate(&random)
    try map(&random, hops: hops)
  }

  mutating func populate(_ random: inout SeededGenerator) {
    var id: Int64 = 1
    var used: [String: Set<Int64>] = [:]
    for entity in ["E0", "E1", "E2"] {
      let root = source.root(of: entity)?.name ?? entity
      for _ in 0..<random.below(9) {
        let key = Int64.random(in: random.chance(10) ? -20...20 : 1...30, using: &random)
        guard used[root, default: []].insert(key).inserted else { continue }
        objects.append(
          RandomObject(entity: entity, key: key, id: id, n: random.chance(15) ? nil : Int64(random.below(5))))
        id += 1
      }
    }
    for pair in sourcePairs {
      let left = objects.indices.filter { source.isKind(objects[$0].entity, of: pair.a.entity) }
      let right = objects.indices.filter { source.isKind(objects[$0].entity, of: (pair.b ?? pair.a).entity) }
      var taken: (a: Set<Int>, b: Set<Int>) = ([], [])
      var seen: Set<[Int]> = []
      for _ in 0..<random.below(20) {
        guard let x = left.randomElement(using: &random), let y = right.randomElement(using: &random) else { break }
        if pair.isOwnInverse, pair.a.isToMany {
          guard seen.insert([min(x, y), max(x, y)]).inserted else { continue }
          objects[x].links[pair.a.name, default: []].append(objects[y].key)
          if x != y { objects[y].links[pair.a.name, default: []].append(objects[x].key) }
          continue
        }
        if pair.isOwnInverse {
          guard x != y, !taken.a.contains(x), !taken.a.contains(y) else { continue }
          taken.a.formUnion([x, y])
          objects[x].links[pair.a.name] = [objects[y].key]
          objects[y].links[pair.a.name] = [objects[x].key]
          continue
        }
        guard let b = pair.b, seen.insert([x, y]).inserted else { continue }
        if !pair.a.isToMany, taken.a.contains(x) { continue }
        if !b.isToMany, taken.b.contains(y) { continue }
        taken.a.insert(x)
        taken.b.insert(y)
        objects[x].links[pair.a.name, default: []].append(objects[y].key)
        objects[y].links[b.name, default: []].append(objects[x].key)
      }
    }
  }

  private mutating func map(_ random: inout SeededGenerator, hops: [Int]) throws {
    let count = isMirrored ? 4 + random.below(2) : 2 + random.below(4)
    var ends: [(from: String, to: String)] = []
    for index in 0..<count {
      let number = random.below(3)
      let (from, to) =
        isMirrored
        ? ("E\(index < 3 ? index : number)", "F\(index < 3 ? index : number)")
        : ("E\(number)", "F\(random.below(3))")
      ends.append((from, to))
      var filter: String?
      var test: (RandomObject) -> Bool = { _ in true }
      let limit = Int64(random.below(5))
      switch random.below(isMirrored && index < 3 ? 14 : 7) {
      case 0: (filter, test) = ("n < \(limit)", { $0.n.map { $0 < limit } ?? false })
      case 1: (filter, test) = ("NOT n < \(limit)", { $0.n.map { $0 >= limit } ?? false })
      case 2: (filter, test) = ("n == nil OR n IN {1, 3}", { $0.n.map { $0 == 1 || $0 == 3 } ?? true })
      default: break
      }
      mappings.append(
        try .make(
          from, to, name: "M\(index)", kind: random.chance(isMirrored ? 50 : 10) ? .copy : .transform, filter: filter,
          uniqueBy: random.chance(20) ? ["n"] : [],
          attributes: ["tag": "$source.id * 100 + \(index)", "n": "$source.n"]))
      mappings[index].mergesNil = !mappings[index].uniqueBy.isEmpty && index.isMultiple(of: 2)
      if !mappings[index].uniqueBy.isEmpty {
        // The order of ids is not that of keys.
        let orders: [[EntityMapping.SortDescriptor]] = [
          [], [.init("id")], [.init("n"), .init("id", ascending: false)],
        ]
        mappings[index].uniqueOrder = orders[random.below(3)]
        mappings[index].fillsNil = random.chance(30)
      }
      filters.append(test)
    }
    for index in 0..<count {
      for relationship in destination.relationships(of: ends[index].to) where random.chance(isMirrored ? 80 : 65) {
        if isMirrored, random.chance(95) {
          guard mappings[index].kind != .copy, source.relationship(relationship.name, of: ends[index].from) != nil
          else { continue }
          mappings[index].relationshipMappings.append(
            RelationshipMapping(name: relationship.name, value: .sourceRelationship(relationship.name)))
          continue
        }
        for _ in 0..<12 {
          var entity = ends[index].from
          var path: [String] = []
          for _ in 0..<hops[random.below(hops.count)] {
            guard let hop = source.relationships(of: entity).randomElement(using: &random) else { break }
            path.append(hop.name)
            entity = hop.destinationEntityName
          }
          if path.count == 1, random.chance(50) {
            mappings[index].relationshipMappings.append(
              RelationshipMapping(name: relationship.name, value: .sourceRelationship(path[0])))
            break
          }
          let fitting = (0..<count).filter {
            (path.isEmpty ? ends[$0].from == entity : source.isKind(ends[$0].from, of: entity))
              && destination.isKind(ends[$0].to, of: relationship.destinationEntityName)
          }
          guard let other = fitting.randomElement(using: &random) else { continue }
          mappings[index].relationshipMappings.append(
            RelationshipMapping(name: relationship.name, value: .mapping("M\(other)", keyPath: path)))
          break
        }
      }
    }
  }
}
