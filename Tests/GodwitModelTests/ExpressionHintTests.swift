import GodwitModel
import Testing

/// The words that a writer tries first, and the message about each.
@Suite struct ExpressionHintTests {
  private func complaint(_ text: String) throws -> String? {
    do {
      let expression = try ValueExpression(parsing: text)
      _ = try ExpressionChecker(model: try ExpressionFixture.model(), entityName: "Person", role: .value)
        .type(of: expression)
      return nil
    } catch let error as ExpressionError { return error.message }
  }

  private func filterComplaint(_ text: String) throws -> String? {
    do {
      let predicate = try FilterPredicate(parsing: text)
      try ExpressionChecker(model: try ExpressionFixture.model(), entityName: "Person", role: .filter).check(predicate)
      return nil
    } catch let error as ExpressionError { return error.message }
  }

  @Test(arguments: [
    ("unknown", "'unknown' is no property of 'Person', and a text needs its own quotes: '\"unknown\"'"),
    (
      "nmae",
      "'nmae' is no property of 'Person' (did you mean '$source.name'?), and a text needs its own quotes: '\"nmae\"'"
    ),
    ("coalesce:(unknown, 'x')", "'unknown' is no property of 'Person', and a text needs quotes: \"unknown\""),
    ("pets.name", "'pets.name' names no object: write '$source.pets.name'"),
    ("newUUID", "'newUUID' is a function: write 'newUUID()'"),
    ("now", "'now' is a function: write 'now()'"), ("Random", "'Random' is a function: write 'random()'"),
    ("source.name", "'source.name' names no object: write '$source.name'"),
    ("Element.name", "'Element.name' names no object: write '$element.name'"),
    ("index", "'index' names no object: write '$index'"),
    ("nothing.name", "'nothing' is no property of 'Person'"),
  ]) func `a name without a variable is an object, a function or a text`(text: String, message: String) throws {
    #expect(try complaint(text) == message)
  }

  @Test(arguments: [
    ("name == A", "'Person' has no property 'A' (did you mean 'age'?), and a text needs quotes: \"A\""),
    ("name IN {'x', Rosalind}", "'Person' has no property 'Rosalind', and a text needs quotes: \"Rosalind\""),
    ("nmae == 'x'", "'Person' has no property 'nmae' (did you mean 'name'?)"),
    ("name IS NULL", "unknown operator 'IS': write '== nil'"),
    ("name is not nil", "unknown operator 'is': write '!= nil'"), ("age IS 3", "unknown operator 'IS': write '=='"),
    ("name startsWith 'x'", "unknown operator 'startsWith': write 'BEGINSWITH'"),
    ("name NOT IN {'x'}", "NOT comes before a comparison, as in 'NOT a IN b'"),
    ("isMember", "expected a condition, found a value: compare it, as in 'isMember == YES' or 'isMember != nil'"),
    ("true", "expected a condition, found a value: write 'TRUEPREDICATE'"),
    ("NO", "expected a condition, found a value: write 'FALSEPREDICATE'"),
  ]) func `a filter with words of other languages says what to write`(text: String, message: String) throws {
    #expect(try filterComplaint(text) == message)
  }

  @Test(arguments: [
    ("IF($source.age > 3, 'a', 'b')", "unknown function 'IF': write 'TERNARY(condition, a, b)'"),
    ("concat:($source.name, 'x')", "unknown function 'concat:': write 'join:with:({a, b}, \"\")'"),
    ("IFNULL($source.name, 'x')", "unknown function 'IFNULL': write 'coalesce:(a, b)'"),
    ("round:($source.height)", "unknown function 'round:': write 'floor:(a + 0.5)'"),
    (
      "replace:with:($source.name, 'a', 'b')",
      "unknown function 'replace:with:': write 'FUNCTION(a, \"stringByReplacingOccurrencesOfString:withString:\", \"x\", \"y\")'"
    ),
    (
      "date:timeZone:format:($source.name, 'UTC', 'yyyy')",
      "unknown function 'date:timeZone:format:': the arguments of 'date:format:timeZone:' come in that order"
    ),
    ("coalesc:($source.name)", "unknown function 'coalesc:' (did you mean 'coalesce'?)"),
    ("$source.age > 3 ? 'a' : 'b'", "unexpected character '?': write 'TERNARY(condition, a, b)'"),
    ("$source.name ?? 'b'", "unexpected character '?': write 'coalesce:(a, b)'"),
    (
      "$source.age != 0", "expected a value, found a condition: write 'TERNARY($source.age != 0, YES, NO)'"
    ),
    ("$source.name.intValue()", "'intValue' has no parentheses: write '$source.name.intValue'"),
    ("$source.name.uppercased()", "'uppercased' cannot be called: write 'uppercase:(a)'"),
    (
      "$source.name.foo(1)",
      "'foo' cannot be called: a member has no parentheses, and a method is called as FUNCTION(a, \"foo:\", b)"
    ),
    (
      "FUNCTION($source.name, 'substringWithRange:', 0, 3)",
      "a string does not answer 'substringWithRange:': write 'FUNCTION(FUNCTION(a, \"substringFromIndex:\", 2), \"substringToIndex:\", 3)'"
    ),
  ]) func `a function of another language says what does the same`(text: String, message: String) throws {
    #expect(try complaint(text) == message)
  }

  @Test(arguments: [
    (
      "CAST($source.name, 'NSInteger')",
      "cannot cast to 'NSInteger': a CAST makes NSNumber, NSDecimalNumber, NSString, NSDate or NSData, and '$source.name.integerValue' a whole number"
    ),
    (
      "CAST(uppercase:($source.name), 'Bool')",
      "cannot cast to 'Bool': a CAST makes NSNumber, NSDecimalNumber, NSString, NSDate or NSData, and 'FUNCTION(uppercase:($source.name), \"boolValue\")' a Boolean"
    ),
    (
      "CAST($source.born, 'Bool')",
      "cannot cast to 'Bool': a CAST makes NSNumber, NSDecimalNumber, NSString, NSDate or NSData, and a policy the rest"
    ),
    (
      "join:with:($source.name, $source.manager.name, ' ')",
      "'join:with:' takes 2 arguments, found 3: put the texts in { }, as in 'join:with:({$source.name, $source.manager.name}, \" \")'"
    ),
    (
      "join:with:({$source.name})",
      "'join:with:' takes 2 arguments, found 1: a list, and the text between its members, such as \", \""
    ),
    ("UUID()", "'uuid:' takes 1 argument, found 0: 'newUUID()' makes a new one"),
    (
      "$source.salary + '0.1'",
      "'+' adds numbers: write '$source.salary + CAST(\"0.1\", \"NSDecimalNumber\")', or for a text 'join:with:({$source.salary, \"0.1\"}, \"\")'"
    ),
    (
      "$source.age + '1'",
      "'+' adds numbers: write '$source.age + 1', or for a text 'join:with:({$source.age, \"1\"}, \"\")'"
    ),
    (
      "date:format:('dd.MM.yyyy', $source.name)",
      "'date:format:' takes the text first, then the pattern: write 'date:format:($source.name, \"dd.MM.yyyy\")'"
    ),
    (
      "text:format:('dd.MM.yyyy', $source.born)",
      "'text:format:' needs a date, found a string: the date comes first, then the pattern"
    ),
    (
      "date:format:timeZone:($source.name, 'Europe/Berlin', 'HH:mm')",
      "'date:format:timeZone:': no time zone 'HH:mm': the pattern comes before the time zone"
    ),
    ("text:format:($source.born, 'ISO8601')", "'text:format:': write \"iso8601\" in place of \"ISO8601\""),
    ("text:format:($source.born, 'ISO-8601')", "'text:format:': write \"iso8601\" in place of \"ISO-8601\""),
  ]) func `arguments of another kind or order say what to write`(text: String, message: String) throws {
    #expect(try complaint(text) == message)
  }

  @Test func `what a message shows has no # after a full stop, and works`() throws {
    var person = EntityDescription(
      name: "Person", attributes: [.init(name: "first", type: .string), .init(name: "last", type: .string)])
    person.isAbstract = false
    let model = try ManagedObjectModel(name: "M", entities: [person])
    let checker = ExpressionChecker(model: model, entityName: "Person", role: .value)
    let sum = try ValueExpression(parsing: "$source.first + '.#' + $source.last")
    let error = #expect(throws: ExpressionError.self) { try checker.type(of: sum) }
    let shown = "join:with:({$source.first, $source.last}, \".#\")"
    #expect(error?.message == "'+' adds numbers, and these are texts: write '\(shown)'")
    #expect(try checker.type(of: ValueExpression(parsing: shown)) == .value(.string))
  }

  @Test(
    arguments: [
      ("DD.MM.yyyy", "in the pattern 'DD.MM.yyyy' 'DD' is the day of the year: write 'dd'"),
      ("dd.MM.YYYY", "in the pattern 'dd.MM.YYYY' 'YYYY' is the year of the week: write 'yyyy'"),
      ("dd.mm.yyyy", "in the pattern 'dd.mm.yyyy' 'mm' are minutes: write 'MM' for the month"), ("YYYY-'W'ww", nil),
      ("yyyy DDD", nil), ("dd.MM.yyyy HH:mm", nil), ("dd. 'DY' MMMM yyyy", nil), ("iso8601", nil),
    ] as [(String, String?)]) func `a pattern with week years, days of the year or minutes for months is doubted`(
      pattern: String, doubt: String?
    ) throws
  {
    let text = try ValueExpression(parsing: "coalesce:(date:format:else:($source.name, \"\(pattern)\", nil), now())")
    #expect(text.patternDoubts == (doubt.map { [$0] } ?? []))
  }
}
