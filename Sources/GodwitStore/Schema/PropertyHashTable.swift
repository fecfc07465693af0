import GodwitModel

/// The order in which Core Data meets names in a hash table, read from the first slot up.
///
/// Measured on the archived models of stores (`Decisions.md`): the hash is that of CFString, the numbers of slots are
/// those of CFBasicHash, and a name whose slot is taken goes into the next free one.
enum PropertyHashTable {
  /// Numbers of slots with the most names that each takes.
  private static let sizes: [(names: Int, slots: Int)] = [
    (3, 3), (6, 7), (11, 13), (19, 23), (32, 41), (52, 71), (85, 127), (118, 191), (155, 251), (237, 383), (390, 631),
    (672, 1087), (1065, 1723), (1732, 2803), (2795, 4523),
  ]

  /// Names longer than this are hashed in three blocks of 32 units: no such name was there to check it with.
  private static let longest = 96

  static func hash(_ text: String) -> UInt64 {
    let units = text.utf16.map(UInt64.init)
    let count = units.count
    var result = UInt64(count)
    if count <= longest {
      mix(units[...], into: &result)
    } else {
      for start in [0, count / 2 - 16, count - 32] { mix(units[start..<start + 32], into: &result) }
    }
    return result &+ (result &<< UInt64(count & 31))
  }

  private static func mix(_ units: ArraySlice<UInt64>, into result: inout UInt64) {
    var rest = units
    while rest.count >= 4 {
      let four = rest.prefix(4).reduce(0) { $0 &* 257 &+ $1 }
      result = result &* 67_503_105 &+ four
      rest = rest.dropFirst(4)
    }
    for unit in rest { result = result &* 257 &+ unit }
  }

  /// The names as the table has them, from its first slot up.
  ///
  /// - Parameter names: Distinct, in the order in which they go in.
  static func order(of names: [String]) -> [String] {
    // More properties than any table that was seen: an odd number about half as large again.
    let slots = sizes.first { names.count <= $0.names }?.slots ?? names.count * 8 / 5 | 1
    var table = [String?](repeating: nil, count: slots)
    for name in names {
      var slot = Int(hash(name) % UInt64(slots))
      while table[slot] != nil { slot = (slot + 1) % slots }
      table[slot] = name
    }
    return table.compactMap(\.self)
  }
}

extension ManagedObjectModel {
  /// What decides the order of an entity's properties: their names and kinds in the order in which they go into the
  /// table, inherited ones too.
  struct PropertyLine: Hashable {
    enum Kind: Int {
      case attribute, transientAttribute, toOne, transientToOne, toMany, transientToMany, orderedToMany,
        transientOrderedToMany, fetched
    }
    var kind: Kind
    /// Of the entity that declares it; 0 for the root.
    var depth: Int
    var name: String

    static func precedes(_ a: PropertyLine, _ b: PropertyLine) -> Bool {
      (a.kind.rawValue, a.depth, Text(a.name)) < (b.kind.rawValue, b.depth, Text(b.name))
    }
  }

  func propertyLines(of entity: String) -> [PropertyLine] {
    var lines: [PropertyLine] = []
    var seen: Set<String> = []
    for (depth, ancestor) in lineage(of: entity).reversed().enumerated() {
      for attribute in ancestor.attributes where seen.insert(attribute.name).inserted {
        let kind = attribute.isTransient ? PropertyLine.Kind.transientAttribute : .attribute
        lines.append(PropertyLine(kind: kind, depth: depth, name: attribute.name))
      }
      for relationship in ancestor.relationships where seen.insert(relationship.name).inserted {
        let kinds: (PropertyLine.Kind, PropertyLine.Kind) =
          !relationship.isToMany
          ? (.toOne, .transientToOne)
          : relationship.isOrdered ? (.orderedToMany, .transientOrderedToMany) : (.toMany, .transientToMany)
        lines.append(
          PropertyLine(
            kind: relationship.isTransient ? kinds.1 : kinds.0, depth: depth, name: relationship.name))
      }
      for fetched in ancestor.fetchedProperties where seen.insert(fetched.name).inserted {
        lines.append(PropertyLine(kind: .fetched, depth: depth, name: fetched.name))
      }
    }
    return lines.sorted(by: PropertyLine.precedes)
  }

  /// The places of an entity's properties in the table of its SQL entity, which has three names more.
  func propertyPlaces(of entity: String) -> [String: Int] {
    let names = ["Z_PK", "Z_ENT", "Z_OPT"] + propertyLines(of: entity).map(\.name)
    return Dictionary(PropertyHashTable.order(of: names).enumerated().map { ($1, $0) }) { first, _ in first }
  }

  /// The properties of an entity that a store holds, inherited ones too.
  func persistentPropertyCount(of entity: String) -> Int {
    propertyLines(of: entity).count { [.attribute, .toOne, .toMany, .orderedToMany].contains($0.kind) }
  }
}
