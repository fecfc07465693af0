/// An element of an XML file that Xcode wrote, with the place of everything a complaint may point at.
package struct MarkupElement: Sendable, Hashable {
  package struct Attribute: Sendable, Hashable {
    package var name: String
    package var value: String
    package var line: Int
    package var column: Int

    package init(name: String, value: String, line: Int, column: Int) {
      self.name = name
      self.value = value
      self.line = line
      self.column = column
    }
  }

  package var name: String
  /// In the order of the file; no name occurs twice.
  package var attributes: [Attribute] = []
  package var children: [MarkupElement] = []
  /// The character data directly inside the element, put together.
  package var text = ""
  package var line: Int
  /// In UTF-8 bytes, as all columns.
  package var column: Int

  package init(
    name: String, attributes: [Attribute] = [], children: [MarkupElement] = [], text: String = "", line: Int,
    column: Int
  ) {
    self.name = name
    self.attributes = attributes
    self.children = children
    self.text = text
    self.line = line
    self.column = column
  }

  package func attribute(_ name: String) -> Attribute? { attributes.first { $0.name == name } }

  package subscript(_ name: String) -> String? { attribute(name)?.value }

  package func children(named name: String) -> [MarkupElement] { children.filter { $0.name == name } }
}
