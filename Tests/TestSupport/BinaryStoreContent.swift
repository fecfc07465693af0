package import Foundation

/// What a binary store holds, read with Foundation's unarchiver: nothing of the project's own reader is used.
package struct BinaryStoreContent {
  package struct Object {
    package var entity: String
    package var key: Int64
    package var values: [Any]
    /// By relationship.
    package var related: [String: [Int64]]
  }

  struct Unreadable: Error {
    var what: String
  }

  /// The words of the head, eight bytes each, without `CoreData`.
  package let head: [UInt64]
  package let objects: [Object]
  package let metadata: [String: Any]

  package init(path: String) throws {
    let data = try Data(contentsOf: URL(filePath: path))
    guard data.count > 64, data.prefix(8).elementsEqual("CoreData".utf8) else { throw Unreadable(what: "the head") }
    head = (1..<8).map { word in
      data[(word * 8)..<(word * 8 + 8)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
    func archive(_ start: UInt64, _ length: UInt64) -> Data { data[Int(start)..<Int(start + length)] }
    metadata = Self.fields(try Self.decode(archive(head[1], head[2]), "metadata"))
    guard let map = try Self.decode(archive(head[3], head[4]), "mapData") as? NSDictionary else {
      throw Unreadable(what: "the objects")
    }
    objects = try map.allKeys.map { key in
      guard let node = map.object(forKey: key) as? BinaryMapNode, let number = (key as? NSNumber)?.int64Value,
        number == node.key
      else { throw Unreadable(what: "an object") }
      return Object(entity: node.entity, key: number, values: node.values, related: node.related)
    }.sorted { $0.key < $1.key }
  }

  fileprivate static func fields(_ value: Any?) -> [String: Any] {
    guard let dictionary = value as? NSDictionary else { return [:] }
    var fields: [String: Any] = [:]
    for key in dictionary.allKeys { if let name = key as? String { fields[name] = dictionary.object(forKey: key) } }
    return fields
  }

  private static func decode(_ data: Data, _ name: String) throws -> Any {
    let archive = try NSKeyedUnarchiver(forReadingFrom: Data(data))
    archive.requiresSecureCoding = false
    archive.setClass(BinaryMapNode.self, forClassName: "NSDictionaryMapNode")
    archive.setClass(BinaryColour.self, forClassName: "NSColor")
    guard let value = archive.decodeObject(forKey: name) else { throw Unreadable(what: name) }
    return value
  }

  package subscript(_ key: Int64) -> Object? { objects.first { $0.key == key } }
}

/// An object of a class that the project knows nothing of.
package final class BinaryColour: NSObject, NSCoding, @unchecked Sendable {
  package let name: String
  package var twin: BinaryColour?

  package init(name: String, twin: BinaryColour? = nil) { (self.name, self.twin) = (name, twin) }

  package init?(coder: NSCoder) {
    name = coder.decodeObject(forKey: "name") as? String ?? ""
    twin = coder.decodeObject(forKey: "twin") as? BinaryColour
  }

  package func encode(with coder: NSCoder) {
    coder.encode(name as NSString, forKey: "name")
    coder.encode(twin, forKey: "twin")
  }
}

/// A node of a binary store's dictionary of objects.
package final class BinaryMapNode: NSObject, NSCoding, @unchecked Sendable {
  let entity: String
  let key: Int64
  let values: [Any]
  let related: [String: [Int64]]

  package init(entity: String, key: Int64, values: [Any], related: [String: [Int64]]) {
    (self.entity, self.key, self.values, self.related) = (entity, key, values, related)
  }

  package init?(coder: NSCoder) {
    entity = coder.decodeObject(forKey: "NSEntityName") as? String ?? ""
    key = coder.decodeInt64(forKey: "NSPrimaryKey64")
    values = (coder.decodeObject(forKey: "NSAttributeValues") as? NSArray).map { Array($0) } ?? []
    related = BinaryStoreContent.fields(coder.decodeObject(forKey: "NSRelatedNodes")).mapValues { keys in
      (keys as? NSArray ?? []).compactMap { ($0 as? NSNumber)?.int64Value }
    }
  }

  package func encode(with coder: NSCoder) {
    coder.encode(entity as NSString, forKey: "NSEntityName")
    coder.encode(key, forKey: "NSPrimaryKey64")
    coder.encode(NSArray(array: values), forKey: "NSAttributeValues")
    guard !related.isEmpty else { return }
    let nodes = NSMutableDictionary()
    for (name, keys) in related {
      nodes.setObject(NSArray(array: keys.map { NSNumber(value: $0) }), forKey: name as NSString)
    }
    coder.encode(nodes, forKey: "NSRelatedNodes")
  }
}

/// A binary store written with Foundation's archiver: nothing of the project's own writer is used.
package struct HandwrittenBinaryStore {
  package var objects: [BinaryMapNode]
  package var metadata: [String: Any]

  package init(objects: [BinaryMapNode], metadata: [String: Any] = [:]) {
    self.objects = objects
    self.metadata = ["NSStoreUUID": "343C8D7F-A000-42C4-8463-43FA1E5EF3FB", "NSStoreType": "Binary"]
      .merging(metadata) { $1 }
  }

  package func write(to path: String, highest: UInt64 = 500) throws {
    func archive(_ value: Any, _ name: String) -> Data {
      let archiver = NSKeyedArchiver(requiringSecureCoding: false)
      archiver.setClassName("NSDictionaryMapNode", for: BinaryMapNode.self)
      archiver.setClassName("NSColor", for: BinaryColour.self)
      archiver.encode(value, forKey: name)
      archiver.finishEncoding()
      return archiver.encodedData
    }
    let map = NSMutableDictionary()
    for object in objects { map.setObject(object, forKey: NSNumber(value: object.key)) }
    let (content, about) = (archive(map, "mapData"), archive(metadata as NSDictionary, "metadata"))
    var data = Data("CoreData".utf8) + Data([0, 0, 0, 1, 8, 4, 8, 0])
    for number in [64 + UInt64(content.count), UInt64(about.count), 64, UInt64(content.count), highest, 0] {
      data += withUnsafeBytes(of: number.bigEndian) { Data($0) }
    }
    try (data + content + about).write(to: URL(filePath: path))
  }
}
