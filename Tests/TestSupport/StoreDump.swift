import GodwitModel
package import GodwitStore

/// Everything a store says, as lines: schema, every row of every table in key order, decoded metadata.
///
/// Two stores with equal dumps differ at most in how their pages are laid out.
package struct StoreDump: Sendable, Hashable, CustomStringConvertible {
  package var lines: [String]

  /// Reads a store and leaves no trace beside it.
  package init(_ path: String) throws {
    let connection = try StoreConnection.openStore(readingAt: path)
    defer { try? connection.close() }
    lines = []
    for pragma in ["page_size", "auto_vacuum", "encoding", "user_version", "application_id"] {
      lines.append("\(pragma) \(Self.text(try connection.value("PRAGMA source.\(pragma)") ?? .null))")
    }
    for row in try connection.rows("SELECT type, name, tbl_name, sql FROM source.sqlite_master ORDER BY 1, 2") {
      lines.append(row.map(Self.text).joined(separator: " | "))
    }
    for table in try connection.rows("SELECT name FROM source.sqlite_master WHERE type = 'table' ORDER BY 1") {
      guard case .text(let bytes) = table[0] else { continue }
      let name = StoreSchema.identifier(String(decoding: bytes, as: UTF8.self))
      lines.append("table \(name)")
      let columns = try connection.rows("SELECT COUNT(*) FROM pragma_table_info(?1, 'source')", [table[0]])
      guard case .integer(let count)? = columns.first?.first, count > 0 else { continue }
      let order = (1...count).map(String.init).joined(separator: ", ")
      // Core Data's tables have the key first; join tables have nothing but keys.
      for row in try connection.rows("SELECT * FROM source.\(name) ORDER BY \(order)") {
        lines.append("  " + row.map(Self.text).joined(separator: " | "))
      }
    }
    let metadata = try StoreMetadata(reading: connection, path: path)
    lines.append("uuid \(metadata.uuid)")
    for (key, value) in metadata.values.sorted(by: { $0.key < $1.key }) {
      lines.append("metadata \(key) = \(Self.text(value))")
    }
  }

  package var description: String { lines.joined(separator: "\n") }

  /// The first line in which another dump differs; nil when they are equal.
  package func firstDifference(from other: StoreDump) -> String? {
    guard self != other else { return nil }
    for (index, line) in lines.enumerated() {
      guard index < other.lines.count else { return "line \(index): '\(line)' is missing in the other" }
      if line != other.lines[index] { return "line \(index): '\(line)' against '\(other.lines[index])'" }
    }
    return "the other has \(other.lines.count - lines.count) lines more"
  }

  /// A value with its type; text that is no UTF-8 and blobs as bytes.
  package static func text(_ value: SQLValue) -> String {
    switch value {
    case .null: "NULL"
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)r"
    case .text(let bytes): String(validating: bytes, as: UTF8.self).map { "'\($0)'" } ?? "t" + hex(bytes)
    case .blob(let bytes): "x" + hex(bytes)
    }
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    // A large value is represented by its length and a hash, the same for the whole process.
    guard bytes.count <= 1 << 16 else {
      var hasher = Hasher()
      bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
      return "\(bytes.count) bytes, \(hasher.finalize())"
    }
    return hexDigits(bytes)
  }

  private static func hexDigits(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
    return "'" + String(decoding: text, as: UTF8.self) + "'"
  }

  static func text(_ value: PropertyListValue) -> String {
    if let list = value.array { return "[" + list.map(text).joined(separator: ", ") + "]" }
    if let pairs = value.dictionary {
      return "{" + pairs.sorted { $0.key < $1.key }.map { "\($0.key): \(text($0.value))" }.joined(separator: ", ") + "}"
    }
    if let bytes = value.bytes { return "x" + hex(bytes) }
    return "\(value)"
  }
}
