import Foundation

/// Property lists as values, and the parts of encoded values: those of a property marked `.codable`.
extension ArchivedValue {
  /// - Returns: nil for a reference, which only an archive has, and for a value that is nested too deep.
  package init?(propertyList: PropertyListValue, depth: Int) {
    guard depth < Self.depthMaximum else { return nil }
    switch propertyList {
    case .string(let text): self = .string(text)
    case .integer(let number): self = .integer(number)
    case .unsigned(let number): self = .decimal(Decimal(number))
    case .real(let number): self = .real(number)
    case .boolean(let truth): self = .boolean(truth)
    case .date(let seconds): self = .date(seconds)
    case .data(let bytes): self = .data(bytes)
    case .uid: return nil
    case .array(let members):
      var all: [ArchivedValue] = []
      for member in members {
        guard let one = ArchivedValue(propertyList: member, depth: depth + 1) else { return nil }
        all.append(one)
      }
      self = .array(all)
    case .dictionary(let entries):
      var all: [Text: ArchivedValue] = [:]
      for (key, member) in entries {
        guard let one = ArchivedValue(propertyList: member, depth: depth + 1) else { return nil }
        all[key] = one
      }
      self = .dictionary(all)
    }
  }

  /// The parts of a path such as `tags.0`; none for the empty path, which is the whole value.
  ///
  /// - Returns: nil if a part is empty, or if there are more than values can be deep.
  static func parts(of path: String) -> [String]? {
    guard !path.isEmpty else { return [] }
    let parts = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    return parts.contains("") || parts.count >= depthMaximum ? nil : parts
  }

  /// The value at the end of a path of keys, and of places from 0 in lists; nil if there is none.
  func value(at path: [String]) -> ArchivedValue? {
    var value = self
    for part in path {
      switch value {
      case .dictionary(let entries):
        guard let next = entries[Text(part)] else { return nil }
        value = next
      case .array(let members):
        guard let place = Int(part), part == "\(place)", members.indices.contains(place) else { return nil }
        value = members[place]
      default: return nil
      }
    }
    return value
  }

  /// The value of an attribute for a part. JSON has a date as seconds since 2001, and data, URLs and UUIDs as texts, as
  /// Swift's encoder writes them.
  ///
  /// - Throws: For a value of another class, and a number or date that is not finite.
  func decoded(asClass name: String) throws(Malformed) -> AttributeValue {
    switch self {
    case .real(let number) where !number.isFinite, .date(let number) where !number.isFinite:
      throw Malformed(problem: "expected a part of '\(name)', found a number that is not finite")
    case .decimal(let number) where !number.isFinite:
      throw Malformed(problem: "expected a part of '\(name)', found a number that is not finite")
    default: break
    }
    switch (name, self) {
    case ("NSDate", .integer(let number)): return .date(Double(number))
    case ("NSDate", .real(let number)): return .date(number)
    case ("NSDate", .decimal(let number)): return .date(NSDecimalNumber(decimal: number).doubleValue)
    case ("NSData", .string(let text)):
      if let data = Data(base64Encoded: text) { return .data([UInt8](data)) }
    case ("NSURL", .string(let text)): return .uri(Text(text))
    case ("NSUUID", .string(let text)):
      if let uuid = UUID(uuidString: text) { return .uuid(uuid) }
    default:
      if let value = try? attributeValue(ofClass: name) { return value }
    }
    throw Malformed(problem: "expected a part of '\(name)', found \(kind)" + (isString ? " of another form" : ""))
  }

  /// The JSON of an attribute's value, as Swift's encoder writes it; nil for nil.
  ///
  /// - Throws: For a number that is not finite, and a text that is not UTF-8.
  init?(encoding value: AttributeValue) throws(Malformed) {
    switch value {
    case .null: return nil
    case .boolean(let truth): self = .boolean(truth)
    case .integer(let number): self = .integer(number)
    case .decimal(let number) where number.isFinite: self = .decimal(number)
    case .double(let number) where number.isFinite, .date(let number) where number.isFinite: self = .real(number)
    case .decimal, .double, .date: throw Malformed(problem: "JSON has no number that is not finite")
    case .string(let text), .uri(let text):
      guard let string = String(validating: text.utf8, as: UTF8.self) else {
        throw Malformed(problem: "the string is not UTF-8")
      }
      self = .string(string)
    case .data(let bytes): self = .data(bytes)
    case .uuid(let uuid): self = .uuid(uuid)
    }
  }

  /// A value with the path of its name, such as `place.name`.
  struct Leaf {
    var name: String
    var value: ArchivedValue
  }

  /// Objects within each other, by the parts of names: `place.name` is `{"place":{"name":…}}`.
  ///
  /// - Throws: If a name comes twice or is also the beginning of another.
  init(leaves: [Leaf]) throws(Malformed) {
    var entries: [Text: ArchivedValue] = [:]
    var inner: [Text: [Leaf]] = [:]
    for leaf in leaves {
      if let dot = leaf.name.firstIndex(of: ".") {
        let rest = String(leaf.name[leaf.name.index(after: dot)...])
        inner[Text(String(leaf.name[..<dot])), default: []].append(Leaf(name: rest, value: leaf.value))
      } else {
        guard entries.updateValue(leaf.value, forKey: Text(leaf.name)) == nil else {
          throw Malformed(problem: "the name '\(leaf.name)' comes twice")
        }
      }
    }
    for (name, leaves) in inner.sorted(by: { $0.key < $1.key }) {
      guard entries.updateValue(try ArchivedValue(leaves: leaves), forKey: name) == nil else {
        throw Malformed(problem: "the name '\(name.string)' is also the beginning of another")
      }
    }
    self = .dictionary(entries)
  }
}
