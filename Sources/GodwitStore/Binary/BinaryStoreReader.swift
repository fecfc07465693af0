import Foundation
import GodwitModel

/// Reads a binary store front to back: its metadata, then object by object.
///
/// It needs no model, so the values of an object have places and no names. All numbers of the head are big-endian:
///
/// | bytes | content |
/// |---|---|
/// | 0 to 7 | `CoreData` |
/// | 8 to 15 | 1 and 134481920, four bytes each |
/// | 16 to 31 | offset and length of the metadata archive |
/// | 32 to 47 | offset and length of the object archive |
/// | 48 to 55 | the highest primary key |
/// | 56 to 63 | 0 |
final class BinaryStoreReader {
  /// An object as the file has it.
  struct Node {
    var entity: String
    var key: Int64
    /// References to the values of the attributes, then to nil for each relationship.
    var values: [PropertyListValue]
    var related: [(name: String, keys: [Int64])]
  }

  static let magic = Array("CoreData".utf8)
  /// The bytes from 8 to 15 of every store seen.
  static let version: [UInt8] = [0, 0, 0, 1, 0x08, 0x04, 0x08, 0x00]
  static let headBytes = 64
  /// Far more than Core Data could hold in memory.
  static let objectsMaximum = 100_000_000

  let metadata: StoreMetadata
  /// No object has a higher key.
  let highestKey: Int64
  let archive: BinaryStoreArchive
  /// The name of the file in messages.
  let name: String
  private var place = 0

  /// Reads the head and the metadata.
  ///
  /// - Throws: `.dataWrong` (65) when the file is damaged, or of a form that was never seen.
  init(path: String, name: String) throws {
    self.name = name
    let file = try ReadableFile(path: path, name: name)
    let head = try file.prefix(Self.headBytes)
    let size = file.size
    func wrong(_ problem: String) -> GodwitError { .damagedStore(.binary, path: name, problem) }
    guard head.count == Self.headBytes, head.starts(with: Self.magic) else {
      throw wrong("expected a head of 64 bytes, found \(head.count)")
    }
    guard head[8..<16].elementsEqual(Self.version) else {
      throw wrong("expected version 1 of the format, found another one")
    }
    func number(_ place: Int) -> UInt64 { head.number(at: place, size: 8) }
    func range(_ place: Int, _ what: String) throws -> Range<Int64> {
      guard let start = Int64(exactly: number(place)), let length = Int64(exactly: number(place + 8)),
        start >= Int64(Self.headBytes), start <= size, length <= size - start
      else { throw wrong("its \(what) does not lie within the file, which may be cut off") }
      return start..<(start + length)
    }
    let (metadata, objects) = (try range(16, "metadata"), try range(32, "object archive"))
    guard let highest = Int64(exactly: number(48)) else { throw wrong("its highest key is not a number of a key") }
    highestKey = highest
    self.metadata = try Self.metadata(of: file, in: metadata, name: name)
    do {
      archive = try BinaryStoreArchive(PagedBytes(path: path, range: objects, name: name))
    } catch { throw Self.problem(error, name) }
    guard archive.count <= Self.objectsMaximum else {
      throw wrong("expected at most \(Self.objectsMaximum) objects, found \(archive.count)")
    }
  }

  /// The next object; nil after the last.
  func next() throws -> Node? {
    guard place < archive.count else { return nil }
    defer { place += 1 }
    return try reading("object number \(place + 1) of the file") {
      let (key, node) = try archive.node(at: place)
      guard case .integer(let number)? = key else { throw KeyedArchive.Malformed(problem: "its key is not a number") }
      guard let node, try archive.className(of: node) == "NSDictionaryMapNode", let fields = node.dictionary else {
        throw KeyedArchive.Malformed(problem: "it is not of the class 'NSDictionaryMapNode'")
      }
      guard try archive.resolve(fields["NSPrimaryKey64"]) == .integer(number) else {
        throw KeyedArchive.Malformed(problem: "its primary key is not the key that it stands under, \(number)")
      }
      guard let entity = try archive.text(fields["NSEntityName"]) else {
        throw KeyedArchive.Malformed(problem: "it names no entity")
      }
      let related = try archive.entries(fields["NSRelatedNodes"]).map { name, value in
        (name: name, keys: try archive.members(value).map { try self.key($0, name) })
      }
      return Node(
        entity: entity, key: number, values: try archive.members(fields["NSAttributeValues"]), related: related)
    }
  }

  private func key(_ value: PropertyListValue, _ relationship: String) throws -> Int64 {
    guard case .integer(let key)? = try archive.resolve(value) else {
      throw KeyedArchive.Malformed(problem: "relationship '\(relationship)' has a key that is not a number")
    }
    return key
  }

  /// Runs a part of the reading; an error says where it was.
  ///
  /// - Throws: `.dataWrong` (65).
  func reading<Result>(_ place: @autoclosure () -> String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch {
      guard var known = Self.problem(error, name) as? GodwitError else { throw error }
      known.context = known.context ?? place()
      throw known
    }
  }

  private static func problem(_ error: any Error, _ name: String) -> any Error {
    guard let malformed = error as? KeyedArchive.Malformed else { return error }
    return GodwitError.damagedStore(.binary, path: name, malformed.problem)
  }

  // MARK: Metadata

  private static func metadata(
    of file: borrowing ReadableFile, in range: Range<Int64>, name: String
  ) throws -> StoreMetadata {
    func wrong(_ problem: String) -> GodwitError {
      GodwitError(
        .dataWrong, "cannot read the metadata of '\(name)': \(problem)", remedy: "restore the store from a backup")
    }
    guard range.count <= StoreMetadata.limitBytes else {
      throw wrong("expected at most 16 MiB, found \(range.count) bytes")
    }
    let values: [Text: PropertyListValue]
    do {
      var archive = try KeyedArchive(
        PropertyListValue(binary: try file.bytes(range.count, at: range.lowerBound)), top: "metadata")
      guard case .dictionary(let found) = try archive.propertyList() else { throw wrong("it is not a dictionary") }
      values = found
    } catch let malformed as KeyedArchive.Malformed { throw wrong(malformed.problem) }
    guard case .string(let uuid)? = values[StoreMetadata.Key.storeUUID], !uuid.isEmpty else {
      throw wrong("expected an identifier under '\(StoreMetadata.Key.storeUUID)', found none")
    }
    return try StoreMetadata(atomicStore: .binary, uuid: uuid, values: values, path: name)
  }
}
