/// An object of a keyed archive with all that it leads to, as an archive of its own.
///
/// Objects are numbered in the order in which they are met, the fields of one by name. The same graph therefore gives
/// the same bytes, wherever it was archived. Values, classes and links stay as they are.
package struct ArchivedGraph: Sendable, Hashable {
  /// `$null`, then the root, then all others.
  package let objects: [PropertyListValue]

  private static let null = PropertyListValue.string("$null")

  /// - Parameters:
  ///   - root: The number of an object that is not nil.
  ///   - entry: Gives the object of a number, and bounds how much is read.
  /// - Throws: `KeyedArchive.Malformed`; what `entry` throws.
  package init(of root: UInt64, entry: (UInt64) throws -> PropertyListValue) throws {
    var numbers: [UInt64: UInt64] = [:]
    var found: [PropertyListValue] = [Self.null]
    func number(_ reference: UInt64) throws -> UInt64 {
      if let known = numbers[reference] { return known }
      let object = try entry(reference)
      if case .uid = object { throw KeyedArchive.Malformed(problem: "a reference leads to a reference") }
      let number = object == Self.null ? 0 : UInt64(found.count)
      numbers[reference] = number
      if number > 0 { found.append(object) }
      return number
    }
    guard try number(root) == 1 else { throw KeyedArchive.Malformed(problem: "it has no root object") }
    var next = 1
    while next < found.count {
      found[next] = try found[next].replacingReferences(number)
      next += 1
    }
    objects = found
  }

  /// The graph in the bytes of an archive with one root.
  ///
  /// - Throws: `KeyedArchive.Malformed` for bytes that are none.
  package init(archive bytes: [UInt8]) throws {
    let list = try PropertyListValue(binary: bytes, maximumValues: KeyedArchive.valuesMaximum)
    // Checks the rest of the form.
    _ = try KeyedArchive(list)
    guard let top = list.dictionary?["$top"]?.dictionary, top.count == 1, case .uid(let root)? = top["root"],
      let entries = list.dictionary?["$objects"]?.array
    else { throw KeyedArchive.Malformed(problem: "it has more than a root object, or no object at all") }
    try self.init(of: root) { number in
      guard let place = Int(exactly: number), entries.indices.contains(place) else {
        throw KeyedArchive.Malformed(problem: "a reference leads nowhere")
      }
      return entries[place]
    }
  }

  /// As `NSKeyedArchiver` archives one object.
  package var archive: PropertyListValue { KeyedArchive.list(objects, top: ["root": .uid(1)]) }
}

extension PropertyListValue {
  /// The value with other references in place of those in it, which are met in the order of keys.
  package func replacingReferences(_ number: (UInt64) throws -> UInt64) rethrows -> PropertyListValue {
    switch self {
    case .uid(let reference): return .uid(try number(reference))
    case .array(let members): return .array(try members.map { try $0.replacingReferences(number) })
    case .dictionary(let fields):
      var replaced: [Text: PropertyListValue] = [:]
      for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
        replaced[key] = try value.replacingReferences(number)
      }
      return .dictionary(replaced)
    case .string, .integer, .unsigned, .real, .boolean, .date, .data: return self
    }
  }
}
