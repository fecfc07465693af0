import GodwitModel
import GodwitStore

/// The expected objects of a destination table in the order of keys, from several mappings.
struct MadeObjects {
  struct Object {
    var mapping: MappingID
    var source: Int64
    var key: Int64
  }

  private var walks: [(mapping: MappingID, walk: Counterparts.Walk)] = []
  private var heads: [Object?] = []

  /// - Parameters:
  ///   - mappings: In the order in which they claim keys: the first keeps one that several lead to.
  ///   - first: The objects begin at or before this key.
  init(_ mappings: [MappingID], _ counterparts: [Counterparts], from first: Int64) throws {
    for mapping in mappings {
      walks.append((mapping, try counterparts[mapping].walk(from: first)))
      heads.append(nil)
    }
    for index in walks.indices { try advance(index) }
  }

  private mutating func advance(_ index: Int) throws {
    heads[index] = try walks[index].walk.next().map {
      Object(mapping: walks[index].mapping, source: $0.source, key: $0.destination)
    }
  }

  mutating func next() throws -> Object? {
    var first: Int?
    for index in heads.indices {
      guard let head = heads[index] else { continue }
      if let found = first, let best = heads[found] {
        if head.key == best.key {
          try advance(index)
          // The next head has another key, because keys of one mapping differ, and may not be the lowest.
          continue
        }
        if head.key < best.key { first = index }
      } else {
        first = index
      }
    }
    guard let first, let object = heads[first] else { return nil }
    try advance(first)
    return object
  }
}
