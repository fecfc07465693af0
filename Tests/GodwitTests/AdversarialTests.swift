import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// SplitMix64: the same numbers for the same seed on every machine.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678 }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<max(1, limit), using: &self) }
}

/// `GODWIT_SEED` runs one seed, `GODWIT_RUNS` so many.
func adversarialSeeds(_ count: Int) -> [UInt64] {
  let environment = ProcessInfo.processInfo.environment
  if let seed = environment["GODWIT_SEED"].flatMap(UInt64.init) { return [seed] }
  let runs = environment["GODWIT_RUNS"].flatMap(Int.init) ?? count
  return (0..<UInt64(max(1, runs))).map { $0 }
}

/// A relationship with its inverse, in a random model.
private struct Pair {
  var a: (entity: String, name: String, isToMany: Bool)
  /// nil: no inverse.
  var b: (entity: String, name: String, isToMany: Bool)?
  var isOwnInverse = false
}

private struct SourceObject {
  var entity: String
  var key: Int64
  var id: Int64
  var n: Int64?
  /// Keys by relationship.
  var links: [String: [Int64]] = [:]
}

/// The relationship semantics of the design, object by object: create everything, then run all assignments in
/// mapping order, source key, property name, each as `setValue` would.
private struct Reference {
  struct Made {
    var mapping: Int
    var key: Int64
    /// All source keys it stands for, the lowest first.
    var sources: [Int64]
    var tag: Int64
  }
  struct Edge: Hashable {
    var a: Int64
    var b: Int64
  }
  var made: [Made] = []
  var edges: [String: Set<Edge>] = [:]
  var several: Int64 = 0
}

private struct World {
  var source: ManagedObjectModel
  var destination: ManagedObjectModel
  var sourcePairs: [Pair]
  var destinationPairs: [Pair]
  var mappings: [EntityMapping] = []
  var objects: [SourceObject] = []
  var filters: [(SourceObject) -> Bool] = []

  static func relationships(_ pairs: [Pair], _ entity: String) -> [RelationshipDescription] {
    var list: [RelationshipDescription] = []
    for pair in pairs {
      func side(
        _ own: (entity: String, name: String, isToMany: Bool), _ other: (entity: String, name: String, isToMany: Bool)?,
        target: String
      ) {
        guard own.entity == entity else { return }
        list.append(
          own.isToMany
            ? .toMany(own.name, target, inverse: other?.name) : .toOne(own.name, target, inverse: other?.name))
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
    -> [Pair]
  {
    (0..<count).map { number in
      let (x, y) = (entities[random.below(entities.count)], entities[random.below(entities.count)])
      // Names are drawn so that either end may sort first.
      let names = ["\(prefix)\(number)x", "\(prefix)\(number)y"].shuffled(using: &random)
      if !isSource, random.chance(10) { return Pair(a: (x, names[0], false), b: nil) }
      if random.chance(10) { return Pair(a: (x, names[0], false), b: nil, isOwnInverse: true) }
      return Pair(a: (x, names[0], random.chance(50)), b: (y, names[1], random.chance(60)))
    }
  }
}

extension World {
  init(_ random: inout SeededGenerator) throws {
    let sourceNames = ["E0", "E1", "E2"]
    let destinationNames = ["F0", "F1", "F2"]
    sourcePairs = Self.pairs(sourceNames, prefix: "s", count: 1 + random.below(3), isSource: true, &random)
    destinationPairs = Self.pairs(destinationNames, prefix: "d", count: 1 + random.below(2), isSource: false, &random)
    let (sp, dp) = (sourcePairs, destinationPairs)
    let (inheritsS, inheritsD) = (random.chance(40), random.chance(40))
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
    try map(&random)
  }

  private mutating func populate(_ random: inout SeededGenerator) {
    var id: Int64 = 1
    var used: [String: Set<Int64>] = [:]
    for entity in ["E0", "E1", "E2"] {
      let root = source.root(of: entity)?.name ?? entity
      for _ in 0..<random.below(9) {
        let key = Int64.random(in: random.chance(10) ? -20...20 : 1...30, using: &random)
        guard used[root, default: []].insert(key).inserted else { continue }
        objects.append(
          SourceObject(entity: entity, key: key, id: id, n: random.chance(15) ? nil : Int64(random.below(5))))
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

  private mutating func map(_ random: inout SeededGenerator) throws {
    let count = 2 + random.below(4)
    var ends: [(from: String, to: String)] = []
    for index in 0..<count {
      let (from, to) = ("E\(random.below(3))", "F\(random.below(3))")
      ends.append((from, to))
      var filter: String?
      var test: (SourceObject) -> Bool = { _ in true }
      let limit = Int64(random.below(5))
      switch random.below(7) {
      case 0: (filter, test) = ("n < \(limit)", { $0.n.map { $0 < limit } ?? false })
      case 1: (filter, test) = ("NOT n < \(limit)", { $0.n.map { $0 >= limit } ?? false })
      case 2: (filter, test) = ("n == nil OR n IN {1, 3}", { $0.n.map { $0 == 1 || $0 == 3 } ?? true })
      default: break
      }
      mappings.append(
        try .make(
          from, to, name: "M\(index)", filter: filter, uniqueBy: random.chance(20) ? ["n"] : [],
          attributes: ["tag": "$source.id * 100 + \(index)", "n": "$source.n"]))
      filters.append(test)
    }
    for index in 0..<count {
      for relationship in destination.relationships(of: ends[index].to) where random.chance(65) {
        for _ in 0..<12 {
          var entity = ends[index].from
          var path: [String] = []
          for _ in 0..<[0, 1, 1, 1, 1, 2][random.below(6)] {
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

  func object(_ entity: String, _ key: Int64) -> SourceObject? {
    let root = source.root(of: entity)?.name
    return objects.first { $0.key == key && source.root(of: $0.entity)?.name == root }
  }

  func reference() -> Reference {
    var result = Reference()
    for (index, mapping) in mappings.enumerated() {
      let from = mapping.sourceEntityName ?? ""
      var byValue: [Int64?: Int] = [:]
      for object in objects.filter({ $0.entity == from && filters[index]($0) }).sorted(by: { $0.key < $1.key }) {
        if !mapping.uniqueBy.isEmpty {
          if let known = byValue[object.n] {
            result.made[known].sources.append(object.key)
            continue
          }
          byValue[object.n] = result.made.count
        }
        result.made.append(
          .init(mapping: index, key: object.key, sources: [object.key], tag: object.id * 100 + Int64(index)))
      }
    }
    for made in result.made {
      let mapping = mappings[made.mapping]
      for assignment in mapping.relationshipMappings.sorted(by: { $0.name < $1.name }) {
        guard let relationship = destination.relationship(assignment.name, of: mapping.destinationEntityName ?? "")
        else { continue }
        var found: [Reference.Made] = []
        for key in relationship.isToMany ? made.sources : [made.key] {
          found += look(assignment.value, from: mapping.sourceEntityName ?? "", key, relationship, result)
        }
        var tags: [Int64] = []
        for one in found.sorted(by: { ($0.mapping, $0.key) < ($1.mapping, $1.key) }) where !tags.contains(one.tag) {
          tags.append(one.tag)
        }
        if !relationship.isToMany, tags.count > 1 {
          result.several += 1
          tags = [tags[0]]
        }
        assign(assignment.name, of: made.tag, tags, &result)
      }
    }
    return result
  }

  private func look(
    _ value: RelationshipMapping.Value, from: String, _ key: Int64, _ relationship: RelationshipDescription,
    _ result: Reference
  ) -> [Reference.Made] {
    var (entity, keys) = (from, [key])
    var path: [String] = []
    var only: String?
    switch value {
    case .mapping(let name, let segments): (only, path) = (name, segments)
    case .sourceRelationship(let name): path = [name]
    case .expression: break
    }
    for segment in path {
      keys = keys.flatMap { object(entity, $0)?.links[segment] ?? [] }
      entity = source.relationship(segment, of: entity)?.destinationEntityName ?? ""
    }
    return keys.flatMap { key -> [Reference.Made] in
      guard let object = object(entity, key) else { return [] }
      return result.made.filter { made in
        let mapping = mappings[made.mapping]
        return mapping.sourceEntityName == object.entity && made.sources.contains(key)
          && (only == nil || mapping.name == only)
          && destination.isKind(mapping.destinationEntityName ?? "", of: relationship.destinationEntityName)
      }
    }
  }

  private func assign(_ name: String, of tag: Int64, _ targets: [Int64], _ result: inout Reference) {
    guard let number = destinationPairs.firstIndex(where: { $0.a.name == name || $0.b?.name == name }) else { return }
    let pair = destinationPairs[number]
    let key = pair.a.name
    var edges = result.edges[key] ?? []
    if pair.isOwnInverse {
      for end in [tag] + targets { edges = edges.filter { $0.a != end && $0.b != end } }
      for target in targets {
        edges.insert(.init(a: tag, b: target))
        edges.insert(.init(a: target, b: tag))
      }
    } else if pair.a.name == name {
      edges = edges.filter { $0.a != tag }
      if let b = pair.b, !b.isToMany { edges = edges.filter { !targets.contains($0.b) } }
      for target in targets { edges.insert(.init(a: tag, b: target)) }
    } else {
      edges = edges.filter { $0.b != tag }
      if !pair.a.isToMany { edges = edges.filter { !targets.contains($0.a) } }
      for target in targets { edges.insert(.init(a: target, b: tag)) }
    }
    result.edges[key] = edges
  }

  func write(to fixture: MigrationFixture) throws {
    try fixture.build { store in
      for object in objects {
        var links: [String: [Int64]] = [:]
        for pair in sourcePairs {
          guard let targets = object.links[pair.a.name], source.isKind(object.entity, of: pair.a.entity) else {
            continue
          }
          links[pair.a.name] = targets
        }
        // The other end of a one-to-one holds a key too; a to-one end is named wherever it lies.
        for pair in sourcePairs {
          guard let b = pair.b, !b.isToMany, !pair.a.isToMany, let targets = object.links[b.name] else { continue }
          links[b.name] = targets
        }
        try store.insert(
          object.entity, key: object.key,
          attributes: ["id": .integer(object.id), "n": object.n.map { .integer($0) } ?? .null], relationships: links)
      }
    }
  }

  /// The links of a finished destination, as pairs of tags.
  func links(_ fixture: MigrationFixture) throws -> [String: Set<Reference.Edge>] {
    let schema = StoreSchema(model: destination)
    let connection = try StoreConnection.openStore(readingAt: fixture.destinationPath)
    var result: [String: Set<Reference.Edge>] = [:]
    for pair in destinationPairs {
      func read(_ sql: String, flipped: Bool = false) throws -> Set<Reference.Edge> {
        var edges: Set<Reference.Edge> = []
        try connection.query(sql) { row in
          edges.insert(flipped ? .init(a: row.int64(1), b: row.int64(0)) : .init(a: row.int64(0), b: row.int64(1)))
          return true
        }
        return edges
      }
      func table(_ entity: String) -> String { "source.\(quoted(schema.table(of: entity)?.name ?? ""))" }
      func held(_ own: (entity: String, name: String, isToMany: Bool), _ target: String, flipped: Bool) throws -> Set<
        Reference.Edge
      >? {
        guard case .foreignKey(_, let column, let entityColumn, _) = schema.storage(of: own.name, in: own.entity) else {
          return nil
        }
        if let entityColumn {
          let wrong = try connection.integer(
            "SELECT COUNT(*) FROM \(table(own.entity)) AS h LEFT JOIN \(table(target)) AS t ON t.Z_PK = h.\(column) WHERE t.Z_ENT IS NOT h.\(entityColumn)"
          )
          #expect(wrong == 0, "entity column of \(own.name)")
        }
        return try read(
          "SELECT h.ZTAG, t.ZTAG FROM \(table(own.entity)) AS h LEFT JOIN \(table(target)) AS t ON t.Z_PK = h.\(column) WHERE h.\(column) IS NOT NULL",
          flipped: flipped)
      }
      if case .join(let join, let subject, let object, _) = schema.storage(of: pair.a.name, in: pair.a.entity),
        let b = pair.b
      {
        result[pair.a.name] = try read(
          "SELECT x.ZTAG, y.ZTAG FROM source.\(join.name) AS j LEFT JOIN \(table(pair.a.entity)) AS x ON x.Z_PK = j.\(subject) LEFT JOIN \(table(b.entity)) AS y ON y.Z_PK = j.\(object)"
        )
        continue
      }
      let forward = try held(pair.a, (pair.b ?? pair.a).entity, flipped: false)
      let backward = try pair.b.flatMap { try held($0, pair.a.entity, flipped: true) }
      if let forward, let backward { #expect(forward == backward, "both ends of \(pair.a.name)") }
      result[pair.a.name] = forward ?? backward ?? []
    }
    return result
  }

  var description: String {
    let mappings = MigrationJob.canonicalText(of: [MappingModel(entityMappings: mappings)])
    func text(_ pairs: [Pair]) -> String {
      pairs.map { pair in
        "\(pair.a.entity).\(pair.a.name)\(pair.a.isToMany ? "*" : "")\(pair.isOwnInverse ? " own inverse" : "") - "
          + (pair.b.map { "\($0.entity).\($0.name)\($0.isToMany ? "*" : "")" } ?? "none")
      }.joined(separator: "; ")
    }
    return "source \(text(sourcePairs))\ndestination \(text(destinationPairs))\n\(mappings)"
  }
}

@Suite struct AdversarialTests {
  @Test func `links equal those of assigning them one by one`() throws {
    for seed in adversarialSeeds(40) {
      var random = SeededGenerator(seed: seed)
      let world = try World(&random)
      let fixture = try MigrationFixture(world.source, to: world.destination)
      fixture.mappings = world.mappings
      fixture.chunkRows = [1, 2, 3, 5, 1000][random.below(5)]
      try world.write(to: fixture)
      let reference = world.reference()
      let summary: MigrationSummary
      do { summary = try MigrationManager(fixture.job).run() } catch {
        Issue.record("seed \(seed): \(error)\n\(world.description)")
        continue
      }
      #expect(summary.objects == Int64(reference.made.count), "seed \(seed)")
      let report = try Verifier(job: fixture.job).run()
      if !report.isClean { Issue.record("seed \(seed): the verifier reports \(report)\n\(world.description)") }
      let found = try world.links(fixture)
      var differs = false
      for pair in world.destinationPairs {
        let expected = reference.edges[pair.a.name] ?? []
        if found[pair.a.name] != expected {
          differs = true
          let missing = expected.subtracting(found[pair.a.name] ?? []).map { "\($0.a)-\($0.b)" }.sorted()
          let extra = (found[pair.a.name] ?? []).subtracting(expected).map { "\($0.a)-\($0.b)" }.sorted()
          Issue.record("seed \(seed): \(pair.a.name) misses \(missing), has \(extra)")
        }
      }
      if differs { Issue.record("seed \(seed):\n\(world.description)") }
    }
  }
}
