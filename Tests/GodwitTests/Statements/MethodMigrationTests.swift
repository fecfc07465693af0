import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Methods, formats and new UUIDs in whole jobs, each proved by code that did not make the store.
@Suite struct MethodMigrationTests {
  private struct Person {
    var first: String?
    var last: String?
    var born: Double?
    var pay: Int?
    var tags: String?
  }

  private static let names = ["Zo\u{eb}", "Zoe\u{308}", "😀", "", " ", "Anna Maria", "O'Neil, jr."]

  private static func people(_ count: Int, seed: UInt64) -> [Person] {
    var random = SeededGenerator(seed: seed)
    func some<T>(_ value: T) -> T? { random.chance(80) ? value : nil }
    return (0..<count).map { _ in
      Person(
        first: some(names[random.below(names.count)]), last: some(names[random.below(names.count)]),
        born: some(Double(random.below(2_000_000_000) - 1_000_000_000)), pay: some(random.below(100_000)),
        tags: some((0..<random.below(4)).map { "t\($0)" }.joined(separator: ",")))
    }
  }

  private static func fixture(_ people: [Person], _ values: [String: String]) throws -> MigrationFixture {
    let pet = EntityDescription.make("Pet", ["name": .string], [.toOne("owner", "Person", inverse: "pets")])
    var person = EntityDescription.make(
      "Person", ["first": .string, "last": .string, "born": .date, "pay": .decimal, "tags": .string],
      [.toMany("pets", "Pet", inverse: "owner")])
    person.attributes.append(.composite("home", [.make("city")]))
    let made = EntityDescription.make(
      "Contact",
      [
        "text": .string, "other": .string, "city": .string, "day": .string, "moment": .date, "number": .integer64,
        "flag": .boolean,
        "id": .uuid, "code": .uuid, "bytes": .binary, "amount": .decimal,
      ])
    let fixture = try MigrationFixture([person, pet], to: [made])
    try fixture.build { store in
      for (place, person) in people.enumerated() {
        var attributes: [String: AttributeValue] = ["home.city": AttributeValue("köln \(place)")]
        attributes["first"] = person.first.map { AttributeValue($0) }
        attributes["last"] = person.last.map { AttributeValue($0) }
        attributes["born"] = person.born.map { .date($0) }
        attributes["pay"] = person.pay.map { .decimal(Decimal($0) / 100) }
        attributes["tags"] = person.tags.map { AttributeValue($0) }
        try store.insert("Person", key: Int64(place + 1), attributes: attributes)
      }
      for key in Int64(1)...Int64(max(1, people.count)) where !people.isEmpty {
        try store.insert(
          "Pet", key: key, attributes: ["name": .init("pet\(key)")], relationships: ["owner": [key % 3 + 1]])
      }
    }
    fixture.mappings = [try .make("Person", "Contact", attributes: values)]
    return fixture
  }

  private static let everything = [
    "text": "join:with:({$source.first, $source.last}, ' ')",
    "other":
      "FUNCTION(FUNCTION($source.tags, 'componentsSeparatedByString:', ','), 'lastObject')",
    "day": "text:format:timeZone:($source.born, 'yyyy-MM-dd', 'UTC')",
    "moment": "date:format:else:(text:format:($source.born, 'iso8601'), 'iso8601', nil)",
    "number": "FUNCTION(coalesce:($source.first, $source.last, ''), 'length')",
    "flag": "FUNCTION($source.first, 'hasPrefix:', 'Zo')", "id": "newUUID()",
    "code": "uuid:(newUUID('second').UUIDString)",
    "bytes": "FUNCTION($source.last, 'dataUsingEncoding:', 4)",
    "city": "FUNCTION($source.home.city, 'uppercaseString')",
    "amount": "FUNCTION($source.pay, 'decimalNumberByMultiplyingBy:', 1.1)",
  ]

  private static let query =
    "SELECT Z_PK, ZTEXT, ZOTHER, ZDAY, ZMOMENT, ZNUMBER, ZFLAG, hex(ZID), hex(ZCODE), hex(ZBYTES), ZAMOUNT, ZCITY FROM ZCONTACT ORDER BY Z_PK"

  @Test(arguments: testSeeds(3)) func `both lanes and all chunk sizes give what a reading by hand gives`(seed: UInt64)
    throws
  {
    let people = Self.people(40, seed: seed)
    let fixture = try Self.fixture(people, Self.everything)
    try fixture.run()
    let rows = try fixture.rows(Self.query)
    for (rows, inSwift) in [(1, true), (100, false)] {
      let again = try Self.fixture(people, Self.everything)
      again.chunkRows = rows
      try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try again.run() }
      let columns =
        "SELECT ZTEXT, ZOTHER, ZDAY, ZMOMENT, ZNUMBER, ZFLAG, hex(ZBYTES), ZAMOUNT, ZCITY FROM ZCONTACT ORDER BY Z_PK"
      #expect(try again.rows(columns) == fixture.rows(columns), "seed \(seed)")
    }
    for (place, (person, row)) in zip(people, rows).enumerated() {
      let found = row.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
      #expect(found[11] == "KÖLN \(place)")
      #expect(found[1] == [person.first, person.last].compactMap(\.self).joined(separator: " "))
      #expect(found[2] == person.tags.map { $0.split(separator: ",").last.map(String.init) ?? "" } ?? "nil")
      #expect(found[4] == person.born.map { "\(Int64($0))" } ?? "nil", "seed \(seed)")
      #expect(found[5] == "\((person.first ?? person.last ?? "").utf16.count)")
      let isZoe = person.first.map { $0.utf8.starts(with: "Zo".utf8) }
      #expect(found[6] == isZoe.map { $0 ? "1" : "0" } ?? "nil")
      #expect(found[9] == (person.last ?? "").utf8.map { String(format: "%02X", $0) }.joined())
    }
    let identifiers = Set(rows.flatMap { $0.split(separator: "|", omittingEmptySubsequences: false)[7...8] })
    #expect(identifiers.count == 2 * people.count)
  }

  @Test func `new UUIDs are the same in every run of a store and differ from those of another store`() throws {
    let people = Self.people(5, seed: 1)
    let fixture = try Self.fixture(people, ["id": "newUUID()"])
    try fixture.run()
    let query = "SELECT hex(ZID) FROM ZCONTACT ORDER BY Z_PK"
    let rows = try fixture.rows(query)
    try FileManager.default.removeItem(atPath: fixture.folder.file("out"))
    fixture.chunkRows = 1
    try EngineTuning.with(\.runsAllInSwift, true) { _ = try fixture.run() }
    #expect(try fixture.rows(query) == rows)
    let other = try Self.fixture(people, ["id": "newUUID()"])
    try other.run()
    #expect(Set(rows).isDisjoint(with: try other.rows(query)))
  }

  @Test func `a value beyond its text is 65 with the object, is audited, and goes to the quarantine`() throws {
    var people = Self.people(0, seed: 0)
    for name in ["Anna", "Bo", "Carl", "😀"] { people.append(Person(first: name)) }
    let fixture = try Self.fixture(
      people, ["text": "FUNCTION($source.first, 'substringToIndex:', 3)", "id": "newUUID()"])
    let error = #expect(throws: GodwitError.self) { try fixture.run() }
    #expect(error?.code == .dataWrong)
    #expect(
      error?.message
        == "cannot evaluate 'FUNCTION($source.first, 'substringToIndex:', 3)' for Person p2: 'substringToIndex:' has index 3, beyond a string of 2 UTF-16 units"
    )
    let report = try MigrationManager(fixture.job).audit()
    #expect(report.findings.map { "\($0.kind.rawValue) \($0.count)" } == ["expression 2"])
    var job = try fixture.job
    job.quarantine = Quarantine(maximumPercent: 100)
    let summary = try MigrationManager(job).runAsPlanned()
    #expect(summary.quarantinedObjects == 2)
    let proof = try Verifier(job: job).runBothWays()
    #expect(proof.isClean, "\(proof)")
    #expect(try fixture.rows("SELECT ZTEXT FROM ZCONTACT ORDER BY Z_PK") == ["Ann", "Car"])
  }

  @Test func `a to-many is joined by the keys of its objects`() throws {
    let people = (0..<3).map { _ in Person(first: "a") }
    let fixture = try Self.fixture(people + people, ["text": "join:with:($source.pets.name, ' ')"])
    try fixture.run()
    #expect(
      try fixture.rows("SELECT ZTEXT FROM ZCONTACT ORDER BY Z_PK")
        == ["pet3 pet6", "pet1 pet4", "pet2 pet5", "", "", ""])
  }

  @Test func `a fraction in an integer names the function that drops it`() throws {
    let fixture = try Self.fixture([Person(first: "a")], ["number": "FUNCTION($source.first, 'length') / 2.0"])
    let error = #expect(throws: GodwitError.self) { try fixture.run() }
    #expect(error?.code == .dataWrong)
    #expect(error?.remedy?.hasPrefix("write 'trunc:(…)' around the expression") == true, "\(error?.remedy ?? "")")
    let other = try Self.fixture(
      [Person(first: "a")], ["number": "trunc:(FUNCTION($source.first, 'length') / 2.0)"])
    try other.run()
    #expect(try other.rows("SELECT ZNUMBER FROM ZCONTACT") == ["0"])
  }

  @Test func `texts that are added are 78 and show what works`() throws {
    let fixture = try Self.fixture([Person(first: "a")], ["text": "$source.first + ' ' + $source.last"])
    let error = #expect(throws: GodwitError.self) { try fixture.run() }
    #expect(error?.code == .configuration)
    let message = error?.message ?? ""
    #expect(message.contains("write 'join:with:({$source.first, $source.last}, \" \")'"), "\(message)")
  }
}
