/// Property lists as keyed archives hold them, each dictionary and array as an object.
extension KeyedArchive {
  /// The archive of a property list.
  ///
  /// - Parameter name: The key of the value in `$top`.
  package static func archive(of value: PropertyListValue, top name: String) -> PropertyListValue {
    var writer = Writer()
    let root = writer.add(value)
    return list(writer.objects, top: [name: root])
  }

  private struct Writer {
    var objects: [PropertyListValue] = [.string("$null")]
    private var classes: [String: PropertyListValue] = [:]

    mutating func add(_ value: PropertyListValue) -> PropertyListValue {
      switch value {
      case .array(let members): return object("NSArray", ["NS.objects": .array(members.map { add($0) })])
      case .dictionary(let entries):
        let sorted = entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        let keys = sorted.map { add(.string($0.key)) }
        return object("NSDictionary", ["NS.keys": .array(keys), "NS.objects": .array(sorted.map { add($0.value) })])
      case .date(let seconds): return object("NSDate", ["NS.time": .real(seconds)])
      // It can be written as a dictionary alone, as property lists in XML have it.
      case .uid(let number): return add(.dictionary(["CF$UID": .integer(Int64(clamping: number))]))
      case .string("$null"): return object("NSMutableString", ["NS.string": value])
      case .string, .integer, .real, .boolean, .data: return entry(value)
      }
    }

    private mutating func entry(_ value: PropertyListValue) -> PropertyListValue {
      objects.append(value)
      return .uid(UInt64(objects.count - 1))
    }

    private mutating func object(_ name: String, _ fields: [String: PropertyListValue]) -> PropertyListValue {
      let known = classes[name] ?? entry(KeyedArchive.classEntry(name))
      classes[name] = known
      return entry(.dictionary(fields.merging(["$class": known]) { _, new in new }))
    }
  }

  /// The entry of a class in an archive.
  package static func classEntry(_ name: String) -> PropertyListValue {
    let ancestors =
      switch name {
      case "NSMutableString": ["NSMutableString", "NSString", "NSObject"]
      case "NSMutableDictionary": ["NSMutableDictionary", "NSDictionary", "NSObject"]
      case "NSDecimalNumber": ["NSDecimalNumber", "NSNumber", "NSValue", "NSObject"]
      default: [name, "NSObject"]
      }
    return .dictionary(["$classname": .string(name), "$classes": .array(ancestors.map { .string($0) })])
  }

  // MARK: Reading

  /// The property list that was archived.
  ///
  /// - Throws: `Malformed` for an object of another class, and for more than 64 levels.
  package mutating func propertyList() throws(Malformed) -> PropertyListValue {
    try propertyList(.object(try root()), depth: 0)
  }

  private mutating func propertyList(_ value: Value, depth: Int) throws(Malformed) -> PropertyListValue {
    guard depth < 64 else { throw Malformed(problem: "it is nested more than 64 deep") }
    if let text = try text(value) { return .string(text) }
    switch value {
    case .null: throw Malformed(problem: "expected a value of a property list, found nil")
    case .plain(.array), .plain(.dictionary), .plain(.uid):
      throw Malformed(problem: "expected an archived value, found a plain one")
    case .plain(let plain): return plain
    case .object(let object) where Self.isList(object):
      var items: [PropertyListValue] = []
      for member in try members(of: object) { items.append(try propertyList(member, depth: depth + 1)) }
      return .array(items)
    case .object(let object):
      switch object.className {
      case "NSDate", "NSData", "NSMutableData":
        if case .date(let seconds)? = try attributeValue(value, type: .date) { return .date(seconds) }
        if case .data(let bytes)? = try attributeValue(value, type: .binary) { return .data(bytes) }
        throw Malformed(problem: "an object of the class '\(object.className)' has no value")
      case "NSDictionary", "NSMutableDictionary", "NSKnownKeysDictionary1":
        var items: [String: PropertyListValue] = [:]
        for (key, value) in try entries(of: object) { items[key] = try propertyList(value, depth: depth + 1) }
        return .dictionary(items)
      default:
        throw Malformed(problem: "expected a value of a property list, found the class '\(object.className)'")
      }
    }
  }
}
