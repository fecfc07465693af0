import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import Testing

private func required(_ name: String, _ type: AttributeType) -> AttributeDescription {
  AttributeDescription(name: name, type: type, isOptional: false)
}

private func item(_ attributes: [AttributeDescription]) -> [EntityDescription] {
  [EntityDescription(name: "Item", attributes: attributes)]
}

/// One source object `Item` p1 with `attributes`, migrated by `mapped`.
private func migrate(
  _ attributes: [String: (AttributeType, AttributeValue)], to destination: [AttributeDescription],
  mapped: [String: String], kind: EntityMapping.Kind = .transform, alter: String? = nil
) throws -> MigrationFixture {
  let fixture = try MigrationFixture(
    item(attributes.map { AttributeDescription(name: $0, type: $1.0) }), to: item(destination))
  try fixture.build { store in
    try store.insert("Item", key: 1, attributes: attributes.mapValues(\.1), relationships: [:])
  }
  if let alter { try fixture.alter(alter) }
  fixture.mappings = [try .make("Item", "Item", kind: kind, attributes: mapped)]
  try fixture.run()
  return fixture
}

private func failure(_ body: () throws -> MigrationFixture) throws -> GodwitError {
  try #require(throws: GodwitError.self) { _ = try body() }
}

@Suite struct ValueTests {
  @Test func `an unmapped attribute takes the default, and an expression that yields nil stores nil`() throws {
    var colour = AttributeDescription(name: "colour", type: .string)
    colour.defaultValue = .init("red")
    var shape = colour
    shape.name = "shape"
    let fixture = try migrate(
      ["name": (.string, .null)], to: [colour, shape], mapped: ["shape": "$source.name"])
    #expect(try fixture.rows("SELECT ZCOLOUR, ZSHAPE FROM source.ZITEM") == ["red|nil"])
  }

  @Test func `copy fills attributes of the same name, and explicit entries override it`() throws {
    let fixture = try migrate(
      ["a": (.string, .init("x")), "b": (.integer32, .integer(4)), "c": (.double, .double(1.5))],
      to: [.init(name: "a", type: .string), .init(name: "b", type: .integer64), .init(name: "d", type: .double)],
      mapped: ["d": "$source.c * 2"], kind: .copy)
    #expect(try fixture.rows("SELECT ZA, ZB, ZD FROM source.ZITEM") == ["x|4|3.0"])
  }

  @Test func `numbers out of range are refused with their object`() throws {
    let error = try failure {
      try migrate(
        ["n": (.integer32, .integer(40_000))], to: [.init(name: "n", type: .integer16)], mapped: ["n": "$source.n"])
    }
    #expect(error.code == .dataWrong)
    #expect(error.message.contains("'n' for Item p1: expected an integer of 16 bits"))
    #expect(error.remedy?.contains("larger type") == true && error.remedy?.contains("trunc:") == false)
    #expect(error.context?.contains("instance creation, ItemToItem, chunk 1") == true)
  }

  @Test func `a fraction does not become an integer in silence`() throws {
    let error = try failure {
      try migrate(["n": (.double, .double(2.5))], to: [.init(name: "n", type: .integer32)], mapped: ["n": "$source.n"])
    }
    #expect(error.code == .dataWrong)
    #expect(error.remedy?.contains("trunc:") == true && error.remedy?.contains("larger type") == false)
    let fixture = try migrate(
      ["n": (.double, .double(2))], to: [.init(name: "n", type: .integer32)], mapped: ["n": "$source.n"])
    #expect(try fixture.rows("SELECT ZN, typeof(ZN) FROM source.ZITEM") == ["2|integer"])
  }

  @Test(arguments: ["$source.n", "$source.n * 1"])
  func `a whole floating-point number out of range is not advised to lose a fraction`(expression: String) throws {
    let error = try failure {
      try migrate(["n": (.double, .double(1e12))], to: [.init(name: "n", type: .integer32)], mapped: ["n": expression])
    }
    #expect(error.message.hasSuffix("found a number out of range"), "\(error.message)")
    #expect(error.remedy?.contains("larger type") == true && error.remedy?.contains("trunc:") == false)
  }

  @Test func `integer overflow is an error`() throws {
    let error = try failure {
      try migrate(
        ["n": (.integer64, .integer(.max))], to: [.init(name: "n", type: .integer64)], mapped: ["n": "$source.n + 1"])
    }
    #expect(error.code == .dataWrong)
  }

  @Test(arguments: ["$source.n", "$source.n + 1"]) func `text in an integer column is an error where it is read`(
    expression: String
  ) throws {
    let error = try failure {
      try migrate(
        ["n": (.integer32, .integer(1))], to: [.init(name: "n", type: .integer32)], mapped: ["n": expression],
        alter: "UPDATE ZITEM SET ZN = 'twelve'")
    }
    #expect(error.code == .dataWrong)
    #expect(error.message.contains("cannot evaluate 'n' for Item p1: expected an integer"))
    #expect(error.message.contains("found text"))
    #expect(!"\(error)".contains("twelve"))
  }

  @Test func `invalid text and unpaired accents arrive byte by byte`() throws {
    let fixture = try migrate(
      ["s": (.string, .init("x"))], to: [.init(name: "s", type: .string)], mapped: ["s": "$source.s"],
      alter: "UPDATE ZITEM SET ZS = CAST(x'65CC81FF00C3A9' AS TEXT)")
    #expect(try fixture.rows("SELECT hex(ZS) FROM source.ZITEM") == ["65CC81FF00C3A9"])
  }

  @Test func `an expression SQL cannot say runs in Swift with the same result`() throws {
    let fixture = try migrate(
      ["s": (.string, .init("grüße")), "n": (.double, .double(2.5))],
      to: [.init(name: "s", type: .string), .init(name: "n", type: .integer32)],
      mapped: ["s": "uppercase($source.s)", "n": "{trunc($source.n), 7}[FIRST]"])
    #expect(try fixture.rows("SELECT ZS, ZN FROM source.ZITEM") == ["GRÜSSE|2"])
    #expect(try MigrationManager(fixture.job).plan().steps[0].passes[0].mappings[0].lane == .object)
  }

  @Test func `a value of every attribute type arrives unchanged`() throws {
    let uuid = UUID()
    let values: [String: (AttributeType, AttributeValue)] = [
      "a": (.integer16, .integer(-7)), "b": (.integer64, .integer(.min)), "c": (.decimal, .decimal(10.25)),
      "d": (.double, .double(1e300)), "e": (.boolean, .boolean(true)), "f": (.date, .date(-1.5)),
      "g": (.date, .date(86_400)),
      "h": (.binary, .data([0, 255])), "i": (.uuid, .uuid(uuid)), "j": (.uri, .uri("https://example.org/ä")),
      "k": (.transformable, .data([1])), "l": (.string, .init("")), "m": (.float, .double(0.1)),
    ]
    let attributes = values.map { AttributeDescription(name: $0, type: $1.0) }
    let fixture = try migrate(values, to: attributes, mapped: [:], kind: .copy)
    let names = values.keys.sorted().map { "Z\($0.uppercased())" }
    let sql = "SELECT \(names.map { "quote(\($0)), typeof(\($0))" }.joined(separator: ", ")) FROM source.ZITEM"
    let before = try StoreConnection.openStore(readingAt: fixture.sourcePath).rows(sql)
    let after = try StoreConnection.openStore(readingAt: fixture.destinationPath).rows(sql)
    #expect(before == after)
    #expect(before.count == 1)
  }

  @Test func `binary data that may lie in external files has its prefix where the destination allows it`() throws {
    var photo = AttributeDescription(name: "photo", type: .binary)
    photo.allowsExternalBinaryDataStorage = true
    func run(_ expression: String, to attribute: AttributeDescription) throws -> MigrationFixture {
      let fixture = try MigrationFixture(item([photo]), to: item([attribute]))
      try fixture.build { try $0.insert("Item", key: 1, attributes: ["photo": .data([7, 8])], relationships: [:]) }
      fixture.mappings = [try .make("Item", "Item", attributes: ["photo": expression])]
      try fixture.run()
      return fixture
    }
    #expect(try run("$source.photo", to: photo).rows("SELECT hex(ZPHOTO) FROM source.ZITEM") == ["010708"])
    let computed = "TERNARY($source.photo == nil, nil, $source.photo)"
    #expect(try run(computed, to: photo).rows("SELECT hex(ZPHOTO) FROM source.ZITEM") == ["010708"])
    var plain = photo
    plain.allowsExternalBinaryDataStorage = false
    // In a plain attribute the prefix byte is gone.
    #expect(try run("$source.photo", to: plain).rows("SELECT hex(ZPHOTO) FROM source.ZITEM") == ["0708"])
    #expect(try run(computed, to: plain).rows("SELECT hex(ZPHOTO) FROM source.ZITEM") == ["0708"])
  }
}

@Suite struct ValidationTests {
  private func error(
    _ attribute: AttributeDescription, _ value: AttributeValue
  ) throws -> GodwitError? {
    do {
      _ = try migrate(["v": (attribute.type, value)], to: [attribute], mapped: ["v": "$source.v"])
      return nil
    } catch let error as GodwitError { return error }
  }

  @Test func `a required attribute must not be nil`() throws {
    let failed = try #require(try error(required("v", .string), .null))
    #expect(failed.code == .dataWrong)
    #expect(failed.message == "validation failed for Item p1: attribute 'v' is required and is nil")
    #expect(try error(required("v", .string), .init("")) == nil)
  }

  @Test func `limits apply to values that are not nil, ends included`() throws {
    var number = AttributeDescription(name: "v", type: .integer32)
    number.minimumValue = .integer(3)
    number.maximumValue = .integer(5)
    for (value, isValid) in [(2, false), (3, true), (5, true), (6, false)] as [(Int64, Bool)] {
      #expect(try (error(number, .integer(value)) == nil) == isValid)
    }
    #expect(try error(number, .null) == nil)
  }

  @Test func `lengths count UTF-16 units`() throws {
    var text = AttributeDescription(name: "v", type: .string)
    text.minimumLength = 2
    text.maximumLength = 3
    for (value, isValid) in [("a", false), ("ab", true), ("👍", true), ("👍a", true), ("👍👍", false), ("éé", true)] {
      #expect(try (error(text, .init(value)) == nil) == isValid, "\(value)")
    }
  }

  @Test func `a regular expression matches the whole string`() throws {
    var text = AttributeDescription(name: "v", type: .string)
    text.regularExpression = "[a-z]+"
    #expect(try error(text, .init("abc")) == nil)
    #expect(try error(text, .init("abc1"))?.message.contains("does not match its regular expression") == true)
    #expect(try error(text, .null) == nil)
    text.regularExpression = "a|ab"
    #expect(try error(text, .init("ab")) == nil)
  }

  @Test func `relationship counts bind required relationships and optional ones that lead somewhere`() throws {
    func entities(optional: Bool, low: Int, high: Int) -> [EntityDescription] {
      var cards = RelationshipDescription.toMany("cards", "Card", inverse: "box")
      (cards.isOptional, cards.minCount, cards.maxCount) = (optional, low, high)
      return [.make("Box", [:], [cards]), .make("Card", [:], [.toOne("box", "Box", inverse: "cards")])]
    }
    func run(cards: Int, optional: Bool, low: Int, high: Int) throws -> String? {
      let fixture = try MigrationFixture(
        entities(optional: true, low: 0, high: 0), to: entities(optional: optional, low: low, high: high))
      try fixture.build { store in
        try store.insert("Box", key: 1, attributes: [:], relationships: [:])
        for key in 0..<cards {
          try store.insert("Card", key: Int64(key + 1), attributes: [:], relationships: ["box": [1]])
        }
      }
      fixture.mappings = [try .make("Box", "Box", kind: .copy), try .make("Card", "Card", kind: .copy)]
      do { try fixture.run() } catch let error as GodwitError { return error.message }
      let report = try Verifier(job: fixture.job).run()
      #expect(report.isClean, "\(report)")
      return nil
    }
    #expect(try run(cards: 0, optional: false, low: 1, high: 0)?.contains("'cards' must lead to at least 1") == true)
    #expect(try run(cards: 1, optional: false, low: 1, high: 0) == nil)
    #expect(try run(cards: 0, optional: true, low: 1, high: 0) == nil)
    // Without a minimum, required says nothing of how many there are.
    #expect(try run(cards: 0, optional: false, low: 0, high: 0) == nil)
    #expect(try run(cards: 0, optional: false, low: 0, high: 3) == nil)
    #expect(try run(cards: 4, optional: false, low: 0, high: 3)?.contains("'cards' must lead to at most 3") == true)
    #expect(try run(cards: 0, optional: true, low: 2, high: 3) == nil)
    #expect(try run(cards: 1, optional: true, low: 2, high: 3)?.contains("2 to 3") == true)
    #expect(try run(cards: 3, optional: true, low: 2, high: 3) == nil)
    #expect(try run(cards: 4, optional: true, low: 2, high: 3) != nil)
  }

  @Test func `a uniqueness constraint is checked, nil being no value`() throws {
    var entity = EntityDescription.make("Item", ["v": .string])
    entity.uniquenessConstraints = [["v"]]
    func run(_ values: [String?]) throws -> GodwitError? {
      let fixture = try MigrationFixture([.make("Item", ["v": .string])], to: [entity])
      try fixture.build { store in
        for (index, value) in values.enumerated() {
          try store.insert(
            "Item", key: Int64(index + 1), attributes: ["v": value.map { .init($0) } ?? .null], relationships: [:])
        }
      }
      fixture.mappings = [try .make("Item", "Item", kind: .copy)]
      do { try fixture.run() } catch let error as GodwitError { return error }
      return nil
    }
    #expect(try run(["a", "b", nil, nil]) == nil)
    let failed = try #require(try run(["a", "b", "a"]))
    #expect(failed.code == .dataWrong)
    #expect(failed.message.contains("Z_Item_UNIQUE_v"))
  }
}
