import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

/// The tables of expressions, in SQL over a store; what SQL cannot say runs in the object lane over the same store.
@Suite struct ExpressionCaseSQLTests {
  /// The world as a store, open for lowered SQL.
  final class Bench {
    let fixture: MigrationFixture
    let connection: StoreConnection
    let schema: StoreSchema
    let functions: SQLFunctions

    init(alter: [String] = []) throws {
      let model = try ExpressionWorld.model()
      fixture = try MigrationFixture(model, to: model)
      try fixture.build { store in
        for row in ExpressionWorld.rows {
          try store.insert(row.entity, key: row.key, attributes: row.attributes, relationships: row.links)
        }
      }
      for sql in alter { try fixture.alter(sql) }
      connection = try StoreConnection(path: nil)
      try connection.attachSource(StoreFiles(path: fixture.sourcePath))
      schema = try StoreSchema(model: model, probing: connection, schema: StoreConnection.sourceSchema)
      functions = try SQLFunctions(connection: connection, sourceSchema: schema, now: ExpressionWorld.now)
    }

    private func run(_ sql: String, _ builder: StatementBuilder, key: Int64) throws -> SQLValue {
      let statement = ChunkStatement(
        sql: "SELECT \(sql) FROM source.ZPERSON AS s WHERE s.Z_PK = \(key)", builder: builder)
      return try functions.running(statement, context: "test") {
        try connection.rows(statement.sql, builder.arguments()).first?.first ?? .null
      }
    }

    func value(_ text: String, key: Int64) throws -> (value: SQLValue, reason: String?) {
      let builder = StatementBuilder()
      let lowered = ExpressionLowering.value(
        try ValueExpression(text), schema: schema, row: .init(alias: "s", entityName: "Person"), builder: builder,
        bindings: ExpressionWorld.bindings)
      return (try run(lowered.sql, builder, key: key), lowered.reason)
    }

    func filter(_ text: String, key: Int64) throws -> (value: Bool?, reason: String?) {
      let builder = StatementBuilder()
      let lowered = ExpressionLowering.condition(
        try FilterPredicate(text), schema: schema, row: .init(alias: "s", entityName: "Person"), builder: builder)
      switch try run(lowered.sql, builder, key: key) {
      case .null: return (nil, lowered.reason)
      case .integer(let number): return (number != 0, lowered.reason)
      default: throw NotLowerable(reason: "no truth value")
      }
    }
  }

  @Test func `lowered SQL gives the values in the tables of cases`() throws {
    let bench = try Bench()
    var lowered = 0
    for cases in ExpressionCases.all {
      for (text, expected) in cases.values {
        do {
          let found = try bench.value(text, key: cases.key)
          if found.reason == nil { lowered += 1 }
          let wanted = SQLValue(expected)
          #expect(
            Self.same(found.value, wanted),
            "\(cases): \(text): expected \(wanted.plain), found \(found.value.plain) (\(found.reason ?? "SQL"))")
        } catch { Issue.record("\(text): \(error)") }
      }
      for (text, expected) in cases.filters {
        do {
          let found = try bench.filter(text, key: cases.key)
          if found.reason == nil { lowered += 1 }
          #expect(
            found.value == expected,
            "\(cases): \(text): expected \(expected.debugDescription), found \(found.value.debugDescription) (\(found.reason ?? "SQL"))"
          )
        } catch { Issue.record("\(text): \(error)") }
      }
    }
    // Most of the language runs in SQL; a fall to the object lane is a loss of speed that nobody would see.
    #expect(lowered >= 380, "\(lowered) lowered")
  }

  @Test(arguments: [
    ("random() > 1", "'random' runs in Swift"),
    ("pets[0].name == 'x'", "a key path on a computed object runs in Swift"),
    ("name MATCHES nick", "MATCHES with a computed pattern runs in Swift"),
    ("age IN {1} UNION {2}", "UNION runs in Swift"),
    ("pets.@distinctUnionOfObjects.name.@count > 1", "a path beyond '@distinctUnionOfObjects' runs in Swift"),
  ]) func `an expression that SQL cannot express has a reason`(text: String, reason: String) throws {
    #expect(try Bench().filter(text, key: 1).reason == reason)
  }

  @Test func `a fetch counts and reads the objects of exactly its entity`() throws {
    let bench = try Bench()
    func fetch(_ entity: String, _ predicate: String, _ countOnly: String, _ rest: String = "") -> String {
      "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', '\(entity)', '\(predicate)'), $manager.sourceContext, \(countOnly))\(rest)"
    }
    #expect(try bench.value(fetch("Pet", "weight > 4", "YES"), key: 1).value == .integer(2))
    #expect(try bench.value(fetch("Pet", "", "YES"), key: 1).value == .integer(4))
    #expect(try bench.value(fetch("Pet", "weight > 4", "NO", ".@sum.weight"), key: 1).value == .integer(14))
    #expect(try bench.value(fetch("Person", "age > 18", "NO", ".@max.name"), key: 2).value == .text(Array("Zoë".utf8)))
    #expect(try bench.value(fetch("Pet", "", "YES"), key: 1).reason == "FETCH runs in Swift")
  }

  @Test func `a boolean stored as another number is true in SQL as in memory`() throws {
    let bench = try Bench(alter: ["UPDATE ZPERSON SET ZISMEMBER = 2 WHERE Z_PK = 1"])
    #expect(try bench.filter("isMember == YES", key: 1).value == true)
    #expect(try bench.filter("isMember == 1", key: 1).value == true)
    #expect(try bench.value("$source.isMember + 1", key: 1).value == .integer(2))
  }

  @Test func `a key that leads to no row is nil in SQL as in memory`() throws {
    let bench = try Bench(alter: [
      "UPDATE ZPERSON SET ZMANAGER = 99 WHERE Z_PK = 2", "UPDATE ZPERSON SET ZAGE = 5 WHERE Z_PK = 3",
    ])
    for (text, expected) in [
      ("manager == nil", true), ("manager != nil", false), ("manager == SELF", nil),
      ("manager.pets.@count == nil", true),
      ("manager.pets.@count == 0", nil), ("ANY manager.pets.weight > 1", false), ("SELF IN manager.reports", nil),
    ] as [(String, Bool?)] {
      let found = try bench.filter(text, key: 2)
      #expect(found.value == expected, "\(text)")
      #expect(found.reason == nil)
    }
  }

  @Test func `a decimal that is not a number has no value`() throws {
    let bench = try Bench(alter: ["UPDATE ZPERSON SET ZPAY = 'NaN' WHERE Z_PK = 1"])
    #expect(try bench.filter("pay == nil", key: 1).value == true)
    #expect(try bench.filter("pay > 1", key: 1).value == nil)
    #expect(try bench.value("$source.pay + 1", key: 1).value == .null)
    #expect(try bench.value("$source.clubs.members.@sum.pay", key: 1).value == .real(2.5))
  }

  @Test(arguments: [
    (
      "UPDATE ZPERSON SET ZAGE = 'abc'", "abs(age) == 1",
      "cannot evaluate 'age' for Person p1: expected an integer of 16 bits, found text"
    ),
    (
      "UPDATE ZPET SET ZWEIGHT = 'abc' WHERE Z_PK = 2", "ANY pets.weight > 100",
      "cannot evaluate 'weight' for Pet p2: expected an integer of 32 bits, found text"
    ),
    (
      "UPDATE ZPET SET ZWEIGHT = 'abc' WHERE Z_PK = 2", "pets.@sum.weight > 100",
      "cannot evaluate 'weight' for Pet p2: expected an integer of 32 bits, found text"
    ),
    (
      "UPDATE ZPERSON SET ZNAME = x'01'", "name LIKE '*'",
      "cannot evaluate 'name' for Person p1: expected text, found bytes"
    ),
    (
      "UPDATE ZPERSON SET ZNAME = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "name MATCHES '(a+)+b'",
      "cannot evaluate 'name MATCHES '(a+)+b'' for Person p1: the regular expression of MATCHES takes too long on this text"
    ),
    (
      "UPDATE ZPERSON SET ZHEIGHT = 1.5", "bitwiseAnd:with:(height, 1) == 1",
      "cannot evaluate 'bitwiseAnd:with:(height, 1) == 1' for Person p1: an operation on bits needs whole numbers that 64 bits hold"
    ),
  ]) func `a value of the wrong type is an error that names its row`(alter: String, text: String, message: String)
    throws
  {
    let bench = try Bench(alter: [alter])
    let error = #expect(throws: GodwitError.self) { try bench.filter(text, key: 1) }
    #expect(error?.code == .dataWrong)
    #expect(error?.message == message)
  }

  @Test func `an expression in Swift is compiled once for each statement`() throws {
    let bench = try Bench()
    let builder = StatementBuilder()
    let lowered = ExpressionLowering.value(
      try ValueExpression("{now(), $source.age}[FIRST]"), schema: bench.schema,
      row: .init(alias: "s", entityName: "Person"), builder: builder)
    #expect(lowered.reason != nil)
    let statement = ChunkStatement(sql: "SELECT \(lowered.sql) FROM source.ZPERSON AS s", builder: builder)
    func rows() throws -> [[SQLValue]] {
      try bench.functions.running(statement, context: "test") {
        try bench.connection.rows(statement.sql, builder.arguments())
      }
    }
    for _ in 0..<3 { #expect(try rows() == Array(repeating: [.real(ExpressionWorld.now)], count: 3)) }
    #expect(bench.functions.evaluation.preparations == 1)
    bench.functions.setNow(8)
    #expect(try rows().first == [.real(8)])
  }

  @Test func `an expression too deep for SQLite runs in Swift`() throws {
    let bench = try Bench()
    let deep = String(repeating: "(1 + ", count: 80) + "age" + String(repeating: ")", count: 80)
    let found = try bench.filter("\(deep) == 120", key: 1)
    #expect(found.value == true)
    #expect(found.reason == "an expression nested this deeply runs in Swift")
    var wide = "age"
    for _ in 0..<12 { wide = "TERNARY(\(wide) IN {1, 2, 3}, 1, 40)" }
    #expect(try bench.filter("\(wide) == 40", key: 1).value == true)
  }

  /// Mutated table cases that still parse and check: SQL and memory agree, and SQLite takes every statement.
  @Test func `mutated expressions mean the same in SQL and in memory`() throws {
    let bench = try Bench()
    let model = try ExpressionWorld.model()
    let evaluation = SourceEvaluation(connection: bench.connection, schema: bench.schema, now: ExpressionWorld.now)
    let filters = ExpressionCases.all.flatMap { $0.filters.map(\.0) }
    let words = filters.flatMap { $0.split(separator: " ").map(String.init) }
    let checker = ExpressionChecker(model: model, entityName: "Person", role: .filter)
    var compared = 0
    let seeds = testSeeds(1000)
    for seed in seeds {
      var random = SeededGenerator(seed: seed)
      var parts = filters[random.below(filters.count)].split(separator: " ").map(String.init)
      for _ in 0...random.below(2) {
        let place = random.below(parts.count)
        if random.chance(60) {
          parts[place] = words[random.below(words.count)]
        } else {
          parts.insert(contentsOf: ["AND", filters[random.below(filters.count)], "OR"], at: place)
        }
      }
      let text = parts.joined(separator: " ")
      guard let predicate = try? FilterPredicate(parsing: text), (try? checker.check(predicate)) != nil else {
        continue
      }
      do {
        let found = try bench.filter(text, key: 1).value
        let wanted = try evaluation.value(
          of: evaluation.prepare(.init(work: .predicate(predicate), entityName: "Person", text: text)), key: 1)
        let expected: Bool? = if case .integer(let number) = wanted { number != 0 } else { nil }
        compared += 1
        #expect(found == expected, "seed \(seed): \(text)")
      } catch let error as GodwitError where error.code == .dataWrong {
        // Some values have no result, such as bits of a number with a fraction.
      } catch { Issue.record("seed \(seed): \(text): \(error)") }
    }
    if seeds.count > 1 { #expect(compared > seeds.count / fewest(20)) }
  }

  static func same(_ a: SQLValue, _ b: SQLValue) -> Bool {
    switch (a, b) {
    case (.integer(let a), .real(let b)), (.real(let b), .integer(let a)): Int64(exactly: b) == a
    default: a == b
    }
  }
}
