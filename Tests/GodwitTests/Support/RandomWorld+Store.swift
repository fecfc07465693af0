import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import Testing

extension RandomWorld {
  func write(to fixture: MigrationFixture) throws {
    try fixture.build { store in
      for object in objects {
        try store.insert(
          object.entity, key: object.key,
          attributes: ["id": .integer(object.id), "n": object.n.map { .integer($0) } ?? .null],
          relationships: object.links)
      }
    }
  }

  /// The links of a finished destination, as pairs of tags.
  func links(_ fixture: MigrationFixture) throws -> [String: Set<RandomWorldReference.Edge>] {
    let schema = StoreSchema(model: destination)
    let connection = try StoreConnection.openStore(readingAt: fixture.destinationPath)
    var result: [String: Set<RandomWorldReference.Edge>] = [:]
    for pair in destinationPairs {
      func read(_ sql: String, flipped: Bool = false) throws -> Set<RandomWorldReference.Edge> {
        var edges: Set<RandomWorldReference.Edge> = []
        try connection.query(sql) { row in
          edges.insert(flipped ? .init(a: row.int64(1), b: row.int64(0)) : .init(a: row.int64(0), b: row.int64(1)))
          return true
        }
        return edges
      }
      func table(_ entity: String) -> String { "source.\(quoted(schema.table(of: entity)?.name ?? ""))" }
      func held(_ own: RandomPair.End, _ target: String, flipped: Bool) throws -> Set<
        RandomWorldReference.Edge
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
        let b = pair.isOwnInverse ? pair.a : pair.b
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

  /// The objects of each ordered relationship of a finished destination, by name, then owner.
  func lists(_ fixture: MigrationFixture) throws -> [String: [Int64: [Int64]]] {
    let schema = StoreSchema(model: destination)
    let connection = try StoreConnection.openStore(readingAt: fixture.destinationPath)
    func table(_ entity: String) -> String { "source.\(quoted(schema.table(of: entity)?.name ?? ""))" }
    var lists: [String: [Int64: [Int64]]] = [:]
    for pair in destinationPairs {
      guard let b = pair.isOwnInverse ? pair.a : pair.b else { continue }
      for (own, other) in pair.isOwnInverse ? [(b, b)] : [(pair.a, b), (b, pair.a)] where own.isOrdered {
        let sql: String
        switch schema.storage(of: own.name, in: own.entity) {
        case .inverse(_, let column, _, let order?):
          sql =
            "SELECT o.ZTAG, m.ZTAG FROM \(table(other.entity)) AS m JOIN \(table(own.entity)) AS o ON o.Z_PK = m.\(column) ORDER BY m.\(order)"
        case .join(let join, let subject, let object, let order?):
          sql =
            "SELECT o.ZTAG, m.ZTAG FROM source.\(join.name) AS j JOIN \(table(own.entity)) AS o ON o.Z_PK = j.\(subject) JOIN \(table(other.entity)) AS m ON m.Z_PK = j.\(object) ORDER BY j.\(order)"
        default:
          Issue.record("no order column for \(own.name)")
          continue
        }
        var members: [Int64: [Int64]] = [:]
        try connection.query(sql) { row in
          members[row.int64(0), default: []].append(row.int64(1))
          return true
        }
        lists[own.name] = members
      }
    }
    return lists
  }

  /// The neighbours that stand in the wrong order, as text.
  func misplaced(_ lists: [String: [Int64: [Int64]]], _ reference: RandomWorldReference) -> [String] {
    let made = Dictionary(reference.made.map { ($0.tag, $0) }) { first, _ in first }
    var wrong: [String] = []
    for pair in destinationPairs {
      let links = reference.links[pair.a.name] ?? [:]
      for end in pair.ends {
        for (owner, members) in lists[end.name] ?? [:] {
          func place(_ member: Int64) -> RandomWorldReference.Place? {
            end.name == pair.a.name ? links[.init(a: owner, b: member)]?.ofB : links[.init(a: member, b: owner)]?.ofA
          }
          for (one, next) in zip(members, members.dropFirst()) {
            guard let a = place(one), let b = place(next), let way = a.way, way == b.way,
              let first = made[one], let second = made[next]
            else { continue }
            // One source object under two mappings has one place.
            if a.number == b.number, first.mapping != second.mapping { continue }
            if (a.number, first.key) > (b.number, second.key) {
              wrong.append("\(end.name) of \(owner): \(one) before \(next) by \(way), of \(members)")
            }
          }
        }
      }
    }
    return wrong.sorted()
  }

  var description: String {
    let mappings = MigrationJob.canonicalText(of: [MappingModel(entityMappings: mappings)])
    func text(_ pairs: [RandomPair]) -> String {
      pairs.map { pair in
        "\(pair.a.entity).\(pair.a.name)\(pair.a.mark)\(pair.isOwnInverse ? " own inverse" : "") - "
          + (pair.b.map { "\($0.entity).\($0.name)\($0.mark)" } ?? "none")
      }.joined(separator: "; ")
    }
    return "source \(text(sourcePairs))\ndestination \(text(destinationPairs))\n\(mappings)"
  }
}

extension RandomPair.End {
  fileprivate var mark: String { isToMany ? isOrdered ? "*>" : "*" : "" }
}
