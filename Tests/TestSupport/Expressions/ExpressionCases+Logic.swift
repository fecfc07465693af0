import GodwitModel

/// Nil, truth, membership and quantifiers.
extension ExpressionCases {
  package static let nils = ExpressionCases(
    name: "nil",
    values: [
      ("TERNARY($source.nick == nil, 1, 2)", .integer(1)), ("TERNARY($source.nick == 'x', 1, 2)", .integer(2)),
      ("TERNARY($source.nick != 'x', 1, 2)", .integer(1)), ("TERNARY(NOT $source.rating < 1, 1, 2)", .integer(1)),
      ("TERNARY($source.rating IN {1, nil}, 1, 2)", .integer(1)),
      ("TERNARY($source.rating IN {1}, 1, 2)", .integer(2)),
      ("TERNARY($source.rating >= $source.rating, 1, 2)", .integer(2)),
      ("TERNARY($source.rating == $source.rating, 1, 2)", .integer(1)),
      ("TERNARY($source.manager == nil, 1, 2)", .integer(1)),
      ("TERNARY($source.nick LIKE '*', 1, 2)", .integer(2)),
      ("TERNARY(ANY $source.pets.name == nil, 1, 2)", .integer(1)),
      ("TERNARY(ALL $source.pets.weight > 2, 1, 2)", .integer(2)),
      ("TERNARY('Tom' IN $source.pets.name, 1, 2)", .integer(2)),
    ],
    filters: [
      ("nick == nil", true), ("nick != nil", false), ("nick == NULL", true), ("name == nil", false),
      ("nil == nick", true), ("nick == 'x'", nil), ("nick != 'x'", nil), ("NOT nick == 'x'", nil),
      ("rating > 1", nil), ("rating == rating", nil), ("nil == nil", true), ("nil != nil", false),
      ("manager == nil", true), ("manager != nil", false), ("manager.name == nil", true),
      ("manager.name == 'x'", nil), ("nick IN {'a', nil}", nil), ("name IN {'a', nil}", nil),
      ("name IN {'Zoë', nil}", true), ("nick BETWEEN {'a', 'b'}", nil), ("rating + 1 == nil", true),
      ("TERNARY(age > 1, rating, 1) == 1", nil),
    ])

  package static let logic = ExpressionCases(
    name: "logic",
    filters: [
      ("TRUEPREDICATE", true), ("FALSEPREDICATE", false), ("NOT TRUEPREDICATE", false),
      ("age == 40 AND height == 1.5", true), ("age == 40 && height == 2", false), ("age == 1 OR height == 1.5", true),
      ("age == 1 || height == 2", false), ("!(age == 1)", true), ("not age == 1 and TRUE == YES", true),
      ("rating == 1 AND age == 1", false), ("rating == 1 AND age == 40", nil), ("rating == 1 OR age == 40", true),
      ("rating == 1 OR age == 1", nil), ("NOT (rating == 1 OR age == 1)", nil),
      ("NOT (rating == 1 AND age == 1)", true), ("age == 1 OR age == 40 AND height == 1.5", true),
      ("(age == 1 OR age == 40) AND height == 2", false), ("NOT NOT age == 40", true),
    ])

  package static let membership = ExpressionCases(
    name: "IN, BETWEEN and CONTAINS",
    filters: [
      ("age IN {39, 40}", true), ("age IN {1}", false), ("age IN {}", false), ("age IN {40.0}", true),
      ("name IN[c] {'ZOË'}", true), ("name IN[d] {'Zoe'}", true), ("NOT age IN {1, 2}", true),
      ("age BETWEEN {40, 50}", true), ("age BETWEEN {30, 40}", true), ("age BETWEEN {41, 50}", false),
      ("age BETWEEN {50, 30}", false), ("height BETWEEN {1, 2}", true), ("name BETWEEN {'A', 'zz'}", true),
      ("name BETWEEN[c] {'ZO', 'zp'}", true), ("age BETWEEN {rating, 50}", nil), ("age BETWEEN {rating, 30}", false),
      ("{1, 2} CONTAINS 2", true), ("{'a'} CONTAINS 'b'", false), ("SELF IN reports", false),
      ("'Rex' IN pets.name", true), ("pets.name CONTAINS 'Rex'", true), ("pets.name CONTAINS 'rex'", nil),
      ("pets.name CONTAINS[c] 'REX'", true), ("3 IN pets.weight", true), ("4 IN pets.weight", nil),
      ("'x' IN manager.pets.name", nil), ("SELF IN manager.reports", nil), ("reports CONTAINS SELF", false),
      ("age IN {1} UNION {40}", true), ("age IN {age, 1}", true),
    ])

  package static let quantifiers = ExpressionCases(
    name: "ANY, ALL and NONE",
    filters: [
      ("ANY pets.weight > 4", true), ("ANY pets.weight > 9", nil), ("SOME pets.weight == 3", true),
      ("ALL pets.weight > 2", nil), ("ALL pets.weight > 3", false), ("NONE pets.weight > 9", nil),
      ("NONE pets.weight == 3", false), ("ANY pets.name ==[c] 'TOM'", true), ("ANY pets.name == nil", true),
      ("ALL pets.name != nil", false), ("ANY pets.name LIKE 'R*'", true), ("ANY pets.name IN {'Rex'}", true),
      ("ANY pets.weight BETWEEN {4, 6}", true), ("ANY pets == pets[0]", true), ("ANY clubs.name == 'Chess'", true),
      ("ANY clubs.members.name == 'Bob'", true), ("ALL clubs.name BEGINSWITH[c] 'ch'", true),
      ("ALL clubs.name BEGINSWITH 'ch'", false), ("ANY reports.reports.age > 1", nil), ("ALL reports.age < 18", true),
      ("ANY manager.pets.weight > 1", false), ("ALL manager.pets.weight > 1", true),
      ("NONE manager.pets.weight > 1", true), ("ANY reports == SELF", false), ("ANY {1, 40} == age", true),
      ("NOT ANY pets.weight == 3", false),
    ])
}
