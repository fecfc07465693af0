import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitVerifier

struct RankedKeySetTests {
  private func keys(_ keys: [Int64], limit: ByteCount = .mebibytes(1)) throws -> (RankedKeySet, StoreConnection) {
    let scratch = try StoreConnection(path: nil)
    let taken = RankedKeySet(scratch: scratch, table: "keys", limit: limit)
    for key in keys { try taken.append(key) }
    taken.finish()
    return (taken, scratch)
  }

  /// Sets with runs, gaps, full groups, negative and extreme keys.
  private static func sets() -> [[Int64]] {
    var random = SeededGenerator(seed: 7)
    var sets: [[Int64]] = [
      [], [5], [.min], [.max], [.min, .max], [-3, -2, -1, 0, 1], Array(1...70_000), Array(1...10) + [12],
      Array(stride(from: Int64(-100_000), through: 100_000, by: 2)), Array(65_530...65_545) + [200_000],
      [.min, 0, 1, .max - 1, .max],
    ]
    for _ in 0..<10 {
      let width = Int64(1 + random.below(1 << 20))
      sets.append(Set((0..<2000).map { _ in Int64(random.below(Int(width))) - width / 2 }).sorted())
    }
    return sets
  }

  @Test(arguments: [ByteCount.mebibytes(1), .init(bytes: 100)])
  func `a set has its keys, their ranks and their order, in memory and in a table`(limit: ByteCount) throws {
    for set in Self.sets() {
      let (taken, scratch) = try keys(set, limit: limit)
      defer { withExtendedLifetime(scratch) {} }
      #expect(taken.count == Int64(set.count))
      var walk = try taken.walk()
      var walked: [Int64] = []
      while let key = try walk.next() { walked.append(key) }
      #expect(walked == set)
      for (rank, key) in set.enumerated().filter({ $0.offset % 37 == 0 || set.count < 100 }) {
        #expect(try taken.rank(key) == Int64(rank) && taken.contains(key))
        #expect(taken.key(ofRank: Int64(rank)) == (taken.isSpilled && !taken.isRun ? nil : key))
      }
      #expect(taken.key(ofRank: Int64(set.count)) == nil && taken.key(ofRank: -1) == nil)
      for first in set.prefix(40) + set.suffix(3) {
        for first in [first &- 1, first, first &+ 1] {
          var rest = try taken.walk(from: first)
          #expect(try rest.next() == set.first { $0 >= first }, "from \(first)")
        }
      }
      let known = Set(set)
      for key in set.prefix(500).flatMap({ [$0 &- 1, $0 &+ 1, $0 &+ 65_536] }) where !known.contains(key) {
        #expect(try !taken.contains(key) && taken.rank(key) == nil)
      }
    }
  }

  @Test func `two sets intersect when a key is in both`() throws {
    let even = try keys(Array(stride(from: 0, through: 1000, by: 2)))
    let odd = try keys(Array(stride(from: 1, through: 1001, by: 2)))
    let some = try keys([3, 500, 2000])
    defer { withExtendedLifetime([even.1, odd.1, some.1]) {} }
    #expect(try !even.0.intersects(odd.0) && even.0.intersects(some.0) && odd.0.intersects(some.0))
  }

  @Test func `a sum of pairs tells two sets apart, and not two orders of one`() {
    let empty = PairSum()
    var (first, second, other) = (empty, empty, empty)
    for key in Int64(1)...1000 {
      first.add(key, key * 3)
      second.add(1001 - key, (1001 - key) * 3)
      other.add(key, key == 500 ? 1501 : key * 3)
    }
    #expect(first == second && first != other && first.count == other.count)
    var swapped = empty
    for key in Int64(1)...1000 { swapped.add(key * 3, key) }
    #expect(first != swapped)
  }

  @Test(arguments: [[1, 2, 2], [5, 3], [1, 3, 2], [100, 101, 1], [.max, .min]] as [[Int64]])
  func `keys that do not ascend are refused`(set: [Int64]) throws {
    #expect(throws: GodwitError.self) { try keys(set) }
  }

  @Test func `a sample takes about its share of ranges, and all of them at 100`() {
    let sample = KeySample(percent: 20, salt: 5)
    let taken = (Int64(-5000)..<5000).count { sample.contains($0 << 8) }
    #expect((1800...2200).contains(taken))
    #expect(sample.contains(256) == sample.contains(511))
    let all = KeySample(percent: 100, salt: 5)
    #expect((Int64(0)..<5000).allSatisfy { all.contains($0 << 8) })
  }
}
