import Foundation
package import GodwitModel
import GodwitPlatform
package import GodwitStore

/// What a finished store says of the repairs that its run has applied to the source: the value of `GodwitRepairs` in its
/// metadata.
package struct RepairsMark: Sendable, Hashable, Codable {
  /// SHA-256 of the repairs file.
  package var digest: String
  /// The objects that are not as the source has them.
  package var objects: Int64
  /// What the quarantines held from which repairs were taken, oldest first: `QuarantineModel.contentDigest`.
  package var files: [String]

  package init(digest: String, objects: Int64, files: [String]) {
    (self.digest, self.objects, self.files) = (digest, objects, files)
  }

  package static let key = "GodwitRepairs"

  /// nil for a store that was made of the source as it is.
  package init?(_ metadata: StoreMetadata) {
    guard let values = metadata.applicationValues[Self.key]?.dictionary, let digest = values["digest"]?.string else {
      return nil
    }
    self.init(
      digest: digest, objects: values["objects"]?.integer ?? 0,
      files: values["files"]?.array?.compactMap(\.string) ?? [])
  }

  package var value: PropertyListValue {
    .dictionary([
      "digest": .string(digest), "objects": .integer(objects), "files": .array(files.map { .string($0) }),
    ])
  }
}

/// The file beside a destination that holds all repairs of its source's objects, those of earlier runs included.
///
/// It is a SQLite file of Godwit's own, no Core Data store: its rows lead to objects that only the source has. For each
/// table of the source it may have one of the same name and columns. Of an entity's table it has the rows that
/// differ, as they are after the repair. Of a join table it has the rows that are new. `godwit_removed` names the pairs
/// that are gone. Applied to the source, it gives the repaired source.
package enum RepairsFile {
  package static let suffix = ".repairs.sqlite"
  package static let version: Int64 = 1
  /// `name`, `value`: `version`, and `source`, the digest of the source's content.
  package static let state = "godwit_repairs"
  /// `entity`, `key`: the objects that were repaired.
  package static let objects = "godwit_repaired"
  /// `name`, `a`, `b`: a join table, and the two keys of a pair.
  package static let removed = "godwit_removed"
  /// `name`, `digest`: external files that the source lacks. They lie in the support folder of this file.
  package static let files = "godwit_file"

  package static let createStatements = [
    "CREATE TABLE \(state) (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE \(objects) (entity TEXT, key INTEGER, PRIMARY KEY (entity, key)) WITHOUT ROWID",
    "CREATE TABLE \(removed) (name TEXT, a INTEGER, b INTEGER, PRIMARY KEY (name, a, b)) WITHOUT ROWID",
    "CREATE TABLE \(files) (name TEXT PRIMARY KEY, digest TEXT) WITHOUT ROWID",
  ]

  /// SHA-256 of an external file.
  package static func digest(of name: String, in folder: SupportFolder) throws -> String {
    var hash = SHA256()
    try folder.forEachPiece(of: name) { hash.update(bufferPointer: $0) }
    return hash.finalize().hex
  }

  /// What is wrong with the repairs of a destination; nil if they are those that it names.
  package static func complaint(about path: String, digest: String, objects: Int64) -> String? {
    guard FileManager.default.fileExists(atPath: path) else {
      return "the repairs of \(objects) object\(objects == 1 ? "" : "s") are missing: expected '\(path)'"
    }
    do {
      guard try StoreFiles(path: path).contentDigest() == digest else {
        return "the repairs in '\(path)' are not those that the destination was made with"
      }
    } catch { return "the repairs in '\(path)' cannot be read: \((error as? GodwitError)?.message ?? "\(error)")" }
    return nil
  }

  /// What is wrong with the external files beside a repairs file; nil if all are those that were taken.
  ///
  /// - Parameter isQuick: Whether it is enough that they are there.
  package static func fileComplaint(about path: String, isQuick: Bool = false) throws -> String? {
    let connection = try StoreConnection(path: nil)
    try connection.attachSource(StoreFiles(path: path))
    let support = SupportFolder(ofStoreAt: path)
    var complaint: String?
    try connection.query("SELECT name, digest FROM source.\(files) ORDER BY name") { row in
      guard let name = row.string(0), SupportFolder.isFileName(name), try support.size(of: name) != nil else {
        complaint = "an external file of the repairs is missing: expected '\(support.path(of: row.string(0) ?? ""))'"
        return false
      }
      guard try isQuick || digest(of: name, in: support) == row.string(1) else {
        complaint = "the external file '\(support.path(of: name))' of the repairs is not the one that was taken"
        return false
      }
      return true
    }
    try connection.close()
    return complaint
  }

  /// Refuses repairs in another form than this version writes, and those of another source.
  ///
  /// - Parameters:
  ///   - database: The name under which `connection` has the file.
  ///   - source: The digest of the content that the source has.
  /// - Throws: `.cannotCreate` (73).
  package static func checkForm(
    in connection: StoreConnection, as database: String, of path: String, source: String
  ) throws {
    func value(_ name: String) throws -> SQLValue? {
      try connection.rows("SELECT value FROM \(database).\(state) WHERE name = ?1", [.text(name)]).first?[0]
    }
    guard case .integer(version)? = try value("version") else {
      throw GodwitError(
        .cannotCreate, "cannot read the repairs '\(path)': another version of Godwit wrote them",
        remedy: "use that version", safe: "nothing was written")
    }
    guard case .text(let known)? = try value("source"), String(decoding: known, as: UTF8.self) == source else {
      throw GodwitError(
        .cannotCreate, "cannot apply the repairs '\(path)': they are those of another source",
        remedy: "restore the repairs of the destination, or its source", safe: "nothing was written")
    }
  }
}

extension JobFingerprint {
  /// The fingerprint of the same job on the repaired source. What was repaired decides, not how often.
  package func repaired(by mark: RepairsMark) -> JobFingerprint {
    var fingerprint = self
    fingerprint.source = Digest.hex("godwit-repaired-1\n\(source)\n\(mark.digest)")
    return fingerprint
  }
}

extension MigrationJob {
  /// Where the repairs are that `--from-quarantine` has taken: beside the destination.
  package var repairsPath: String { destinationPath + RepairsFile.suffix }
}

extension QuarantineModel {
  /// Under this key the metadata of a quarantine has the digest of its objects' names: `ObjectListDigest`.
  package static let objectsKey = "GodwitQuarantineObjects"
  /// Under this key it has `contentDigest` as the run made it.
  package static let contentKey = "GodwitQuarantineContent"

  /// A digest of all objects, links and external files of a quarantine. Pages, counters and the order of rows do not
  /// count.
  ///
  /// - Parameters:
  ///   - destination: Where the store will be, in whose support folder its files may lie already; nil for its own place.
  ///   - check: Called now and then; what it throws ends the reading.
  package static func contentDigest(
    ofStoreAt path: String, becoming destination: String? = nil, model source: ManagedObjectModel,
    check: () throws -> Void = {}
  ) throws -> String {
    let store = try ReceiptedStore(path: path, becoming: destination, model: model(for: source), checkpoint: check)
    var content = Receipt.content(try store.checksums(check: check))
    for place in content.entities.indices { content.entities[place].edits = 0 }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return Digest.hex(String(decoding: try encoder.encode(content), as: UTF8.self))
  }
}

/// A digest of the names of many objects in order, without all of them in memory.
package struct ObjectListDigest {
  private var digest = ""
  private var batch = ""

  package init() {}

  package mutating func add(_ entity: String, _ key: Int64) {
    batch += "\(entity) \(key)\n"
    if batch.utf8.count > 1 << 16 { flush() }
  }

  private mutating func flush() {
    digest = Digest.hex(digest + batch)
    batch = ""
  }

  /// The digest. Call it once.
  package mutating func finish() -> String {
    flush()
    return digest
  }
}
