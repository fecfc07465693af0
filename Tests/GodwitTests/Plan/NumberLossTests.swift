import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import GodwitEngine

/// Numbers that a mapping rounds or cannot store, in every shape of a mapping: the plan counts what the run counts.
@Suite struct NumberLossTests {
  private static let large: Int64 = 9_007_199_254_740_993

  /// Four readings; 2 and 4 have a number that no Double holds, and each leads to the one before.
  private func fixture(_ type: AttributeType, _ expression: String) throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [
        .make(
          "Reading", ["n": .integer64, "kind": .integer16],
          [.toOne("parent", "Reading", inverse: "children"), .toMany("children", "Reading", inverse: "parent")])
      ], to: [.make("Value", ["x": type, "kind": .integer16])])
    try fixture.build { store in
      for key in Int64(1)...4 {
        try store.insert(
          "Reading", key: key,
          attributes: ["n": .integer(key % 2 == 0 ? Self.large : key), "kind": .integer(key / 3)],
          relationships: key > 1 ? ["parent": [key - 1]] : [:])
      }
    }
    fixture.mappings = [
      try .make("Reading", "Value", attributes: ["x": expression, "kind": "$source.kind"])
    ]
    return fixture
  }

  private func rounded(_ losses: LossReport) -> [String] {
    losses.losses.filter { $0.kind == .rounded }.map { "\($0.subject) \($0.count ?? -1)" }
  }

  static let shapes: [(expression: String, filter: String?, uniqueBy: [String], told: [String])] = [
    ("$source.n", nil, [], ["Reading.n 2"]),
    ("$source.n", "kind == 1", [], ["Reading.n 1"]),
    ("$source.parent.n", nil, [], ["Reading.parent.n 1"]),
    ("$source.parent.n", "kind == 1", [], ["Reading.parent.n 1"]),
    ("$source.n + 0", nil, [], ["Value.x 2"]),
    ("$source.n + 0", "kind == 1", [], ["Value.x 1"]),
    ("TERNARY($source.kind == 1, $source.n, 0)", nil, [], ["Value.x 1"]),
    ("$source.children.@max.n", nil, [], ["Value.x 2"]),
    // 1 and 3 are the first of their kind.
    ("$source.n", nil, ["kind"], []),
    ("$source.n + 1 - 1", nil, ["x"], ["Value.x 1"]),
    ("$source.n / 2.0", nil, [], []),
    ("$source.kind", nil, [], []),
  ]

  @Test(arguments: shapes.indices, [false, true])
  func `rounded numbers are counted in every shape, by the plan and by the run`(shape: Int, inSwift: Bool) throws {
    let (expression, filter, uniqueBy, told) = Self.shapes[shape]
    let fixture = try fixture(.double, expression)
    fixture.mappings[0].filter = try filter.map { try FilterPredicate($0) }
    fixture.mappings[0].uniqueBy = uniqueBy
    try EngineTuning.with(\.runsAllInSwift, inSwift) {
      let plan = try MigrationManager(fixture.job).plan()
      #expect(rounded(plan.losses) == told, "\(expression)")
      #expect(try Set(fixture.run().losses.losses) == Set(plan.losses.losses), "\(expression)")
      guard !told.isEmpty else { return }
      var job = try fixture.job
      (job.onLoss, job.destinationPath) = (.fail, fixture.folder.file("out/other.sqlite"))
      #expect(try MigrationManager(job).plan().stopError?.code == .dataWrong)
      #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    }
  }

  /// The first value has a fraction that a Float holds, the others are of another whole number there.
  @Test(
    arguments: [
      ("CAST($source.date, 'NSNumber')", 2), ("CAST($source.text, 'NSNumber')", 2),
      ("TERNARY($source.kind == 1, CAST($source.date, 'NSNumber'), 0.1)", 1), ("$source.number + 0.125", 2),
      // The last digit of a calculation.
      ("$source.number / 3.0 - $source.number / 3.0 + 0.1", 0),
    ], [false, true])
  func `whole digits that a Float does not hold are counted whatever gives the number`(
    value: (expression: String, count: Int64), inSwift: Bool
  ) throws {
    let fixture = try MigrationFixture(
      [.make("Reading", ["date": .date, "text": .string, "number": .double, "kind": .integer16])],
      to: [.make("Reading", ["x": .float])])
    try fixture.build { store in
      for (place, number) in [5.25, 600_000_020.25, 16_777_217.25].enumerated() {
        try store.insert(
          "Reading",
          attributes: [
            "date": .date(number), "text": .init("\(number)"), "number": .double(number),
            "kind": .integer(Int64(place)),
          ])
      }
    }
    fixture.mappings = [try .make("Reading", "Reading", attributes: ["x": value.expression])]
    try EngineTuning.with(\.runsAllInSwift, inSwift) {
      let plan = try MigrationManager(fixture.job).plan()
      #expect(rounded(plan.losses) == (value.count == 0 ? [] : ["Reading.x \(value.count)"]), "\(value.expression)")
      #expect(try Set(fixture.run().losses.losses) == Set(plan.losses.losses), "\(value.expression)")
    }
  }

  /// Texts and amounts; a Decimal column holds what the nearest Double names.
  @Test(arguments: [
    ("CAST($source.text, 'NSDecimalNumber')", AttributeType.decimal, 3),
    ("CAST($source.text, 'NSDecimalNumber')", .double, 3),
    ("$source.large + $source.small", .decimal, 1),
    ("FUNCTION($source.large, 'decimalNumberByAdding:', $source.small)", .decimal, 1),
    // A third is as exact as the calculation.
    ("FUNCTION($source.small, 'decimalNumberByDividingBy:', CAST('3', 'NSDecimalNumber'))", .decimal, 0),
    ("TERNARY($source.kind == 1, $source.large, $source.small)", .decimal, 0), ("$source.small", .decimal, 0),
  ])
  func `digits of a decimal that its column does not hold are counted`(
    expression: String, type: AttributeType, count: Int64
  ) throws {
    let fixture = try MigrationFixture(
      [.make("Amount", ["text": .string, "large": .decimal, "small": .decimal, "kind": .integer16])],
      to: [.make("Amount", ["x": type])])
    let texts = [
      "123456789012345678.55", "0.1", "12345678901234567890.5", "0.12345678901234567890123", "1e20", "-7.25",
    ]
    try fixture.build { store in
      for (place, text) in texts.enumerated() {
        try store.insert(
          "Amount", key: Int64(place + 1),
          attributes: [
            "text": .init(text), "large": .decimal(place == 2 ? Decimal(sign: .plus, exponent: 20, significand: 1) : 4),
            "small": .decimal(Decimal(string: "1.005") ?? 0), "kind": .integer(Int64(place % 2)),
          ])
      }
    }
    fixture.mappings = [try .make("Amount", "Amount", attributes: ["x": expression])]
    for inSwift in [false, true] {
      try EngineTuning.with(\.runsAllInSwift, inSwift) {
        try? FileManager.default.removeItem(atPath: fixture.folder.file("out"))
        let plan = try MigrationManager(fixture.job).plan()
        #expect(rounded(plan.losses) == (count == 0 ? [] : ["Amount.x \(count)"]), "\(expression)")
        #expect(try Set(fixture.run().losses.losses) == Set(plan.losses.losses), "\(expression)")
        #expect(try Verifier(job: fixture.job).run().isClean)
      }
    }
  }

  @Test(arguments: [
    ("$source.n", "2 objects of Reading: attribute 'x' of type Integer 32 cannot hold the number"),
    ("$source.parent.n", "not fit"), ("$source.n + 1", "not fit"),
    ("TERNARY($source.kind == 0, $source.n, 1)", "not fit"),
  ])
  func `a number that does not fit stops the plan as it stops the run`(expression: String, told: String) throws {
    for filter in [nil, "n > 1"] {
      let fixture = try fixture(.integer32, expression)
      fixture.mappings[0].filter = try filter.map { try FilterPredicate($0) }
      let error = try MigrationManager(fixture.job).plan().stopError
      #expect(error?.code == .dataWrong && error?.message.contains(told) == true, "\(String(describing: error))")
      #expect(#expect(throws: GodwitError.self) { try fixture.run() }?.code == .dataWrong)
      fixture.mappings[0].filter = try FilterPredicate("n == 1")
      #expect(try MigrationManager(fixture.job).plan().misfits.isEmpty)
    }
  }

  @Test func `a value that an expression cannot compute stops the plan as it stops the run`() throws {
    let fixture = try fixture(.integer32, "$source.parent.n * 1")
    try fixture.alter("UPDATE ZREADING SET ZN = 'text' WHERE Z_PK = 1")
    #expect(try MigrationManager(fixture.job).plan().misfits.contains { $0.contains("cannot be computed") })
    #expect(throws: GodwitError.self) { try fixture.run() }
  }

  @Test func `to-ones that take the first of several are counted by the plan`() throws {
    let fixture = try MigrationFixture(
      [
        .make("Menu", ["name": .string], [.toMany("dishes", "Dish", inverse: "menu")]),
        .make("Dish", ["name": .string], [.toOne("menu", "Menu", inverse: "dishes")]),
      ],
      to: [
        .make("Menu", ["name": .string], [.toOne("main", "Dish", inverse: nil)]), .make("Dish", ["name": .string]),
      ])
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Menu", key: key, attributes: ["name": .init("m")]) }
      for key in Int64(1)...5 {
        try store.insert(
          "Dish", key: key, attributes: ["name": .init(key < 3 ? "one" : "d\(key)")],
          relationships: ["menu": [key < 3 ? 1 : key < 5 ? 2 : 3]])
      }
    }
    for uniqueBy in [[], ["name"]] {
      fixture.mappings = [
        try .make("Dish", "Dish", uniqueBy: uniqueBy, attributes: ["name": "$source.name"]),
        try .make(
          "Menu", "Menu", attributes: ["name": "$source.name"],
          relationships: ["main": .mapping("DishToDish", keyPath: ["dishes"])]),
      ]
      var job = try fixture.job
      job.destinationPath = fixture.folder.file("out/\(uniqueBy.count).sqlite")
      let plan = try MigrationManager(job).plan()
      let several = plan.losses.losses.filter { $0.kind == .ambiguousToOne }.map(\.count)
      // Dishes 1 and 2 become one.
      #expect(several == [uniqueBy.isEmpty ? 2 : 1])
      #expect(try Set(MigrationManager(job).run().losses.losses) == Set(plan.losses.losses))
    }
  }
}
