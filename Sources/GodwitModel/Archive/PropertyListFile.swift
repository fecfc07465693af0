import Foundation

/// Reads a property list in binary or XML form.
///
/// Foundation's reader recurses without a limit and hides the references of keyed archives; both
/// forms are bounded here in depth, size and number of values.
package enum PropertyListFile {
  /// - Parameter file: the name of the file in messages.
  /// - Throws: `GodwitError` with code `.missingInput`.
  package static func read(_ bytes: [UInt8], file: String, maximumValues: Int = 200_000) throws -> PropertyListValue {
    guard !bytes.starts(with: Array("bplist".utf8)) else {
      do {
        return try PropertyListValue(binary: bytes, maximumValues: maximumValues)
      } catch let error as PropertyListValue.Malformed {
        throw GodwitError(
          .missingInput, "cannot read '\(file)': \(error.problem)", remedy: "restore the file, or create it again")
      }
    }
    guard bytes.drop(while: { [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) }).first == UInt8(ascii: "<")
    else {
      throw GodwitError(
        .missingInput, "cannot read '\(file)': expected a binary or XML property list, found something else",
        remedy: "restore the file, or create it again")
    }
    let root = try MarkupReader.read(bytes, file: file)
    guard root.name == "plist", root.children.count == 1, let top = root.children.first else {
      throw problem("expected the element <plist> with one value, found <\(root.name)>", at: root, file: file)
    }
    return try value(top, file: file)
  }

  private static func value(_ element: MarkupElement, file: String) throws -> PropertyListValue {
    let word = element.text.trimmingCharacters(in: .whitespacesAndNewlines)
    switch element.name {
    case "string": return .string(element.text)
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    case "integer":
      if let number = Int64(word) { return .integer(number) }
      guard let number = UInt64(word) else { throw problem("expected a whole number", at: element, file: file) }
      return .unsigned(number)
    case "real":
      guard let number = Double(word) else { throw problem("expected a number", at: element, file: file) }
      return .real(number)
    case "date":
      guard let date = try? Date(word, strategy: .iso8601) else {
        throw problem("expected a date", at: element, file: file)
      }
      return .date(date.timeIntervalSinceReferenceDate)
    case "data":
      let text = String(word.unicodeScalars.filter { !CharacterSet.whitespacesAndNewlines.contains($0) })
      guard let data = Data(base64Encoded: text) else { throw problem("expected base64", at: element, file: file) }
      return .data(Array(data))
    case "array": return .array(try element.children.map { try value($0, file: file) })
    case "dict": return try dictionary(element, file: file)
    default: throw problem("unknown element <\(element.name)>", at: element, file: file)
    }
  }

  private static func dictionary(_ element: MarkupElement, file: String) throws -> PropertyListValue {
    var entries: [Text: PropertyListValue] = [:]
    var key: MarkupElement?
    for child in element.children {
      if let name = key {
        guard entries.updateValue(try value(child, file: file), forKey: Text(name.text)) == nil else {
          throw problem("the key '\(name.text)' is listed twice", at: name, file: file)
        }
        key = nil
      } else {
        guard child.name == "key" else {
          throw problem("expected a <key>, found <\(child.name)>", at: child, file: file)
        }
        key = child
      }
    }
    if let key { throw problem("the key '\(key.text)' has no value", at: key, file: file) }
    // How the XML form of an archive writes a reference.
    if entries.count == 1, case .integer(let number)? = entries["CF$UID"], let uid = UInt64(exactly: number) {
      return .uid(uid)
    }
    return .dictionary(entries)
  }

  private static func problem(_ text: String, at element: MarkupElement, file: String) -> GodwitError {
    GodwitError(
      .missingInput, "cannot read property list: \(text)",
      location: .init(file: file, line: element.line, column: element.column))
  }
}
