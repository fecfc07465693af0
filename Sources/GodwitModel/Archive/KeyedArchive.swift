/// The object graph of an `NSKeyedArchiver` archive, as names and property list values.
///
/// A class in the archive is a name and nothing more: no object is ever made of it. Objects refer to
/// each other by number, also in cycles. Code that walks the graph does so step by step, and each
/// step is counted, so that no archive keeps its reader busy for long.
/// `NSKeyedUnarchiver` traps on damaged input.
package struct KeyedArchive {
  package typealias Malformed = PropertyListValue.Malformed

  /// An object of the archive.
  package struct Object {
    /// Its number: equal numbers are one object.
    package let index: Int
    package let className: String
    fileprivate let fields: [Text: PropertyListValue]

    package var keys: [String] { fields.keys.filter { $0 != "$class" }.sorted().map(\.string) }
  }

  /// The content of a field or a member, with the reference followed.
  package enum Value {
    case null
    case object(Object)
    case plain(PropertyListValue)
  }

  /// The most values that an archive may consist of, a shared one counted at each use.
  package static let valuesMaximum = 2_000_000
  /// The most references that may be followed while an archive is read.
  package static let stepsMaximum = 4_000_000

  private let objects: [PropertyListValue]
  private let top: PropertyListValue
  private var steps = 0

  /// - Parameter name: The key of the object in `$top`; `root` in an archive of one object.
  /// - Throws: `Malformed`.
  package init(_ list: PropertyListValue, top name: String = "root") throws(Malformed) {
    guard let fields = list.dictionary, fields["$archiver"] == .string("NSKeyedArchiver") else {
      throw Malformed(problem: "it is not a keyed archive")
    }
    guard fields["$version"] == .integer(100_000) else {
      let version = fields["$version"]?.integer.map { " \($0)" } ?? ""
      throw Malformed(problem: "unsupported keyed-archive version\(version) (expected 100000)")
    }
    guard let objects = fields["$objects"]?.array, let top = fields["$top"]?.dictionary?[name] else {
      throw Malformed(problem: "it has no root object")
    }
    self.objects = objects
    self.top = top
  }

  /// The object that was archived.
  package mutating func root() throws(Malformed) -> Object {
    guard case .object(let object) = try follow(top) else { throw Malformed(problem: "it has no root object") }
    return object
  }

  /// The archived value, which may be nil or a plain value.
  package mutating func rootValue() throws(Malformed) -> Value { try follow(top) }

  // MARK: Steps

  /// The value of a key; null when the object lacks it.
  package mutating func value(_ key: String, of object: Object) throws(Malformed) -> Value {
    guard let field = object.fields[key] else { return .null }
    return try follow(field)
  }

  /// Strings, numbers and dates archived as objects become plain values.
  private mutating func follow(_ value: PropertyListValue) throws(Malformed) -> Value {
    steps += 1
    guard steps <= Self.stepsMaximum else { throw Malformed(problem: "its objects repeat too often") }
    guard case .uid(let number) = value else { return .plain(value) }
    guard let index = Int(exactly: number), objects.indices.contains(index) else {
      throw Malformed(problem: "a reference leads nowhere")
    }
    switch objects[index] {
    case .string("$null"): return .null
    case .dictionary(let fields): return .object(try object(index, fields))
    case .uid: throw Malformed(problem: "a reference leads to a reference")
    case let plain: return .plain(plain)
    }
  }

  private func object(_ index: Int, _ fields: [Text: PropertyListValue]) throws(Malformed) -> Object {
    guard case .uid(let number)? = fields["$class"], let place = Int(exactly: number), objects.indices.contains(place),
      let name = objects[place].dictionary?["$classname"]?.string
    else { throw Malformed(problem: "an object has no class") }
    return Object(index: index, className: name, fields: fields)
  }

  // MARK: Collections and strings

  private static let listClasses: Set<String> = [
    "NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSOrderedSet", "NSMutableOrderedSet",
  ]

  package static func isList(_ object: Object) -> Bool { listClasses.contains(object.className) }

  /// The members of an array or set.
  package mutating func members(of object: Object) throws(Malformed) -> [Value] {
    guard Self.isList(object) else {
      throw Malformed(problem: "expected an array or set, found the class '\(object.className)'")
    }
    return try values("NS.objects", of: object)
  }

  /// The keys and values of a dictionary, in the order of the archive.
  package mutating func entries(of object: Object) throws(Malformed) -> [(key: String, value: Value)] {
    let keys: [Value]
    let values: [Value]
    switch object.className {
    case "NSDictionary", "NSMutableDictionary":
      keys = try self.values("NS.keys", of: object)
      values = try self.values("NS.objects", of: object)
    case "NSKnownKeysDictionary1":
      guard case .object(let mapping) = try value("searchMapping", of: object),
        case .object(let keyList) = try value("keys", of: mapping),
        case .object(let valueList) = try value("values", of: object)
      else { throw Malformed(problem: "a dictionary of known keys has no keys or no values") }
      keys = try members(of: keyList)
      values = try members(of: valueList)
    default: throw Malformed(problem: "expected a dictionary, found the class '\(object.className)'")
    }
    guard keys.count == values.count else {
      throw Malformed(problem: "a dictionary has \(keys.count) keys but \(values.count) values")
    }
    var entries: [(key: String, value: Value)] = []
    entries.reserveCapacity(keys.count)
    var seen: Set<Text> = []
    for (key, value) in zip(keys, values) {
      guard let key = try text(key) else { throw Malformed(problem: "a key of a dictionary is not a string") }
      // A key without a value has this token.
      if case .plain(.string(Self.emptySlot)) = value { continue }
      guard seen.insert(Text(key)).inserted else { throw Malformed(problem: "a dictionary has the key '\(key)' twice") }
      entries.append((key, value))
    }
    return entries
  }

  private static let emptySlot = "__empty_slot_token_4c24_98dc_ac1e_b773__"

  private mutating func values(_ key: String, of object: Object) throws(Malformed) -> [Value] {
    guard let items = object.fields[key]?.array else {
      throw Malformed(problem: "an object of the class '\(object.className)' has no '\(key)'")
    }
    var values: [Value] = []
    values.reserveCapacity(items.count)
    for item in items { values.append(try follow(item)) }
    return values
  }

  /// The text of a string, archived plainly or as an object; nil for anything else.
  package mutating func text(_ value: Value) throws(Malformed) -> String? {
    switch value {
    case .plain(.string(let text)): return text
    case .object(let object) where object.className == "NSString" || object.className == "NSMutableString":
      switch try self.value("NS.string", of: object) {
      case .plain(.string(let text)): return text
      default: break
      }
      guard case .plain(.data(let bytes)) = try self.value("NS.bytes", of: object),
        let text = String(validating: bytes, as: UTF8.self)
      else { throw Malformed(problem: "a string has no text") }
      return text
    default: return nil
    }
  }
}
