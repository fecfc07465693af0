import Foundation

/// Writes a value as `NSKeyedArchiver` does, with the keys and classes that its archives have. Equal values give equal
/// bytes: Apple's own archives of equal dictionaries and sets differ in their order.
///
/// No archive of this writer has been opened on a Mac.
struct KeyedArchiveWriter {
  private(set) var objects: [PropertyListValue] = [.string("$null")]
  private var classes: [String: PropertyListValue] = [:]
  /// Strings and numbers that were archived already: each is there once.
  private var known: [PropertyListValue: PropertyListValue] = [:]

  mutating func add(_ value: ArchivedValue) -> PropertyListValue {
    switch value {
    case .null: return object("NSNull", [:])
    case .boolean(let truth): return plain(.boolean(truth))
    case .integer(let number): return plain(.integer(number))
    case .real(let number): return plain(.real(number))
    // As a number: the digits of a decimal that a double lacks have no place in it.
    case .decimal(let number): return plain(.real(Double("\(number)") ?? .nan))
    // This text alone means nil.
    case .string("$null"): return object("NSMutableString", ["NS.string": .string("$null")])
    case .string(let text): return plain(.string(text))
    case .date(let seconds): return object("NSDate", ["NS.time": .real(seconds)])
    case .data(let bytes): return entry(.data(bytes))
    case .url(let text): return object("NSURL", ["NS.base": .uid(0), "NS.relative": plain(.string(text))])
    case .uuid(let uuid):
      return object("NSUUID", ["NS.uuidbytes": .data(withUnsafeBytes(of: uuid.uuid) { Array($0) })])
    case .array(let members): return object("NSArray", ["NS.objects": .array(members.map { add($0) })])
    case .set(let members): return object("NSSet", ["NS.objects": .array(members.map { add($0) })])
    case .dictionary(let entries):
      let sorted = entries.sorted { $0.key < $1.key }
      let keys = sorted.map { add(.string($0.key.string)) }
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
    let reference = classes[name] ?? entry(KeyedArchive.classEntry(name))
    classes[name] = reference
    return entry(.dictionary(fields.merging(["$class": reference]) { _, new in new }))
  }
}

extension KeyedArchive {
  /// The archive of a value.
  ///
  /// - Parameter name: The key of the value in `$top`.
  package static func archive(of value: ArchivedValue, top name: String = "root") -> PropertyListValue {
    var writer = KeyedArchiveWriter()
    let root = writer.add(value)
    return list(writer.objects, top: [Text(name): root])
  }

  /// A keyed archive of these objects.
  package static func list(_ objects: [PropertyListValue], top: [Text: PropertyListValue]) -> PropertyListValue {
    .dictionary([
      "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000), "$objects": .array(objects),
      "$top": .dictionary(top),
    ])
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
}

extension ArchivedValue {
  /// The value as the bytes of a keyed archive.
  package var archive: [UInt8] { KeyedArchive.archive(of: self).binaryPropertyList }

  /// A property list as it is archived, each dictionary and array as an object.
  package init(_ list: PropertyListValue) {
    self =
      switch list {
      case .array(let members): .array(members.map { ArchivedValue($0) })
      case .dictionary(let entries): .dictionary(entries.mapValues { ArchivedValue($0) })
      case .date(let seconds): .date(seconds)
      // It can be written as a dictionary alone, as property lists in XML have it.
      case .uid(let number): .dictionary(["CF$UID": .integer(Int64(clamping: number))])
      case .string(let text): .string(text)
      case .integer(let number): .integer(number)
      case .unsigned(let number): .decimal(Decimal(number))
      case .real(let number): .real(number)
      case .boolean(let truth): .boolean(truth)
      case .data(let bytes): .data(bytes)
      }
  }
}
