import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Values that Core Data reads as something else than what stands in the column.
@Suite struct EncodingTests {
  private func flags(_ attributes: [String: AttributeType] = ["flag": .boolean]) throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [.make("A", attributes)], to: [.make("A", attributes.merging(["more": .integer16]) { a, _ in a })])
    try fixture.build { store in
      for key in Int64(1)...6 { try store.insert("A", key: key, attributes: [:], relationships: [:]) }
    }
    return fixture
  }

  private static let others =
    "UPDATE ZA SET ZFLAG = CASE Z_PK WHEN 1 THEN 2 WHEN 2 THEN -1 WHEN 3 THEN 1 WHEN 4 THEN 0 WHEN 5 THEN NULL ELSE 7 END"
  private static let truths = ["1|1", "2|1", "3|1", "4|0", "5|nil", "6|1"]

  @Test(arguments: ["copy", "value", "swift", "inferred"]) func `any number except 0 becomes 1 in a Boolean attribute`(
    way: String
  )
    throws
  {
    let fixture = try flags()
    try fixture.alter(Self.others)
    switch way {
    case "inferred": try fixture.infer()
    case "copy": fixture.mappings = [try .make("A", "A", kind: .copy)]
    default: fixture.mappings = [try .make("A", "A", attributes: ["flag": "$source.flag", "more": "3"])]
    }
    // The ordinary run of an inferred mapping is compared with the one in place, which leaves rows as they are.
    if way == "inferred" {
      _ = try MigrationManager(fixture.job).run()
      #expect(try Verifier(job: fixture.job).run().isClean)
    } else {
      try EngineTuning.with(\.runsAllInSwift, way == "swift") { _ = try fixture.run() }
    }
    #expect(try fixture.rows("SELECT Z_PK, ZFLAG FROM ZA ORDER BY Z_PK") == Self.truths)
  }

  private static let extremes = others.replacing("THEN -1", with: "THEN -1 WHEN 6 THEN 9223372036854775807")

  @Test(arguments: ["copy", "value", "key path", "swift", "unique", "filter"])
  func `any number except 0 in a Boolean is 1 where a number takes it`(way: String) throws {
    for type in [AttributeType.integer16, .integer32, .integer64, .float, .double, .decimal] {
      let fixture = try MigrationFixture(
        [.make("A", ["flag": .boolean], [.toOne("other", "A", inverse: "other")])], to: [.make("A", ["flag": type])])
      try fixture.build { store in
        for key in Int64(1)...6 {
          try store.insert("A", key: key, attributes: [:], relationships: ["other": [7 - key]])
        }
      }
      try fixture.alter(Self.extremes)
      var found = Self.truths
      let value = ["flag": "$source.flag"]
      switch way {
      case "copy": fixture.mappings = [try .make("A", "A", kind: .copy)]
      case "key path":
        fixture.mappings = [try .make("A", "A", attributes: ["flag": "$source.other.flag"])]
        found = zip(1...6, found.reversed()).map { "\($0)\($1.dropFirst())" }
      case "unique":
        fixture.mappings = [try .make("A", "A", uniqueBy: ["flag"], attributes: value)]
        found = ["1|1", "4|0", "5|nil"]
      case "filter":
        fixture.mappings = [try .make("A", "A", filter: "flag == 1 OR flag < 1", attributes: value)]
        found.remove(at: 4)
      default: fixture.mappings = [try .make("A", "A", attributes: value)]
      }
      try EngineTuning.with(\.runsAllInSwift, way == "swift") { _ = try fixture.run() }
      let rows = try fixture.rows("SELECT Z_PK, CAST(ZFLAG AS INTEGER) FROM ZA ORDER BY Z_PK")
      #expect(rows == found, "\(type.xcodeName)")
    }
  }

  @Test(arguments: [AttributeType.integer16, .integer32, .integer64])
  func `a Boolean that becomes an integer by inference is 0 or 1, in place too`(type: AttributeType) throws {
    let fixture = try MigrationFixture([.make("A", ["flag": .boolean])], to: [.make("A", ["flag": type])])
    try fixture.build { store in
      for key in Int64(1)...6 { try store.insert("A", key: key, attributes: [:], relationships: [:]) }
    }
    try fixture.alter(Self.extremes)
    try fixture.infer()
    try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, ZFLAG FROM ZA ORDER BY Z_PK") == Self.truths)
  }

  @Test func `in place by SQL a Boolean becomes 1, and verify accepts what a change of definitions leaves`() throws {
    for keepsFlag in [true, false] {
      let fixture = try flags()
      try fixture.alter(Self.others)
      try fixture.infer()
      let path = try fixture.copyOfSource("place\(keepsFlag)")
      let job = fixture.jobInPlace(path)
      let way = try MigrationManager(job).plan().steps.first?.way
      try MigrationManager(job).run()
      var check = job
      check.sourcePath = MigrationJob.oldPath(of: path)
      check.existingDestination = .fail
      let report = try Verifier(job: check).run()
      #expect(report.isClean, "\(way ?? ""): \(report)")
      if way != MigrationPlan.wayOfDefinitions {
        let connection = try StoreConnection.openStore(readingAt: path)
        #expect(
          try connection.rows("SELECT Z_PK, ZFLAG FROM ZA ORDER BY Z_PK")
            .map { $0.map(\.plain).joined(separator: "|") } == Self.truths)
      }
    }
  }

  /// Core Data stores no fraction there, and what it would read of one is not known.
  @Test(arguments: [false, true]) func `a fraction in a Boolean attribute is an error, however it is read`(
    inSwift: Bool
  ) throws {
    for kind in ["copy", "value", "other type", "filter"] {
      let fixture = try flags()
      try fixture.alter("UPDATE ZA SET ZFLAG = 0.5 WHERE Z_PK = 3")
      let mapping: EntityMapping =
        switch kind {
        case "copy": try .make("A", "A", kind: .copy)
        case "value": try .make("A", "A", attributes: ["flag": "$source.flag"])
        case "filter": try .make("A", "A", filter: "flag == YES")
        default: try .make("A", "A", attributes: ["more": "$source.flag"])
        }
      fixture.mappings = [mapping]
      let error = #expect(throws: GodwitError.self, "\(kind)") {
        try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try MigrationManager(fixture.job).run() }
      }
      #expect(error?.code == .dataWrong, "\(kind): \(error.map { "\($0)" } ?? "")")
    }
  }

  @Test func `unique-by treats all true numbers as one value`() throws {
    let fixture = try flags()
    try fixture.alter(Self.others)
    fixture.mappings = [try .make("A", "A", uniqueBy: ["flag"], attributes: ["flag": "$source.flag"])]
    try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, ZFLAG FROM ZA ORDER BY Z_PK") == ["1|1", "4|0", "5|nil"])
  }

  @Test(arguments: [false, true]) func `a UUID of other than 16 bytes is an error`(inSwift: Bool) throws {
    for (sql, isCopy) in [("x'0102'", true), ("x'0102'", false), ("zeroblob(17)", true), ("x''", true)] {
      let fixture = try flags(["id": .uuid])
      try fixture.alter("UPDATE ZA SET ZID = \(sql) WHERE Z_PK = 3")
      fixture.mappings = [
        isCopy
          ? try .make("A", "A", kind: .copy)
          : try .make("A", "A", attributes: ["id": "TERNARY(1 == 1, $source.id, nil)"])
      ]
      let error = #expect(throws: GodwitError.self) {
        try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try MigrationManager(fixture.job).run() }
      }
      #expect(error?.code == .dataWrong && error?.message.contains("p3") == true, "\(String(describing: error))")
    }
  }

  @Test func `a sum of infinities of both signs is nil in both lanes`() throws {
    for inSwift in [false, true] {
      let fixture = try MigrationFixture(
        [
          .make("A", [:], [.toMany("bs", "B", inverse: "a")]),
          .make("B", ["d": .double], [.toOne("a", "A", inverse: "bs")]),
        ], to: [.make("A", ["sum": .double, "average": .double, "none": .double])])
      try fixture.build { store in
        for key in Int64(1)...2 { try store.insert("A", key: key, attributes: [:], relationships: [:]) }
        for key in Int64(1)...4 {
          try store.insert("B", key: key, attributes: [:], relationships: key < 4 ? ["a": [key / 3 + 1]] : [:])
        }
      }
      try fixture.alter("UPDATE ZB SET ZD = CASE Z_PK WHEN 1 THEN 9e999 WHEN 2 THEN -9e999 ELSE NULL END")
      fixture.mappings = [
        try .make(
          "A", "A",
          attributes: ["sum": "$source.bs.@sum.d", "average": "$source.bs.@avg.d", "none": "average:($source.bs.d)"])
      ]
      try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try fixture.run() }
      #expect(try fixture.rows("SELECT ZSUM, ZAVERAGE, ZNONE FROM ZA ORDER BY Z_PK") == ["nil|nil|nil", "0.0|0.0|nil"])
    }
  }
}
