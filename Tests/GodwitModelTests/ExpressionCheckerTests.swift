import GodwitModel
import Testing

private let stringKeys =
  "it has lastPathComponent, pathExtension, stringByDeletingPathExtension, stringByDeletingLastPathComponent, intValue, "
  + "integerValue, longLongValue, doubleValue, floatValue, boolValue, length, lowercaseString, uppercaseString, "
  + "capitalizedString, precomposedStringWithCanonicalMapping, decomposedStringWithCanonicalMapping, "
  + "stringByRemovingPercentEncoding, description"
private let dateKeys = "timeIntervalSinceReferenceDate, timeIntervalSince1970"

struct ExpressionCheckerTests {
  private func checker(_ role: ExpressionRole) throws -> ExpressionChecker {
    ExpressionChecker(model: try ExpressionFixture.model(), entityName: "Person", role: role)
  }

  @Test(arguments: [
    "name == 'x'", "age > 3.5", "isMember == 1", "manager == nil", "manager == SELF", "born > now() - 5",
    "ANY pets.name BEGINSWITH 'R'", "pets.name CONTAINS 'Rex'", "name IN {'a', nil}", "age BETWEEN {1, 2}",
    "SUBQUERY(pets, $p, $p.weight > 4).@count > 0", "name MATCHES '[a-z]+'", "manager IN reports", "tag != nil",
    "pets.@avg.weight > 2", "'a' IN name", "tag == tag", "photo == photo", "TRUEPREDICATE",
  ])
  func `a valid filter passes the check`(text: String) throws {
    try checker(.filter).check(FilterPredicate(parsing: text))
  }

  @Test(
    arguments: [
      ("nmae == 'x'", "'Person' has no property 'nmae' (did you mean 'name'?)", 0..<4),
      ("manager.nmae.x == 1", "'Person' has no property 'nmae' (did you mean 'name'?)", 8..<12),
      ("name.x == 1", "a value of type String has no 'x': \(stringKeys)", 5..<6),
      (
        "name.lenght == 1", "a value of type String has no 'lenght' (did you mean 'length'?): \(stringKeys)", 5..<11
      ),
      ("tag.x == 1", "a value of type UUID has no 'x': it has UUIDString, description", 4..<5),
      ("born.description == ''", "a value of type Date has no 'description': it has \(dateKeys)", 5..<16),
      ("$source.name == 'x'", "a filter has no '$source': write 'name'", 0..<12),
      ("badge == 'x'", "'Person' has no property 'badge': its subentity 'Employee' has", 0..<5),
      ("note == 'x'", "'note' of 'Person' is transient: no store holds its value", 0..<4),
      ("name < 3", "cannot compare a string with a number", 0..<8),
      ("manager == 3", "cannot compare an object of 'Person' with a number", 0..<12),
      ("born > 3", "cannot compare a date with a number", 0..<8),
      ("age BETWEEN 3", "BETWEEN needs a list of two values, found a number", 12..<13),
      ("age BETWEEN {1, 2, 3}", "BETWEEN needs a list of two values, found a list", 12..<21),
      ("age IN 3", "IN needs a list, a collection or a string, found a number", 7..<8),
      ("age LIKE 'x'", "LIKE needs strings, found a number", 0..<3),
      ("name MATCHES '('", "the right side of MATCHES is not a regular expression", 13..<16),
      (
        "pets == 3",
        "expected one value, found a collection of 'Pet' objects (compare it with ANY, ALL, IN or CONTAINS)",
        0..<4
      ),
      ("pets.@cuont > 1", "unknown collection operator '@cuont' (did you mean '@count'?)", 5..<11),
      ("pets.@sum.name > 1", "'@sum' needs numbers, found values of type String", 5..<9),
      ("name.@count > 1", "'@count' needs a collection, found a string", 5..<11),
      ("ANY name == 'x'", "ANY needs a collection, found a string", 4..<8),
      ("manager < manager", "an object of 'Person' has no order", 0..<7),
      ("name + 1 == 2", "expected a number, found a string", 0..<4),
      ("uppercase(age) == 'x'", "'uppercase:' needs a string, found a number", 10..<13),
      ("SUBQUERY(name, $x, $x == 1).@count == 1", "SUBQUERY needs a collection of objects, found a string", 9..<13),
    ] as [(String, String, Range<Int>)])
  func `an invalid filter is refused at the part concerned`(
    text: String, message: String, range: Range<Int>
  ) throws {
    let predicate = try FilterPredicate(parsing: text)
    let checker = try checker(.filter)
    let error = #expect(throws: ExpressionError.self) { try checker.check(predicate) }
    #expect(error?.message == message)
    #expect(error?.range == range)
  }

  @Test(
    arguments: [
      ("$source.name", .value(.string)), ("$source.pets", .objects(entity: "Pet", ordered: false)),
      ("$source.pets.weight", .values(.integer32)), ("$source.manager", .object(entity: "Person")),
      ("$source.age + 1", .value(.integer64)), ("$source.age / 2.0", .value(.double)),
      ("$source.salary + 1", .value(.decimal)), ("$source.born + 1", .value(.date)),
      ("$source.born - $source.born", .value(.double)), ("nil", .null), ("$manager", .manager), ("{1, 2}", .list),
      ("TERNARY($source.age > 1, nil, 'x')", .value(.string)), ("CAST($source.age, 'NSString')", .value(.string)),
      ("$source.pets.@distinctUnionOfObjects.name", .values(.string)), ("now()", .value(.date)),
      ("SUBQUERY($source.pets, $p, $p.weight > 1)", .objects(entity: "Pet", ordered: false)),
      (
        "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'M', $source.pets)",
        .destinationInstances
      ),
    ] as [(String, ExpressionType)])
  func `a value expression has the type that the model gives`(text: String, expected: ExpressionType) throws {
    #expect(try checker(.value).type(of: ValueExpression(parsing: text)) == expected)
  }

  @Test(
    arguments: [
      ("name", "'name' names no object: write '$source.name'", 0..<4),
      ("SELF", "SELF has no meaning in a value expression: write $source", 0..<4),
      ("$sorce.name", "unknown variable '$sorce' (did you mean '$source'?)", 0..<6),
      ("FUNCTION($manager, 'foo:', 1)", "$manager does not answer 'foo:'", 0..<29),
      ("FUNCTION($entityPolicy, 'foo')", "no policy is registered that could answer 'foo'", 0..<30),
      ("TERNARY($source.age > 1, 1, 'x')", "the branches of TERNARY differ: a number and a string", 0..<32),
      (
        "CAST($source.born, 'NSString')",
        "cannot cast a date to 'NSString': write 'text:format:($source.born, \"iso8601\")', or use a policy",
        5..<17
      ),
      (
        "CAST($source.name, 'NSUUID')",
        "cannot cast to 'NSUUID': write 'uuid:($source.name)', or use a policy", 0..<28
      ),
      (
        "CAST($source.name, 'NSDate')",
        "cannot cast a string to 'NSDate': write 'date:format:($source.name, \"iso8601\")', or use a policy",
        5..<17
      ),
    ] as [(String, String, Range<Int>)])
  func `an invalid value expression is refused at the part concerned`(text: String, message: String, range: Range<Int>)
    throws
  {
    let expression = try ValueExpression(parsing: text)
    let checker = try checker(.value)
    let error = #expect(throws: ExpressionError.self) { try checker.type(of: expression) }
    #expect(error?.message == message)
    #expect(error?.range == range)
  }

  @Test(
    arguments: [
      ("$source.manager . nmae", "'Person' has no property 'nmae' (did you mean 'name'?)", 18..<22),
      ("$source.#nmae.x", "'Person' has no property 'nmae' (did you mean 'name'?)", 8..<13),
      ("$source.pets[0]", "a collection of 'Pet' objects has no order: only its [SIZE] can be read", 0..<12),
      ("$source.name[0]", "an index needs a collection, found a string", 0..<12),
      ("{1, 2}['a']", "expected a number, found a string", 7..<10),
      ("{1, 'a'}[0]", "the members of a list differ: a number and a string", 4..<7),
      ("$source.pets UNION $source.name", "UNION needs collections, found a string", 19..<31),
      (
        "$source.pets UNION $source.reports",
        "UNION cannot join a collection of 'Pet' objects and a collection of 'Person' objects", 0..<34
      ),
      (
        "$source.pets.weight + 1",
        "expected a number, found a collection of values (reduce it with an operator such as @sum or @max)", 0..<19
      ),
      ("1.5 & 'a'", "expected a number, found a string", 6..<9),
      (
        "$destination.age", "$destination has no values while they are computed: repeat the expression of 'age'",
        13..<16
      ),
      ("$entityMapping.nane", "'entityMapping' has no 'nane' here (did you mean 'name'?)", 15..<19),
      ("$propertyMapping.x.y", "'propertyMapping' has no 'x' here: it has name", 17..<18),
      (
        "$manager.sourceContxt", "the migration manager has no 'sourceContxt' here (did you mean 'sourceContext'?)",
        9..<21
      ),
      (
        "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'M', $source.pets).name",
        "'name' is read from destination objects, which attributes cannot read: all objects are made first", 100..<104
      ),
      (
        "FUNCTION($manager, 'destinationInstancesForEntityMapingNamed:sourceInstances:', 'M', $source.pets)",
        "$manager does not answer 'destinationInstancesForEntityMapingNamed:sourceInstances:' (did you mean 'destinationInstancesForEntityMappingNamed:sourceInstances:'?)",
        0..<98
      ),
      (
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Pett', ''), $manager.sourceContext, YES)",
        "the source model has no entity 'Pett' (did you mean 'Pet'?)", 78..<84
      ),
      (
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Pet', 'wieght > 1'), $manager.sourceContext, YES)",
        "'Pet' has no property 'wieght' (did you mean 'weight'?)", 86..<92
      ),
      (
        "FETCH($source.pets, $manager.sourceContext, YES)",
        "FETCH needs FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", …), found a collection of 'Pet' objects",
        6..<18
      ),
      (
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Pet', ''), $source, YES)",
        "FETCH reads $manager.sourceContext, found an object of 'Person'", 90..<97
      ),
    ] as [(String, String, Range<Int>)])
  func `an unknown name in an expression is refused with the nearest known one`(
    text: String, message: String, range: Range<Int>
  ) throws {
    let expression = try ValueExpression(parsing: text)
    let checker = try checker(.value)
    let error = #expect(throws: ExpressionError.self) { try checker.type(of: expression) }
    #expect(error?.message == message)
    #expect(error?.range == range)
  }

  @Test(
    arguments: [
      ("$source.pets[SIZE]", .value(.integer64)), ("{1, 2}[FIRST]", .value(.integer64)),
      ("{1, 2} UNION {3}", .list), ("$source.pets UNION $source.pets", .objects(entity: "Pet", ordered: false)),
      ("$entityMapping.name", .value(.string)), ("$propertyMapping.name", .value(.string)),
      ("$entityMapping.userInfo.anything", .value(.string)), ("random()", .value(.integer64)),
      ("randomn(6)", .value(.integer64)), ("$source.age & 1", .value(.integer64)),
      ("canonical($source.name)", .value(.string)),
      (
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Pet', 'weight > 1'), $manager.sourceContext, YES)",
        .value(.integer64)
      ),
      (
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Pet', 'TRUEPREDICATE'), $manager.sourceContext, NO)",
        .objects(entity: "Pet", ordered: false)
      ),
      (
        "FUNCTION($manager, 'sourceInstancesForEntityMappingNamed:destinationInstances:', 'M', $destination)",
        .sourceInstances
      ),
    ] as [(String, ExpressionType)])
  func `set operators, SUBQUERY, FETCH and FUNCTION have types`(text: String, expected: ExpressionType) throws {
    #expect(try checker(.value).type(of: ValueExpression(parsing: text)) == expected)
  }

  @Test func `a call of a policy passes when the policy is registered`() throws {
    let call = try ValueExpression(parsing: "FUNCTION($entityPolicy, 'core:of:', $source.name, $entityMapping)")
    func check(_ policy: ExpressionPolicy?) throws -> ExpressionType {
      try ExpressionChecker(
        model: ExpressionFixture.model(), entityName: "Person", role: .value, policy: policy
      ).type(of: call)
    }
    #expect(try check(.init(name: "Split", isRegistered: true)) == .value(.undefined))
    let unregistered = #expect(throws: ExpressionError.self) { try check(.init(name: "Split")) }
    #expect(unregistered?.message == "no policy 'Split' is registered that could answer 'core:of:'")
    #expect(throws: ExpressionError.self) { try check(nil) }
    let short = try ValueExpression(parsing: "FUNCTION($entityPolicy, 'core:of:', 1)")
    let error = #expect(throws: ExpressionError.self) {
      try ExpressionChecker(
        model: ExpressionFixture.model(), entityName: "Person", role: .value,
        policy: .init(name: "Split", isRegistered: true)
      ).type(of: short)
    }
    #expect(error?.message == "'core:of:' takes 2 arguments, found 1")
  }

  @Test func `functions built in code are checked by name and count`() throws {
    let checker = try checker(.value)
    let one = ValueExpression(.constant(.integer(1)))
    for (name, arguments, message) in [
      ("upercase:", [one], "unknown function 'upercase:' (did you mean 'uppercase:'?)"),
      ("canonical:", [one], "'canonical:' needs a string, found a number"),
      (
        "distanceToLocation:fromLocation:", [one, one],
        "'distanceToLocation:fromLocation:' needs locations, which no attribute of a store holds: compute the distance from coordinates"
      ),
      ("abs:", [one, one], "'abs:' takes 1 argument, found 2"),
    ] {
      let error = #expect(throws: ExpressionError.self) {
        try checker.type(of: ValueExpression(.function(name: name, arguments: arguments)))
      }
      #expect(error?.message == message)
    }
  }

  @Test(
    arguments: [
      ("1", .boolean, true), ("1.0", .integer16, true), ("1.5", .integer16, false), ("70000", .integer16, false),
      ("$source.height", .integer16, true), ("$source.age", .decimal, true), ("'x'", .integer16, false),
      ("1", .string, false), ("$source.born", .double, false), ("1", .date, false), ("$source.born + 1", .date, true),
      ("$source.photo", .string, false), ("$source.name", .binary, false), ("$source.tag", .uuid, true),
      ("nil", .uuid, true), ("$source.manager", .string, false), ("$source.pets", .string, false),
      ("$source.pets.name", .string, false), ("{1}", .integer16, false), ("$manager", .string, false),
      ("$destination", .string, false),
      (
        "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'M', $source.pets)", .string,
        false
      ),
    ] as [(String, AttributeType, Bool)])
  func `an expression of a type that never fits is refused`(text: String, type: AttributeType, fits: Bool) throws {
    let checker = try checker(.value)
    let expression = try ValueExpression(parsing: text)
    let attribute = AttributeDescription(name: "target", type: type)
    if fits {
      try checker.check(expression, assignableTo: attribute)
    } else {
      #expect(throws: ExpressionError.self) { try checker.check(expression, assignableTo: attribute) }
    }
  }

  @Test func `an expression tree that is too deep is refused`() throws {
    var deep = ValueExpression(.constant(.integer(1)))
    for _ in 0..<600 { deep = ValueExpression(.negation(deep)) }
    let checker = try checker(.value)
    #expect(throws: ExpressionError.self) { try checker.type(of: deep) }
  }
}
