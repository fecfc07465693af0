import Foundation
import GodwitModel

/// Writes a binary store in the form Core Data writes: see `BinaryStoreReader`.
///
/// | attribute | archived as |
/// |---|---|
/// | nil | `NSNull` |
/// | integers, Boolean, Double, Float | a number |
/// | String, Binary | a text, data |
/// | Date | `NSDate` |
/// | Transformable | the object of the keyed archive that the attribute holds, with all that it leads to |
/// | Decimal, UUID, URI | `NSDecimalNumber`, `NSUUID`, `NSURL` |
///
/// Real stores have all of these but the last three.
final class BinaryStoreFormat: AtomicStoreFormat {
  private let file: AtomicStoreFile
  private let model: ManagedObjectModel
  private let keys: AtomicStoreKeys
  /// The name of the new store in messages.
  private let name: String
  private let connection: StoreConnection
  private let stream: ArchiveStream
  private let mapKeys: NumberList
  private let mapNodes: NumberList
  private var metadata: [UInt8] = []
  private var layouts: [String: BinaryStoreLayout] = [:]
  /// The numbers of what many objects refer to: names, and nil as an object.
  private var names: [Text: UInt64] = [:]
  private var null: UInt64?

  var writtenBytes: Int64 { file.writtenBytes }

  init(path: String, model: ManagedObjectModel, keys: AtomicStoreKeys, name: String) throws {
    (self.model, self.keys, self.name) = (model, keys, name)
    file = try AtomicStoreFile(path: path)
    connection = try StoreConnection(path: nil, cache: .mebibytes(1))
    try connection.execute("PRAGMA temp_store = FILE")
    // The head is written last.
    try file.write([UInt8](repeating: 0, count: BinaryStoreReader.headBytes))
    stream = try ArchiveStream(file, connection, name: name)
    mapKeys = try NumberList(connection, name: "keys", size: 4)
    mapNodes = try NumberList(connection, name: "nodes", size: 4)
  }

  func begin(_ metadata: [Text: PropertyListValue], uuid: String) throws {
    var values = metadata
    values[StoreMetadata.Key.storeType] = .string(StoreType.binary.rawValue)
    values[StoreMetadata.Key.storeUUID] = .string(uuid)
    self.metadata = KeyedArchive.archive(of: ArchivedValue(.dictionary(values)), top: "metadata").binaryPropertyList
  }

  func finish() throws {
    try stream.finish("NSMutableDictionary", keys: mapKeys, values: mapNodes, as: "mapData")
    let length = UInt64(file.writtenBytes) - UInt64(BinaryStoreReader.headBytes)
    let metadataStart = UInt64(file.writtenBytes)
    try file.write(metadata)
    var head = BinaryStoreReader.magic + BinaryStoreReader.version
    for number in [
      metadataStart, UInt64(metadata.count), UInt64(BinaryStoreReader.headBytes), length,
      UInt64(clamping: keys.highest), 0,
    ] { head += PropertyListValue.big(number, 8) }
    try file.overwrite(head, at: 0)
    try file.finish()
  }

  // MARK: Objects

  private func layout(of entity: String) -> BinaryStoreLayout {
    if let known = layouts[entity] { return known }
    let layout = BinaryStoreLayout(of: entity, in: model)
    layouts[entity] = layout
    return layout
  }

  private func nameNumber(_ text: String) throws -> UInt64 {
    if let known = names[text] { return known }
    let number = try stream.add(.string(text))
    try stream.share(number)
    names[text] = number
    return number
  }

  private func nullNumber() throws -> UInt64 {
    if let null { return null }
    let number = try stream.add([:], of: "NSNull")
    try stream.share(number)
    null = number
    return number
  }

  private func array(_ numbers: [UInt64]) throws -> UInt64 {
    try stream.add(["NS.objects": .array(numbers.map { .uid($0) })], of: "NSArray")
  }

  func write(_ object: ObjectReader.Object) throws {
    let layout = layout(of: object.reference.entity)
    var values: [String: AttributeValue] = [:]
    var related: [String: [ObjectReader.Reference]] = [:]
    for (name, value) in object.properties {
      switch value {
      case .attribute(let value, _): values[name] = value
      // `AtomicStoreWriter` refuses these.
      case .large, .missingFile: break
      case .toOne(let reference): related[name] = reference.map { [$0] } ?? []
      case .toMany(let references): related[name] = references
      }
    }
    let number = keys.number(of: object.reference, in: model)
    var fields: [String: PropertyListValue] = [
      "NSEntityName": .uid(try nameNumber(object.reference.entity)), "NSPrimaryKey64": .integer(number),
    ]
    var members: [UInt64] = []
    for attribute in layout.attributes {
      members.append(try self.number(of: values[attribute.name] ?? .null, attribute, of: object.reference))
    }
    if !layout.relationshipNames.isEmpty {
      members += [UInt64](repeating: try nullNumber(), count: layout.relationshipNames.count)
    }
    fields["NSAttributeValues"] = .uid(try array(members))
    // A relationship without objects is left out.
    let named = layout.relationshipNames.filter { related[$0]?.isEmpty == false }
    if !named.isEmpty {
      let lists = try named.map { name in
        try array(
          (related[name] ?? []).map { try stream.add(.integer(keys.number(of: $0, in: model))) })
      }
      fields["NSRelatedNodes"] = .uid(
        try stream.add(
          [
            "NS.keys": .array(try named.map { .uid(try nameNumber($0)) }),
            "NS.objects": .array(lists.map { .uid($0) }),
          ], of: "NSDictionary"))
    }
    let node = try stream.add(fields, of: "NSDictionaryMapNode")
    try mapKeys.append(stream.reference(stream.add(.integer(number))))
    try mapNodes.append(stream.reference(node))
  }

  // MARK: Values

  private func number(
    of value: AttributeValue, _ attribute: AttributeDescription, of object: ObjectReader.Reference
  ) throws -> UInt64 {
    func unwritable(_ what: String, _ remedy: String) -> GodwitError {
      GodwitError(
        .dataWrong, "cannot write '\(name)': \(what)",
        context: "attribute '\(attribute.name)' of \(object.entity) p\(object.key)", remedy: remedy,
        safe: "the source is untouched")
    }
    func text(_ text: Text) throws -> String {
      guard let text = String(validating: text.utf8, as: UTF8.self) else {
        throw unwritable(
          "a text has bytes that are not UTF-8, which a binary store cannot hold",
          "correct the value, or use a SQLite store")
      }
      return text
    }
    switch value {
    case .null: return try nullNumber()
    case .boolean(let truth): return try stream.add(.boolean(truth))
    case .integer(let number): return try stream.add(.integer(number))
    case .double(let number): return try stream.add(.real(number))
    case .decimal(let number): return try stream.add(KeyedArchive.fields(of: number), of: "NSDecimalNumber")
    case .date(let seconds): return try stream.add(["NS.time": .real(seconds)], of: "NSDate")
    case .string(let string):
      let text = try text(string)
      // As a plain text it would be nil.
      guard text != "$null" else { return try stream.add(["NS.string": .string(text)], of: "NSMutableString") }
      return try stream.add(.string(text))
    case .uri(let uri):
      let string = try stream.add(.string(try text(uri)))
      return try stream.add(["NS.base": .uid(0), "NS.relative": .uid(string)], of: "NSURL")
    case .uuid(let uuid):
      return try stream.add(["NS.uuidbytes": .data(withUnsafeBytes(of: uuid.uuid) { Array($0) })], of: "NSUUID")
    case .data(let bytes) where attribute.type == .transformable:
      guard let graph = try? ArchivedGraph(archive: bytes) else {
        throw unwritable(
          "a transformable value is not a keyed archive of one object, and a binary store holds the object itself",
          "use a SQLite or XML store, or leave the attribute out in the mapping")
      }
      return try stream.add(graph)
    case .data(let bytes): return try stream.add(.data(bytes))
    }
  }
}
