import Foundation
import GodwitModel

/// To-many relationships: operators, indexes, sets, SUBQUERY.
extension ExpressionCases {
  package static let collections = ExpressionCases(
    name: "collection operators",
    values: [
      ("$source.pets.@count", .integer(3)), ("$source.pets.@sum.weight", .integer(8)),
      ("$source.pets.weight.@sum", .integer(8)), ("$source.pets.@avg.weight", .double(8.0 / 3)),
      ("$source.pets.@min.weight", .integer(3)), ("$source.pets.@max.weight", .integer(5)),
      ("$source.pets.@max.name", .string("tom")), ("$source.pets.@min.name", .string("Rex")),
      ("$source.pets.@sum.price", .double(2.75)), ("$source.pets.@avg.price", .double(2.75 / 3)),
      ("$source.pets.name.@count", .integer(3)), ("$source.pets.@unionOfObjects.name.@count", .integer(3)),
      ("$source.pets.@distinctUnionOfObjects.name.@count", .integer(2)), ("$source.clubs.@count", .integer(2)),
      ("$source.clubs.members.@count", .integer(3)), ("$source.clubs.@unionOfSets.members.@count", .integer(3)),
      ("$source.clubs.@distinctUnionOfSets.members.@count", .integer(2)), ("$source.reports.@count", .integer(1)),
      ("$source.clubs.members.@sum.age", .integer(97)), ("$source.clubs.members.@max.born", .date(1000)),
      ("$source.clubs.members.@sum.pay", .decimal(12.5)), ("$source.clubs.members.@sum.isMember", .integer(2)),
      ("$source.reports.reports.@count", .integer(1)), ("$source.reports.@sum.age", .integer(17)),
      ("$source.reports.pets.@count", .integer(0)), ("$source.reports.pets.@sum.weight", .integer(0)),
      ("$source.reports.pets.@avg.weight", .null), ("$source.reports.pets.@max.weight", .null),
      ("$source.manager.pets.@count", .null), ("$source.reports.pets.owner.@sum.age", .integer(0)),
      ("$source.reports.pets.owner.age.@count", .integer(0)), ("$source.manager.pets.@sum.weight", .null),
      ("count:($source.pets)", .integer(3)), ("sum:($source.pets.weight)", .integer(8)),
      ("average:($source.pets.weight)", .double(4)), ("min:($source.pets.weight)", .integer(3)),
      ("max:($source.pets.price)", .double(2.5)), ("median:($source.pets.weight)", .double(4)),
      ("mode:($source.pets.weight)", .integer(3)), ("stddev:($source.pets.weight)", .double(1)),
      ("sum:($source.manager.pets.weight)", .integer(0)), ("count:($source.manager.pets)", .null),
      ("sum(1, 2.5)", .double(3.5)), ("max(1, 3, 2)", .integer(3)), ("min('b', 'a')", .string("a")),
      ("average({1, 2})", .double(1.5)), ("median({4, 1, 3, 2})", .double(2.5)), ("mode({2, 1, 2})", .integer(2)),
      ("stddev({1, 3})", .double(1)), ("average({})", .null), ("sum({})", .integer(0)),
      ("max($source.rating, 2)", .integer(2)), ("count:({1, 2, 3})", .integer(3)), ("sum(9, nil)", .integer(9)),
    ],
    filters: [("pets.@count > 2", true), ("pets.@sum.weight == 8", true), ("pets.@count == 0", false)])

  package static let indexes = ExpressionCases(
    name: "indexes",
    values: [
      ("$source.pets[0].name", .string("Rex")), ("$source.pets[FIRST].name", .string("Rex")),
      ("$source.pets[LAST].weight", .null), ("$source.pets[1].weight", .integer(5)),
      ("$source.pets[SIZE]", .integer(3)), ("$source.pets[9].name", .null), ("$source.pets[-1].name", .null),
      ("$source.pets.name[1]", .string("tom")), ("$source.clubs[SIZE]", .integer(2)), ("{10, 20}[1]", .integer(20)),
      ("{10, 20}[LAST]", .integer(20)), ("{}[FIRST]", .null), ("objectFrom:withIndex:({10, 20}, 0)", .integer(10)),
      ("$source.pets[$source.pets[SIZE] - 2].name", .string("tom")), ("$source.manager.pets[SIZE]", .null),
      ("$source.pets[0].owner.name", .string("Zoë")),
    ], filters: [("pets[0].name == 'Rex'", true), ("pets[SIZE] == 3", true), ("pets[first].weight == 3", true)])

  package static let sets = ExpressionCases(
    name: "set operators",
    values: [
      ("count:($source.pets UNION $source.pets)", .integer(3)), ("count:({1, 2} UNION {2, 3})", .integer(3)),
      ("count:({1, 2} INTERSECT {2, 3})", .integer(1)), ("count:({1, 2} MINUS {2, 3})", .integer(1)),
      ("({1, 2} UNION {3})[SIZE]", .integer(3)), ("count:({1} UNION {1.0})", .integer(1)),
      ("count:($source.pets.name UNION {'Rex', 'New'})", .integer(3)),
      ("count:($source.clubs INTERSECT $source.reports.clubs)", .integer(1)),
      ("count:($source.clubs MINUS $source.reports.clubs)", .integer(1)),
      ("count:({1} UNION {2} MINUS {1})", .integer(1)),
    ])

  package static let subqueries = ExpressionCases(
    name: "SUBQUERY",
    values: [
      ("SUBQUERY($source.pets, $p, $p.weight > 3).@count", .integer(1)),
      ("SUBQUERY($source.pets, $p, $p.weight > 0 AND $p.name BEGINSWITH 'R').@count", .integer(1)),
      ("SUBQUERY($source.pets, $p, $p.name == nil).@count", .integer(1)),
      ("SUBQUERY($source.pets, $p, $p.weight > 1).@sum.price", .double(2.75)),
      ("SUBQUERY($source.clubs, $c, ANY $c.members.name == 'Bob').@count", .integer(1)),
      ("SUBQUERY($source.clubs, $c, $c.members.@count > 1).@count", .integer(1)),
      ("SUBQUERY($source.clubs, $c, SUBQUERY($c.members, $m, $m.age < 18).@count > 0).@count", .integer(1)),
      ("SUBQUERY($source.pets, $p, $p.weight < $source.age).@count", .integer(2)),
      ("SUBQUERY($source.manager.pets, $p, TRUEPREDICATE).@count", .integer(0)),
      ("count:(SUBQUERY($source.pets, $p, TRUEPREDICATE))", .integer(3)),
      ("SUBQUERY($source.pets, $p, $p.owner == $source).@count", .integer(3)),
      ("SUBQUERY($source.reports.pets.owner, $p, TRUEPREDICATE).@count", .integer(0)),
      ("SUBQUERY($source.pets, $p, $p.weight > 3)[0].name", .string("tom")),
    ],
    filters: [
      ("SUBQUERY(pets, $p, $p.weight > 3).@count == 1", true),
      ("SUBQUERY(pets, $p, $p.weight > age).@count == 0", true),
      ("SUBQUERY(pets, $p, $p.owner.name == name)[SIZE] == 3", true),
      ("ANY SUBQUERY(pets, $p, $p.weight > 3).name == 'tom'", true),
    ])

  package static let paths: ExpressionCases = {
    var cases = ExpressionCases(
      name: "key paths",
      values: [
        ("$source.manager.name", .string("Zoë")), ("$source.manager.manager.name", .null),
        ("$source.manager.pets.@count", .integer(3)), ("$source.manager.pets.@sum.weight", .integer(8)),
        ("$source.manager.age + $source.age", .integer(57)), ("$source.manager.born - $source.born", .double(87400.5)),
        ("$source.isMember", .boolean(false)), ("$source.pay", .decimal(2.5)), ("$source.born", .date(-86400.5)),
        ("$source.manager.site", .uri("https://example.org/a")), ("$source.#name", .string("Bob")),
        ("sum:($source.manager.pets.weight)", .integer(8)), ("($source.manager).name", .string("Zoë")),
      ],
      filters: [
        ("manager.name BEGINSWITH 'Z'", true), ("manager == nil", false), ("manager.manager == nil", true),
        ("ANY manager.pets.weight > 4", true), ("SELF IN manager.reports", true), ("'Rex' IN manager.pets.name", true),
        ("manager.pets.name CONTAINS 'Tom'", nil), ("ANY clubs.name == 'choir'", true), ("manager != SELF", true),
        ("manager.reports CONTAINS SELF", true), ("#name == 'Bob'", true), ("isMember == NO", true),
      ])
    cases.key = 2
    return cases
  }()
}
