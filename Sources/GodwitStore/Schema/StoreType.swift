import Foundation

/// The type of a store's file, as Core Data's `NSStoreType` names it.
///
/// Core Data has two more, which Godwit cannot read or write: a binary store (`NSBinaryStoreType`), an archive whose
/// layout is not published, and an in-memory store (`NSInMemoryStoreType`), which has no file.
public enum StoreType: String, Sendable, Hashable, Codable {
  /// A SQLite database, `NSSQLiteStoreType`.
  case sqlite = "SQLite"
  /// An XML document, `NSXMLStoreType`.
  case xml = "XML"

  /// The content of a file, judged by its first bytes.
  package enum Content: Sendable, Hashable {
    case store(StoreType)
    /// A store of type Binary.
    case binaryStore
    case propertyList
    case other
  }

  /// How many bytes `Content` looks at.
  static let headBytes = 4096

  /// The types that cannot be read, for the remedy of an error.
  package static let unreadableTypes =
    "only stores of type SQLite and XML can be read: a binary store (NSBinaryStoreType) must be moved to a SQLite "
    + "store by Core Data itself, and an in-memory store (NSInMemoryStoreType) has no file"
}

extension StoreType.Content {
  /// - Parameter head: The first bytes of the file, 4096 where there are as many.
  package init(head: [UInt8]) {
    func contains(_ text: String) -> Bool { head.firstRange(of: Array(text.utf8)) != nil }
    var text = head[...]
    if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
    text = text.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    if head.starts(with: Array("SQLite format 3\0".utf8)) {
      self = .store(.sqlite)
    } else if text.first == UInt8(ascii: "<"), contains("CoreData.dtd") || contains("<database") {
      self = .store(.xml)
    } else if contains("bplist00") {
      // The metadata is the first thing of such an archive that has names to know it by.
      let names = ["NSPersistenceFrameworkVersion", "NSStoreModelVersion", "NSStoreUUID", "NSStoreType"]
      self = names.contains(where: contains) ? .binaryStore : .propertyList
    } else {
      self = .other
    }
  }

  /// The name in messages.
  package var name: String {
    switch self {
    case .store(let type): "a store of type \(type.rawValue)"
    case .binaryStore: "a binary store (NSBinaryStoreType)"
    case .propertyList: "a binary property list, as binary stores (NSBinaryStoreType) are"
    case .other: "something else"
    }
  }
}
