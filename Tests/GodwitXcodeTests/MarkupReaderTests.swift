import GodwitModel
import Testing

/// XML of Xcode's files as a tree: the parts that are read, with their places, and those that are refused.
struct MarkupReaderTests {
  private func read(_ text: String) throws -> MarkupElement {
    try MarkupReader.read(Array(text.utf8), file: "f.xml")
  }

  @Test func `XML elements and attributes have byte positions`() throws {
    let root = try read("<model>\n  <entity ä='1' b=\"2\"/>\n</model>")
    let entity = try #require(root.children.first)
    #expect(root.line == 1 && root.column == 1 && root.name == "model")
    #expect(entity.line == 2 && entity.column == 3)
    #expect(entity.attributes.map(\.name) == ["ä", "b"] && entity["b"] == "2")
    // `ä` takes two bytes.
    #expect(entity.attributes.map(\.column) == [11, 18])
  }

  @Test func `XML text is joined from runs, references and CDATA`() throws {
    #expect(try read("<a>x&lt;<!-- c -->&#x41;<![CDATA[<&]]>\r\ny</a>").text == "x<A<&\ny")
  }

  @Test func `an XML line end is one line feed, and one space in an attribute`() throws {
    let root = try read("<a b='x\r\ny\rz\tt'>1\r\n2\r3<![CDATA[\r\n4\r5]]></a>")
    #expect(root["b"] == "x y z t")
    #expect(root.text == "1\n2\n3\n4\n5")
  }

  @Test func `comments, processing instructions and the name of an external file are passed over`() throws {
    let root = try read("<?xml version='1.0'?><!DOCTYPE a SYSTEM 'file:///x'><!-- <b/> --><?p <b> ?><a/><!-- z -->")
    #expect(root.name == "a" && root.children.isEmpty)
  }

  /// A text that is no XML, and where that shows.
  static let broken: [(text: String, line: Int, column: Int)] = [
    ("<a><b></a>", 1, 7), ("<a>\n<b x='1' x='2'/></a>", 2, 10), ("<a b=1/>", 1, 6), ("<a>&nosuch;</a>", 1, 4),
    ("<a>", 1, 4), ("<a/><b/>", 1, 5), ("x", 1, 1), ("", 1, 1),
    ("<a>\n<!-- x -- y --></a>", 2, 8), ("<!-- only -->", 1, 14),
  ]

  @Test(arguments: broken.map(\.text)) func `a file that is not XML is refused with its line`(text: String) throws {
    let expected = try #require(Self.broken.first { $0.text == text })
    let error = #expect(throws: GodwitError.self) { try read(text) }
    #expect(error?.code == .missingInput)
    #expect(error?.location?.file == "f.xml" && error?.location?.line == expected.line, "\(String(describing: error))")
  }

  @Test func `declared XML entities are refused`() {
    let error = #expect(throws: GodwitError.self) { try read("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>") }
    #expect(error?.code == .missingInput)
  }

  @Test func `the depth of Xcode's XML files is bounded`() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
    }
    _ = try read(nested(MarkupRules.xcode.depthMaximum))
    #expect(throws: GodwitError.self) { try read(nested(MarkupRules.xcode.depthMaximum + 1)) }
    #expect(throws: GodwitError.self) { try read(String(repeating: "<a>", count: 1_000_000)) }
  }
}
