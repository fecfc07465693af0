import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// `archive:` and `unarchive:`, and data made of text, through a whole job.
struct ArchiveExpressionTests {
  private static let json = ["[1,2.5,\"a\"]", "{\"k\":[true,null]}", "\"Zoë\"", nil]

  private static func fixture(tint: [UInt8]? = nil) throws -> MigrationFixture {
    let note = EntityDescription.make("Note", ["tint": .transformable, "text": .string, "bytes": .binary])
    var made = EntityDescription.make(
      "Note", ["shown": .string, "packed": .transformable, "back": .string, "kept": .binary])
    var large = AttributeDescription(name: "large", type: .binary)
    large.allowsExternalBinaryDataStorage = true
    made.attributes.append(large)
    let fixture = try MigrationFixture([note], to: [made])
    try fixture.build { store in
      for (place, text) in json.enumerated() {
        var attributes: [String: AttributeValue] = [:]
        if let text {
          attributes = [
            "tint": .data(try ArchivedValue(json: text.utf8).archive), "text": AttributeValue(text),
            "bytes": .data(Array(text.utf8)),
          ]
        }
        if place == 1, let tint { attributes["tint"] = .data(tint) }
        try store.insert("Note", key: Int64(place + 1), attributes: attributes)
      }
    }
    fixture.mappings = [
      try .make(
        "Note", "Note",
        attributes: [
          "shown": "unarchive:($source.tint)", "packed": "TERNARY($source.text == nil, nil, archive:($source.text))",
          "kept": "archive:($source.text)", "large": "CAST($source.text, 'NSData')",
          "back": "CAST($source.bytes, 'NSString')",
        ])
    ]
    return fixture
  }

  @Test(arguments: [false, true]) func `archives become text, and text becomes archives and data`(
    inSwift: Bool
  ) throws {
    let fixture = try Self.fixture()
    try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try fixture.run() }
    let rows = try fixture.rows("SELECT ZSHOWN, ZBACK, hex(ZPACKED), hex(ZKEPT), hex(ZLARGE) FROM ZNOTE ORDER BY Z_PK")
    let expected = try Self.json.map { text -> String in
      guard let text else { return "nil|nil|||" }
      func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02X", $0) }.joined() }
      let archive = hex(try ArchivedValue(json: text.utf8).archive)
      // A column that allows external storage begins with 1 where the value is in the row.
      return "\(text)|\(text)|\(archive)|\(archive)|01\(hex(Array(text.utf8)))"
    }
    #expect(rows == expected)
  }

  @Test func `the statements call the functions in SQL`() throws {
    let fixture = try Self.fixture()
    let plan = try MigrationManager(fixture.job).plan()
    #expect(plan.steps.flatMap(\.passes).flatMap(\.mappings).map(\.reasons) == [[]])
  }

  @Test(arguments: [false, true]) func `a value that is no archive names the object and the reason`(
    inSwift: Bool
  ) throws {
    let fixture = try Self.fixture(tint: [1, 2, 255])
    let error = #expect(throws: GodwitError.self) {
      try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try MigrationManager(fixture.job).run() }
    }
    #expect(error?.code == .dataWrong)
    #expect(
      error?.message
        == "cannot evaluate 'unarchive:($source.tint)' for Note p2: it is not a binary property list, or is cut off")
  }

  @Test(arguments: [
    ("archive:($source.tint)", "'archive:' needs a string of JSON, found a transformable value"),
    ("unarchive:($source.text)", "'unarchive:' needs a transformable value or data, found a string"),
    ("archive:($source)", "'archive:' needs a string of JSON, found an object of 'Note'"),
    ("unarchive:($source.tint, 1)", "'unarchive:' takes 1 argument, found 2"),
    ("unarchive:as:($source.tint, 'NSColor')", "'unarchive:as:' knows no class 'NSColor'"),
    ("unarchive:as:($source.tint, $source.text)", "'unarchive:as:' needs the name of a class in quotes"),
    ("archive:as:($source.text, 'NSDate')", "'archive:as:' needs a date, found a string"),
    ("unarchive:as:($source.tint, 'NSDate')", "attribute 'shown' is String, found a date"),
    ("CAST($source.tint, 'NSString')", "cannot cast a transformable value to 'NSString'"),
    ("CAST(1, 'NSData')", "cannot cast a number to 'NSData'"),
    ("unarchiv:($source.tint)", "unknown function 'unarchiv:' (did you mean 'unarchive"),
  ]) func `what can never work is 78`(text: String, message: String) throws {
    let fixture = try Self.fixture()
    let error = #expect(throws: (any Error).self) {
      fixture.mappings[0].attributeMappings = [AttributeMapping(name: "shown", value: try ValueExpression(text))]
      _ = try MigrationManager(fixture.job).plan()
    }
    let told = (error as? GodwitError)?.message ?? (error as? ExpressionError)?.message ?? ""
    #expect(told.contains(message), "\(told)")
  }

  @Test func `bytes that are no archive are not stored as a transformable value`() throws {
    let fixture = try Self.fixture()
    fixture.mappings[0].attributeMappings = [
      AttributeMapping(name: "packed", value: try ValueExpression("CAST($source.text, 'NSData')"))
    ]
    let error = #expect(throws: GodwitError.self) { try MigrationManager(fixture.job).plan() }
    #expect(
      error?.code == .configuration
        && error?.message.contains("write 'archive:as:($source.text, \"NSString\")'") == true)
  }
}
