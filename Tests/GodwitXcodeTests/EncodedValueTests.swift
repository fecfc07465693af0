import Foundation
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

/// Bytes that encode a value, as those of a property marked `.codable`.
struct EncodedValueTests {
  private func read(_ text: String) -> EncodedValue? { EncodedValue(Array(text.utf8)) }

  @Test func `JSON, property lists and archives are told apart by their bytes`() throws {
    let json = try #require(read(" {\"name\": \"Bern\", \"at\": [46.9, 7.4]}"))
    #expect(json.form == .json && json.markedJSON == "{\"@json\":{\"at\":[46.9,7.4],\"name\":\"Bern\"}}")
    let xml = "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict><key>name</key><string>Bern</string></dict></plist>"
    #expect(read(xml)?.markedText == "plist:{\"name\":\"Bern\"}")
    let binary = try PropertyListSerialization.data(
      fromPropertyList: ["n": 1, "when": Date(timeIntervalSinceReferenceDate: 0)], format: .binary, options: 0)
    let list = try #require(EncodedValue([UInt8](binary)))
    #expect(list.form == .propertyList && list.value.json == "{\"n\":1,\"when\":\"2001-01-01T00:00:00.000000Z\"}")
    var archive = ArchiveFixture()
    let root = archive.array([archive.string("a")])
    #expect(EncodedValue(archive.archive(root))?.markedJSON == "{\"@archive\":[\"a\"]}")
  }

  @Test(arguments: ["", "   ", "photo", "{\"a\":1", "{\"a\":1,\"a\":2}", "<xml/>", "bplist00", "\u{1}\u{2}"])
  func `other bytes encode nothing`(text: String) { #expect(read(text) == nil) }

  @Test func `a shape has keys and types, and no values`() throws {
    func shape(_ text: String) throws -> String { try #require(read(text)).value.shape() }
    #expect(try shape("{\"b\":1,\"a\":\"x\"}") == "{a: string, b: number}")
    #expect(try shape("{\"a\":\"y\",\"b\":2.5}") == "{a: string, b: number}")
    #expect(try shape("[1,\"x\",2,{\"k\":null}]") == "[number | string | {k: null}]")
    #expect(try shape("{\"two words\":true,\"\":[]}") == "{\"\": [], \"two words\": boolean}")
    #expect(try shape(String(repeating: "[", count: 20) + String(repeating: "]", count: 20)).contains("…"))
  }
}
