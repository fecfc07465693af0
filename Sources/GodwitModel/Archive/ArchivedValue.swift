package import Foundation

/// A value of a keyed archive that is made of property-list classes alone, as JSON can show it.
///
/// | class | JSON |
/// |---|---|
/// | `NSNull`, nil | `null` |
/// | `NSNumber`, `NSDecimalNumber` | `true`, `false` or a number; a string if it is not finite |
/// | `NSString` | a string |
/// | `NSDate` | a string, `2001-01-01T00:00:00.000000Z` |
/// | `NSData` | a string in base64 |
/// | `NSURL`, `NSUUID` | a string |
/// | `NSArray` | an array |
/// | `NSSet`, `NSOrderedSet` | an array; of a set in the order of the members' JSON |
/// | `NSDictionary` | an object with its keys in byte order; a key must be a string |
package indirect enum ArchivedValue: Sendable, Hashable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case real(Double)
  case decimal(Decimal)
  case string(String)
  /// Seconds since 2001.
  case date(Double)
  case data([UInt8])
  case url(String)
  case uuid(UUID)
  case array([ArchivedValue])
  case set([ArchivedValue])
  case dictionary([Text: ArchivedValue])

  package typealias Malformed = PropertyListValue.Malformed

  /// How deep values may be nested.
  package static let depthMaximum = 64
  /// The most values, a shared one counted at each use.
  package static let valuesMaximum = 200_000
  /// The most bytes of an archive, and of a JSON text.
  package static let bytesMaximum = 16 << 20

  /// How much may still be read. A shared value may be used many times over.
  struct Room {
    private var values = ArchivedValue.valuesMaximum
    private var bytes = ArchivedValue.bytesMaximum

    mutating func take(depth: Int, bytes count: Int = 0) throws(Malformed) {
      values -= 1
      bytes -= count
      guard depth < ArchivedValue.depthMaximum else {
        throw Malformed(problem: "it is nested more than \(ArchivedValue.depthMaximum) deep")
      }
      guard values >= 0 else { throw Malformed(problem: "it has more than \(ArchivedValue.valuesMaximum) values") }
      guard bytes >= 0 else { throw Malformed(problem: "it has more than \(ArchivedValue.bytesMaximum >> 20) MiB") }
    }
  }
}

// MARK: Archives

extension ArchivedValue {
  /// Whether bytes may be a keyed archive, by how they begin.
  package static func isArchive(_ bytes: [UInt8]) -> Bool { bytes.starts(with: Array("bplist00".utf8)) }

  /// Reads a keyed archive in its binary form.
  ///
  /// - Throws: For other bytes, for a class that no property list has, and beyond the limits.
  package init(archive bytes: [UInt8]) throws(Malformed) {
    guard bytes.count <= Self.bytesMaximum else {
      throw Malformed(problem: "it has more than \(Self.bytesMaximum >> 20) MiB")
    }
    do {
      var archive = try KeyedArchive(PropertyListValue(binary: bytes, maximumValues: Self.valuesMaximum))
      var room = Room()
      self = try Self.value(of: archive.rootValue(), in: &archive, room: &room, depth: 0)
    } catch {
      throw error as? Malformed ?? Malformed(problem: "it cannot be read")
    }
  }

  private static func value(
    of value: KeyedArchive.Value, in archive: inout KeyedArchive, room: inout Room, depth: Int
  ) throws -> ArchivedValue {
    try room.take(depth: depth)
    if let text = try archive.text(value) {
      try room.take(depth: depth, bytes: text.utf8.count)
      return .string(text)
    }
    switch value {
    case .null: return .null
    case .plain(.boolean(let truth)): return .boolean(truth)
    case .plain(.integer(let number)): return .integer(number)
    case .plain(.unsigned(let number)): return .decimal(Decimal(number))
    case .plain(.real(let number)): return .real(number)
    case .plain(.date(let seconds)): return .date(seconds)
    case .plain(.data(let bytes)):
      try room.take(depth: depth, bytes: bytes.count)
      return .data(bytes)
    case .plain(let other): throw Malformed(problem: "expected an archived value, found \(other.kind)")
    case .object(let object):
      return try self.value(of: object, in: &archive, room: &room, depth: depth)
    }
  }

  private static func value(
    of object: KeyedArchive.Object, in archive: inout KeyedArchive, room: inout Room, depth: Int
  ) throws -> ArchivedValue {
    func damaged() -> Malformed { Malformed(problem: "an object of the class '\(object.className)' has no value") }
    func read(_ type: AttributeType) throws -> AttributeValue {
      guard let value = try archive.attributeValue(.object(object), type: type) else { throw damaged() }
      return value
    }
    if KeyedArchive.isList(object) {
      var members: [ArchivedValue] = []
      for member in try archive.members(of: object) {
        members.append(try value(of: member, in: &archive, room: &room, depth: depth + 1))
      }
      return object.className.hasSuffix("Array") || object.className.contains("Ordered")
        ? .array(members) : .set(members)
    }
    switch object.className {
    case "NSNull": return .null
    case "NSDictionary", "NSMutableDictionary", "NSKnownKeysDictionary1":
      var entries: [Text: ArchivedValue] = [:]
      for (key, member) in try archive.entries(of: object) {
        try room.take(depth: depth, bytes: key.utf8.count)
        entries[key] = try value(of: member, in: &archive, room: &room, depth: depth + 1)
      }
      return .dictionary(entries)
    case "NSDate":
      guard case .date(let seconds) = try read(.date) else { throw damaged() }
      return .date(seconds)
    case "NSData", "NSMutableData":
      guard case .data(let bytes) = try read(.binary) else { throw damaged() }
      try room.take(depth: depth, bytes: bytes.count)
      return .data(bytes)
    case "NSURL":
      guard case .uri(let text) = try read(.uri) else { throw damaged() }
      try room.take(depth: depth, bytes: text.utf8.count)
      return .url(text.string)
    case "NSUUID":
      guard case .uuid(let uuid) = try read(.uuid) else { throw damaged() }
      return .uuid(uuid)
    case "NSDecimalNumber", "NSDecimalNumberPlaceholder":
      guard case .decimal(let number) = try read(.decimal) else { throw damaged() }
      return .decimal(number)
    default: throw Malformed(problem: "the class '\(object.className)' is none of a property list")
    }
  }
}

extension PropertyListValue {
  /// The name of a value that is not archived by itself, in messages.
  fileprivate var kind: String {
    switch self {
    case .array: "a plain array"
    case .dictionary: "a plain dictionary"
    case .uid: "a reference"
    case .string, .integer, .unsigned, .real, .boolean, .date, .data: "a plain value"
    }
  }
}
