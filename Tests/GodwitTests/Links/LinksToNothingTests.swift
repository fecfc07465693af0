import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Children of parents and of guardians, both people; everybody may bear tags.
private func family() -> [EntityDescription] {
  [
    .make("Person", ["name": .string], [.toMany("tags", "Tag", inverse: "people")]),
    .make(
      "Parent", parent: "Person", ["n": .integer64],
      [
        .toMany("children", "Child", inverse: "parent", ordered: true), .toOne("boss", "Parent", inverse: "staff"),
        .toMany("staff", "Parent", inverse: "boss"),
      ]),
    .make("Guard", parent: "Person", ["badge": .integer64]),
    .make(
      "Child", ["name": .string, "n": .integer64],
      [.toOne("parent", "Parent", inverse: "children"), .toMany("toys", "Tag", inverse: "owners")]),
    .make(
      "Tag", ["word": .string, "n": .integer64],
      [.toMany("people", "Person", inverse: "tags"), .toMany("owners", "Child", inverse: "toys", ordered: true)]),
  ]
}

/// The targets of the rows: parents 1 to 4, of whom 3 is gone and 4 a guard by now; tags 1 to 3, of whom 3 is gone.
private func fill(_ fixture: MigrationFixture, isClean: Bool) throws {
  try fixture.build { store in
    for key in Int64(1)...4 {
      try store.insert(
        "Parent", key: key, attributes: ["name": .init("parent \(key)"), "n": .integer(key)],
        relationships: ["boss": [key % 4 + 1], "tags": [(key % 3) + 1, 3]])
    }
    for key in Int64(1)...8 {
      try store.insert(
        "Child", key: key, attributes: ["name": .init("child \(key)"), "n": .integer(key * 10)],
        relationships: [
          "parent": [key % 4 + 1],
          "toys": [key % 3 + 1, key % 2 + 1].sorted().reduce(into: []) { list, tag in
            if !list.contains(tag) { list.append(tag) }
          },
        ])
    }
    for key in Int64(1)...3 {
      try store.insert("Tag", key: key, attributes: ["word": .init("tag \(key)"), "n": .integer(key)])
    }
  }
  let schema = StoreSchema(model: fixture.source)
  let guardNumber = try #require(schema.number(of: "Guard"))
  try fixture.alter("DELETE FROM ZPERSON WHERE Z_PK = 3")
  try fixture.alter("UPDATE ZPERSON SET Z_ENT = \(guardNumber) WHERE Z_PK = 4")
  try fixture.alter("DELETE FROM ZTAG WHERE Z_PK = 3")
  guard isClean else { return }
  try fixture.alter("UPDATE ZPERSON SET ZBOSS = NULL, ZN = NULL WHERE Z_PK = 4")
  try fixture.alter("UPDATE ZPERSON SET ZBOSS = NULL WHERE ZBOSS IN (3, 4)")
  try fixture.alter("UPDATE ZCHILD SET ZPARENT = NULL, Z_FOK_PARENT = NULL WHERE ZPARENT IN (3, 4)")
  for join in schema.joinTables {
    for (column, entity) in [
      (join.ownerColumn, join.ownerEntityName), (join.destinationColumn, join.destinationEntityName),
    ] {
      let table = try #require(schema.table(of: entity)).name
      try fixture.alter("DELETE FROM \(join.name) WHERE \(column) NOT IN (SELECT Z_PK FROM \(table))")
    }
  }
}

private let expressions = [
  "$source.parent.name", "$source.parent.n", "$source.parent.boss.name", "$source.parent.boss.n + 1",
  "$source.parent.children.@count", "$source.parent.children.@sum.n", "$source.parent.children.@max.n",
  "$source.parent.boss.children.@count", "$source.parent.staff.@count", "$source.parent.tags.@count",
  "$source.parent.tags.@avg.n", "$source.parent.boss.tags.@count", "$source.toys.@count", "$source.toys.@sum.n",
  "$source.toys.people.@count", "$source.toys.people.name.@count", "$source.toys.owners.@count",
  "$source.toys.owners.parent.@count", "SUBQUERY($source.parent.children, $c, $c.n > 20).@count",
  "SUBQUERY($source.toys, $t, $t.people.@count > 1).@count",
  "SUBQUERY($source.toys, $t, ANY $t.people.name != nil).@count",
  "TERNARY($source.parent == nil, \"none\", $source.parent.name)", "TERNARY($source.parent.boss == nil, 1, 2)",
  "TERNARY($source IN $source.parent.children, 1, 0)", "TERNARY(ANY $source.parent.children.n > 50, 1, 0)",
  "TERNARY(ALL $source.toys.n > 1, 1, 0)", "TERNARY(NONE $source.toys.people.name == \"parent 1\", 1, 0)",
  "TERNARY($source.parent IN $source.toys.people, 1, 0)", "TERNARY($source.parent.boss.staff.@count > 0, 1, 0)",
  "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", \"Child\", \"parent == nil\"), $manager.sourceContext, YES)",
  "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", \"Child\", \"parent.children.@count > 0\"), $manager.sourceContext, YES)",
]

private let filters = [
  "parent == nil", "parent != nil", "parent.name == nil", "parent.boss == nil", "parent.children.@count > 1",
  "ANY parent.children.n > 20", "NONE parent.children.n > 20", "ALL toys.n < 2", "SELF IN parent.children",
  "toys.@count == 2", "SUBQUERY(parent.children, $c, $c.n > 20).@count > 0", "ANY toys.people.name == \"parent 2\"",
  "parent.boss.staff.@count == 1", "NOT (parent.n > 1)",
]

@Suite struct LinksToNothingTests {
  /// The children as they come out: every expression with a column of its own.
  private func outcome(isClean: Bool, inSwift: Bool, filter: String? = nil) throws -> [String] {
    let names = expressions.indices.map { "x\($0)" }
    var destination = family()
    destination.removeAll { $0.name == "Child" }
    destination.append(
      .make("Child", Dictionary(uniqueKeysWithValues: ["name"].map { ($0, .string) } + names.map { ($0, .string) })))
    destination = destination.map { entity in
      var entity = entity
      entity.relationships.removeAll { $0.destinationEntityName == "Child" }
      return entity
    }
    let fixture = try MigrationFixture(family(), to: destination)
    try fill(fixture, isClean: isClean)
    var values = ["name": "$source.name"]
    for (name, text) in zip(names, filter == nil ? expressions : []) { values[name] = "CAST(\(text), \"NSString\")" }
    fixture.mappings = [try .make("Child", "Child", filter: filter, attributes: values)]
    try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try fixture.run() }
    return try fixture.rows(
      "SELECT Z_PK, \(names.map { "Z\($0.uppercased())" }.joined(separator: ", ")) FROM source.ZCHILD ORDER BY Z_PK")
  }

  @Test(arguments: ["1.5", "9", "-1", "'x'", "X'01'"])
  func `a key between others that is no object's is a lost link, in plan and run`(key: String) throws {
    // The keys of both tables have no gap, so that the ends of the column seem to prove every link.
    let entities: [EntityDescription] = [
      .make("Parent", ["name": .string], [.toMany("children", "Child", inverse: "parent")]),
      .make("Child", ["name": .string], [.toOne("parent", "Parent", inverse: "children")]),
    ]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in
      for key in Int64(1)...4 { try store.insert("Parent", key: key) }
      for key in Int64(1)...4 { try store.insert("Child", key: key, relationships: ["parent": [key]]) }
    }
    try fixture.infer()
    try fixture.alter("UPDATE ZCHILD SET ZPARENT = \(key) WHERE Z_PK = 2")
    let losses = try MigrationManager(fixture.job).plan().losses
    let line = losses.losses.first { $0.subject == "Child.parent" }
    #expect(line?.count == 1 && losses.losses.count == 1, "\(losses)")
    #expect(try MigrationManager(fixture.job).runAsPlanned().losses == losses)
    #expect(try Verifier(job: fixture.job).run().isClean)
  }

  @Test func `an expression finds nothing where a key leads to nothing, in either lane`() throws {
    let expected = try outcome(isClean: true, inSwift: true)
    #expect(expected.count == 8 && expected.contains { $0.contains("parent 2") })
    for (isClean, inSwift) in [(true, false), (false, true), (false, false)] {
      let found = try outcome(isClean: isClean, inSwift: inSwift)
      for (a, b) in zip(expected, found) {
        let differs = zip(a.split(separator: "|").dropFirst(), b.split(separator: "|").dropFirst()).enumerated()
          .filter { $1.0 != $1.1 }.map { "\(expressions[$0]): \($1.0) and \($1.1)" }
        #expect(differs == [], "clean \(isClean), in Swift \(inSwift): \(a.prefix(2))")
      }
    }
  }

  @Test(arguments: filters)
  func `a filter finds nothing where a key leads to nothing, in either lane`(filter: String) throws {
    let expected = try outcome(isClean: true, inSwift: true, filter: filter)
    for (isClean, inSwift) in [(true, false), (false, true), (false, false)] {
      #expect(
        try outcome(isClean: isClean, inSwift: inSwift, filter: filter) == expected,
        "clean \(isClean), in Swift \(inSwift)")
    }
  }

  @Test func `children of a missing parent are not siblings, and links to nothing are counted`() throws {
    let siblings: [EntityDescription] = [
      .make("Child", ["name": .string], [.toMany("siblings", "Child", inverse: "siblings")]),
      .make("Tag", ["word": .string], [.toMany("friends", "Tag", inverse: "friends")]),
    ]
    let fixture = try MigrationFixture(family(), to: siblings)
    try fill(fixture, isClean: false)
    fixture.mappings = [
      try .make(
        "Child", "Child", attributes: ["name": "$source.name"],
        relationships: ["siblings": .mapping("ChildToChild", keyPath: ["parent", "children"])]),
      try .make(
        "Tag", "Tag", attributes: ["word": "$source.word"],
        relationships: ["friends": .mapping("TagToTag", keyPath: ["people", "tags"])]),
    ]
    let plan = try MigrationManager(fixture.job).plan()
    // Parents 3 and 4 and tag 3 are not what they were: children 2, 3, 6, 7; parent 2; the tags of parent 3, and tag 3.
    let expected = [
      "1 links of Parent.boss", "3 links of Child.toys", "4 links of Child.parent", "5 links of Person.tags",
    ]
    func links(_ losses: LossReport) -> [String] {
      losses.losses.filter { $0.kind == .linksToNothing }.map { "\($0.count ?? 0) links of \($0.subject)" }.sorted()
    }
    let summary = try fixture.run()
    #expect(links(summary.losses) == links(plan.losses))
    #expect(links(plan.losses) == expected)
    #expect("\(plan)".contains("4 links of Child.parent lead to no object, and are nil"))
    let join = try #require(StoreSchema(model: fixture.destination).joinTables.first { $0.name.contains("SIBLING") })
    // Children 1 and 5 have parent 2, children 4 and 8 parent 1; the others' parent is gone or a guard.
    #expect(
      try fixture.rows("SELECT \(join.ownerColumn), \(join.destinationColumn) FROM source.\(join.name) ORDER BY 1, 2")
        == ["1|1", "1|5", "4|4", "4|8", "5|1", "5|5", "8|4", "8|8"].sorted())
  }

  @Test func `links computed from random dangling keys equal those of the existing objects`() throws {
    for seed in testSeeds(4) {
      var random = SeededGenerator(seed: seed &+ 7000)
      // Long paths, in whose middle something is gone.
      var world = try RandomWorld(&random, hops: [1, 2, 2, 2, 3])
      let fixture = try MigrationFixture(world.source, to: world.destination)
      fixture.mappings = world.mappings
      fixture.chunkRows = [1, 2, 3, 5, 1000][random.below(5)]
      try world.write(to: fixture)
      try world.damage(fixture, &random)
      let reference = world.reference()
      do { _ = try MigrationManager(fixture.job).run() } catch {
        Issue.record("seed \(seed): \(error)\n\(world.description)")
        continue
      }
      let report = try Verifier(job: fixture.job).run()
      if !report.isClean { Issue.record("seed \(seed): the verifier reports \(report)\n\(world.description)") }
      let found = try world.links(fixture)
      for pair in world.destinationPairs where found[pair.a.name] != reference.edges(pair.a.name) {
        let expected = reference.edges(pair.a.name)
        let missing = expected.subtracting(found[pair.a.name] ?? []).map { "\($0.a)-\($0.b)" }.sorted()
        let extra = (found[pair.a.name] ?? []).subtracting(expected).map { "\($0.a)-\($0.b)" }.sorted()
        Issue.record("seed \(seed): \(pair.a.name) misses \(missing), has \(extra)\n\(world.description)")
      }
      for line in world.misplaced(try world.lists(fixture), reference) { Issue.record("seed \(seed): \(line)") }
    }
  }
}
