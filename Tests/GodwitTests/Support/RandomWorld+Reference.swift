import GodwitModel

/// The relationship semantics of the design, object by object: create everything, then run all assignments in
/// mapping order, source key, property name, each as `setValue` would.
struct RandomWorldReference {
  struct Made {
    var mapping: Int
    /// The key of the source object that gives it its values.
    var key: Int64
    /// All source keys it stands for, the lowest first.
    var sources: [Int64]
    var tag: Int64
  }
  struct Edge: Hashable {
    var a: Int64
    var b: Int64
    var flipped: Edge { Edge(a: b, b: a) }
  }
  /// Where the object at one end stands among those of the other.
  struct Place {
    /// Which assignments give places that compare with this one; nil: none.
    var way: String?
    var number: Int
  }
  /// The places that the last assignment gives an edge.
  struct Places {
    /// That of `b` among the objects of `a`, and the reverse.
    var ofB: Place
    var ofA: Place
    var flipped: Places { Places(ofB: ofA, ofA: ofB) }
  }
  var made: [Made] = []
  var links: [String: [Edge: Places]] = [:]

  func edges(_ name: String) -> Set<Edge> { Set((links[name] ?? [:]).keys) }
}

extension RandomWorld {
  func object(_ entity: String, _ key: Int64) -> RandomObject? {
    let root = source.root(of: entity)?.name
    return objects.first { $0.key == key && source.root(of: $0.entity)?.name == root }
  }

  func reference() -> RandomWorldReference {
    var result = RandomWorldReference()
    for (index, mapping) in mappings.enumerated() {
      let from = mapping.sourceEntityName ?? ""
      var byValue: [Int64?: Int] = [:]
      let first = result.made.count
      for object in objects.filter({ $0.entity == from && filters[index]($0) }).sorted(by: { $0.key < $1.key }) {
        if !mapping.uniqueBy.isEmpty, mapping.mergesNil || object.n != nil {
          if let known = byValue[object.n] {
            result.made[known].sources.append(object.key)
            let tag = object.id * 100 + Int64(index)
            if let descriptor = mapping.uniqueOrder.last, descriptor.isAscending == (tag < result.made[known].tag) {
              (result.made[known].key, result.made[known].tag) = (object.key, tag)
            }
            continue
          }
          byValue[object.n] = result.made.count
        }
        result.made.append(
          .init(mapping: index, key: object.key, sources: [object.key], tag: object.id * 100 + Int64(index)))
      }
      // Assignments follow the keys of the objects that give the values.
      result.made[first...].sort { $0.key < $1.key }
    }
    for made in result.made {
      for assignment in assignments(of: mappings[made.mapping]).sorted(by: { $0.name < $1.name }) {
        assign(assignment, of: made, &result)
      }
    }
    return result
  }

  /// The assignments that a mapping writes, and those that a copy takes over.
  private func assignments(of mapping: EntityMapping) -> [RelationshipMapping] {
    let from = mapping.sourceEntityName ?? ""
    guard mapping.kind == .copy else { return mapping.relationshipMappings }
    return mapping.relationshipMappings
      + destination.relationships(of: mapping.destinationEntityName ?? "").filter { relationship in
        !mapping.relationshipMappings.contains { $0.name == relationship.name }
          && source.relationship(relationship.name, of: from) != nil
      }.map { RelationshipMapping(name: $0.name, value: .sourceRelationship($0.name)) }
  }

  private typealias Found = (made: RandomWorldReference.Made, places: RandomWorldReference.Places)

  private func assign(
    _ assignment: RelationshipMapping, of made: RandomWorldReference.Made, _ result: inout RandomWorldReference
  ) {
    let mapping = mappings[made.mapping]
    guard let relationship = destination.relationship(assignment.name, of: mapping.destinationEntityName ?? ""),
      let number = destinationPairs.firstIndex(where: { $0.ends.contains { $0.name == assignment.name } })
    else { return }
    let pair = destinationPairs[number]
    var found: [Found] = []
    for key in relationship.isToMany ? made.sources : [made.key] {
      found += look(assignment.value, from: made, key, relationship, result)
    }
    found.sort { ($0.made.mapping, $0.made.key) < ($1.made.mapping, $1.made.key) }
    if !relationship.isToMany { found = Array(found.prefix(1)) }
    let isFirst = pair.a.name == assignment.name
    var links = result.links[pair.a.name] ?? [:]
    func clear(_ tag: Int64, isFirst: Bool) {
      links = links.filter {
        ($0.key.a != tag || !isFirst && !pair.isOwnInverse) && ($0.key.b != tag || isFirst && !pair.isOwnInverse)
      }
    }
    clear(made.tag, isFirst: isFirst)
    let inverse = isFirst && !pair.isOwnInverse ? pair.b : pair.a
    for one in found {
      if inverse.map({ !$0.isToMany }) ?? false { clear(one.made.tag, isFirst: !isFirst) }
    }
    for one in found {
      let edge = RandomWorldReference.Edge(a: made.tag, b: one.made.tag)
      if isFirst { links[edge] = one.places }
      if !isFirst || pair.isOwnInverse && edge.a != edge.b { links[edge.flipped] = one.places.flipped }
    }
    result.links[pair.a.name] = links
  }

  private func isOrdered(_ name: String) -> Bool {
    sourcePairs.contains { $0.ends.contains { $0.name == name && $0.isOrdered } }
  }

  private func look(
    _ value: RelationshipMapping.Value, from owner: RandomWorldReference.Made, _ key: Int64,
    _ relationship: RelationshipDescription, _ result: RandomWorldReference
  ) -> [Found] {
    var (entity, keys) = (mappings[owner.mapping].sourceEntityName ?? "", [key])
    let first = object(entity, key)
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
    let hop = path.first ?? ""
    let back =
      sourcePairs.lazy.compactMap { pair -> String? in
        guard let b = pair.isOwnInverse ? pair.a : pair.b else { return nil }
        return pair.a.name == hop ? b.name : b.name == hop ? pair.a.name : nil
      }.first ?? ""
    // Objects of several sources, and those along several relationships, come in no order that compares.
    let isPlain = owner.sources.count == 1 && (path.count < 2 || !path.contains(where: isOrdered))
    return keys.flatMap { key -> [Found] in
      guard let object = object(entity, key) else { return [] }
      return result.made.filter { made in
        let mapping = mappings[made.mapping]
        return mapping.sourceEntityName == object.entity && made.sources.contains(key)
          && (only == nil || mapping.name == only)
          && destination.isKind(mapping.destinationEntityName ?? "", of: relationship.destinationEntityName)
      }.map { made in
        func place(_ name: String, in list: [Int64]?, _ key: Int64?, else mapping: Int) -> RandomWorldReference.Place {
          guard isPlain, made.sources.count == 1 else { return .init(way: nil, number: 0) }
          guard path.count == 1, isOrdered(name), let key, let number = list?.firstIndex(of: key) else {
            return .init(way: "mapping", number: mapping)
          }
          return .init(way: name, number: number)
        }
        return (
          made,
          .init(
            ofB: place(hop, in: first?.links[hop], key, else: made.mapping),
            ofA: place(back, in: object.links[back], first?.key, else: owner.mapping))
        )
      }
    }
  }
}
