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
  private typealias Row = RandomRow
  private static let types = RandomRule.types

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
        values["x"] = row.x.map { Data($0).base64EncodedString() }
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
      text.replacing(/\$source\.(?<name>[a-z])(?![a-z])/) { "$source." + sourceName(String($0.output.name)) }
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
        .make("Y", ["i": .integer32, "s": .string, "t": .date]),
        grouping.entity("Z", Self.types.merging(["tag": .string, "v": .uuid]) { a, _ in a }, grouping.destination),
      ])
    try fixture.build { store in
      for (entity, rows) in sources.sorted(by: { $0.key < $1.key }) {
        for row in rows {
          let values: [String: AttributeValue] = [
            "i": row.i.map { .integer($0) } ?? .null, "m": row.m.map { .decimal($0) } ?? .null,
            "d": row.d.map { .double($0) } ?? .null, "w": .double(row.w),
            "s": row.s.map { AttributeValue($0) } ?? .null,
            "t": row.t.map { .date($0) } ?? .null, "b": row.b.map { .boolean($0) } ?? .null,
            "u": row.u.map { .uuid($0) } ?? .null, "x": row.x.map { .data($0) } ?? .null,
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

  /// Whether a row comes before another by the descriptors of `unique-by`; nil if they do not tell.
  private func precedes(_ a: Row, _ b: Row, _ order: [EntityMapping.SortDescriptor]) -> Bool? {
    func compare<T: Comparable>(_ a: T?, _ b: T?) -> Int {
      guard let a else { return b == nil ? 0 : -1 }
      return b.map { a < $0 ? -1 : a == $0 ? 0 : 1 } ?? 1
    }
    func bytes(_ row: Row) -> String? { row.s.map { $0.utf8.map { String(format: "%02x", $0) }.joined() } }
    for descriptor in order {
      let way =
        switch descriptor.keyPath.split(separator: ".").last {
        case "t": compare(a.t, b.t)
        case "m": compare(a.m, b.m)
        default: compare(bytes(a), bytes(b))
        }
      if way != 0 { return (way < 0) == descriptor.isAscending }
    }
    return nil
  }

  /// Each object of the mapping with `unique-by` is that of the first row with its number, and a trace says so.
  private func checkUnique(
    _ fixture: MigrationFixture, _ job: MigrationJob, _ sources: [String: [Row]], _ seed: String
  ) throws {
    guard let mapping = fixture.mappings.first(where: { $0.name == "Unique" }),
      let rows = sources[mapping.sourceEntityName ?? ""]
    else { return }
    let groups = Dictionary(grouping: rows, by: \.w).values.map { group in
      group.sorted { a, b in precedes(a, b, mapping.uniqueOrder) ?? (a.key < b.key) }
    }.sorted { $0[0].key < $1[0].key }
    func text(_ group: [Row], _ value: (Row) -> String?) -> String {
      (mapping.fillsNil ? group.lazy.compactMap(value).first : value(group[0])) ?? "nil"
    }
    let expected = groups.map { group in
      "\(group[0].key)|\(Int64(group[0].w))|\(text(group, \.s))|\(text(group) { $0.t.map { "\(Int($0 * 2))" } })"
    }
    let found = try fixture.rows("SELECT Z_PK, ZI, ZS, CAST(ZT * 2 AS INTEGER) FROM source.ZY ORDER BY 1")
    #expect(found == expected, "\(seed): \(mapping.uniqueOrder), fills \(mapping.fillsNil)")
    guard let one = groups.last else { return }
    let trace = try MigrationManager(job).trace("Y/p\(one[0].key)")
    #expect(trace.associations.map(\.merged.count).max() == one.count - 1, "\(seed)")
  }

  /// Each object has a UUID of its own, of version 4.
  private func checkIdentifiers(_ fixture: MigrationFixture, _ count: Int, _ seed: String) throws {
    let found = try fixture.rows("SELECT hex(ZV) FROM source.ZZ")
    #expect(
      Set(found).count == count && found.allSatisfy { $0.count == 32 && $0.dropFirst(12).first == "4" }, "\(seed)")
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
      let sources = ["A": RandomRule.rows(&random), "B": RandomRule.rows(&random)]
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
        let filter = RandomRule.filters[random.below(RandomRule.filters.count)]
        // The first rule of each attribute copies it.
        let isWhole = !grouping.source.isEmpty && grouping.source == grouping.destination && random.chance(50)
        let chosen = Dictionary(
          uniqueKeysWithValues: names.compactMap { name in
            RandomRule.all[name].map {
              (name, $0[isWhole && grouping.source.contains(name) ? 0 : random.below($0.count)])
            }
          })
        var attributes = Dictionary(
          uniqueKeysWithValues: chosen.map { (grouping.destinationName($0), grouping.value($1.text)) })
        attributes["tag"] = "'\(number)'"
        attributes["v"] = "newUUID()"
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
            attributes: ["i": "$source.w", "s": grouping.value("$source.s"), "t": grouping.value("$source.t")]))
        let place = fixture.mappings.count - 1
        let orders = [[], ["t DESC"], ["m", "t DESC"], ["s"]][random.below(4)]
        fixture.mappings[place].uniqueOrder = try orders.map {
          try #require(EntityMapping.SortDescriptor(text: grouping.filter($0)))
        }
        fixture.mappings[place].fillsNil = random.chance(50)
        texts.append("\(entity) unique by w, \(orders), fills \(fixture.mappings[place].fillsNil)")
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
        dated.now = Date(timeIntervalSinceReferenceDate: RandomRule.moment)
        try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try MigrationManager(dated).run() }
        let report = try Verifier(job: job).runBothWays()
        let unproved = report.checks.filter { !$0.isProved }
        if !report.isClean || !unproved.isEmpty {
          Issue.record("seed \(seed): \(report)\n\(texts.joined(separator: "\n"))")
        }
        if job.destinationType == .sqlite {
          // The keys of an atomic source are not those of the rows.
          if !isAtomicSource { try checkUnique(fixture, job, sources, "seed \(seed)") }
          try checkIdentifiers(fixture, expected.count, "seed \(seed)")
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
