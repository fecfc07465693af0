import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Random jobs over values of all kinds: what comes out is what a reference in Swift says, and `verify` finds it right.
///
/// The reference shares no code with Godwit: it has the values from before they were stored. `GODWIT_RUNS` runs so many
/// seeds, `GODWIT_SEED` one.
@Suite struct RandomJobTests {
  private struct Row: Sendable {
    var key: Int64
    var i: Int64?
    var m: Decimal?
    var d: Double?
    var s: String?
    var t: Double?
    var b: Bool?
    var u: UUID?
    /// The content of the column for a true boolean.
    var truth: Int64 = 1
    /// A whole number in a column of floating point.
    var w = 0.0
  }

  private typealias Expected = @Sendable (Row) -> SQLValue
  private struct Rule: Sendable {
    var text: String
    var value: Expected
    init(_ text: String, _ value: @escaping Expected) { (self.text, self.value) = (text, value) }
  }

  private static func number(_ value: Decimal?) -> SQLValue {
    guard let value else { return .null }
    return Int64(value.description).map { .integer($0) } ?? .real(Double(value.description) ?? .nan)
  }

  private static let tenth = Decimal(1) / 10

  /// By attribute of the destination.
  private static let rules: [String: [Rule]] = [
    "i": [
      Rule("$source.i") { $0.i.map { .integer($0) } ?? .null },
      Rule("$source.b") { row in row.b.map { .integer($0 ? 1 : 0) } ?? .null },
      Rule("$source.w") { .integer(Int64($0.w)) },
      Rule("TERNARY($source.i > 0, $source.i - 1, 7)") { row in
        row.i.map { $0 > 0 ? .integer($0 - 1) : .integer(7) } ?? .integer(7)
      },
      Rule("TERNARY($source.i > 0, $source.i / 3, nil)") { row in
        row.i.flatMap { $0 > 0 ? .integer($0 / 3) : nil } ?? .null
      },
    ],
    "m": [
      Rule("$source.m") { number($0.m) },
      Rule("$source.m + 0.1") { row in number(row.m.map { $0 + tenth }) },
      Rule("$source.m * $source.m - 1") { row in number(row.m.map { $0 * $0 - 1 }) },
      Rule("TERNARY($source.m > 57.13, $source.m, nil)") { row in
        number(row.m.flatMap { $0 > Decimal(5713) / 100 ? $0 : nil })
      },
      Rule("-$source.m / 4") { row in number(row.m.map { -$0 / 4 }) },
    ],
    "d": [
      Rule("$source.d") { $0.d.map { .real($0) } ?? .null },
      Rule("$source.b") { row in row.b.map { .real($0 ? 1 : 0) } ?? .null },
      Rule("$source.d / 3") { row in row.d.map { .real($0 / 3) } ?? .null },
      Rule("$source.d + $source.i") { row in
        guard let d = row.d, let i = row.i else { return .null }
        return .real(d + Double(i))
      },
    ],
    "s": [
      Rule("$source.s") { $0.s.map { .text(Array($0.utf8)) } ?? .null },
      Rule("TERNARY($source.s BEGINSWITH 'a', 'A', $source.s)") { row in
        row.s.map { .text(Array(($0.utf8.first == UInt8(ascii: "a") ? "A" : $0).utf8)) } ?? .null
      },
    ],
    "t": [
      Rule("$source.t") { $0.t.map { .real($0) } ?? .null },
      Rule("$source.t + 86400") { row in row.t.map { .real($0 + 86400) } ?? .null },
      Rule("now() + 1") { _ in .real(moment + 1) },
    ],
    "b": [
      Rule("$source.b") { row in row.b.map { .integer($0 ? 1 : 0) } ?? .null },
      Rule("TERNARY($source.b == YES, NO, YES)") { row in .integer(row.b == true ? 0 : 1) },
    ],
    "u": [
      Rule("$source.u") { row in
        row.u.map { id in .blob(withUnsafeBytes(of: id.uuid) { Array($0) }) } ?? .null
      }
    ],
  ]

  /// The value of `now()` in the run. A proof must find it by itself.
  private static let moment = 712_345_678.123456

  private static let filters: [(text: String?, takes: @Sendable (Row) -> Bool)] = [
    (nil, { _ in true }),
    ("m == 57.13 OR i < 5", { $0.m == Decimal(5713) / 100 || $0.i.map { $0 < 5 } ?? false }),
    ("NOT b == YES", { $0.b == false }),
    ("s != nil AND d >= 0", { $0.s != nil && $0.d.map { $0 >= 0 } ?? false }),
    ("m + 0.2 > 10.3", { row in row.m.map { $0 + tenth * 2 > Decimal(103) / 10 } ?? false }),
    ("b == 1 AND d < 100", { $0.b == true && $0.d.map { $0 < 100 } ?? false }),
    ("t < now() - 1", { $0.t.map { $0 < moment - 1 } ?? false }),
    ("i BETWEEN {2, 6}", { $0.i.map { $0 >= 2 && $0 <= 6 } ?? false }),
  ]

  private static let types: [String: AttributeType] = [
    "i": .integer64, "m": .decimal, "d": .double, "s": .string, "t": .date, "b": .boolean,
    "u": .uuid,
  ]

  private func rows(_ random: inout SeededGenerator) -> [Row] {
    let base: Int64 = [0, 0, 0, -40, (1 << 62), .max - 400][random.below(6)]
    var rows: [Row] = []
    var key = base
    let count = 1 + random.below(60)
    // Neighbours whose keys agree with a dense numbering, and one far away.
    let neighbours = random.chance(30) ? count - 1 : 0
    for place in 0..<count {
      key += place < neighbours ? 1 : Int64(1 + random.below(4))
      if neighbours > 8, place == neighbours { key = max(key, .max - 2) }
      func maybe<T>(_ value: T) -> T? { random.chance(15) ? nil : value }
      let cents =
        random.chance(20) ? 5713 : random.below(random.chance(50) ? 10_000 : 1_000_000_000)
      var row = Row(
        key: key, i: maybe(Int64(random.below(9))), m: maybe(Decimal(cents) / 100),
        d: maybe([0.1, -2.5, 1e10, 3][random.below(4)]),
        s: maybe(random.chance(50) ? EscapedText.random(&random) : ["a", "ab", "B", "", "é"][random.below(5)]),
        t: maybe([0.5, 99, 1e9][random.below(3)]), b: maybe(random.chance(50)))
      row.u = maybe(
        UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(random.below(255)))))
      if row.b == true { row.truth = [1, 1, 2, -1, .max][random.below(5)] }
      row.w = Double(random.below(5))
      rows.append(row)
    }
    return rows
  }

  /// The rows as an XML store.
  private func write(
    _ sources: [String: [Row]], of model: ManagedObjectModel, to path: String, _ random: inout SeededGenerator
  ) throws {
    var objects: [HandwrittenXMLStore.Object] = []
    for (entity, rows) in sources.sorted(by: { $0.key < $1.key }) {
      for row in rows {
        var values = ["s": row.s.map { EscapedText.spelled($0, &random) }]
        values["i"] = row.i.map { "\($0)" }
        values["w"] = "\(row.w)"
        values["m"] = row.m?.description
        values["d"] = row.d.map { "\($0)" }
        values["t"] = row.t.map { "\($0)" }
        values["b"] = row.b.map { $0 ? "1" : "0" }
        values["u"] = row.u?.uuidString
        objects.append(.init(entity: entity, values: values.compactMapValues { $0 }))
      }
    }
    try HandwrittenXMLStore(model: model, objects: objects).write(to: path)
  }

  /// The attributes that belong to a composite `c`, in the source and in the destination.
  private struct Grouping {
    var source, destination: Set<String>

    static let none = Grouping(source: [], destination: [])

    func sourceName(_ name: String) -> String { source.contains(name) ? "c.\(name)" : name }
    func destinationName(_ name: String) -> String { destination.contains(name) ? "c.\(name)" : name }

    /// The expression with paths in place of the names that it reads.
    func value(_ text: String) -> String {
      text.replacing(/\$source\.(?<name>[a-z])\b/) { "$source." + sourceName(String($0.output.name)) }
    }

    func filter(_ text: String) -> String {
      text.replacing(/\b(?<name>[a-z])\b/) { sourceName(String($0.output.name)) }
    }

    /// An entity with some attributes in a composite, in no order of names.
    func entity(_ name: String, _ types: [String: AttributeType], _ grouped: Set<String>) -> EntityDescription {
      var entity = EntityDescription.make(name, types.filter { !grouped.contains($0.key) })
      let elements = grouped.sorted(by: >).compactMap { name in types[name].map { AttributeDescription.make(name, $0) }
      }
      if !elements.isEmpty { entity.attributes.append(.composite("c", elements)) }
      return entity
    }
  }

  private func build(_ sources: [String: [Row]], _ grouping: Grouping) throws -> MigrationFixture {
    let types = Self.types.merging(["w": .double]) { a, _ in a }
    let fixture = try MigrationFixture(
      ["A", "B"].map { grouping.entity($0, types, grouping.source) },
      to: [
        .make("Y", ["i": .integer32, "s": .string]),
        grouping.entity("Z", Self.types.merging(["tag": .string]) { a, _ in a }, grouping.destination),
      ])
    try fixture.build { store in
      for (entity, rows) in sources.sorted(by: { $0.key < $1.key }) {
        for row in rows {
          let values: [String: AttributeValue] = [
            "i": row.i.map { .integer($0) } ?? .null, "m": row.m.map { .decimal($0) } ?? .null,
            "d": row.d.map { .double($0) } ?? .null, "w": .double(row.w),
            "s": row.s.map { AttributeValue($0) } ?? .null,
            "t": row.t.map { .date($0) } ?? .null, "b": row.b.map { .boolean($0) } ?? .null,
            "u": row.u.map { .uuid($0) } ?? .null,
          ]
          try store.insert(
            entity, key: row.key,
            attributes: Dictionary(uniqueKeysWithValues: values.map { (grouping.sourceName($0.key), $0.value) }),
            relationships: [:])
        }
      }
    }
    return fixture
  }

  /// The job with a step more, which copies everything.
  private func addStep(_ fixture: MigrationFixture) throws -> MigrationJob {
    var job = try fixture.job
    let copies = try ["Y", "Z"].map { try EntityMapping.make($0, $0, kind: .copy) }
    job.steps.append(
      MigrationStep(
        sourceModel: fixture.destination, destinationModel: fixture.destination,
        mappingModels: [MappingModel(entityMappings: copies)], origin: "copies"))
    return job
  }

  /// Each object of the mapping with `unique-by` is that of the first row with its number, and a trace says so.
  private func checkUnique(
    _ fixture: MigrationFixture, _ job: MigrationJob, _ sources: [String: [Row]], _ seed: String
  ) throws {
    guard let entity = fixture.mappings.first(where: { $0.name == "Unique" })?.sourceEntityName else { return }
    var first: [Double: Row] = [:]
    for row in sources[entity] ?? [] where first[row.w] == nil { first[row.w] = row }
    let expected = first.values.sorted { $0.key < $1.key }
    let found = try fixture.rows("SELECT Z_PK, ZI, ZS FROM source.ZY ORDER BY 1")
    #expect(found == expected.map { "\($0.key)|\(Int64($0.w))|\($0.s ?? "nil")" }, "\(seed)")
    guard let one = expected.last else { return }
    let trace = try MigrationManager(job).trace("Y/p\(one.key)")
    let merged = sources[entity]?.filter { $0.w == one.w && $0.key != one.key }.count
    #expect(trace.associations.map(\.merged.count).max() == merged, "\(seed)")
  }

  /// A value of one object is changed: that is found, whatever the numbering.
  private func checkBreakage(
    _ fixture: MigrationFixture, _ job: MigrationJob, _ seed: String, _ random: inout SeededGenerator
  ) throws {
    guard let key = try fixture.rows("SELECT Z_PK FROM source.ZZ ORDER BY 1").randomElement(using: &random) else {
      return
    }
    let connection = try StoreConnection(path: job.destinationPath)
    let was = try connection.value("SELECT ZT FROM ZZ WHERE Z_PK = \(key)") ?? .null
    for time in [.real(77.25), was] {
      try connection.execute("UPDATE ZZ SET ZT = ?1 WHERE Z_PK = \(key)", [time])
      guard time != was else { continue }
      let report = try Verifier(job: job).runBothWays()
      #expect(report.findings.contains { ["t", "c.t", nil].contains($0.property) }, "\(seed): \(report)")
    }
    try connection.close()
  }

  @Test func `a random job gives the values of the reference, and verify has no findings`() throws {
    // In the last one three mappings number their objects below those of a first one, each below the one before.
    for seed in testSeeds(7) + [424] {
      var random = SeededGenerator(seed: seed)
      let sources = ["A": rows(&random), "B": rows(&random)]
      // Half of the jobs have no composite: they may read and write XML and binary stores.
      func group() -> Set<String> { Set(Self.types.keys.sorted().filter { _ in random.chance(40) }) }
      let isGrouped = random.chance(50)
      var grouping = Grouping.none
      if isGrouped {
        grouping.source = group()
        grouping.destination = [[], grouping.source, group()][random.below(3)]
      }
      let fixture = try build(sources, grouping)
      fixture.chunkRows = [1, 7, 1000][random.below(3)]
      for (entity, rows) in sources {
        for row in rows where row.truth != 1 {
          try fixture.alter("UPDATE Z\(entity) SET ZB = \(row.truth) WHERE Z_PK = \(row.key)")
        }
      }
      var expected: [String] = []
      var strings: [String] = []
      var texts: [String] = []
      let names = Self.types.keys.sorted()
      for number in 0..<(1 + random.below(4)) {
        let entity = ["A", "B"][random.below(2)]
        let filter = Self.filters[random.below(Self.filters.count)]
        // The first rule of each attribute copies it.
        let isWhole = !grouping.source.isEmpty && grouping.source == grouping.destination && random.chance(50)
        let chosen = Dictionary(
          uniqueKeysWithValues: names.compactMap { name in
            Self.rules[name].map {
              (name, $0[isWhole && grouping.source.contains(name) ? 0 : random.below($0.count)])
            }
          })
        var attributes = Dictionary(
          uniqueKeysWithValues: chosen.map { (grouping.destinationName($0), grouping.value($1.text)) })
        attributes["tag"] = "'\(number)'"
        if isWhole {
          attributes = attributes.filter { !$0.key.hasPrefix("c.") }
          attributes["c"] = "$source.c"
        }
        fixture.mappings.append(
          try .make(entity, "Z", name: "M\(number)", filter: filter.text.map(grouping.filter), attributes: attributes))
        texts.append("\(entity) \(filter.text ?? "") \(attributes.sorted { $0.key < $1.key })")
        for row in sources[entity] ?? [] where filter.takes(row) {
          if case .text(let bytes)? = chosen["s"]?.value(row) { strings.append(String(decoding: bytes, as: UTF8.self)) }
          expected.append(
            (["\(number)"] + names.map { chosen[$0]?.value(row).plain ?? "" }).joined(
              separator: "|"))
        }
      }
      if random.chance(30) {
        // One object for each whole number.
        let entity = ["A", "B"][random.below(2)]
        fixture.mappings.append(
          try .make(
            entity, "Y", name: "Unique", uniqueBy: ["i"],
            attributes: ["i": "$source.w", "s": grouping.value("$source.s")]))
      }
      let inSwift = random.chance(30)
      let isStepped = random.chance(40)
      do {
        var job = try isStepped ? addStep(fixture) : fixture.job
        let hasSmallKeys = sources.values.joined().allSatisfy { (1...1 << 32).contains($0.key) }
        if random.chance(30), !isGrouped {
          job.sourcePath = fixture.folder.file("source.atomic")
          if hasSmallKeys, random.chance(50) {
            try AtomicStoreWriter(
              readingStoreAt: fixture.sourcePath, model: fixture.source, as: .binary, name: "source"
            ).write(to: job.sourcePath)
          } else {
            try write(sources, of: fixture.source, to: job.sourcePath, &random)
          }
        }
        // A key below 1 cannot be the number of an object in an atomic store. Where no room is left above, keys go below.
        let isAtomicSource = job.sourcePath != fixture.sourcePath
        if random.chance(30), !isGrouped,
          isAtomicSource || hasSmallKeys
        {
          job.destinationPath = fixture.folder.file("out/destination.atomic")
          job.destinationType = random.chance(50) ? .xml : .binary
        }
        var dated = job
        dated.now = Date(timeIntervalSinceReferenceDate: Self.moment)
        try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try MigrationManager(dated).run() }
        let report = try Verifier(job: job).runBothWays()
        let unproved = report.checks.filter { !$0.isProved }
        if !report.isClean || !unproved.isEmpty {
          Issue.record("seed \(seed): \(report)\n\(texts.joined(separator: "\n"))")
        }
        if job.destinationType == .sqlite {
          // The keys of an atomic source are not those of the rows.
          if !isAtomicSource { try checkUnique(fixture, job, sources, "seed \(seed)") }
          try checkBreakage(fixture, job, "seed \(seed)", &random)
        }
        let columns = names.map { "Z\($0.uppercased())" }.joined(separator: ", ")
        let connection = try StoreConnection.openStore(readingAt: job.destinationPath, model: fixture.destination)
        let found = try connection.rows("SELECT ZTAG, \(columns) FROM ZZ")
          .map { $0.map(\.plain).joined(separator: "|") }.sorted()
        if job.destinationType == .xml {
          let written = try XMLStoreContent(path: job.destinationPath).objects.compactMap {
            $0.type == "Z" ? $0.attributes["s"] : nil
          }
          #expect(written.map { Text($0) }.sorted() == strings.map { Text($0) }.sorted(), "seed \(seed)")
        }
        // A whole number in a column of floating point may be told either way.
        func plain(_ row: String) -> String { row.replacing(".0|", with: "|") }
        if found.map(plain) != expected.sorted().map(plain) {
          let other = Set(found.map(plain)).symmetricDifference(expected.map(plain)).sorted()
            .prefix(4)
          Issue.record("seed \(seed): \(other)\n\(texts.joined(separator: "\n"))")
        }
      } catch { Issue.record("seed \(seed): \(error)\n\(texts.joined(separator: "\n"))") }
    }
  }
}
