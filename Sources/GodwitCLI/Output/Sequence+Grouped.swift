extension Sequence {
  /// The elements by their keys: the groups, and the elements of each, are in the order of the sequence.
  func grouped<Key: Hashable>(by key: (Element) -> Key) -> [(key: Key, elements: [Element])] {
    let groups = Dictionary(grouping: self, by: key)
    var seen: Set<Key> = []
    return map(key).filter { seen.insert($0).inserted }.map { (key: $0, elements: groups[$0] ?? []) }
  }
}
