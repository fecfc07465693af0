import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

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
      if random.chance(25) { return collected(depth) }
      return prefix + pick(["i", "j", "d", "m", "b", "o.i", "o.m", "o.b", "o.o.d", "os.@count", "o.os.@count"])
    }
    switch random.below(12) {
    case 0: return "(-\(number(depth - 1)))"
    case 7: return "\(pick(["abs", "floor", "ceiling", "trunc", "sqrt"]))(\(number(depth - 1)))"
    case 8: return "modulus:by:(\(number(depth - 1)), \(number(depth - 1)))"
    case 9: return "(\(prefix)j \(pick(["&", "|", "^", "<<", ">>"])) \(pick(["1", "~2", prefix + "i"])))"
    case 10: return "\(pick(["max", "min", "sum", "average", "median"]))(\(number(depth - 1)), \(number(depth - 1)))"
    case 11: return "length(\(text()))"
    case 1: return "TERNARY(\(test(depth - 1)), \(number(depth - 1)), \(number(depth - 1)))"
    default: return "(\(number(depth - 1)) \(pick(["+", "-", "*", "/", "/"])) \(number(depth - 1)))"
    }
  }

  /// A number out of a to-many.
  mutating func collected(_ depth: Int) -> String {
    let path = prefix + pick(["os", "o.os", "os.os", "qs", "qs.os"])
    switch random.below(4) {
    case 0: return "\(path).\(pick(["@sum", "@avg", "@min", "@max"])).\(pick(["i", "j", "d", "m", "b"]))"
    case 1: return "\(pick(["sum", "median", "mode", "stddev", "count"])):(\(path).\(pick(["i", "j", "d"])))"
    default: return "SUBQUERY(\(path), $x, \(member("$x.", depth))).@count"
    }
  }

  /// A condition on a member of a to-many.
  mutating func member(_ variable: String, _ depth: Int) -> String {
    var inner = self
    inner.prefix = variable
    defer { random = inner.random }
    return inner.test(max(0, depth - 2))
  }

  mutating func text() -> String {
    if random.chance(20) { return "\(pick(["uppercase", "lowercase", "canonical", "titlecase"]))(\(prefix)s)" }
    if random.chance(10) { return "CAST(\(pick(["\(prefix)u", "uuid:(\(prefix)o.u)"])), 'NSString')" }
    if random.chance(10) { return "CAST(\(prefix)j, 'NSString')" }
    return random.chance(40) ? pick(["'a'", "'A'", "''", "'é'", "'e\u{301}'"]) : prefix + pick(["s", "o.s"])
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
    let options = pick(["", "", "[c]", "[d]", "[cd]"])
    let many = prefix + pick(["os", "o.os", "os.o", "qs"])
    switch random.below(14) {
    case 9: return "\(pick(["ANY", "ALL", "NONE"])) \(many).i \(pick(["==", "<", ">=", "!="])) \(number(inner))"
    case 10: return "\(pick(["ANY", "ALL"])) \(many).s \(pick(["==", "CONTAINS", "LIKE", "!="]))\(options) \(text())"
    case 11: return "\(number(inner)) IN \(many).j"
    case 12: return "\(many).s CONTAINS\(options) \(text())"
    case 13:
      return "\(text()) \(pick(["LIKE", "MATCHES"]))\(options) \(pick(["'a*'", "'?'", "'.*a'", "'é'", "'[ab]+'"]))"
    case 0:
      return
        "\(text()) \(pick(["==", "!=", "<", ">=", "BEGINSWITH", "ENDSWITH", "CONTAINS"]))\(options) \(text())"
    case 1: return "\(text()) IN\(options) {'a', 'b', \(pick(["nil", "''"]))}"
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
          "E",
          [
            "i": .integer64, "j": .integer16, "d": .double, "m": .decimal, "s": .string, "t": .date, "b": .boolean,
            "u": .uuid,
          ],
          [
            .toOne("o", "E", inverse: "os"), .toMany("os", "E", inverse: "o"), .toMany("qs", "E", inverse: "rs"),
            .toMany("rs", "E", inverse: "qs"),
          ])
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
            "b": maybe(.boolean(random.chance(50))),
            "u": maybe(.uuid(UUID(uuid: (1, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, UInt8(random.below(3)))))),
          ],
          relationships: (random.chance(70) ? ["o": [Int64(random.below(14) + 1)]] : [:]).merging(
            random.chance(50) ? ["qs": [Int64(random.below(7) + 1), Int64(random.below(7) + 8)]] : [:]
          ) { first, _ in first })
      }
    }
    // Some stores have values that no application writes: other truths, keys that lead nowhere.
    try fixture.alter("UPDATE ZE SET ZB = 7 WHERE Z_PK = 2")
    try fixture.alter("UPDATE ZE SET ZO = 77 WHERE Z_PK = 3")
    let connection = try StoreConnection(path: nil)
    try connection.attachSource(StoreFiles(path: fixture.sourcePath))
    let schema = try StoreSchema(model: model, probing: connection, schema: StoreConnection.sourceSchema)
    let functions = try SQLFunctions(connection: connection, sourceSchema: schema, now: 0)
    let evaluation = SourceEvaluation(connection: connection, schema: schema, now: 0)
    var compared = 0
    let seeds = testSeeds(400)
    for seed in seeds {
      let isFilter = seed % 2 == 0
      var writer = ExpressionWriter(random: SeededGenerator(seed: seed), prefix: isFilter ? "" : "$source.")
      let text = isFilter ? writer.test(3) : writer.number(4)
      let builder = StatementBuilder()
      let row = ExpressionLowering.Row(alias: "s", entityName: "E")
      let lowered: (sql: String, reason: String?)
      let work: LoweredFunctions.Evaluation.Work
      let checker = ExpressionChecker(model: model, entityName: "E", role: isFilter ? .filter : .value)
      if isFilter {
        let parsed = try FilterPredicate(text)
        guard (try? checker.check(parsed)) != nil else { continue }
        lowered = ExpressionLowering.condition(parsed, schema: schema, row: row, builder: builder)
        work = .predicate(parsed)
      } else {
        let parsed = try ValueExpression(text)
        guard (try? checker.type(of: parsed)) != nil else { continue }
        let value = ExpressionLowering.value(parsed, schema: schema, row: row, builder: builder)
        lowered = (value.sql, value.reason)
        work = .expression(parsed)
      }
      guard lowered.reason == nil else { continue }
      let statement = ChunkStatement(sql: "SELECT s.Z_PK, \(lowered.sql) FROM source.ZE AS s", builder: builder)
      let rows = try functions.running(statement, context: "test") {
        try connection.rows(statement.sql, builder.arguments())
      }
      for row in rows {
        guard case .integer(let key) = row[0] else { continue }
        let expected = try evaluation.value(
          of: evaluation.prepare(.init(work: work, entityName: "E", text: text)), key: key)
        compared += 1
        #expect(
          same(row[1], expected), "seed \(seed): \(text) for p\(key): SQL \(row[1].plain), memory \(expected.plain)")
      }
    }
    #expect(compared > 0)
    if seeds.count > 100 { #expect(compared > 10 * seeds.count / fewest(2)) }
  }
}
