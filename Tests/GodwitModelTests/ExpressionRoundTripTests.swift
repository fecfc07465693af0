import Foundation
import GodwitModel
import TestSupport
import Testing

/// Trees at random, as a parser could make them.
private struct TreeWriter {
  var random: SeededGenerator

  mutating func pick<T>(_ choices: [T]) -> T { choices[random.below(choices.count)] }

  mutating func name() -> String { pick(["a", "name", "in", "size", "First", "_x1", "élan", "Nil", "between", "β"]) }

  mutating func value(_ depth: Int) -> ValueExpression {
    guard depth > 0 else {
      switch random.below(6) {
      case 0: return .init(.constant(.integer(pick([0, 1, -5, .max, .min]))))
      case 1: return .init(.constant(.double(pick([0.5, -1.25, 1e300, 1e-9]))))
      case 2: return .init(.constant(.init(pick(["", "a'b", "\"", "\\", "\u{1}\n\t", "日本 😀", "%@ #x"]))))
      case 3: return .init(.variable(pick(["source", "x", "manager"])))
      case 4: return .init(.constant(pick([.null, .boolean(true), .boolean(false)])))
      default: return .init(.evaluatedObject)
      }
    }
    let inner = depth - 1
    switch random.below(11) {
    case 0: return .init(.keyPath(base: nil, segments: [name()]))
    case 1: return .init(.keyPath(base: .init(.variable("source")), segments: [name(), "@count"]))
    case 2:
      return .init(.arithmetic(pick(ValueExpression.ArithmeticOperator.allCases), value(inner), value(inner)))
    case 3: return .init(.aggregate((0..<random.below(3)).map { _ in value(inner) }))
    case 4: return .init(.function(name: pick(["abs:", "uppercase:", "onesComplement:"]), arguments: [value(inner)]))
    case 5: return .init(.function(name: "bitwiseAnd:with:", arguments: [value(inner), value(inner)]))
    case 6: return .init(.ternary(test(inner), value(inner), value(inner)))
    case 7: return .init(.subquery(collection: value(inner), variable: "v", predicate: test(inner)))
    case 8: return .init(.set(pick(ValueExpression.SetOperator.allCases), value(inner), value(inner)))
    case 9:
      return .init(.element(of: value(inner), at: pick([.first, .last, .size, .index(value(inner))])))
    default: return .init(.call(operand: .init(.variable("manager")), selector: "a:b:", arguments: [value(inner)]))
    }
  }

  mutating func test(_ depth: Int) -> FilterPredicate {
    guard depth > 0 else { return .init(.constant(random.chance(50))) }
    let inner = depth - 1
    switch random.below(5) {
    case 0: return .init(.and([test(inner), test(inner)]))
    case 1: return .init(.or([test(inner), test(inner), test(inner)]))
    case 2: return .init(.not(test(inner)))
    default:
      return .init(
        .comparison(
          .init(
            value(inner), pick(FilterPredicate.Comparison.Operator.allCases), value(inner),
            modifier: pick([.direct, .any, .all]),
            options: pick([[], [.caseInsensitive], [.diacriticInsensitive, .normalized]]))))
    }
  }
}

@Suite struct ExpressionRoundTripTests {
  @Test func `a random expression tree prints to text that parses to it`() throws {
    for seed in testSeeds(150) {
      var writer = TreeWriter(random: SeededGenerator(seed: seed))
      let tree = writer.value(4)
      let text = tree.description
      do {
        #expect(try ValueExpression(parsing: text) == tree, "seed \(seed): \(text)")
      } catch { Issue.record("seed \(seed): \(text): \(error)") }
      let test = writer.test(4)
      do {
        #expect(try FilterPredicate(parsing: test.description) == test, "seed \(seed): \(test)")
      } catch { Issue.record("seed \(seed): \(test): \(error)") }
    }
  }

  private static let pieces: [String] = [
    "(", ")", "{", "}", "[", "]", ",", ".", "+", "-", "*", "/", "**", "&", "|", "^", "~", "<<", ">>", "=", "==", "!=",
    "<", ">", "=<", "AND", "OR", "NOT", "!", "ANY", "IN", "BETWEEN", "LIKE", "MATCHES", "[cd]", "a", "#in", "$source",
    "$x", "1", "0x", "1e", "1.5", "'a'", "\"", "'", "\\", "%@", "%K", "%d", "TERNARY(", "SUBQUERY(", "CAST(", "FETCH(",
    "FUNCTION(", "abs(", "@count", "@", "#", "$", ":", ":=", "nil", "FIRST", "UNION", "\u{0}", "é", "😀", "\n",
    "9999999999999999999",
  ]

  /// Whatever the text, the whole pipeline gives a result or an error.
  private func run(_ text: String, model: ManagedObjectModel, person: ExpressionWorld.Object) {
    if let predicate = try? FilterPredicate(text) { try? use(predicate, model, person) }
    if let predicate = try? FilterPredicate(parsing: text) { try? use(predicate, model, person) }
    do throws(ExpressionError) {
      let expression = try ValueExpression(parsing: text)
      try? use(expression, model, person)
    } catch {
      let source = SourceText(text, location: .init(file: "f", line: 1, column: 1))
      _ = GodwitError(error, in: source, what: "x").description
      #expect(error.range.lowerBound >= 0 && error.range.upperBound <= text.utf8.count, "\(text)")
    }
  }

  private func use(
    _ predicate: FilterPredicate, _ model: ManagedObjectModel, _ person: ExpressionWorld.Object
  ) throws {
    _ = try? ExpressionChecker(model: model, entityName: "Person", role: .filter).check(predicate)
    let evaluator = ExpressionEvaluator(bindings: [:], now: 0, role: .filter)
    _ = try evaluator.compile(predicate).matches(person)
  }

  private func use(
    _ expression: ValueExpression, _ model: ManagedObjectModel, _ person: ExpressionWorld.Object
  ) throws {
    _ = try? ExpressionChecker(model: model, entityName: "Person", role: .value).type(of: expression)
    let evaluator = ExpressionEvaluator(bindings: ["source": .object(person)], now: 0, role: .value)
    _ = try evaluator.compile(expression).evaluate(with: person)
  }

  @Test func `random tokens never trap the parser`() throws {
    let model = try ExpressionWorld.model()
    let person = try #require(ExpressionWorld.object("Person", 1, in: model))
    for seed in testSeeds(1000) {
      var random = SeededGenerator(seed: seed)
      let text = (0..<random.below(14)).map { _ in
        Self.pieces[random.below(Self.pieces.count)] + (random.chance(50) ? " " : "")
      }.joined()
      run(text, model: model, person: person)
    }
  }

  @Test func `mutated expressions never trap`() throws {
    let model = try ExpressionWorld.model()
    let person = try #require(ExpressionWorld.object("Person", 1, in: model))
    let texts = ExpressionCases.all.flatMap { $0.values.map(\.0) + $0.filters.map(\.0) }
    for seed in testSeeds(1000) {
      var random = SeededGenerator(seed: seed)
      var bytes = Array(texts[random.below(texts.count)].utf8)
      for _ in 0...random.below(3) {
        let place = random.below(bytes.count + 1)
        switch random.below(3) {
        case 0: bytes.insert(contentsOf: Self.pieces[random.below(Self.pieces.count)].utf8, at: place)
        case 1: if place < bytes.count { bytes.remove(at: place) }
        default: if place < bytes.count { bytes[place] = UInt8(random.below(256)) }
        }
      }
      run(String(decoding: bytes, as: UTF8.self), model: model, person: person)
    }
  }

  @Test(arguments: [
    "(", "-", "!", "~", "{", "a+", "2**", "abs(", "NOT ", "a[", "TERNARY(TRUEPREDICATE, 1, ", "SUBQUERY(a, $x, ",
    "{1} UNION ", "CAST(", "1 & ",
  ])
  func `unlimited nesting is an error`(unit: String) {
    let text = String(repeating: unit, count: 4000) + "1"
    #expect(throws: ExpressionError.self) { try FilterPredicate(parsing: text) }
    #expect(throws: ExpressionError.self) { try ValueExpression(parsing: text) }
  }

  @Test func `an unlimited chain of postfixes is an error`() {
    for unit in ["[0]", "[0].a"] {
      #expect(throws: ExpressionError.self) {
        try ValueExpression(parsing: "a" + String(repeating: unit, count: 4000))
      }
    }
  }
}
