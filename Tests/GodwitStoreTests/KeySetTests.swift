import GodwitModel
import GodwitStore
import TestSupport
import Testing

@Suite struct KeySetTests {
  private func set(_ keys: some Sequence<Int64>) -> KeySet {
    let set = KeySet()
    for key in keys { set.append(key) }
    set.finish()
    return set
  }

  @Test func `an empty key set contains nothing`() {
    let empty = set([])
    #expect(empty.count == 0)
    for key: Int64 in [.min, -1, 0, 1, .max] { #expect(!empty.contains(key)) }
  }

  @Test(
    arguments: [
      [7], [-3, -2, -1, 0, 1], [.min, .max], [.min, .min + 1, 5, .max - 1, .max], [0, 65535, 65536, 131_072],
      [1, 2, 3, 5], [-70_000, -65_537, -65_536, -1, 0],
    ] as [[Int64]])
  func `a key set contains its keys and not their neighbours`(_ keys: [Int64]) {
    let set = set(keys)
    #expect(set.count == Int64(keys.count))
    for key in keys {
      #expect(set.contains(key))
      for near in [key &- 1, key &+ 1, key &- 65536, key &+ 65536] {
        #expect(set.contains(near) == keys.contains(near), "\(near)")
      }
    }
  }

  @Test func `key sets of runs, bitmaps and lists agree with a Swift set`() {
    for (step, holes) in [(1, 0), (1, 97), (3, 0), (40, 5), (70_000, 3)] as [(Int64, Int64)] {
      let all = (-5_000..<20_000).lazy.map { Int64($0) * step }
      let keys = holes == 0 ? Array(all) : all.filter { ($0 / step) % holes != 0 }
      let (set, known) = (set(keys), Set(keys))
      for probe in stride(from: Int64(-5_100) * step, to: 20_100 * step, by: Int(max(1, step / 2))) {
        guard set.contains(probe) == known.contains(probe) else {
          Issue.record("step \(step), holes \(holes), key \(probe)")
          break
        }
      }
    }
  }

  /// Stretches of every density at random places, so that there are groups of each kind and of each mix at their ends.
  @Test(arguments: TestTier.sample(Array(1...40), each: 20))
  func `random key sets agree with a Swift set and take no more than estimated`(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    var keys: Set<Int64> = []
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
      let start =
        [
          Int64.random(in: -200_000...200_000, using: &generator), Int64.random(in: .min...(.max), using: &generator),
          .min, .max - 150_000,
        ].randomElement(using: &generator) ?? 0
      let percent = [1, 5, 6, 7, 50, 93, 94, 95, 99, 100].randomElement(using: &generator) ?? 100
      for step in 0..<Int64.random(in: 1...150_000, using: &generator)
      where Int.random(in: 0..<100, using: &generator) < percent {
        let (key, overflow) = start.addingReportingOverflow(step)
        if !overflow { keys.insert(key) }
      }
    }
    let sorted = keys.sorted()
    guard let first = sorted.first, let last = sorted.last else { return }
    let set = set(sorted)
    #expect(set.bytes <= KeySet.bytes(keys: set.count, from: first, through: last))
    let edges = [Int64.min, -65_537, -65_536, -1, 0, 65_535, 65_536, .max]
    let random = (0..<20_000).map { _ in Int64.random(in: .min...(.max), using: &generator) }
    for near in sorted + edges + random {
      for probe in [near &- 1, near, near &+ 1] {
        guard set.contains(probe) == keys.contains(probe) else {
          Issue.record("seed \(seed): key \(probe)")
          return
        }
      }
    }
  }

  @Test func `the size estimate of a key set is not too small`() {
    #expect(KeySet.bytes(keys: 60_000_000, from: 1, through: 60_000_000) < 100)
    #expect(KeySet.bytes(keys: 40_000_000, from: 1, through: 64_000_000) >= 64_000_000 / 8)
    // A hole takes two bytes.
    #expect(KeySet.bytes(keys: 63_000_000, from: 1, through: 64_000_000) < 64_000_000 / 28)
    #expect(KeySet.bytes(keys: .max, from: .min, through: .max) >= .max / 16)
    #expect(KeySet.bytes(keys: 1_000, from: .min, through: .max) >= 1_000 * 34)
    #expect(KeySet.bytes(keys: 2, from: .min, through: .max) < 1_000)
    // A damaged index counts more keys than there is room for.
    #expect(KeySet.bytes(keys: 9, from: 1, through: 4) >= 4 * 2)
  }
}

@Suite struct RowFunctionTests {
  private func connection(_ functions: RowFunctions) throws -> StoreConnection {
    let connection = try StoreConnection(path: nil)
    try connection.register(functions)
    return connection
  }

  @Test func `a row passes its checks if every value has its type and range`() throws {
    let functions = RowFunctions()
    let connection = try connection(functions)
    var small = RowCheck.Field(reading: .integer16, site: 3)
    small.range = -32768...32767
    let whole = try #require(RowCheck.Field(storing: .integer32, site: 4))
    let uuid = try #require(RowCheck.Field(storing: .uuid, site: 5))
    func passes(_ field: RowCheck.Field, _ value: String) -> Bool {
      functions.checks = [RowCheck(fields: [field])]
      functions.memberRows = [0, 0]
      functions.misfit = nil
      let result = try? connection.integer("SELECT godwit_row(0, 1, 40, 41, \(value))")
      #expect((functions.misfit == nil) == (result == 41), "\(value)")
      if let misfit = functions.misfit { #expect((misfit.site, misfit.key) == (field.site, 40)) }
      #expect(functions.memberRows == [0, result == nil ? 0 : 1])
      return result != nil
    }
    for value in ["NULL", "1", "-32768", "32767"] { #expect(passes(small, value), "\(value)") }
    for value in ["32768", "-32769", "1.0", "'1'", "x'01'"] { #expect(!passes(small, value), "\(value)") }
    for value in ["NULL", "7", "7.0", "-2147483648.0"] { #expect(passes(whole, value), "\(value)") }
    for value in ["7.5", "2147483648.0", "1e300", "'7'", "9223372036854775807"] { #expect(!passes(whole, value)) }
    let wide = try #require(RowCheck.Field(storing: .integer64, site: 4))
    #expect(passes(wide, "-9223372036854774784.0") && passes(wide, "(-9223372036854775807 - 1)"))
    #expect(!passes(wide, "-9223372036854775808.0") && !passes(wide, "9223372036854775808.0"))
    #expect(passes(uuid, "zeroblob(16)") && passes(uuid, "NULL"))
    #expect(!passes(uuid, "zeroblob(15)") && !passes(uuid, "'0123456789abcdef'"))
    let decimal = RowCheck.Field(reading: .decimal, site: 1)
    #expect(passes(decimal, "'NaN'") && passes(decimal, "1") && passes(decimal, "1.5"))
    #expect(!passes(decimal, "'nan'") && !passes(decimal, "x'4E614E'"))
    #expect(RowCheck.Field(storing: .boolean, site: 0) == nil)
    #expect(RowCheck.Field(reading: .undefined, site: 0).isVoid)
  }

  @Test func `row flags are counted alone and in pairs`() throws {
    let functions = RowFunctions()
    let connection = try connection(functions)
    try connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v INTEGER)")
    try connection.execute("INSERT INTO t VALUES (-9, 1), (-2, NULL), (3, 6), (4, 2), (7, 3), (9, 0), (11, 12)")
    func tally(_ filter: String) throws -> RowTally {
      let text = try connection.rows(
        "SELECT godwit_tally(k, (v % 2 = 0) IS TRUE, (v > 2) IS TRUE, (v % 3 = 0) IS TRUE) FROM t WHERE \(filter)"
      ).first?.first
      guard case .text(let bytes)? = text else { return RowTally(nil, flags: 3) }
      return RowTally(String(decoding: bytes, as: UTF8.self), flags: 3)
    }
    let found = try tally("1")
    #expect(found.all == .init(rows: 7, minimumKey: -9, maximumKey: 11))
    #expect(found.flagged == 5)
    #expect(
      found.flags == [
        .init(rows: 4, minimumKey: 3, maximumKey: 11), .init(rows: 3, minimumKey: 3, maximumKey: 11),
        .init(rows: 4, minimumKey: 3, maximumKey: 11),
      ])
    #expect(found.pairs == [[0, 1]: 2, [0, 2]: 3, [1, 2]: 3])
    #expect(try tally("0") == RowTally(flags: 3))
  }
}
