import GodwitModel

/// Objects without a model, for `AtomicTables`.
extension BinaryStoreReader {
  /// The next object; nil after the last.
  func nextRaw() throws -> AtomicTables.Object? {
    guard let node = try next() else { return nil }
    var object = AtomicTables.Object(entity: node.entity, identifier: "\(node.key)")
    for (place, reference) in node.values.enumerated() {
      let value = try reading("value \(place + 1) of object \(node.key) of entity \(node.entity)") {
        try rawValue(reference)
      }
      // Relationships have nil.
      guard value != .null else { continue }
      object.properties.append((.attribute(Text("value\(place + 1)")), Self.declaredType(value), { value }))
    }
    for (name, keys) in node.related {
      object.properties.append(
        (.relationship(Text(name)), "TEXT", { .text(keys.map(String.init).joined(separator: " ")) }))
    }
    return object
  }

  private static func declaredType(_ value: SQLValue) -> String {
    switch value {
    case .null: ""
    case .integer: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    case .blob: "BLOB"
    }
  }

  private func rawValue(_ reference: PropertyListValue) throws -> SQLValue {
    guard case .uid(let number) = reference, let object = try archive.resolve(reference) else { return .null }
    if let text = try archive.text(object) { return .text(text) }
    switch object {
    case .boolean(let truth): return .integer(truth ? 1 : 0)
    case .integer(let number): return .integer(number)
    case .unsigned(let number): return .real(Double(number))
    case .real(let number), .date(let number): return number.isNaN ? .null : .real(number)
    case .data(let bytes): return .blob(bytes)
    case .string(let text): return .text(text)
    case .uid, .array, .dictionary: break
    }
    switch try archive.className(of: object) {
    case "NSNull": return .null
    case "NSDate":
      if case .real(let seconds)? = try archive.resolve(object.dictionary?["NS.time"]), !seconds.isNaN {
        return .real(seconds)
      }
    default: break
    }
    return .blob(try ArchivedGraph(of: number) { try archive.entry($0) }.archive.binaryPropertyList)
  }
}
