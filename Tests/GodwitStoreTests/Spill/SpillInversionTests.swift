import Foundation
import TestSupport
import Testing

@testable import GodwitStore

struct SpillInversionTests {
  @Test(arguments: Shape.allCases) func `an inverted spill file holds the swapped pairs, sorted`(_ shape: Shape) throws
  {
    let folder = try TemporaryFolder()
    let reader = try SpillReader(path: folder.file("a.spill"), mark: write([shape.pairs], to: folder.file("a.spill")))
    let expected = shape.pairs.map { Pair($0.destination, $0.source) }
      .sorted { ($0.source, $0.destination) < ($1.source, $1.destination) }
    // Runs of 100 pairs and four at a time need several passes.
    for (runPairs, fanIn) in [(100, 4), (100, 1000), (1 << 20, 4)] {
      let target = folder.file("b.spill")
      let mark = try reader.inverted(into: target, runPairs: runPairs, fanIn: fanIn, cacheBytes: 1 << 20)
      #expect(try all(SpillReader(path: target, mark: mark)) == expected, "\(runPairs) pairs, \(fanIn) runs")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["a.spill", "b.spill"])
  }

  @Test func `inverting chunks within one megabyte finds every source`() throws {
    let folder = try TemporaryFolder()
    let chunks = (0..<4).map { (chunk: Int64) -> [Pair] in
      (0..<20_000).map { (row: Int64) -> Pair in Pair(row * 4 + chunk, row % 1000) }
    }
    let path = folder.file("a.spill")
    let reader = try SpillReader(path: path, mark: try write(chunks, to: path), cacheBytes: 1 << 20)
    let mark = try reader.inverted(into: folder.file("b.spill"), memory: 1 << 20)
    let inverse = try SpillReader(path: folder.file("b.spill"), mark: mark)
    #expect(inverse.pairCount == 80_000)
    #expect(try inverse.destinations(of: 17) == all(reader).filter { $0.destination == 17 }.map(\.source))
    #expect(try inverse.destinations(of: 17).count == 80)
  }
}
