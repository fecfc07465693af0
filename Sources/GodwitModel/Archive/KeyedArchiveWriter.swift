import Foundation

/// Writes a value as `NSKeyedArchiver` does, with the keys and classes that its archives have. Equal values give equal
/// bytes: Apple's own archives of equal dictionaries and sets differ in their order.
///
/// No archive of this writer has been opened on a Mac.
struct KeyedArchiveWriter {
  private var objects: [PropertyListValue] = [.string("$null")]
  private var classes: [String: PropertyListValue] = [:]
  /// Strings and numbers that were archived already: each is there once.
  private var known: [PropertyListValue: PropertyListValue] = [:]

  static func archive(of value: ArchivedValue) -> PropertyListValue {
    var writer = KeyedArchiveWriter()
    let root = writer.add(value)
    return .dictionary([
      "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000), "$objects": .array(writer.objects),
      "$top": .dictionary(["root": root]),
    ])
  }

  private mutating func add(_ value: ArchivedValue) -> PropertyListValue {
    switch value {
    case .null: return object("NSNull", [:])
    case .boolean(let truth): return plain(.boolean(truth))
    case .integer(let number): return plain(.integer(number))
    case .real(let number): return plain(.real(number))
    // As a number: the digits of a decimal that a double lacks have no place in it.
    case .decimal(let number): return plain(.real(Double("\(number)") ?? .nan))
    // This text alone means nil.
    case .string("$null"): return object("NSString", ["NS.string": .string("$null")])
    case .string(let text): return plain(.string(text))
    case .date(let seconds): return object("NSDate", ["NS.time": .real(seconds)])
    case .data(let bytes): return object("NSData", ["NS.data": .data(bytes)])
    case .url(let text): return object("NSURL", ["NS.base": .uid(0), "NS.relative": plain(.string(text))])
    case .uuid(let uuid):
      return object("NSUUID", ["NS.uuidbytes": .data(withUnsafeBytes(of: uuid.uuid) { Array($0) })])
    case .array(let members): return object("NSArray", ["NS.objects": .array(members.map { add($0) })])
    case .set(let members): return object("NSSet", ["NS.objects": .array(members.map { add($0) })])
    case .dictionary(let entries):
      let sorted = entries.sorted { Text($0.key) < Text($1.key) }
      let keys = sorted.map { add(.string($0.key)) }
      return object("NSDictionary", ["NS.keys": .array(keys), "NS.objects": .array(sorted.map { add($0.value) })])
    }
  }

  private mutating func entry(_ value: PropertyListValue) -> PropertyListValue {
    objects.append(value)
    return .uid(UInt64(objects.count - 1))
  }

  private mutating func plain(_ value: PropertyListValue) -> PropertyListValue {
    if let reference = known[value] { return reference }
    let reference = entry(value)
    known[value] = reference
    return reference
  }

  private mutating func object(_ name: String, _ fields: [String: PropertyListValue]) -> PropertyListValue {
    let reference =
      classes[name]
      ?? entry(.dictionary(["$classname": .string(name), "$classes": .array([.string(name), .string("NSObject")])]))
    classes[name] = reference
    return entry(.dictionary(fields.merging(["$class": reference]) { _, new in new }))
  }
}

extension ArchivedValue {
  /// The value as the bytes of a keyed archive.
  package var archive: [UInt8] { KeyedArchiveWriter.archive(of: self).binaryPropertyList }
}
