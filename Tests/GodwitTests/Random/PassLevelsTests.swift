import TestSupport
import Testing

@testable import GodwitEngine

struct PassLevelsTests {
  /// The levels by their definition: reachability first, then levels raised until every need is met.
  private static func raised(_ needs: [Set<Int>]) -> [Int] {
    var reach = needs
    var changes = true
    while changes {
      changes = false
      for node in needs.indices {
        let wider = reach[node].reduce(into: reach[node]) { $0.formUnion(reach[$1]) }
        if wider.count > reach[node].count { (reach[node], changes) = (wider, true) }
      }
    }
    var levels = Array(repeating: 0, count: needs.count)
    changes = true
    while changes {
      changes = false
      for node in needs.indices {
        for other in reach[node] {
          let wanted = reach[other].contains(node) ? levels[other] : levels[other] + 1
          if levels[node] < wanted { (levels[node], changes) = (wanted, true) }
        }
      }
    }
    return levels
  }

  @Test func `nodes of a circle share a level, above what they need`() {
    #expect(PassLevels(needs: []).levels == [])
    #expect(PassLevels(needs: [[1], [2], []]).levels == [2, 1, 0])
    #expect(PassLevels(needs: [[1], [2], [1, 3], [], [0]]).levels == [2, 1, 1, 0, 3])
    #expect(PassLevels(needs: [[1, 2], [0], []]).levels == [1, 1, 0])
  }

  @Test(arguments: testSeeds(40))
  func `random graphs have the levels of the definition`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let count = Int.random(in: 1...24, using: &generator)
    let edges = Int.random(in: 0...(2 * count), using: &generator)
    var needs = Array(repeating: Set<Int>(), count: count)
    for _ in 0..<edges {
      let (from, to) = (Int.random(in: 0..<count, using: &generator), Int.random(in: 0..<count, using: &generator))
      if from != to { needs[from].insert(to) }
    }
    #expect(PassLevels(needs: needs).levels == Self.raised(needs))
  }

  @Test func `a chain and a circle of thousands of nodes end at once`() {
    let count = TestTier.choose(20_000, long: 100_000)
    let chain = (0..<count).map { $0 + 1 < count ? Set([$0 + 1]) : [] }
    #expect(PassLevels(needs: chain).levels.first == count - 1)
    let circle = (0..<count).map { Set([($0 + 1) % count]) }
    #expect(Set(PassLevels(needs: circle).levels) == [0])
  }
}
