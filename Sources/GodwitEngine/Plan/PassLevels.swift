/// The level of every node of a graph: above that of all nodes that it needs, except around a circle, whose nodes share
/// a level. Levels are as low as they can be, from 0.
///
/// Tarjan's algorithm without recursion, in time proportional to nodes and edges: it ends a group of nodes that need
/// each other only after all groups that the group needs.
struct PassLevels {
  private(set) var levels: [Int]
  private let needs: [[Int]]
  /// When a node was first visited, from 1; 0 before.
  private var visits: [Int]
  /// The earliest visit that a node on the stack reaches.
  private var lowest: [Int]
  private var isOpen: [Bool]
  private var open: [Int] = []
  private var visitCount = 0

  /// - Parameter needs: For each node the nodes that it needs.
  init(needs: [Set<Int>]) {
    self.needs = needs.map { $0.sorted() }
    levels = Array(repeating: 0, count: needs.count)
    visits = levels
    lowest = levels
    isOpen = Array(repeating: false, count: needs.count)
    for node in needs.indices where visits[node] == 0 { search(from: node) }
  }

  private mutating func search(from start: Int) {
    var path: [(node: Int, next: Int)] = []
    enter(start, &path)
    while let (node, next) = path.last {
      if next < needs[node].count {
        path[path.count - 1].next += 1
        let other = needs[node][next]
        if visits[other] == 0 {
          enter(other, &path)
        } else if isOpen[other] {
          lowest[node] = min(lowest[node], visits[other])
        }
        continue
      }
      path.removeLast()
      if let parent = path.last?.node { lowest[parent] = min(lowest[parent], lowest[node]) }
      if lowest[node] == visits[node] { close(node) }
    }
  }

  private mutating func enter(_ node: Int, _ path: inout [(node: Int, next: Int)]) {
    visitCount += 1
    (visits[node], lowest[node], isOpen[node]) = (visitCount, visitCount, true)
    open.append(node)
    path.append((node, 0))
  }

  /// Ends the group of nodes that were entered since `first`.
  private mutating func close(_ first: Int) {
    let start = open.lastIndex(of: first) ?? 0
    // A copy of its own: a slice would make each removal copy the whole stack.
    let group = Array(open[start...])
    for node in group { isOpen[node] = false }
    let members = Set(group)
    var level = 0
    for node in group {
      for other in needs[node] where !members.contains(other) { level = max(level, levels[other] + 1) }
    }
    for node in group { levels[node] = level }
    open.removeSubrange(start...)
  }
}
