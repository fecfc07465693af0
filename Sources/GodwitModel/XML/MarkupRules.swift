/// The limits of a kind of XML file, and the words for it in messages.
package struct MarkupRules: Sendable {
  /// Elements inside each other.
  package var depthMaximum: Int
  /// Bytes of a tag's attributes, or of a run of text.
  package var valueBytesMaximum: Int
  /// The most attributes of one element.
  var attributesOfElementMaximum: Int
  /// The most attributes of the whole file.
  var attributesMaximum: Int
  /// The code of errors.
  var code: GodwitError.Code
  /// The subject of errors: the thing that cannot be read.
  var subject: String
  /// The document that contains the two sides of a merge.
  var document: String
  var remedy: String

  /// An XML store, read in bounded memory.
  package static let store = MarkupRules(
    // SQLite takes no larger value.
    depthMaximum: 64, valueBytesMaximum: 512 << 20, attributesOfElementMaximum: 100, attributesMaximum: .max,
    code: .dataWrong, subject: "the XML store", document: "the XML store",
    remedy: "copy the store again, or restore it from a backup")

  /// A file that Xcode wrote, read into a tree.
  package static let xcode = MarkupRules(
    depthMaximum: 100, valueBytesMaximum: MarkupReader.fileBytesMaximum, attributesOfElementMaximum: .max,
    attributesMaximum: 3_000_000, code: .missingInput, subject: "the file as XML", document: "the file",
    remedy: "restore the file, or save it again with Xcode")

  /// The error that a file holds both sides of a merge.
  func conflict(in file: String, line: Int) -> GodwitError {
    GodwitError(
      code, "cannot read \(document): it holds the conflict markers of an unfinished merge ('<<<<<<<')",
      location: .init(file: file, line: line, column: 1), remedy: "resolve the conflict in version control")
  }
}

/// A start tag.
package struct MarkupTag {
  package struct Attribute {
    package var name: String
    package var value: [UInt8]
    var line: Int
    /// In UTF-8 bytes.
    var column: Int
  }

  package var name: String
  package var place: GodwitError.Location
  /// In the order of the file; no name occurs twice.
  package var attributes: [Attribute] = []

  package subscript(_ name: String) -> [UInt8]? { attributes.first { $0.name == name }?.value }
}
