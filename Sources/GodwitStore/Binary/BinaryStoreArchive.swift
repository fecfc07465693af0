import GodwitModel

/// The object archive of a binary store, read object by object.
///
/// A class in it is a name and nothing more. The size of the file bounds how much may be read altogether, so that no
/// archive keeps its reader busy for long. Memory holds one object.
final class BinaryStoreArchive {
  private typealias List = BinaryPropertyList<PagedBytes>

  private let list: List
  private var room: List.Room
  private let objects: List.References
  private let keys: List.References
  private let nodes: List.References
  private var classNames: [UInt64: String] = [:]

  /// How many nodes there are.
  var count: Int { keys.count }

  /// - Throws: `KeyedArchive.Malformed`; what reading throws.
  init(_ bytes: PagedBytes) throws {
    let list = try List(bytes, refusesBrokenText: true)
    // Each reference of a sound archive is followed a few times, and takes a byte of the file at least.
    var room = List.Room(values: 1 << 20 + 64 * min(bytes.count, 1 << 50), ofBytes: bytes.count)
    func value(_ place: Int?) throws -> PropertyListValue? { try place.map { try list.value($0, &room) } }
    func array(_ place: Int?) throws -> List.References? {
      guard let place, case .array(let members) = try list.item(place, &room) else { return nil }
      return members
    }
    let head = try Self.fields(list.item(list.top, &room), list, &room)
    guard try value(head["$archiver"]) == .string("NSKeyedArchiver"), try value(head["$version"]) == .integer(100_000)
    else { throw KeyedArchive.Malformed(problem: "its objects are not in a keyed archive of version 100000") }
    guard let objects = try array(head["$objects"]),
      case .uid(let map)? = try value(head["$top"])?.dictionary?["mapData"]
    else { throw KeyedArchive.Malformed(problem: "its archive has no 'mapData'") }
    let fields = try Self.fields(list.item(Self.place(map, objects, list), &room), list, &room)
    guard let keys = try array(fields["NS.keys"]), let nodes = try array(fields["NS.objects"]),
      keys.count == nodes.count
    else { throw KeyedArchive.Malformed(problem: "'mapData' is not a dictionary") }
    (self.list, self.room, self.objects, self.keys, self.nodes) = (list, room, objects, keys, nodes)
  }

  private static func place(
    _ number: UInt64, _ objects: List.References, _ list: List
  ) throws -> Int {
    guard let place = Int(exactly: number) else { throw KeyedArchive.Malformed(problem: "a reference leads nowhere") }
    return try list.object(place, of: objects)
  }

  /// The fields of a dictionary, each with the place of its value.
  private static func fields(
    _ item: List.Item, _ list: List,
    _ room: inout List.Room
  ) throws -> [Text: Int] {
    guard case .dictionary(let keys, let values) = item else {
      throw KeyedArchive.Malformed(problem: "expected a dictionary, found another value")
    }
    var fields: [Text: Int] = [:]
    for place in 0..<keys.count {
      guard case .string(let key) = try list.value(try list.object(place, of: keys), &room) else {
        throw KeyedArchive.Malformed(problem: "a key is not a string")
      }
      fields[Text(key)] = try list.object(place, of: values)
    }
    return fields
  }

  // MARK: Objects

  /// The object of a number as it stands in the archive.
  func entry(_ number: UInt64) throws -> PropertyListValue {
    try list.value(try Self.place(number, objects, list), &room)
  }

  /// The content of a field, with the reference followed; nil for nil.
  func resolve(_ value: PropertyListValue?) throws -> PropertyListValue? {
    guard let value, case .uid(let number) = value else { return value }
    let entry = try entry(number)
    if case .uid = entry { throw KeyedArchive.Malformed(problem: "a reference leads to a reference") }
    return entry == .string("$null") ? nil : entry
  }

  /// The class of an object; nil for a plain value.
  func className(of object: PropertyListValue) throws -> String? {
    guard case .dictionary(let fields) = object else { return nil }
    guard case .uid(let number)? = fields["$class"] else {
      throw KeyedArchive.Malformed(problem: "an object has no class")
    }
    if let known = classNames[number] { return known }
    guard let name = try entry(number).dictionary?["$classname"]?.string else {
      throw KeyedArchive.Malformed(problem: "an object has no class")
    }
    if classNames.count < 10_000 { classNames[number] = name }
    return name
  }

  /// The key and the node at a place from 0 to below `count`.
  func node(at place: Int) throws -> (key: PropertyListValue?, node: PropertyListValue?) {
    (
      try resolve(try list.value(try list.object(place, of: keys), &room)),
      try resolve(try list.value(try list.object(place, of: nodes), &room))
    )
  }

  /// The members of an array.
  func members(_ value: PropertyListValue?) throws -> [PropertyListValue] {
    guard let object = try resolve(value) else { return [] }
    guard ["NSArray", "NSMutableArray"].contains(try className(of: object)),
      let members = object.dictionary?["NS.objects"]?.array
    else { throw KeyedArchive.Malformed(problem: "expected an array, found another object") }
    return members
  }

  /// The keys and values of a dictionary of strings, in the order of the archive.
  func entries(_ value: PropertyListValue?) throws -> [(key: String, value: PropertyListValue)] {
    guard let object = try resolve(value) else { return [] }
    guard ["NSDictionary", "NSMutableDictionary"].contains(try className(of: object)),
      let keys = object.dictionary?["NS.keys"]?.array, let values = object.dictionary?["NS.objects"]?.array,
      keys.count == values.count
    else { throw KeyedArchive.Malformed(problem: "expected a dictionary, found another object") }
    return try zip(keys, values).map { key, value in
      guard let key = try text(key) else { throw KeyedArchive.Malformed(problem: "a key is not a string") }
      return (key, value)
    }
  }

  /// A text, archived plainly or as an object; nil for anything else.
  func text(_ value: PropertyListValue?) throws -> String? {
    guard let object = try resolve(value) else { return nil }
    if case .string(let text) = object { return text }
    guard ["NSString", "NSMutableString"].contains(try className(of: object)) else { return nil }
    // A text in the field itself is never nil.
    if case .string(let text)? = object.dictionary?["NS.string"] { return text }
    if case .string(let text)? = try resolve(object.dictionary?["NS.string"]) { return text }
    guard case .data(let bytes)? = try resolve(object.dictionary?["NS.bytes"]) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}
