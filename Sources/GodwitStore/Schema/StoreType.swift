import Foundation
import GodwitModel

/// The type of a store's file, as Core Data's `NSStoreType` names it.
///
/// Core Data has one more, the in-memory store (`NSInMemoryStoreType`), which has no file. An application can have types
/// of its own, subclasses of `NSAtomicStore` and `NSIncrementalStore`: only its code can read those.
public enum StoreType: String, Sendable, Hashable, Codable {
  /// A SQLite database, `NSSQLiteStoreType`.
  case sqlite = "SQLite"
  /// An XML document, `NSXMLStoreType`.
  case xml = "XML"
  /// A keyed archive of objects, `NSBinaryStoreType`.
  case binary = "Binary"

  /// The content of a file, judged by its first bytes.
  package enum Content: Sendable, Hashable {
    case store(StoreType)
    case propertyList
    case other
  }

  /// How many bytes `Content` looks at.
  static let headBytes = 4096

  /// The types that cannot be read, for the remedy of an error.
  package static let unreadableTypes =
    "only stores of type SQLite, XML and Binary can be read: an in-memory store (NSInMemoryStoreType) has no file, and a "
    + "store of an application's own type (a subclass of NSAtomicStore or NSIncrementalStore) can be read by its code "
    + "alone, which can move it to a store of those types"

  /// Whether Core Data reads and writes the file as a whole. Godwit reads it through a SQLite store that it makes of the
  /// file, and writes it from a finished SQLite store.
  package var isAtomic: Bool { self != .sqlite }

  /// The type in messages.
  package var adjective: String { self == .binary ? "binary" : rawValue }

  /// The name of such a store in messages, without an article.
  package var noun: String { adjective + " store" }

  /// The name of such a store in messages, with an article.
  package var nounWithArticle: String { self == .xml ? "an XML store" : "a \(noun)" }

  /// The type in manifests.
  package var manifestName: String { rawValue.lowercased() }

  /// Refuses models that Core Data can only use with SQLite stores. Apple's documentation of
  /// `NSCompositeAttributeDescription` says that composite attributes are available only there.
  ///
  /// - Throws: `.configuration` (78) for a stored composite attribute, unless this is the type of a SQLite store.
  func checkComposites(of model: ManagedObjectModel) throws {
    guard isAtomic else { return }
    for entity in model.entities {
      guard let composite = entity.attributes.first(where: { $0.type == .composite && !$0.isTransient }) else {
        continue
      }
      throw GodwitError(
        .configuration,
        "cannot use model '\(model.name)' with \(nounWithArticle): '\(entity.name).\(composite.name)' is a composite attribute, which Core Data has in SQLite stores only",
        remedy:
          "use a SQLite store (`destination-type: sqlite`), or a version with an attribute in place of each element")
    }
  }

  /// - Throws: `.dataWrong` (65) when metadata name a type that is not one of Core Data's.
  static func refuseCustom(_ metadata: [Text: PropertyListValue], path: String) throws {
    guard let name = metadata[StoreMetadata.Key.storeType]?.string, StoreType(rawValue: name) == nil else { return }
    throw GodwitError(
      .dataWrong,
      "cannot read store '\(path)': it is of the type '\(name)', which an application defines (a subclass of NSAtomicStore or NSIncrementalStore)",
      remedy: unreadableTypes)
  }
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
    } else if head.starts(with: BinaryStoreReader.magic) {
      self = .store(.binary)
    } else if text.first == UInt8(ascii: "<"), contains("CoreData.dtd") || contains("<database") {
      self = .store(.xml)
    } else if head.starts(with: Array("bplist".utf8)) || text.first == UInt8(ascii: "<") && contains("<plist") {
      self = .propertyList
    } else {
      self = .other
    }
  }

  /// The name in messages.
  package var name: String {
    switch self {
    case .store(let type): "a store of type \(type.rawValue)"
    case .propertyList: "a property list"
    case .other: "something else"
    }
  }
}
