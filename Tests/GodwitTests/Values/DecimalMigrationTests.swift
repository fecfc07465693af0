import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Amounts of money that an application keeps as decimals.
@Suite struct DecimalMigrationTests {
  private static func models() -> ([EntityDescription], [EntityDescription]) {
    let order = EntityDescription.make("Order", ["sum": .decimal], [.toMany("items", "Item", inverse: "order")])
    let item = EntityDescription.make(
      "Item", ["price": .decimal, "tax": .decimal, "count": .integer16], [.toOne("order", "Order", inverse: "items")])
    var newOrder = order
    newOrder.attributes = ["average", "sum", "least", "most", "with"].map { .init(name: $0, type: .decimal) }
    var newItem = item
    newItem.attributes = ["price", "double", "gross", "net", "half", "third", "same"].map {
      .init(name: $0, type: .decimal)
    }
    return ([item, order], [newItem, newOrder])
  }

  /// 0.00 to 99.99.
  private static let small = (0..<10_000).map(text)

  /// Those, each ninth of them on every change, then larger ones, in orders of seven items.
  private static let amounts: [String] = {
    var random = SeededGenerator(seed: 8)
    let larger = (0..<500).map { _ in Int.random(in: 10_000..<100_000_000_000_000, using: &random) }
    return TestTier.sample(small, each: 9) + larger.map(text)
  }()

  private static func text(_ cents: Int) -> String { "\(cents / 100).\(String(format: "%02d", cents % 100))" }

  /// 56.00 to 58.99: as many as a filter needs.
  private static let few = Array(small[5600..<5900])

  private func fixture(filter: String? = nil, amounts: [String] = Self.amounts) throws -> MigrationFixture {
    let (before, after) = Self.models()
    let fixture = try MigrationFixture(before, to: after)
    fixture.chunkRows = 4000
    try fixture.build { store in
      for (place, text) in amounts.enumerated() {
        let key = Int64(place + 1)
        if place % 7 == 0 { try store.insert("Order", key: key / 7 + 1, attributes: [:], relationships: [:]) }
        try store.insert(
          "Item", key: key,
          attributes: [
            "price": .decimal(Decimal(string: text) ?? .nan),
            "tax": place % 11 == 0 ? .null : .decimal(Decimal(place % 3000) / 100), "count": .integer(Int64(place % 9)),
          ], relationships: ["order": [Int64(place / 7 + 1)]])
      }
    }
    fixture.mappings = [
      try .make(
        "Item", "Item", filter: filter,
        attributes: [
          "price": "$source.price", "double": "$source.price * 2", "gross": "$source.price * 1.19",
          "net": "$source.price + $source.tax - 0.1", "half": "$source.price / 2", "third": "$source.price / 3 * 3",
          "same": "TERNARY($source.count > 3, $source.price, nil)",
        ], relationships: ["order": .sourceRelationship("order")]),
      try .make(
        "Order", "Order",
        attributes: [
          "sum": "$source.items.@sum.price", "average": "$source.items.@avg.tax", "least": "$source.items.@min.price",
          "most": "$source.items.@max.price", "with": "$source.items.@sum.price + 0.2",
        ]),
    ]
    return fixture
  }

  /// The same amounts as an application's decimals have them.
  private func expectAmounts(_ fixture: MigrationFixture) throws {
    // A column of decimals keeps a floating point number that is whole as an integer.
    func text(_ number: Decimal) -> String {
      let stored = Double(number.description) ?? .nan
      return Int64(exactly: stored).map { "\($0)" } ?? "\(stored)"
    }
    let prices = Self.amounts.map { Decimal(string: $0) ?? .nan }
    let taxes = prices.indices.map { $0 % 11 == 0 ? nil : Decimal($0 % 3000) / 100 }
    let items = try fixture.rows(
      "SELECT Z_PK, ZPRICE, ZDOUBLE, ZGROSS, ZNET, ZHALF, ZTHIRD, ZSAME FROM ZITEM ORDER BY Z_PK")
    #expect(items.count == prices.count)
    for (place, row) in items.enumerated() {
      let price = prices[place]
      let gross = price * (Decimal(string: "1.19") ?? .nan)
      let net = taxes[place].map { text(price + $0 - (Decimal(string: "0.1") ?? .nan)) }
      let expected = [
        "\(place + 1)", text(price), text(price * 2), text(gross), net ?? "nil", text(price / 2), text(price / 3 * 3),
        place % 9 > 3 ? text(price) : "nil",
      ].joined(separator: "|")
      if row != expected { Issue.record("\(row) is not \(expected)") }
    }
    let orders = try fixture.rows("SELECT Z_PK, ZSUM, ZAVERAGE, ZLEAST, ZMOST, ZWITH FROM ZORDER ORDER BY Z_PK")
    for (place, row) in orders.enumerated() {
      let members = Array(prices[(place * 7)..<min(place * 7 + 7, prices.count)])
      let sum = members.reduce(0, +)
      let total = taxes[(place * 7)..<min(place * 7 + 7, prices.count)].reduce(Decimal(0)) { $0 + ($1 ?? 0) }
      let expected = [
        "\(place + 1)", text(sum), text(total / Decimal(members.count)), text(members.min() ?? .nan),
        text(members.max() ?? .nan), text(sum + (Decimal(string: "0.2") ?? .nan)),
      ].joined(separator: "|")
      if row != expected { Issue.record("\(row) is not \(expected)") }
    }
  }

  @Test(arguments: [false, true])
  func `amounts and what is calculated from them are those of decimals in both lanes`(inSwift: Bool) throws {
    let fixture = try fixture()
    try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try fixture.run() }
    try expectAmounts(fixture)
  }

  @Test(arguments: [
    "price == 57.13", "price + 0 == 57.13", "price IN {57.13}", "price + 0 IN {57.13, nil}",
    "price + tax - tax == 57.13",
    "SUBQUERY(order.items, $i, $i.price == 57.13).@count == 1 AND price == 57.13",
  ])
  func `a filter finds an amount that floating point cannot hold`(filter: String) throws {
    for inSwift in [false, true] {
      let fixture = try fixture(filter: filter, amounts: Self.few)
      fixture.chunkRows = nil
      try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try fixture.run() }
      #expect(try fixture.rows("SELECT ZPRICE FROM ZITEM") == ["57.13"])
    }
  }

  @Test func `verify finds an amount that is off by its last digit`() throws {
    let fixture = try fixture(filter: "price < 60", amounts: Self.few)
    _ = try MigrationManager(fixture.job).run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("UPDATE ZITEM SET ZPRICE = 57.129999999999995, ZGROSS = ZGROSS WHERE ZPRICE = 57.13")
    try connection.close()
    let report = try Verifier(job: fixture.job).run()
    #expect(report.findings.map(\.property) == ["price"])
  }

  @Test func `a value that no decimal can hold is nil, in SQL and in Swift`() throws {
    for inSwift in [false, true] {
      let fixture = try MigrationFixture(
        [.make("A", ["m": .decimal])],
        to: [
          .make("A", ["m": .decimal, "isNil": .boolean, "twice": .decimal, "d": .double, "i": .integer64])
        ])
      try fixture.build { store in
        for key in Int64(1)...8 { try store.insert("A", key: key, attributes: ["m": .decimal(1)], relationships: [:]) }
      }
      try fixture.alter(
        """
        UPDATE ZA SET ZM = CASE Z_PK WHEN 1 THEN 9e999 WHEN 2 THEN 1e300 WHEN 3 THEN 'NaN' WHEN 4 THEN NULL
        WHEN 5 THEN 1e-130 WHEN 6 THEN -9e-109 WHEN 7 THEN 0.0 ELSE 5e-108 END
        """)
      fixture.mappings = [
        try .make(
          "A", "A",
          attributes: [
            "m": "$source.m", "isNil": "TERNARY($source.m == nil, YES, NO)", "twice": "$source.m + $source.m",
            "d": "$source.m", "i": "TERNARY($source.m > 0, nil, $source.m)",
          ])
      ]
      try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try fixture.run() }
      #expect(
        try fixture.rows("SELECT ZM, ZISNIL, ZTWICE, ZD, ZI FROM ZA ORDER BY Z_PK") == [
          "inf|1|nil|nil|nil", "1e+300|1|nil|nil|nil", "NaN|1|nil|nil|nil", "nil|1|nil|nil|nil", "1e-130|1|nil|nil|nil",
          "-9e-109|1|nil|nil|nil", "0|0|0|0.0|0", "5e-108|0|1e-107|5e-108|nil",
        ], "in Swift: \(inSwift)")
    }
  }
}
