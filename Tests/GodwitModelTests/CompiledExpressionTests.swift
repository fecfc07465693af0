import GodwitModel
import TestSupport
import Testing

/// Expressions made ready once and evaluated on many objects.
@Suite struct CompiledExpressionTests {
  @Test func `one compiled expression serves every object`() throws {
    let model = try ExpressionWorld.model()
    let people = try (1...3).map { try #require(ExpressionWorld.object("Person", $0, in: model)) }
    let evaluator = ExpressionEvaluator(now: 0, role: .value, bindsSource: true)
    let expression = try ValueExpression(parsing: "TERNARY($source.manager == nil, $source.name, $source.manager.name)")
    let compiled = evaluator.compile(expression)
    let names = try people.map { person in
      guard case .value(let value) = try compiled.evaluate(with: person) else { return AttributeValue.null }
      return value
    }
    #expect(names == [.init("Zoë"), .init("Zoë"), .init("Bob")])
    let predicate = ExpressionEvaluator(now: 0, role: .filter).compile(try FilterPredicate(parsing: "age > 18"))
    #expect(try people.map { try predicate.matches($0) } == [true, false, nil])
  }

  @Test(
    arguments: [
      ("SUBQUERY($source.pets, $p, SUBQUERY($source.pets, $p, $p.weight == 3).@count == 1).@count", 3),
      ("SUBQUERY($source.pets, $p, SUBQUERY($source.pets, $q, $q.weight < $p.weight).@count == 1).@count", 1),
      ("SUBQUERY($source.pets, $source, $source.weight == 3).@count + $source.age", 41),
      ("SUBQUERY(SUBQUERY($source.pets, $p, $p.weight > 0), $p, $p.weight > 4).@count", 1),
    ] as [(String, Int64)])
  func `a variable belongs to the nearest SUBQUERY`(text: String, expected: Int64) throws {
    let model = try ExpressionWorld.model()
    let person = try #require(ExpressionWorld.object("Person", 1, in: model))
    let evaluator = ExpressionEvaluator(now: 0, role: .value, bindsSource: true)
    guard case .value(let found) = try evaluator.compile(ValueExpression(parsing: text)).evaluate(with: person) else {
      Issue.record("no value")
      return
    }
    #expect(found == .integer(expected))
  }

  @Test func `an impossible expression is an error only where it is evaluated`() throws {
    let person = ExpressionFixture.person()
    let evaluator = ExpressionEvaluator(now: 0, role: .value)
    var deep = ValueExpression(.constant(.integer(1)))
    for _ in 0..<600 { deep = ValueExpression(.negation(deep)) }
    let wrong = [
      deep, try ValueExpression(parsing: "$nothing"), try ValueExpression(parsing: "FUNCTION($source, 'x')"),
    ]
    for wrong in wrong {
      let compiled = evaluator.compile(ValueExpression(.ternary(FilterPredicate(.constant(false)), wrong, deep)))
      #expect(throws: ExpressionError.self) { try compiled.evaluate(with: person) }
      let untaken = evaluator.compile(
        ValueExpression(.ternary(FilterPredicate(.constant(true)), ValueExpression(.constant(.null)), wrong)))
      guard case .value(.null) = try untaken.evaluate(with: person) else {
        Issue.record("expected nil")
        continue
      }
    }
  }

  // MARK: Short ways for ASCII

  @Test func `every ASCII character changes case as in Unicode`() {
    for byte in UInt8(0)..<0x80 {
      let (text, string) = (Text(utf8: [byte]), String(UnicodeScalar(byte)))
      #expect(text.uppercased == Text(string.uppercased()))
      #expect(text.lowercased == Text(string.lowercased()))
      #expect(StringComparison.folded([byte], .caseInsensitive) == Array(string.lowercased().utf8))
      #expect(StringComparison.folded([byte], .diacriticInsensitive) == [byte])
      #expect(text.utf16Count == 1)
    }
  }

  @Test func `no character below the first combining one is a mark`() {
    for value in UInt32(0)..<StringComparison.firstMark {
      #expect(UnicodeScalar(value)?.properties.generalCategory != .nonspacingMark)
    }
    #expect(UnicodeScalar(StringComparison.firstMark)?.properties.generalCategory == .nonspacingMark)
  }

  @Test func `LIKE gives the same result for ASCII and other text`() {
    for seed in testSeeds(800) {
      var random = SeededGenerator(seed: seed)
      func some(_ characters: [Character]) -> String {
        String((0..<random.below(7)).map { _ in characters[random.below(characters.count)] })
      }
      let (text, pattern) = (some(["a", "B", "b"]), some(["a", "B", "b", "*", "?", "\\"]))
      for options in [[], .caseInsensitive] as [StringComparison.Options] {
        let plain = StringComparison.like(Array(text.utf8), Array(pattern.utf8), options)
        let wide = StringComparison.like(Array(("é" + text).utf8), Array(("é" + pattern).utf8), options)
        #expect(plain == wide, "seed \(seed): '\(text)' LIKE '\(pattern)'")
      }
    }
  }
}
