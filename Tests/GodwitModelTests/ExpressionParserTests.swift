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
    let tree = try ValueExpression(parsing: text)
    #expect(tree.description == expected)
    #expect(try ValueExpression(parsing: tree.description) == tree)
  }

  @Test(arguments: [
    ("age => 18 && !(name =[cd] 'x' or b <> nil)", "age >= 18 AND NOT (name ==[cd] \"x\" OR b != nil)"),
    ("((a + 1) * 2 > 3) || TRUEPREDICATE", "(a + 1) * 2 > 3 OR TRUEPREDICATE"),
    ("NONE kids.age between {1, 2}", "NOT (ANY kids.age BETWEEN {1, 2})"),
  ]) func `a predicate prints in one spelling and reparses equal`(text: String, expected: String) throws {
    let tree = try FilterPredicate(parsing: text)
    #expect(tree.description == expected)
    #expect(try FilterPredicate(parsing: tree.description) == tree)
  }

  @Test(arguments: [
    ("", 0..<0), ("a == 1 b", 7..<8), ("a == %@", 5..<7), ("upercase(a) == 1", 0..<8),
    ("a == 9223372036854775808", 5..<24),
    ("a[0 == 1", 2..<8), ("a[0", 3..<3), ("a[] == 1", 2..<3), ("name CONTANS 'x'", 5..<12),
    ("name UTI-EQUALS 'x'", 5..<8), ("a == 'x", 5..<7), ("(a == 1", 7..<7), ("a + 1", 0..<5),
  ]) func `a text that is not a predicate is refused at the token`(text: String, range: Range<Int>) {
    let error = #expect(throws: ExpressionError.self) { try FilterPredicate(parsing: text) }
    #expect(error?.range == range)
  }

  @Test(arguments: [
    ("name CONTANS 'x'", "unknown operator 'CONTANS' (did you mean 'CONTAINS'?)"),
    ("name BEGINWITH[c] 'x'", "unknown operator 'BEGINWITH' (did you mean 'BEGINSWITH'?)"),
    ("upercase(a) == 'x'", "unknown function 'upercase' (did you mean 'uppercase'?)"),
    ("abs(1, 2) == 1", "'abs:' takes 1 argument, found 2"),
    ("sum() == 1", "'sum:' takes at least one argument and at most 1000, found 0"),
    ("'\\q' == a", "unknown escape in a string (a backslash itself is written '\\\\')"),
    ("'\\x4' == a", "expected two hexadecimal digits after '\\x'"),
    ("FETCH(a, b, c) == 1", "expected YES or NO for counting only, found 'c'"),
    ("$x := 1", "variable assignment (':=') is not supported"),
  ]) func `a parse error names the problem and the nearest known name`(text: String, message: String) {
    let error = #expect(throws: ExpressionError.self) { try FilterPredicate(parsing: text) }
    #expect(error?.message == message)
  }

  @Test func `a format argument in Swift code is refused: nothing gives it a value`() {
    #expect(throws: ExpressionError("'%@' has no argument", range: 5..<7)) { try FilterPredicate("a == %@") }
  }

  @Test(arguments: ["(", "-", "!", "{", "a+", "2**", "abs("])
  func `an expression nested too deeply is a parse error`(unit: String) {
    #expect(throws: ExpressionError.self) {
      try FilterPredicate(parsing: String(repeating: unit, count: 4000) + "1 == 1")
    }
  }
}
