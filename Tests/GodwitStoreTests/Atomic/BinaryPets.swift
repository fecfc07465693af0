import Foundation
import GodwitModel
import GodwitStore
import TestSupport

/// An object of a binary store.
struct PetNode: Sendable {
  /// A value of an attribute as an archive has it.
  indirect enum Value: Sendable {
    case null
    case plain(PropertyListValue)
    /// A class and its fields.
    case object(String, [String: PropertyListValue])
    case text(String)
    case date(Double)
    case decimal(Decimal)
    /// Two objects that lead to each other.
    case colours(String, String)
    case list([Value])
  }

  var entity: String
  var key: Int64
  var values: [Value]
  var related: [(name: String, keys: [Int64])] = []
}

/// People and pets, for binary stores.
enum BinaryPets {
  static func model() throws -> ManagedObjectModel {
    func attribute(_ name: String, _ type: AttributeType) -> AttributeDescription {
      AttributeDescription(name: name, type: type)
    }
    var pets = RelationshipDescription(name: "pets", destinationEntityName: "Pet", inverseName: "owner", isToMany: true)
    pets.isOrdered = true
    var age = attribute("shoeSize", .integer16)
    age.defaultValue = .integer(42)
    var dream = attribute("aDream", .string)
    dream.isTransient = true
    return try ManagedObjectModel(
      name: "Pets",
      entities: [
        EntityDescription(
          name: "Person",
          attributes: [
            attribute("wage", .decimal), attribute("fullName", .string), age, dream, attribute("born", .date),
            attribute("photo", .binary), attribute("isTall", .boolean), attribute("id", .uuid),
            attribute("home", .uri), attribute("height", .float), attribute("hair", .transformable),
          ], relationships: [pets]),
        EntityDescription(
          name: "Employee", superentityName: "Person",
          attributes: [attribute("zeal", .double), attribute("badge", .integer64)]),
        EntityDescription(
          name: "Pet",
          relationships: [RelationshipDescription(name: "owner", destinationEntityName: "Person", inverseName: "pets")]),
        EntityDescription(name: "Ghost", isAbstract: true),
      ])
  }

  /// Values of a person, in the order of names: born, fullName, hair, height, home, id, isTall, photo, shoeSize, wage.
  static func person(
    _ key: Int64, _ name: PetNode.Value = .null, pets: [Int64] = [], change: [Int: PetNode.Value] = [:],
    entity: String = "Person", more: [PetNode.Value] = []
  ) -> PetNode {
    var values = [PetNode.Value](repeating: .null, count: 10)
    values[1] = name
    for (place, value) in change { values[place] = value }
    return PetNode(
      entity: entity, key: key, values: values + more + [.null], related: pets.isEmpty ? [] : [("pets", pets)])
  }

  static func pet(_ key: Int64, owner: Int64? = nil) -> PetNode {
    PetNode(entity: "Pet", key: key, values: [.null], related: owner.map { [("owner", [$0])] } ?? [])
  }
}

/// A binary store made by hand, object by object.
struct HandwrittenBinaryStore {
  private var made = ArchiveFixture()
  private var archive: [UInt8] = []
  var metadata: [String: PropertyListValue] = [
    "NSStoreUUID": .string("343C8D7F-A000-42C4-8463-43FA1E5EF3FB"), "NSStoreType": .string("Binary"),
  ]

  init(_ objects: [PetNode], metadata: [String: PropertyListValue] = [:]) {
    self.metadata.merge(metadata) { $1 }
    let keys = objects.map { made.add(.integer($0.key)) }
    let nodes = objects.map { add($0) }
    let map = made.object("NSMutableDictionary", ["NS.keys": .array(keys), "NS.objects": .array(nodes)])
    archive = KeyedArchive.list(made.objects, top: ["mapData": map]).binaryPropertyList
  }

  private mutating func add(_ node: PetNode) -> PropertyListValue {
    var fields: [String: PropertyListValue] = [
      "NSEntityName": made.string(node.entity), "NSPrimaryKey64": .integer(node.key),
      "NSAttributeValues": made.array(node.values.map { Self.add($0, to: &made) }),
    ]
    if !node.related.isEmpty {
      fields["NSRelatedNodes"] = made.dictionary(
        node.related.map { name, keys in (name, made.array(keys.map { made.add(.integer($0)) })) })
    }
    return made.object("NSDictionaryMapNode", fields)
  }

  static func add(_ value: PetNode.Value, to made: inout ArchiveFixture) -> PropertyListValue {
    switch value {
    case .null: return made.object("NSNull", [:])
    case .plain(let plain): return made.add(plain)
    case .object(let name, let fields): return made.object(name, fields)
    case .text(let text): return made.object("NSMutableString", ["NS.string": .string(text)])
    case .date(let seconds): return made.object("NSDate", ["NS.time": .real(seconds)])
    case .decimal(let number): return made.object("NSDecimalNumber", KeyedArchive.fields(of: number))
    case .list(let members): return made.array(members.map { add($0, to: &made) })
    case .colours(let one, let other):
      let (first, second) = (made.reserve(), made.reserve())
      _ = made.object("NSColor", ["name": made.string(other), "twin": first], at: second)
      return made.object("NSColor", ["name": made.string(one), "twin": second], at: first)
    }
  }

  /// The value as the archive of one object.
  static func graph(_ value: PetNode.Value) throws -> ArchivedGraph {
    var made = ArchiveFixture()
    let root = add(value, to: &made)
    return try ArchivedGraph(archive: made.archive(root))
  }

  func write(to path: String, highest: UInt64 = 500) throws {
    let about = KeyedArchive.archive(of: ArchivedValue(.dictionary(metadata)), top: "metadata").binaryPropertyList
    var bytes = Array("CoreData".utf8) + [0, 0, 0, 1, 8, 4, 8, 0]
    for number in [UInt64(64 + archive.count), UInt64(about.count), 64, UInt64(archive.count), highest, 0] {
      bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
    }
    try Data(bytes + archive + about).write(to: URL(filePath: path))
  }
}

/// A binary store as a file has it, read without the project's reader of such stores.
struct WrittenBinaryStore {
  struct Object {
    var entity: String
    var values: [PropertyListValue]
    var related: [String: [Int64]] = [:]
  }

  struct Unreadable: Error {}

  /// The words of the head, eight bytes each, without `CoreData`.
  let head: [UInt64]
  let size: Int
  /// By key.
  private(set) var objects: [Int64: Object] = [:]
  let metadata: PropertyListValue
  private let entries: [PropertyListValue]

  init(path: String) throws {
    let data = try Data(contentsOf: URL(filePath: path))
    size = data.count
    head = (1..<8).map { word in data[(word * 8)..<(word * 8 + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
    let objectData = data[Int(head[3])..<Int(head[3] + head[4])]
    // Foundation reads the same list.
    guard try PropertyListSerialization.propertyList(from: Data(objectData), format: nil) is [String: Any] else {
      throw Unreadable()
    }
    let list = try PropertyListValue(binary: Array(objectData), maximumValues: 2_000_000)
    let about = try PropertyListValue(binary: Array(data[Int(head[1])..<Int(head[1] + head[2])]))
    var archive = try KeyedArchive(about, top: "metadata")
    metadata = try archive.propertyList()
    guard let entries = list.dictionary?["$objects"]?.array,
      case .uid(let map)? = list.dictionary?["$top"]?.dictionary?["mapData"],
      let keys = entries[Int(map)].dictionary?["NS.keys"]?.array,
      let nodes = entries[Int(map)].dictionary?["NS.objects"]?.array
    else { throw Unreadable() }
    self.entries = entries
    for (key, node) in zip(keys, nodes) {
      guard case .integer(let key) = entry(key), let fields = entry(node).dictionary,
        case .integer(key)? = fields["NSPrimaryKey64"], case .string(let entity)? = fields["NSEntityName"].map(entry)
      else { throw Unreadable() }
      var object = Object(entity: entity, values: members(fields["NSAttributeValues"]))
      if let related = fields["NSRelatedNodes"].map(entry)?.dictionary {
        for (name, list) in zip(related["NS.keys"]?.array ?? [], related["NS.objects"]?.array ?? []) {
          object.related[entry(name).string ?? ""] = members(list).compactMap(\.integer)
        }
      }
      objects[key] = object
    }
  }

  private func entry(_ reference: PropertyListValue) -> PropertyListValue {
    guard case .uid(let number) = reference else { return reference }
    return entries[Int(number)]
  }

  private func members(_ reference: PropertyListValue?) -> [PropertyListValue] {
    (reference.map(entry)?.dictionary?["NS.objects"]?.array ?? []).map(entry)
  }

  /// A field of an object.
  func field(_ name: String, of object: PropertyListValue) -> PropertyListValue? {
    object.dictionary?[name].map(entry)
  }

  func className(of object: PropertyListValue) -> String? {
    field("$class", of: object)?.dictionary?["$classname"]?.string
  }
}
