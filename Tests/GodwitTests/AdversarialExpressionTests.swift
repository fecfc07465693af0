import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// Expressions that pass the checker, at random.
private struct ExpressionWriter {
  var random: SeededGenerator
  /// `` in filters, `$source.` in values.
  var prefix: String

  mutating func pick(_ choices: [String]) -> String { choices[random.below(choices.count)] }

  mutating func number(_ depth: Int) -> String {
    if depth == 0 || random.chance(30) {
      if random.chance(40) {
        return pick(["0", "1", "2", "3", "0.5", "1.5", "7", "9007199254740993", "9223372036854775807", "(-2)", "100.0"])
      }
      return prefix + pick(["i", "j", "d", "m", "o.i", "o.m", "o.o.d", "os.@count"])
    }
    switch random.below(7) {
    case 0: return "(-\(number(depth - 1)))"
    case 1: return "TERNARY(\(test(depth - 1)), \(number(depth - 1)), \(number(depth - 1)))"
    default: return "(\(number(depth - 1)) \(pick(["+", "-", "*", "/", "/"])) \(number(depth - 1)))"
    }
  }

  mutating func text() -> String {
    random.chance(40) ? pick(["'a'", "'A'", "''", "'é'", "'e\u{301}'"]) : prefix + pick(["s", "o.s"])
  }

  mutating func test(_ depth: Int) -> String {
    if depth > 0, random.chance(45) {
      switch random.below(3) {
      case 0: return "(\(test(depth - 1)) AND \(test(depth - 1)))"
      case 1: return "(\(test(depth - 1)) OR \(test(depth - 1)))"
      default: return "(NOT \(test(depth - 1)))"
      }
    }
    let inner = max(0, depth - 1)
    switch random.below(9) {
    case 0: return "\(text()) \(pick(["==", "!=", "<", ">=", "BEGINSWITH", "ENDSWITH", "CONTAINS"])) \(text())"
    case 1: return "\(text()) IN {'a', 'b', \(pick(["nil", "''"]))}"
    case 2: return "\(number(inner)) \(pick(["==", "!="])) nil"
    case 3: return "\(number(inner)) BETWEEN {\(number(inner)), \(number(inner))}"
    case 4: return "\(number(inner)) IN {1, \(number(inner)), 2.0}"
    case 5: return "\(prefix)t \(pick(["<", "==", ">="])) \(prefix)o.t"
    case 6: return "\(prefix)o \(pick(["==", "!="])) \(pick(["nil", prefix + "o.o"]))"
    default: return "\(number(inner)) \(pick(["==", "!=", "<", "<=", ">", ">="])) \(number(inner))"
    }
  }
}

private func same(_ a: SQLValue, _ b: SQLValue) -> Bool {
  switch (a, b) {
  case (.integer(let a), .real(let b)), (.real(let b), .integer(let a)): Int64(exactly: b) == a
  case (.real(let a), .real(let b)): a == b
  default: a == b
  }
}

@Suite struct AdversarialExpressionTests {
  // A TERNARY of an integer and a decimal was divided as floating point also where the integer was taken; a decimal
  // that SQLite keeps as an integer was subtracted from as one.
  @Test func `filters and values mean the same in SQL and in memory`() throws {
    let model = try ManagedObjectModel(
      name: "1",
      entities: [
        .make(
          "E", ["i": .integer64, "j": .integer16, "d": .double, "m": .decimal, "s": .string, "t": .date],
          [.toOne("o", "E", inverse: "os"), .toMany("os", "E", inverse: "o")])
      ])
    let fixture = try MigrationFixture(model, to: model)
    var random = SeededGenerator(seed: 99)
    try fixture.build { store in
      let whole: [Int64] = [0, 1, -1, 3, 7, .max, .min, 9_007_199_254_740_993]
      let real = [0, 0.5, -1.5, 3, 1e300, -0.0, 9_007_199_254_740_992]
      let texts = ["a", "A", "", "é", "e\u{301}", "ba"]
      for key in Int64(1)...14 {
        func maybe(_ value: AttributeValue) -> AttributeValue { random.chance(20) ? .null : value }
        try store.insert(
          "E", key: key,
          attributes: [
            "i": maybe(.integer(whole[random.below(whole.count)])), "j": maybe(.integer(Int64(random.below(7)) - 3)),
            "d": maybe(.double(real[random.below(real.count)])),
            "m": maybe(.decimal([Decimal(3), Decimal(7), Decimal(0), Decimal(-5) / 2][random.below(4)])),
            "s": maybe(.init(texts[random.below(texts.count)])), "t": maybe(.date([0, 86400.5, -3][random.below(3)])),
          ], relationships: random.chance(70) ? ["o": [Int64(random.below(14) + 1)]] : [:])
      }
    }
    let connection = try StoreConnection(path: nil)
    try connection.attachSource(StoreFiles(path: fixture.sourcePath))
    let schema = try StoreSchema(model: model, probing: connection, schema: StoreConnection.sourceSchema)
    let functions = try SQLFunctions(connection: connection, sourceSchema: schema, now: 0)
    let evaluation = SourceEvaluation(connection: connection, schema: schema, now: 0)
    var compared = 0
    for seed in adversarialSeeds(300) {
      let isFilter = seed % 2 == 0
      var writer = ExpressionWriter(random: SeededGenerator(seed: seed), prefix: isFilter ? "" : "$source.")
      let text = isFilter ? writer.test(3) : writer.number(4)
      let builder = StatementBuilder()
      let row = ExpressionLowering.Row(alias: "s", entityName: "E")
      let lowered: (sql: String, reason: String?)
      let work: LoweredFunctions.Evaluation.Work
      let checker = ExpressionChecker(model: model, entityName: "E", role: isFilter ? .filter : .value)
      if isFilter {
        let parsed = try ParsedPredicate(text)
        guard (try? checker.check(parsed.predicate)) != nil else { continue }
        lowered = ExpressionLowering.condition(parsed, schema: schema, row: row, builder: builder)
        work = .predicate(parsed.predicate)
      } else {
        let parsed = try ParsedExpression(text)
        guard (try? checker.type(of: parsed.expression)) != nil else { continue }
        let value = ExpressionLowering.value(parsed, schema: schema, row: row, builder: builder)
        lowered = (value.sql, value.reason)
        work = .expression(parsed.expression)
      }
      guard lowered.reason == nil else { continue }
      let statement = ChunkStatement(sql: "SELECT s.Z_PK, \(lowered.sql) FROM source.ZE AS s", builder: builder)
      let rows = try functions.running(statement, site: "test") {
        try connection.rows(statement.sql, builder.arguments())
      }
      for row in rows {
        guard case .integer(let key) = row[0] else { continue }
        let expected = try evaluation.value(of: .init(work: work, entityName: "E", text: text), key: key)
        compared += 1
        #expect(
          same(row[1], expected), "seed \(seed): \(text) for p\(key): SQL \(row[1].plain), memory \(expected.plain)")
      }
    }
    #expect(compared > 0)
    if ProcessInfo.processInfo.environment["GODWIT_SEED"] == nil { #expect(compared > 1000) }
  }
}
