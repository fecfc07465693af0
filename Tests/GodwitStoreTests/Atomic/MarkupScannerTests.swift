import Foundation
import GodwitModel
import TestSupport
import Testing

/// XML stores as tokens, read front to back in bounded memory.
struct MarkupScannerTests {
  private func tokens(_ text: String) throws -> [String] {
    let folder = try TemporaryFolder()
    try Data(text.utf8).write(to: URL(filePath: folder.file("a.xml")))
    let scanner = try MarkupScanner(path: folder.file("a.xml"), name: "a.xml")
    var found: [String] = []
    while true {
      switch try scanner.next() {
      case .start(let tag):
        let attributes = tag.attributes.map { " \($0.name)=\(String(decoding: $0.value, as: UTF8.self))" }
        found.append("<" + tag.name + attributes.joined() + "@\(tag.place.line):\(tag.place.column)")
      case .end: found.append(">")
      case .text(let bytes): found.append(String(decoding: bytes, as: UTF8.self))
      case .endOfFile: return found
      }
    }
  }

  @Test func `the XML scanner gives tags, text and ends in file order`() throws {
    let found = try tokens("<?xml version='1.0' encoding='utf-8'?>\n<a x='1&amp;2'>t<!-- c --><b/>\n</a>")
    #expect(found == ["<a x=1&2@2:1", "t", "<b@2:27", ">", "\n", ">"])
  }

  @Test func `an XML value that crosses the buffer is complete`() throws {
    for size in [(256 << 10) - 4, (256 << 10) - 3, (256 << 10) - 2, 256 << 10, 600_000] {
      let text = String(repeating: "é", count: size / 2)
      let found = try tokens("<a>\(text)<b c='\(text)'/>&lt;</a>")
      #expect(found.count == 6 || found.count == 5)
      #expect(found[1] == text && found[2].hasPrefix("<b c=\(text)@1:"))
    }
  }

  @Test(arguments: [
    "<a></b>", "<a", "<a>", "<a x='1' x='2'/>", "<a>&x;</a>", "<a/><b/>", "<!DOCTYPE a [<!ENTITY x 'y'>]><a/>",
    "<?xml version='1.0' encoding='utf-16'?><a/>", "<a>\u{1}</a>", "t",
  ])
  func `text that is not XML is refused with its place`(text: String) throws {
    let error = #expect(throws: GodwitError.self) { try tokens(text) }
    #expect(error?.code == .dataWrong && error?.location?.line == 1, "\(String(describing: error))")
  }

  @Test func `the depth of XML stores is bounded`() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
    }
    #expect(try tokens(nested(MarkupRules.store.depthMaximum)).count == 2 * MarkupRules.store.depthMaximum)
    #expect(throws: GodwitError.self) { try tokens(nested(MarkupRules.store.depthMaximum + 1)) }
  }
}
