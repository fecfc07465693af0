import GodwitModel

/// An element of an XML file that Xcode wrote, with the place of everything a complaint may point at.
struct MarkupElement: Sendable, Hashable {
  struct Attribute: Sendable, Hashable {
    var name: String
    var value: String
    var line: Int
    var column: Int
  }

  var name: String
  /// In the order of the file; no name occurs twice.
  var attributes: [Attribute] = []
  var children: [MarkupElement] = []
  /// The character data directly inside the element, put together.
  var text = ""
  var line: Int
  /// In UTF-8 bytes, as all columns.
  var column: Int

  func attribute(_ name: String) -> Attribute? { attributes.first { $0.name == name } }

  subscript(_ name: String) -> String? { attribute(name)?.value }

  func children(named name: String) -> [MarkupElement] { children.filter { $0.name == name } }
}
