import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// People, their teams, tags and notes, in several sources that one destination takes one after the other.
final class MeetWorld {
  /// A person with what it is linked to, by values alone.
  struct Person: Equatable, CustomStringConvertible {
    var email, name, city: String?
    var stamp: Int64?
    var team: String?
    var tags: Set<String>
    var notes: [String]

    var description: String {
      let texts = [email, name, city, stamp.map(String.init), team].map { $0 ?? "nil" }
      return (texts + [tags.sorted().joined(separator: "+"), notes.joined(separator: "+")]).joined(separator: "|")
    }
  }

  struct Source {
    /// In the order of their keys, which begin at `firstKey`.
    var people: [Person]
    var ranks: [String: Int64]
    var firstKey: Int64 = 1
  }

  let folder: TemporaryFolder
  let model: ManagedObjectModel
  let destination: ManagedObjectModel
  var destinationPath: String { folder.file("out/people.sqlite") }
  var order = ["stamp DESC"]
  var fillsNil = false
  var mergesNil = false
  /// Whether a city that is nil becomes the model's default.
  var usesDefault = false
  var chunkRows = 3

  static let entities: [EntityDescription] = [
    .make(
      "Person", ["email": .string, "name": .string, "city": .string, "stamp": .integer64],
      [
        .toOne("team", "Team", inverse: "people"), .toMany("tags", "Tag", inverse: "people"),
        .toMany("notes", "Note", inverse: "owner", ordered: true),
      ]),
    .make("Team", ["name": .string, "rank": .integer64], [.toMany("people", "Person", inverse: "team")]),
    .make("Tag", ["label": .string], [.toMany("people", "Person", inverse: "tags")]),
    .make("Note", ["text": .string], [.toOne("owner", "Person", inverse: "notes")]),
  ]

  init(changing change: (inout [EntityDescription]) -> Void = { _ in }) throws {
    folder = try TemporaryFolder()
    model = try ManagedObjectModel(name: "People", entities: Self.entities)
    var entities = Self.entities
    entities[0].attributes.append(AttributeDescription(name: "extra", type: .string))
    change(&entities)
    destination = try ManagedObjectModel(name: "People 2", entities: entities)
  }

  // MARK: Stores

  func build(_ name: String, _ source: Source) throws {
    let store = try StoreBuilder(path: folder.file(name), model: model)
    let teams = source.ranks.keys.sorted()
    for (place, team) in teams.enumerated() {
      try store.insert(
        "Team", key: Int64(place + 1),
        attributes: ["name": .init(team), "rank": .integer(source.ranks[team] ?? 0)])
    }
    let tags = Set(source.people.flatMap(\.tags)).sorted()
    for (place, tag) in tags.enumerated() {
      try store.insert("Tag", key: Int64(place + 1), attributes: ["label": .init(tag)])
    }
    var note: Int64 = 0
    func key(_ name: String, in list: [String]) -> Int64 { Int64((list.firstIndex(of: name) ?? 0) + 1) }
    for (place, person) in source.people.enumerated() {
      let own = source.firstKey + Int64(place)
      var links: [String: [Int64]] = ["tags": person.tags.sorted().map { key($0, in: tags) }]
      if let team = person.team { links["team"] = [key(team, in: teams)] }
      func text(_ value: String?) -> AttributeValue { value.map { .init($0) } ?? .null }
      try store.insert(
        "Person", key: own,
        attributes: [
          "email": text(person.email), "name": text(person.name), "city": text(person.city),
          "stamp": person.stamp.map { .integer($0) } ?? .null,
        ], relationships: links)
      for one in person.notes {
        note += 1
        try store.insert("Note", key: note, attributes: ["text": .init(one)], relationships: ["owner": [own]])
      }
    }
    try store.finish()
  }

  func mappings() throws -> [EntityMapping] {
    var person = try EntityMapping.make(
      "Person", "Person", uniqueBy: ["email"],
      attributes: Dictionary(uniqueKeysWithValues: ["email", "name", "city", "stamp"].map { ($0, "$source.\($0)") }),
      relationships: ["team": .sourceRelationship("team"), "tags": .sourceRelationship("tags")])
    person.uniqueOrder = try order.map { try #require(EntityMapping.SortDescriptor(text: $0)) }
    (person.fillsNil, person.mergesNil) = (fillsNil, mergesNil)
    for place in person.attributeMappings.indices where person.attributeMappings[place].name == "city" {
      person.attributeMappings[place].usesDefaultForNil = usesDefault
    }
    return [
      try .make(
        "Team", "Team", uniqueBy: ["name"], attributes: ["name": "$source.name", "rank": "$source.rank"]),
      try .make("Tag", "Tag", uniqueBy: ["label"], attributes: ["label": "$source.label"]), person,
      try .make(
        "Note", "Note", attributes: ["text": "$source.text"],
        relationships: ["owner": .sourceRelationship("owner")]),
    ]
  }

  func job(_ name: String) throws -> MigrationJob {
    var job = MigrationJob(
      name: name, sourcePath: folder.file(name), destinationPath: destinationPath, sourceModel: model,
      destinationModel: destination, mappingModels: [MappingModel(entityMappings: try mappings())],
      chunkRows: chunkRows)
    job.existingDestination = .append
    return job
  }

  @discardableResult
  func run(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> MigrationSummary {
    let summary = try MigrationManager(job(name)).run()
    try verify(name, sourceLocation: sourceLocation)
    return summary
  }

  func verify(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let report = try Verifier(job: job(name)).run()
    #expect(report.isClean, "\(report)", sourceLocation: sourceLocation)
  }

  func rows(_ sql: String) throws -> [String] {
    let connection = try StoreConnection.openStore(readingAt: destinationPath)
    return try connection.rows(sql).map { $0.map(\.plain).joined(separator: "|") }
  }

  func alter(_ sql: String) throws {
    let connection = try StoreConnection(path: destinationPath)
    try connection.execute(sql)
    try connection.close()
  }

  /// The people of the destination with their notes in order, read with SQL alone.
  func people(sortingNotes: Bool = true) throws -> [String] {
    let schema = StoreSchema(model: destination)
    guard case .join(let join, let person, let tag, _) = schema.storage(of: "tags", in: "Person"),
      case .foreignKey(_, _, _, let place?) = schema.storage(of: "owner", in: "Note")
    else { return [] }
    return try rows(
      """
      SELECT p.ZEMAIL, p.ZNAME, p.ZCITY, p.ZSTAMP, t.ZNAME, \
      COALESCE((SELECT group_concat(l, '+') FROM (SELECT g.ZLABEL AS l FROM source.\(join.name) AS j \
      JOIN source.ZTAG AS g ON g.Z_PK = j.\(tag) WHERE j.\(person) = p.Z_PK ORDER BY g.ZLABEL)), ''), \
      COALESCE((SELECT group_concat(x, '+') FROM (SELECT n.ZTEXT AS x FROM source.ZNOTE AS n WHERE n.ZOWNER = p.Z_PK \
      ORDER BY \(sortingNotes ? "n.ZTEXT" : "n.\(place)"))), '') \
      FROM source.ZPERSON AS p LEFT JOIN source.ZTEAM AS t ON t.Z_PK = p.ZTEAM
      """
    ).sorted()
  }

  // MARK: Oracle

  /// The people and teams of a destination after a source was added, by the rules of the page alone.
  struct Expected {
    var people: [Person] = []
    var ranks: [String: Int64] = [:]
    /// Met people, and the values of people that are lost to others.
    var met = 0
    var lost: [String: Int] = [:]

    var lines: [String] {
      people.map { person in
        var person = person
        person.notes.sort()
        return person.description
      }.sorted()
    }
  }

  /// Whether a person comes before another: by stamp, where nil is lowest; nil if neither does.
  private func precedes(_ a: Person, _ b: Person) -> Bool? {
    guard let direction = order.first, a.stamp != b.stamp else { return nil }
    let (x, y) = (a.stamp ?? .min, b.stamp ?? .min)
    return direction.hasSuffix("DESC") ? x > y : x < y
  }

  /// One person of two. `first` stays.
  private func union(_ first: Person, _ second: Person, fills: Bool) -> Person {
    var one = first
    if fills {
      one.name = first.name ?? second.name
      one.city = first.city ?? second.city
    }
    one.tags.formUnion(second.tags)
    one.notes += second.notes
    return one
  }

  func adding(_ source: Source, to before: Expected) -> Expected {
    var after = Expected(people: before.people, ranks: before.ranks)
    after.ranks.merge(source.ranks) { old, _ in old }
    var new: [Person] = []
    for person in sorted(source.people) {
      if let place = new.firstIndex(where: { $0.email == person.email && (mergesNil || $0.email != nil) }) {
        new[place] = union(new[place], person, fills: fillsNil)
        if fillsNil { new[place].stamp = new[place].stamp ?? person.stamp }
      } else {
        new.append(person)
      }
    }
    for person in new {
      let same = before.people.indices.filter {
        before.people[$0].email == person.email && (mergesNil || person.email != nil)
      }
      guard let place = same.first else {
        after.people.append(person)
        continue
      }
      let old = before.people[place]
      after.met += 1
      let isNewFirst = precedes(person, old) == true
      let (first, second) = isNewFirst ? (person, old) : (old, person)
      var one = union(first, second, fills: fillsNil)
      one.notes = old.notes + person.notes
      func lose(_ property: String, _ stays: String?, _ goes: String?) {
        if let goes, stays != goes { after.lost[property, default: 0] += 1 }
      }
      lose("name", one.name, second.name)
      lose("city", one.city, second.city)
      lose("stamp", one.stamp.map(String.init), second.stamp.map(String.init))
      lose("team", one.team, second.team)
      after.people[place] = one
    }
    return after
  }

  /// In the order in which people of one source become one: ties in the order of their keys.
  private func sorted(_ people: [Person]) -> [Person] {
    people.enumerated().sorted { a, b in
      precedes(a.element, b.element) ?? (precedes(b.element, a.element) == true ? false : a.offset < b.offset)
    }.map(\.element)
  }
}
