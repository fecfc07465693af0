import GodwitModel
import TestSupport
import Testing

/// The tables of expressions, in memory.
@Suite struct ExpressionCaseTests {
  @Test func `the tables have at least three hundred expression cases`() {
    #expect(ExpressionCases.all.reduce(0) { $0 + $1.count } >= 300)
  }

  @Test(arguments: ExpressionCases.all) func `every value expression gives the value in the table`(
    cases: ExpressionCases
  ) throws {
    let model = try ExpressionWorld.model()
    let person = try #require(ExpressionWorld.object("Person", cases.key, in: model))
    let checker = ExpressionChecker(model: model, entityName: "Person", role: .value)
    let evaluator = ExpressionEvaluator(
      bindings: ["source": .object(person)], now: ExpressionWorld.now, role: .value, mapping: ExpressionWorld.bindings)
    for (text, expected) in cases.values {
      do {
        let expression = try ValueExpression(parsing: text)
        _ = try checker.type(of: expression)
        guard case .value(let found) = try evaluator.compile(expression).evaluate(with: person) else {
          Issue.record("\(text): expected \(expected), found objects")
          continue
        }
        #expect(Self.same(found, expected), "\(text): expected \(expected), found \(found)")
      } catch { Issue.record("\(text): \(error)") }
    }
  }

  @Test(arguments: ExpressionCases.all) func `every filter gives the result in the table`(cases: ExpressionCases) throws
  {
    let model = try ExpressionWorld.model()
    let person = try #require(ExpressionWorld.object("Person", cases.key, in: model))
    let checker = ExpressionChecker(model: model, entityName: "Person", role: .filter)
    let evaluator = ExpressionEvaluator(bindings: [:], now: ExpressionWorld.now, role: .filter)
    for (text, expected) in cases.filters {
      do {
        let predicate = try FilterPredicate(parsing: text)
        try checker.check(predicate)
        let found = try evaluator.compile(predicate).matches(person)
        #expect(found == expected, "\(text): expected \(expected.debugDescription), found \(found.debugDescription)")
      } catch { Issue.record("\(text): \(error)") }
    }
  }

  @Test(arguments: ExpressionCases.all) func `every expression of the table parses back to the same tree`(
    cases: ExpressionCases
  ) throws {
    for (text, _) in cases.values {
      let tree = try ValueExpression(parsing: text)
      #expect(try ValueExpression(parsing: tree.description) == tree, "\(text) prints as \(tree)")
    }
    for (text, _) in cases.filters {
      let tree = try FilterPredicate(parsing: text)
      #expect(try FilterPredicate(parsing: tree.description) == tree, "\(text) prints as \(tree)")
    }
  }

  /// The kind counts, but a URI is a string too.
  private static func same(_ a: AttributeValue, _ b: AttributeValue) -> Bool {
    switch (a, b) {
    case (.uri(let a), .string(let b)), (.string(let a), .uri(let b)): a == b
    default: a == b
    }
  }
}
