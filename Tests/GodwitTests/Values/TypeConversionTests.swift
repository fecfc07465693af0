import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import GodwitEngine

/// From each type of attribute to each: the expression of the table makes what the oracle says, in both lanes.
@Suite struct TypeConversionTests {
  private static func table(_ type: AttributeType) -> String {
    "D" + type.xcodeName.replacing(" ", with: "")
  }

  /// An entity whose attribute `v` has a type, and one for each type that it is converted to.
  private static func fixture(_ source: AttributeType, fittingOnly: Bool = true) throws -> MigrationFixture {
    let made = TypeConversion.types.map { EntityDescription.make(table($0), ["v": $0]) }
    let fixture = try MigrationFixture([.make("S", ["v": source, "n": .integer64])], to: made)
    let samples = try ConversionOracle.samples(of: source)
    try fixture.build { store in
      for (place, sample) in samples.enumerated() {
        try store.insert("S", key: Int64(place + 1), attributes: ["v": sample, "n": .integer(Int64(place + 1))])
      }
      try store.insert("S", key: 100, attributes: ["n": .integer(100)])
    }
    fixture.mappings = try TypeConversion.types.compactMap { type in
      guard let conversion = TypeConversion.between(source, type) else { return nil }
      let fitting = samples.indices.filter { ConversionOracle.made(samples[$0], source, to: type) != .fails }
      let keys = (fitting.map { "\($0 + 1)" } + ["100"]).joined(separator: ", ")
      return try .make(
        "S", table(type), filter: fittingOnly ? "n IN {\(keys)}" : nil,
        attributes: ["v": conversion.expression(of: "$source.v")])
    }
    return fixture
  }

  @Test(arguments: TypeConversion.types)
  func `each value that fits becomes what the oracle says, in SQL and in Swift`(source: AttributeType) throws {
    let samples = try ConversionOracle.samples(of: source)
    for inSwift in [false, true] {
      let fixture = try Self.fixture(source)
      try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try fixture.run() }
      let connection = try StoreConnection.openStore(readingAt: fixture.destinationPath)
      for type in TypeConversion.types where TypeConversion.between(source, type) != nil {
        let pair = "\(source.xcodeName) to \(type.xcodeName)\(inSwift ? " in Swift" : "")"
        let expected = samples.map { ConversionOracle.made($0, source, to: type) }.filter { $0 != .fails } + [.null]
        let rows = try connection.rows("SELECT ZV FROM source.Z\(Self.table(type).uppercased()) ORDER BY Z_PK")
        #expect(rows.count == expected.count, "\(pair)")
        for (row, outcome) in zip(rows, expected) {
          #expect(outcome.isStored(as: row[0]), "\(pair): \(row[0]), not \(outcome)")
        }
      }
    }
  }

  @Test(arguments: TypeConversion.types)
  func `each value that does not fit is found, and no other`(source: AttributeType) throws {
    let samples = try ConversionOracle.samples(of: source)
    let fixture = try Self.fixture(source, fittingOnly: false)
    let report = try MigrationManager(fixture.job).audit()
    for type in TypeConversion.types where TypeConversion.between(source, type) != nil {
      let failing = samples.count { ConversionOracle.made($0, source, to: type) == .fails }
      let found = report.findings.filter { $0.mapping == "STo\(Self.table(type))" }
      #expect(
        found.reduce(0) { $0 + $1.count } == failing, "\(source.xcodeName) to \(type.xcodeName): \(found)")
      let misfit = TypeConversion.between(source, type)?.misfit ?? ""
      // No calendar has a date of as many seconds as 64 bits do not hold.
      if source == .date, type == .integer64 { continue }
      #expect(misfit.contains("65") == (failing > 0), "\(source.xcodeName) to \(type.xcodeName): \(misfit)")
    }
  }

  @Test(arguments: [false, true])
  func `the lowest integer fits where it is read, and not where a sum has left 64 bits`(inSwift: Bool) throws {
    try EngineTuning.with(\.runsAllInSwift, inSwift) {
      for (expression, fits) in [
        ("$source.d", true), ("trunc:($source.d)", true), ("TERNARY($source.n < 0, $source.d, 0)", true),
        ("CAST($source.d, \"NSNumber\")", true), ("$source.n", true), ("$source.n - 1", false),
        ("-($source.n + 2) * -1 - 5", false), ("$source.d - 1", false),
      ] {
        let fixture = try MigrationFixture(
          [.make("S", ["d": .double, "n": .integer64])], to: [.make("D", ["v": .integer64])])
        try fixture.build {
          try $0.insert("S", key: 1, attributes: ["d": .double(-0x1p63), "n": .integer(.min)])
        }
        fixture.mappings = [try .make("S", "D", attributes: ["v": expression])]
        #expect(try MigrationManager(fixture.job).audit().findings.isEmpty == fits, "\(expression)")
        guard fits else {
          #expect(throws: GodwitError.self, "\(expression)") { try MigrationManager(fixture.job).run() }
          continue
        }
        #expect(try MigrationManager(fixture.job).plan().obstacles.isEmpty, "\(expression)")
        try fixture.run()
        let connection = try StoreConnection.openStore(readingAt: fixture.destinationPath)
        #expect(try connection.value("SELECT ZV FROM source.ZD") == .integer(.min), "\(expression)")
      }
    }
  }

  @Test func `no expression converts what has no meaning in the other type, and every message says so`() throws {
    let numbers: [AttributeType] = [.integer16, .integer32, .integer64, .decimal, .double, .float]
    var none: Set<[AttributeType]> = []
    for number in numbers + [.boolean] { none.formUnion([[number, .uuid], [number, .uri], [.uuid, number]]) }
    none.formUnion([
      [.boolean, .date], [.date, .boolean], [.date, .uri], [.date, .uuid], [.uuid, .date], [.uuid, .uri],
    ])
    none.insert([.uri, .boolean])
    for source in TypeConversion.types {
      for type in TypeConversion.types {
        #expect((TypeConversion.between(source, type) == nil) == none.contains([source, type]), "\(source) to \(type)")
      }
    }
    #expect(TypeConversion.between(.undefined, .string) == nil && TypeConversion.between(.string, .composite) == nil)
  }

  @Test(arguments: TypeConversion.types)
  func `a draft has the expression of the table, and a message about the types names it`(source: AttributeType) throws {
    for type in TypeConversion.types where type != source {
      let (before, after) = ([EntityDescription.make("S", ["v": source])], [EntityDescription.make("S", ["v": type])])
      let fixture = try MigrationFixture(before, to: after)
      try fixture.build { try $0.insert("S", key: 1) }
      let conversion = TypeConversion.between(source, type)?.expression(of: "$source.v")
      let draft = MappingDraft(from: fixture.source, to: fixture.destination)
      let drafted = draft.model["SToS"]?.attributeMappings.first { $0.name == "v" }?.value.source.text
      #expect(drafted == conversion, "\(source.xcodeName) to \(type.xcodeName)")
      #expect(draft.remarks.contains(where: \.isPlaceholder) == (conversion == nil))
      if conversion != nil {
        fixture.mappings = draft.model.entityMappings
        #expect(try MigrationManager(fixture.job).plan().obstacles.isEmpty, "\(source.xcodeName) to \(type.xcodeName)")
      }
      fixture.mappings = [try .make("S", "S", kind: .copy)]
      do { _ = try MigrationManager(fixture.job).plan() } catch let error as GodwitError {
        let named = conversion.map { "write '\($0)', or use a policy" } ?? "no expression converts it, a policy does"
        #expect(error.remedy?.hasSuffix(named) == true, "\(source.xcodeName) to \(type.xcodeName): \(error)")
      }
    }
  }

  /// The table of the page: pairs with the same expression and misfits share a row.
  private static func rows() -> [String] {
    struct Row: Hashable {
      var types: [String]
      var text: String
    }
    var bySource: [(source: String, rows: [Row])] = []
    for source in TypeConversion.types {
      var rows: [Row] = []
      for type in TypeConversion.types where type != source {
        guard let found = TypeConversion.between(source, type) else { continue }
        let text = "`\(found.expression(of: "$source.a"))` | \(found.misfit)"
        if let place = rows.firstIndex(where: { $0.text == text }) {
          rows[place].types.append(type.xcodeName)
        } else {
          rows.append(Row(types: [type.xcodeName], text: text))
        }
      }
      bySource.append((source.xcodeName, rows))
    }
    var merged: [(sources: [String], row: Row)] = []
    for (source, rows) in bySource {
      for row in rows {
        if let place = merged.firstIndex(where: { $0.row == row }) {
          merged[place].sources.append(source)
        } else {
          merged.append(([source], row))
        }
      }
    }
    return merged.map {
      "| \($0.sources.joined(separator: ", ")) | \($0.row.types.joined(separator: ", ")) | \($0.row.text) |"
        .replacing("|  |", with: "| |").replacing("Integer 16, Integer 32, Integer 64", with: "Integers")
    }
  }

  /// `GODWIT_REGENERATE=1 swift test --filter TypeConversionTests` writes the table again.
  @Test func `the page of types has each pair with its expression`() throws {
    let page = "Sources/Godwit/Godwit.docc/Types.md"
    let text = try Checkout.text(page)
    let head = "| from | to | expression | does not fit |\n|---|---|---|---|\n"
    let table = Self.rows().joined(separator: "\n") + "\n"
    if ProcessInfo.processInfo.environment["GODWIT_REGENERATE"] != nil, let place = text.range(of: head) {
      try (text[..<place.upperBound] + table).write(to: Checkout.url(page), atomically: true, encoding: .utf8)
      return
    }
    #expect(text.hasSuffix(head + table))
  }

  @Test(arguments: [false, true]) func `bytes become a transformable and bytes again, and stay`(inSwift: Bool) throws {
    var large = AttributeDescription.make("v", .binary)
    large.allowsExternalBinaryDataStorage = true
    let blobs: [[UInt8]] = [[], [0], [1, 2, 255], Array("text".utf8), [UInt8](repeating: 7, count: 200_000)]
    let models = try [large, .make("v", .transformable), .make("v", .binary)].enumerated().map {
      try ManagedObjectModel(
        name: "\($0.offset)", entities: [EntityDescription(name: "S", attributes: [$0.element], relationships: [])])
    }
    let folder = try TemporaryFolder()
    let builder = try StoreBuilder(path: folder.file("s.sqlite"), model: models[0])
    for (place, blob) in blobs.enumerated() {
      try builder.insert("S", key: Int64(place + 1), attributes: ["v": .data(blob)])
    }
    try builder.finish()
    let steps = try (0...1).map { place in
      MigrationStep(
        sourceModel: models[place], destinationModel: models[place + 1],
        mappingModels: [
          MappingModel(entityMappings: [try .make("S", "S", attributes: ["v": "CAST($source.v, 'NSData')"])])
        ])
    }
    let job = MigrationJob(
      name: "bytes", sourcePath: folder.file("s.sqlite"), destinationPath: folder.file("out.sqlite"), first: steps[0],
      later: [steps[1]])
    try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try MigrationManager(job).run() }
    #expect(try Verifier(job: job).run().isClean)
    let connection = try StoreConnection.openStore(readingAt: job.destinationPath)
    #expect(try connection.rows("SELECT ZV FROM source.ZS ORDER BY Z_PK").map { $0[0] } == blobs.map { .blob($0) })
  }

  @Test func `text does not become a transformable without an archive`() throws {
    let fixture = try MigrationFixture([.make("S", ["v": .string])], to: [.make("S", ["v": .transformable])])
    try fixture.build { try $0.insert("S", key: 1) }
    for value in [
      "CAST($source.v, 'NSData')", "$source.v", "TERNARY($source.v == nil, nil, CAST($source.v, 'NSData'))",
    ] {
      fixture.mappings = [try .make("S", "S", attributes: ["v": value])]
      let error = #expect(throws: GodwitError.self) { try MigrationManager(fixture.job).plan() }
      #expect(error?.code == .configuration && error?.description.contains("or use a policy") == true, "\(value)")
    }
  }
}
