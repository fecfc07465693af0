/// Property lists as keyed archives hold them, each dictionary and array as an object.
extension KeyedArchive {
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
        var items: [Text: PropertyListValue] = [:]
        for (key, value) in try entries(of: object) { items[key] = try propertyList(value, depth: depth + 1) }
        return .dictionary(items)
      default:
        throw Malformed(problem: "expected a value of a property list, found the class '\(object.className)'")
      }
    }
  }
}
