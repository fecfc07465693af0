import GodwitModel

/// The orders that decide names of join tables and their columns.
extension ManagedObjectModel {
  /// The place of each entity when Core Data visits all of them: by name, superentities first.
  var visits: [String: Int] {
    var visits: [String: Int] = [:]
    for entity in entities.sorted(by: { Text($0.name) < Text($1.name) }) {
      for ancestor in lineage(of: entity.name).reversed() where visits[ancestor.name] == nil {
        visits[ancestor.name] = visits.count
      }
    }
    return visits
  }

  /// A property of an entity, as far as orders depend on it.
  struct PropertyLine: Hashable {
    enum Kind: Int {
      case attribute, transientAttribute, toOne, transientToOne, toMany, transientToMany, orderedToMany,
        transientOrderedToMany, fetched
    }
    var kind: Kind
    /// The number of superentities of the entity that declares it.
    var depth: Int
    var name: String

    static func precedes(_ a: PropertyLine, _ b: PropertyLine) -> Bool {
      (a.kind.rawValue, a.depth, Text(a.name)) < (b.kind.rawValue, b.depth, Text(b.name))
    }
  }

  /// An entity's properties, inherited ones too, by kind, depth and name.
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

  /// The places of an entity's properties in the order in which a new file defines its join tables.
  func filePlaces(of entity: String) -> [String: Int] {
    let lines = propertyLines(of: entity)
    var table = PropertyHashTable<UInt64>(capacity: lines.count + lines.count { $0.kind == .toOne } + 3)
    for (key, line) in lines.enumerated() { table.insert(key, hash: PropertyHashTable<UInt64>.hash(line.name)) }
    return Dictionary(table.keys.enumerated().map { (lines[$1].name, $0) }) { first, _ in first }
  }

  /// The keys of the hash table that names follow.
  struct NameKeys {
    /// Stored properties in the order in which they go in.
    var names: [String]
    var hashes: [UInt32]
    /// The number of to-ones. Each has a key more, for its foreign key.
    var toOnes: Int
  }

  func nameKeys(of entity: String) -> NameKeys {
    let lines = propertyLines(of: entity)
    let attributes = lines.filter { $0.kind == .attribute }.map(\.name).sorted { Text($0) < Text($1) }
    let relationships = lines.filter { [.toOne, .toMany, .orderedToMany].contains($0.kind) }
      .map(\.name).sorted { Text($1) < Text($0) }
    let names = attributes + relationships
    return NameKeys(
      names: names, hashes: names.map(PropertyHashTable.hash), toOnes: lines.count { $0.kind == .toOne })
  }

  /// The places of an entity's properties in the order that names follow.
  ///
  /// Three keys of Core Data's own go in first; they and the foreign keys count, but their slots are not known.
  func namePlaces(of entity: String) -> [String: Int] {
    let keys = nameKeys(of: entity)
    var table = PropertyHashTable<UInt32>()
    for _ in 0..<3 { table.insert(0, hash: nil) }
    for (key, hash) in keys.hashes.enumerated() { table.insert(key, hash: hash) }
    for _ in 0..<keys.toOnes { table.insert(0, hash: nil) }
    return Dictionary(table.keys.enumerated().map { (keys.names[$1], $0) }) { first, _ in first }
  }

  /// How often the first of two properties comes before the second if every unknown fact about the table is chosen at
  /// random: the order in which keys are inserted, and the slots and number of Core Data's own keys.
  ///
  /// - Parameters:
  ///   - pairs: Properties of the entity.
  ///   - entity: The entity.
  /// - Returns: for each pair a share between 0 and 1, the same every time.
  func shares(of pairs: [(first: String, second: String)], in entity: String) -> [Double] {
    let keys = nameKeys(of: entity)
    let numbers = Dictionary(keys.names.enumerated().map { ($1, $0) }) { first, _ in first }
    var counts = pairs.map { _ in 0 }
    var random = FixedRandom()
    let fillings = 300
    for _ in 0..<fillings {
      var entries = Array(keys.hashes.enumerated())
      for _ in 0..<keys.toOnes + 2 + random.next(below: 3) {
        entries.append((offset: entries.count, element: UInt32(random.next(below: 1 << 32))))
      }
      for last in entries.indices.reversed() { entries.swapAt(last, random.next(below: last + 1)) }
      var table = PropertyHashTable<UInt32>()
      for entry in entries { table.insert(entry.offset, hash: entry.element) }
      var places = [Int](repeating: 0, count: entries.count)
      for (place, key) in table.keys.enumerated() { places[key] = place }
      for (index, pair) in pairs.enumerated() {
        guard let a = numbers[pair.first], let b = numbers[pair.second] else { continue }
        if places[a] < places[b] { counts[index] += 1 }
      }
    }
    return counts.map { Double($0) / Double(fillings) }
  }

  /// SplitMix64 with one seed.
  private struct FixedRandom {
    private var state: UInt64 = 1

    mutating func next(below limit: Int) -> Int {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return Int((mixed ^ (mixed >> 31)) % UInt64(limit))
    }
  }
}
