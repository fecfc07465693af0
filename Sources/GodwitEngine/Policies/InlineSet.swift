/// A set that is mostly empty or has few elements: those are kept in a list, which no hashing finds faster.
struct InlineSet<Element: Hashable> {
  private var list: [Element] = []
  private var many: Set<Element> = []
  private static var limit: Int { 8 }

  var count: Int { many.isEmpty ? list.count : many.count }
  var isEmpty: Bool { list.isEmpty }
  var elements: Set<Element> { many.isEmpty ? Set(list) : many }

  func contains(_ element: Element) -> Bool { many.isEmpty ? list.contains(element) : many.contains(element) }

  /// - Returns: false when the set already had it.
  mutating func insert(_ element: Element) -> Bool {
    guard many.isEmpty else { return many.insert(element).inserted }
    guard !list.contains(element) else { return false }
    list.append(element)
    if list.count > Self.limit { many = Set(list) }
    return true
  }

  mutating func removeAll() {
    list.removeAll(keepingCapacity: true)
    if !many.isEmpty { many = [] }
  }
}
