import GodwitModel
import Testing

struct ExpressionParserTests {
  @Test(arguments: [
    ("1+2*3", "1 + (2 * 3)"), ("a.b.@count", "a.b.@count"), ("-2 ** 2", "-(2 ** 2)"), ("-5", "-5"),
    ("0x1F", "31"), ("uppercase($source.name)", "uppercase:($source.name)"), ("#in.x", "#in.x"),
    ("TERNARY((a) == 'x', {1, nil}, now())", "TERNARY(a == \"x\", {1, nil}, now())"),
    ("SUBQUERY(items, $x, $x.age > 1.5).@count", "SUBQUERY(items, $x, $x.age > 1.5).@count"),
    ("'\\u00e9\\n'", "\"é\\n\""), ("-9223372036854775808", "-9223372036854775808"),
  ]) func `a value prints in one spelling and reparses equal`(text: String, expected: String) throws {
    let tree = try Expression(parsing: text)
    #expect(tree.description == expected)
    #expect(try Expression(parsing: tree.description) == tree)
  }

  @Test(arguments: [
    ("age => 18 && !(name =[cd] 'x' or b <> nil)", "age >= 18 AND NOT (name ==[cd] \"x\" OR b != nil)"),
    ("((a + 1) * 2 > 3) || TRUEPREDICATE", "(a + 1) * 2 > 3 OR TRUEPREDICATE"),
    ("NONE kids.age between {1, 2}", "NOT (ANY kids.age BETWEEN {1, 2})"),
  ]) func `a predicate prints in one spelling and reparses equal`(text: String, expected: String) throws {
    let tree = try Predicate(parsing: text)
    #expect(tree.description == expected)
    #expect(try Predicate(parsing: tree.description) == tree)
  }

  @Test(arguments: [
    ("", 0..<0), ("a == 1 b", 7..<8), ("a == %@", 5..<7), ("upercase(a) == 1", 0..<8),
    ("a == 9223372036854775808", 5..<24),
    ("a[0] == 1", 1..<2), ("a == 'x", 5..<7), ("(a == 1", 7..<7), ("a + 1", 0..<5),
  ]) func `a text that is no predicate is refused at the token`(text: String, range: Range<Int>) {
    let error = #expect(throws: ExpressionError.self) { try Predicate(parsing: text) }
    #expect(error?.range == range)
  }

  @Test(arguments: ["(", "-", "!", "{", "a+", "2**", "abs("])
  func `deep nesting is an error`(unit: String) {
    #expect(throws: ExpressionError.self) {
      try Predicate(parsing: String(repeating: unit, count: 100_000) + "1 == 1")
    }
  }
}
