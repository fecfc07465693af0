import Foundation
import GodwitStore
import TestSupport
import Testing

struct Pair: Hashable {
  var source: Int64
  var destination: Int64
  init(_ source: Int64, _ destination: Int64) {
    self.source = source
    self.destination = destination
  }
}

/// Writes each list as a chunk; sorts it first, keeping the order of equal keys.
@discardableResult
func write(_ chunks: [[Pair]], to path: String) throws -> SpillMark {
  let writer = try SpillWriter(path: path)
  for chunk in chunks {
    for pair in stable(chunk) { try writer.append(source: pair.source, destination: pair.destination) }
    _ = try writer.flushChunk()
  }
  try writer.close()
  return writer.mark
}

func stable(_ pairs: [Pair]) -> [Pair] {
  pairs.enumerated().sorted { ($0.element.source, $0.offset) < ($1.element.source, $1.offset) }.map(\.element)
}

func all(_ reader: SpillReader) throws -> [Pair] {
  var result: [Pair] = []
  try reader.forEachPair { result.append(Pair($0, $1)) }
  return result
}

func readBytes(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path))) }

func writeBytes(_ bytes: [UInt8], _ path: String) throws { try Data(bytes).write(to: URL(filePath: path)) }

/// Runs `lz4 -t`, nil when lz4 is not installed.
func lz4Test(_ path: String) throws -> Int32? {
  guard let tool = ["/usr/bin/lz4", "/usr/local/bin/lz4"].first(where: FileManager.default.isExecutableFile) else {
    return nil
  }
  let process = Process()
  process.executableURL = URL(filePath: tool)
  process.arguments = ["-t", "-q", path]
  process.standardError = FileHandle.nullDevice
  try process.start()
  process.wait()
  return process.terminationStatus
}

/// Shapes of associations.
enum Shape: String, CaseIterable {
  case dense, gaps, random, negative, extremes, oneToMany, manyToOne, sameKey, single

  var pairs: [Pair] {
    var random = SeededGenerator(seed: 42)
    switch self {
    case .dense: return (0..<2000).map { Pair($0 + 5, $0 + 900) }
    case .gaps: return (1...2000).filter { $0 % 50 != 0 }.enumerated().map { Pair(Int64($1), Int64($0)) }
    case .random:
      return (0..<3000).map { _ in
        Pair(.random(in: .min ... .max, using: &random), .random(in: .min ... .max, using: &random))
      }
    case .negative: return (-1500..<1500).map { Pair($0 * 7, -$0 * 3) }
    case .extremes:
      return [
        Pair(.min, .max), Pair(.min, .min), Pair(.min + 1, .min), Pair(0, .max), Pair(.max - 1, .min),
        Pair(.max, .max), Pair(.max, .min),
      ]
    case .oneToMany: return (0..<1000).flatMap { key in (0..<(key % 4)).map { Pair(key, key * 10 + $0) } }
    case .manyToOne: return (0..<3000).map { Pair($0 * 2, $0 / 7) }
    case .sameKey: return (0..<2000).map { Pair(77, 5000 - $0) }
    case .single: return [Pair(3, 4)]
    }
  }
}

struct SpillRoundTripTests {
  @Test(arguments: Shape.allCases) func `pairs are read back as written, by stream and by lookup`(_ shape: Shape)
    throws
  {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    let pairs = shape.pairs
    let mark = try write([pairs], to: path)
    let reader = try SpillReader(path: path, mark: mark)
    #expect(reader.pairCount == Int64(pairs.count))
    #expect(try all(reader) == stable(pairs))
    try expectLookups(reader, stable(pairs), shape.rawValue)
    if let status = try lz4Test(path) { #expect(status == 0) }
  }

  @Test func `chunks whose keys overlap are merged, and equal keys keep the order of appending`() throws {
    for seed in UInt64(1)...TestTier.choose(3, long: 8) {
      let folder = try TemporaryFolder()
      let path = folder.file("a.spill")
      var random = SeededGenerator(seed: seed)
      let chunks = (0..<Int.random(in: 1...9, using: &random)).map { _ in
        (0..<Int.random(in: 0...700, using: &random)).map { _ in
          Pair(.random(in: -60...60, using: &random), .random(in: 0...1_000_000, using: &random))
        }
      }
      let mark = try write(chunks, to: path)
      let expected = stable(chunks.flatMap { stable($0) })
      // A cache that holds one frame makes each group decompress its frame again.
      for cacheBytes in [1, 1 << 20] {
        let reader = try SpillReader(path: path, mark: mark, cacheBytes: cacheBytes)
        #expect(try all(reader) == expected, "seed \(seed)")
        try expectLookups(reader, expected, "seed \(seed)")
      }
    }
  }

  @Test func `a key that fills several frames gives its first destination and all destinations`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    let pairs = (0..<140_000).map { (row: Int64) -> Pair in
      let source: Int64 = row < 10 ? 1 : row < 139_000 ? 2 : .max
      return Pair(source, row * 3)
    }
    let reader = try SpillReader(path: path, mark: try write([pairs], to: path))
    #expect(reader.frameCount == 3)
    #expect(try reader.lookup(source: 2) == 30)
    #expect(try reader.lookup(source: .max) == 417_000)
    #expect(try reader.lookup(source: .max) == 417_000)
    #expect(try reader.destinations(of: 2) == pairs.filter { $0.source == 2 }.map(\.destination))
  }

  @Test func `an empty chunk adds no bytes, and an empty file can be read`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    #expect(try write([[], []], to: path) == .empty)
    let reader = try SpillReader(path: path, mark: .empty)
    #expect(try reader.lookup(source: 1) == nil)
    #expect(try reader.destinations(of: 1) == [])
    #expect(try all(reader) == [])
    #expect(try reader.inverted(into: folder.file("b.spill"), memory: 1) == .empty)
  }

  @Test func `200,000 pairs are looked up in ascending and in random order`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    let writer = try SpillWriter(path: path)
    for index in Int64(0)..<200_000 {
      try writer.append(source: index * 3, destination: (index &* 7_919) % 200_003)
      if index % 30_000 == 0 { _ = try writer.flushChunk() }
    }
    let mark = try writer.flushChunk()
    let reader = try SpillReader(path: path, mark: mark)
    var wrong = 0
    for key in Int64(0)..<600_000 {
      let expected = key % 3 == 0 ? (key / 3 &* 7_919) % 200_003 : nil
      if try reader.lookup(source: key) != expected { wrong += 1 }
    }
    var random = SeededGenerator(seed: 9)
    for _ in 0..<2000 {
      let key = Int64.random(in: -10...600_010, using: &random)
      let expected = key % 3 == 0 && (0..<600_000).contains(key) ? (key / 3 &* 7_919) % 200_003 : nil
      if try reader.lookup(source: key) != expected { wrong += 1 }
    }
    #expect(wrong == 0)
    if let status = try lz4Test(path) { #expect(status == 0) }
  }

  private func expectLookups(_ reader: SpillReader, _ sorted: [Pair], _ comment: String) throws {
    let naive = Dictionary(grouping: sorted, by: \.source).mapValues { $0.map(\.destination) }
    var wrong: [Int64] = []
    for key in sorted.map(\.source) where try reader.lookup(source: key) != naive[key]?.first { wrong.append(key) }
    var random = SeededGenerator(seed: 5)
    for key in naive.keys.sorted().shuffled(using: &random) {
      for near in [key, key &+ 1, key &- 1] {
        if try reader.lookup(source: near) != naive[near]?.first { wrong.append(near) }
      }
    }
    for key in naive.keys.sorted().shuffled(using: &random).prefix(100) {
      for near in [key, key &+ 1] {
        if try reader.destinations(of: near) != naive[near] ?? [] { wrong.append(near) }
      }
    }
    #expect(wrong == [], "\(comment)")
  }
}
