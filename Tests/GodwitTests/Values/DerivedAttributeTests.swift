import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Derived attributes of the destination: their values, what keeps them up to date, and what no rule covers.
struct DerivedAttributeTests {
  private static func derived(_ name: String, _ type: AttributeType, _ expression: String) -> AttributeDescription {
    var attribute = AttributeDescription(name: name, type: type)
    attribute.derivationExpression = expression
    return attribute
  }

  private static let links: [String: [RelationshipDescription]] = [
    "Author": [.toMany("books", "Book", inverse: "author"), .toMany("prizes", "Prize", inverse: "winners")],
    "Book": [.toOne("author", "Author", inverse: "books"), .toMany("pages", "Page", inverse: "book")],
    "Page": [.toOne("book", "Book", inverse: "pages")],
    "Prize": [.toMany("winners", "Author", inverse: "prizes")],
  ]

  private static let plain = [
    EntityDescription.make("Author", ["name": .string], links["Author"] ?? []),
    .make("Book", ["title": .string], links["Book"] ?? []),
    .make("Page", ["number": .integer32, "weight": .double], links["Page"] ?? []),
    .make("Prize", ["name": .string], links["Prize"] ?? []),
  ]

  private static func destination(_ attributes: [String: [AttributeDescription]]) -> [EntityDescription] {
    plain.map { entity in
      var entity = entity
      entity.attributes += attributes[entity.name] ?? []
      return entity
    }
  }

  private func fixture(_ attributes: [String: [AttributeDescription]]) throws -> MigrationFixture {
    let fixture = try MigrationFixture(Self.plain, to: Self.destination(attributes))
    fixture.mappings = try Self.plain.map { try .make($0.name, $0.name, kind: .copy) }
    try fixture.build { store in
      try store.insert("Author", key: 1, attributes: ["name": .init("Éva Ångström")])
      try store.insert("Author", key: 2)
      for key in Int64(1)...5 {
        try store.insert(
          "Book", key: key, attributes: key == 5 ? [:] : ["title": .init("Ünter \(key)")],
          relationships: key == 4 ? [:] : ["author": [key % 2 + 1]])
      }
      for key in Int64(1)...9 {
        try store.insert(
          "Page", key: key, attributes: ["number": .integer(key * 10), "weight": .double(Double(key) / 4)],
          relationships: key == 9 ? [:] : ["book": [key % 3 + 1]])
      }
      try store.insert("Prize", key: 1, relationships: ["winners": [1, 2]])
      try store.insert("Prize", key: 2, relationships: ["winners": [1]])
    }
    return fixture
  }

  @Test func `every documented derivation is computed, from the destination's own values`() throws {
    let fixture = try fixture([
      "Author": [
        Self.derived("bookCount", .integer64, "books.@count"), Self.derived("prizeCount", .integer16, "count:(prizes)"),
      ],
      "Book": [
        Self.derived("search", .string, "canonical:(title)"), Self.derived("loud", .string, "uppercase:(title)"),
        Self.derived("quiet", .string, "lowercase:(author.name)"), Self.derived("authorName", .string, "author.name"),
        Self.derived("echo", .string, "title"), Self.derived("pagesCount", .integer64, "pages.@count"),
        Self.derived("numbers", .integer64, "pages.@sum.number"), Self.derived("weights", .double, "pages.weight.@sum"),
        Self.derived("again", .integer64, "sum:(pages.number)"), Self.derived("changed", .date, "now()"),
        // From a derived attribute, which must be there first.
        Self.derived("double", .string, "canonical:(authorName)"),
        Self.derived("siblings", .integer64, "author.books.@count"),
      ],
    ])
    try fixture.run()
    #expect(
      try fixture.rows(
        "SELECT Z_PK, ZSEARCH, ZLOUD, ZQUIET, ZAUTHORNAME, ZECHO, ZDOUBLE FROM source.ZBOOK ORDER BY Z_PK") == [
          "1|unter 1|ÜNTER 1|nil|nil|Ünter 1|nil",
          "2|unter 2|ÜNTER 2|éva ångström|Éva Ångström|Ünter 2|eva angstrom",
          "3|unter 3|ÜNTER 3|nil|nil|Ünter 3|nil", "4|unter 4|ÜNTER 4|nil|nil|Ünter 4|nil", "5|nil|nil|nil|nil|nil|nil",
        ])
    #expect(
      try fixture.rows(
        "SELECT Z_PK, ZPAGESCOUNT, ZNUMBERS, ZAGAIN, ZWEIGHTS, ZSIBLINGS FROM source.ZBOOK ORDER BY Z_PK") == [
          "1|2|90|90|2.25|3", "2|3|120|120|3.0|1", "3|3|150|150|3.75|3", "4|0|0|0|0.0|0", "5|0|0|0|0.0|3",
        ])
    #expect(
      try fixture.rows("SELECT Z_PK, ZBOOKCOUNT, ZPRIZECOUNT FROM source.ZAUTHOR ORDER BY 1") == ["1|1|2", "2|3|1"])
    #expect(try fixture.rows("SELECT COUNT(DISTINCT ZCHANGED), MIN(ZCHANGED) > 7e8 FROM source.ZBOOK") == ["1|1"])
  }

  @Test func `the time of now() is that of the job, also when it is resumed`() throws {
    let fixture = try fixture(["Book": [Self.derived("changed", .date, "now()")]])
    fixture.chunkRows = 1
    let control = MigrationControl()
    var time: String?
    let stopped = try MigrationManager(fixture.job).run(control: control) { _ in control.stop(reason: "test") }
    #expect(stopped.outcome == .stopped)
    let ledger = try StoreConnection.openStore(readingAt: fixture.destinationPath + ".godwit/store.sqlite")
    if case .text(let facts)? = try ledger.value(
      "SELECT json_extract(value, '$.now') || '' FROM source.godwit_ledger WHERE key = 'facts'")
    {
      time = String(decoding: facts, as: UTF8.self)
    }
    try fixture.run()
    #expect(try fixture.rows("SELECT DISTINCT ZCHANGED || '' FROM source.ZBOOK") == [try #require(time)])
  }

  @Test func `counts of to-manys get Core Data's triggers, and only those are made without the source's`() throws {
    let fixture = try fixture([
      "Author": [Self.derived("prizeCount", .integer64, "prizes.@count")],
      "Book": [
        Self.derived("pagesCount", .integer64, "pages.@count"), Self.derived("search", .string, "canonical:(title)"),
      ],
    ])
    let summary = try fixture.run()
    #expect(summary.notes.count == 2)
    #expect(summary.notes.allSatisfy { $0.contains("Book.search") || $0.contains("Author.prizeCount") })
    #expect(
      try fixture.rows("SELECT name FROM source.sqlite_master WHERE type = 'trigger' ORDER BY rowid") == [
        "Z_DA_ZPAGE_Book_pagesCount_PARAMETER_INSERT", "Z_DA_ZPAGE_Book_pagesCount_PARAMETER_UPDATE_INCREMENT",
        "Z_DA_ZPAGE_Book_pagesCount_PARAMETER_UPDATE_DECREMENT", "Z_DA_ZPAGE_Book_pagesCount_PARAMETER_DELETE",
        "Z_DA_ZBOOK_Book_pagesCount_SOURCE_INSERT",
      ])
    // They keep the computed value.
    let connection = try StoreConnection(path: fixture.destinationPath)
    // As Core Data does, which runs its own functions in triggers.
    try connection.execute("PRAGMA trusted_schema = ON")
    for name in [
      "NSCoreDataDATriggerUpdatedAffectedObjectValue", "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue",
    ] {
      try connection.register(function: name, arguments: 5) { _ in .value(.null) }
    }
    try connection.execute("UPDATE ZPAGE SET ZBOOK = 4 WHERE Z_PK IN (1, 2)")
    try connection.execute("DELETE FROM ZPAGE WHERE Z_PK = 3")
    try connection.execute("INSERT INTO ZPAGE (Z_PK, Z_ENT, Z_OPT, ZBOOK) VALUES (20, 3, 1, 4)")
    #expect(
      try connection.rows("SELECT ZPAGESCOUNT FROM ZBOOK ORDER BY Z_PK").map { $0[0] }
        == [1, 2, 2, 3, 0].map { .integer($0) })
    try connection.close()
  }

  @Test func `triggers that only the source shows are kept while everything they name exists`() throws {
    let attributes = ["Book": [Self.derived("search", .string, "canonical:(title)")]]
    let trigger =
      "CREATE TRIGGER Z_DA_ZBOOK_Book_search_UPDATE AFTER UPDATE OF ZTITLE ON ZBOOK FOR EACH ROW BEGIN UPDATE ZBOOK SET ZSEARCH = NSOfTheSource(NEW.ZTITLE) WHERE Z_PK = NEW.Z_PK; END"
    for lacks in [false, true] {
      let fixture = try MigrationFixture(
        Self.destination(attributes),
        to: Self.destination(attributes).map { entity in
          var entity = entity
          guard lacks, entity.name == "Book" else { return entity }
          entity.attributes = entity.attributes.map {
            var attribute = $0
            if attribute.name == "title" { attribute.name = "heading" }
            if attribute.isDerived { attribute.derivationExpression = "canonical:(heading)" }
            return attribute
          }
          return entity
        })
      fixture.mappings = try Self.plain.map { try .make($0.name, $0.name, kind: .copy) }
      try fixture.build { try $0.insert("Book", key: 1, attributes: ["title": .init("É")]) }
      try fixture.alter(trigger)
      let summary = try fixture.run()
      #expect(
        try fixture.rows("SELECT sql FROM source.sqlite_master WHERE type = 'trigger'") == (lacks ? [] : [trigger]))
      #expect(summary.notes.isEmpty != lacks)
    }
  }

  @Test(arguments: [
    ("stringify:(title)", AttributeType.string, "no rule covers 'stringify:'"),
    ("pages.@max.number", .integer64, "no rule covers '@max' there"), ("titel", .string, "did you mean 'title'?"),
    ("title", .integer32, "String is no Integer 32"), ("pages.number", .integer64, "expected one attribute"),
    ("title.@count", .integer64, "a count needs a to-many relationship"), ("own", .string, "derived from itself"),
    ("now()", .string, "expected the type Date"), ("a ? b : c", .string, "expected a function of one key path"),
  ])
  func `a derivation that no rule covers is 78`(expression: String, type: AttributeType, message: String) throws {
    let fixture = try fixture(["Book": [Self.derived("own", type, expression)]])
    let error = try #require(throws: GodwitError.self) { try MigrationManager(fixture.job).plan() }
    #expect(error.code == .configuration)
    #expect(error.message.contains(message), "\(error.message)")
    #expect(error.message.contains("Book.own"))
  }

  @Test func `the verifier finds a derived value that is wrong`() throws {
    let fixture = try fixture(["Book": [Self.derived("pagesCount", .integer64, "pages.@count")]])
    try fixture.run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("UPDATE ZBOOK SET ZPAGESCOUNT = 7 WHERE Z_PK = 2")
    try connection.execute("DROP TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_DELETE")
    try connection.close()
    let report = try Verifier(job: fixture.job).run()
    #expect(report.findings.map(\.kind) == [.schema, .value])
  }

  /// As many pages of a book as numbers, and the sum that the run computes.
  private func sums(_ weights: [String]) throws -> (fixture: MigrationFixture, sum: String) {
    let from: [EntityDescription] = [
      .make("Book", [:], [.toMany("pages", "Page", inverse: "book")]),
      .make("Page", ["weight": .double], [.toOne("book", "Book", inverse: "pages")]),
    ]
    var book = from[0]
    book.attributes.append(Self.derived("sum", .double, "pages.@sum.weight"))
    let fixture = try MigrationFixture(from, to: [book, from[1]])
    try fixture.build { store in
      try store.insert("Book", key: 1)
      for key in weights.indices { try store.insert("Page", key: Int64(key + 1), relationships: ["book": [1]]) }
    }
    for (key, weight) in weights.enumerated() {
      try fixture.alter("UPDATE ZPAGE SET ZWEIGHT = \(weight) WHERE Z_PK = \(key + 1)")
    }
    fixture.mappings = [
      try .make("Book", "Book", kind: .copy), try .make("Page", "Page", kind: .copy),
    ]
    try fixture.run()
    return (fixture, try fixture.rows("SELECT ZSUM FROM source.ZBOOK")[0])
  }

  @Test func `a derived sum of both infinities is nil, and an empty sum is 0`() throws {
    #expect(try sums(["9e999", "-9e999", "1"]).sum == "nil")
    #expect(try sums(["9e999", "1"]).sum == "inf" && sums(["NULL", "NULL"]).sum == "0.0")
  }

  @Test func `verify accepts a sum in any order, and no other value`() throws {
    // Large parts that cancel each other: what is left has few digits that every order agrees on.
    let (fixture, _) = try sums(["1e16", "1.25", "-1e16", "0.1", "0.2"])
    func isClean(_ sum: String) throws -> Bool {
      let connection = try StoreConnection(path: fixture.destinationPath)
      try connection.execute("UPDATE ZBOOK SET ZSUM = \(sum)")
      try connection.close()
      return try Verifier(job: fixture.job).run().isClean
    }
    // From left to right, from right to left, and exactly.
    for sum in ["2.3", "2.0", "1.55", "0.3"] { #expect(try isClean(sum), "\(sum)") }
    for sum in ["20.0", "-20.0", "NULL"] { #expect(try !isClean(sum), "\(sum)") }
    let (plain, sum) = try sums(["0.1", "0.2", "0.3"])
    #expect(["0.6", "0.6000000000000001"].contains(sum))
    let connection = try StoreConnection(path: plain.destinationPath)
    // A thousandth of what was taken for equal before.
    try connection.execute("UPDATE ZBOOK SET ZSUM = 0.6 + 5e-16")
    try connection.close()
    #expect(try Verifier(job: plain.job).run().findings.map(\.kind) == [.value])
  }

  @Test func `the derived sum of one number is that number`() throws {
    let (fixture, sum) = try sums(["0.1"])
    #expect(sum == "0.1")
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("UPDATE ZBOOK SET ZSUM = 0.1 + 2e-17")
    #expect(try connection.value("SELECT ZSUM > 0.1 FROM ZBOOK") == .integer(1))
    try connection.close()
    #expect(try !Verifier(job: fixture.job).run().isClean)
  }

  @Test func `a derived sum that does not fit its attribute is 65`() throws {
    let fixture = try fixture(["Book": [Self.derived("numbers", .integer16, "pages.@sum.number")]])
    try fixture.alter("UPDATE ZPAGE SET ZNUMBER = 30000")
    let error = try #require(throws: GodwitError.self) { try MigrationManager(fixture.job).run() }
    #expect(error.code == .dataWrong)
    #expect(error.message.hasPrefix("cannot store 'numbers' for Book p1: expected an integer of 16 bits"))
  }

  @Test func `a derived sum beyond 64-bit integers is 65`() throws {
    let from: [EntityDescription] = [
      .make("Author", [:], [.toMany("books", "Book", inverse: "author")]),
      .make("Book", ["size": .integer64], [.toOne("author", "Author", inverse: "books")]),
    ]
    var author = from[0]
    author.attributes.append(Self.derived("sum", .integer64, "books.@sum.size"))
    let fixture = try MigrationFixture(from, to: [author, from[1]])
    fixture.mappings = try from.map { try .make($0.name, $0.name, kind: .copy) }
    try fixture.build { store in
      try store.insert("Author", key: 1)
      for key in Int64(1)...2 {
        try store.insert("Book", key: key, attributes: ["size": .integer(.max)], relationships: ["author": [1]])
      }
    }
    let error = try #require(throws: GodwitError.self) { try MigrationManager(fixture.job).run() }
    #expect(error.code == .dataWrong)
    #expect(error.message == "cannot compute a derived attribute of 'Author': a sum does not fit")
  }
}
