public import Foundation
public import GodwitModel

/// The metadata of a store: its identifier, the hashes of the model that it was written with, and the application's own
/// keys.
///
/// It is the one row of `Z_METADATA`: a UUID and a binary property list.
public struct StoreMetadata: Sendable, Hashable {
  /// The store identifier (`Z_UUID`), part of every object URI; usually upper case.
  public var uuid: String
  /// All keys of the property list as they were read.
  public var values: [Text: PropertyListValue]

  /// The keys that Core Data writes.
  package enum Key {
    package static let storeType = "NSStoreType"
    /// Stands in the metadata of binary stores alone.
    package static let storeUUID = "NSStoreUUID"
    package static let frameworkVersion = "NSPersistenceFrameworkVersion"
    package static let versionHashes = "NSStoreModelVersionHashes"
    package static let hashesVersion = "NSStoreModelVersionHashesVersion"
    package static let versionIdentifiers = "NSStoreModelVersionIdentifiers"
    package static let digest = "NSStoreModelVersionHashesDigest"
    package static let checksum = "NSStoreModelVersionChecksumKey"
    package static let autoVacuumLevel = "_NSAutoVacuumLevel"
    /// Hashes of the persistent history's own model.
    package static let ancillaryHashes = "_NSStoreAncillaryModelVersionHashesMetadataKey"
    /// Godwit's own: the digests of the jobs that made a finished store.
    package static let jobs = "GodwitJobs"
    package static let all: Set<String> = [
      storeType, frameworkVersion, versionHashes, hashesVersion, versionIdentifiers, digest, checksum,
      autoVacuumLevel, ancillaryHashes,
    ]
  }

  /// The digests of the jobs that made a finished store, oldest first.
  package var jobs: [String] { applicationValues[Key.jobs]?.array?.compactMap(\.string) ?? [] }

  /// The framework version in new stores: that of macOS 14 and iOS 17.
  package static let currentFrameworkVersion: Int64 = 1344

  /// The most bytes of a property list that are read.
  static let limitBytes: Int64 = 16 << 20

  // MARK: Reading

  /// Reads the metadata of the store at a path, leaving no trace.
  ///
  /// - Parameter url: An SQLite, XML or binary store.
  /// - Throws: `.missingInput` (66) when the store is missing; `.dataWrong` (65) when it is damaged, or not a Core Data
  ///   store; `.permission` (77) when it cannot be read.
  public init(readingStoreAt url: URL) throws { try self.init(readingStoreAt: url.filePath) }

  package init(readingStoreAt path: String) throws {
    let files = try StoreFiles(path: path)
    guard files.type == .sqlite else {
      try self.init(readingAtomicStore: files)
      return
    }
    let connection = try StoreConnection.openStore(readingAt: path)
    try self.init(reading: connection, path: path)
  }

  /// The metadata of the store at a path; nil if nothing is there, or no store.
  ///
  /// - Throws: When the file could not be read.
  package static func ifStore(at path: String) throws -> StoreMetadata? {
    try Definite.answer { try StoreMetadata(readingStoreAt: path) }
  }

  /// Reads the metadata of an open or attached store.
  ///
  /// - Parameter path: The name of the store in messages.
  /// - Throws: `.dataWrong` when the table, its row, the identifier or the property list is missing,
  ///   NULL, damaged, or longer than 16 MiB.
  package init(
    reading connection: StoreConnection, schema: String = StoreConnection.sourceSchema, path: String
  ) throws {
    func wrong(_ problem: String) -> GodwitError {
      GodwitError(
        .dataWrong, "cannot read the metadata of '\(path)': \(problem)",
        remedy: "look whether the store came without its -wal; else " + GodwitError.damageRemedy)
    }
    let prefix = StoreSchema.identifier(schema)
    let columns = try connection.columnNames(of: "Z_METADATA", in: schema)
    guard !columns.isEmpty, try connection.hasPlainTable("Z_METADATA", schema: schema, path: path) else {
      throw wrong("table 'Z_METADATA' is missing")
    }
    for column in ["Z_VERSION", "Z_UUID", "Z_PLIST"] where !columns.contains(column) {
      throw wrong("column '\(column)' of table 'Z_METADATA' is missing")
    }
    let order = "FROM \(prefix).Z_METADATA ORDER BY Z_VERSION LIMIT 1"
    // SQLite refuses larger values before it makes room for them.
    let heads = try connection.withLengthLimit(.init(bytes: Self.limitBytes)) {
      try connection.rows("SELECT Z_UUID, length(Z_PLIST) \(order)")
    }
    guard let heads else { throw wrong("expected an identifier of at most 16 MiB in 'Z_UUID', found more") }
    let head = heads.first
    guard let head, head.count == 2 else { throw wrong("table 'Z_METADATA' has no row") }
    guard case .text(let identifier) = head[0], !identifier.isEmpty else {
      throw wrong("expected an identifier in 'Z_UUID', found none")
    }
    guard case .integer(let length) = head[1] else {
      throw wrong("expected a property list in 'Z_PLIST', found NULL")
    }
    guard length <= Self.limitBytes else {
      throw wrong("expected a property list of at most 16 MiB, found \(length) bytes")
    }
    let bytes: [UInt8] =
      switch try connection.value("SELECT Z_PLIST \(order)") {
      case .blob(let bytes), .text(let bytes): bytes
      default: []
      }
    let list: PropertyListValue
    do { list = try PropertyListValue(binary: bytes) } catch let malformed as PropertyListValue.Malformed {
      throw wrong("the property list cannot be read: \(malformed.problem)")
    }
    guard let values = list.dictionary else { throw wrong("the property list is not a dictionary") }
    // A store without version information has no hashes at all. Anything else in their place is damage.
    if let hashes = values[Key.versionHashes] {
      guard hashes.dictionary?.values.allSatisfy({ $0.bytes != nil }) == true else {
        throw wrong("key '\(Key.versionHashes)' holds no hashes")
      }
    }
    try StoreType.refuseCustom(values, path: path)
    uuid = String(decoding: identifier, as: UTF8.self)
    self.values = values
  }

  // MARK: Making

  /// Metadata for a new store.
  package init(
    uuid: UUID = UUID(), versionHashes: [String: [UInt8]], digest: String? = nil, checksum: String? = nil,
    versionIdentifiers: [String] = [""]
  ) {
    self.uuid = uuid.uuidString
    values = [:]
    values = values(
      versionHashes: versionHashes, digest: digest, checksum: checksum, versionIdentifiers: versionIdentifiers,
      extra: [:])
  }

  /// Metadata for a new store of a model: its version hashes, their digest and checksum, its identifiers.
  package init(model: ManagedObjectModel, uuid: UUID = UUID()) {
    self.init(
      uuid: uuid, versionHashes: model.versionHashes.mapValues(\.bytes), digest: model.versionHashesDigest,
      checksum: model.versionChecksum, versionIdentifiers: model.versionIdentifiers)
  }

  /// The keys of a store with another model: Core Data's keys are set, the application's and the
  /// framework version are kept, the history model's hashes are dropped, `extra` is added last.
  ///
  /// A digest or checksum that is nil leaves its key out.
  package func values(
    versionHashes: [String: [UInt8]], digest: String?, checksum: String?, versionIdentifiers: [String],
    extra: [Text: PropertyListValue]
  ) -> [Text: PropertyListValue] {
    var values = applicationValues
    values[Key.storeType] = .string("SQLite")
    values[Key.frameworkVersion] = .integer(frameworkVersion ?? Self.currentFrameworkVersion)
    values[Key.versionHashes] = .dictionary(versionHashes.mapValues { .data($0) })
    values[Key.hashesVersion] = .integer(3)
    values[Key.versionIdentifiers] = .array(versionIdentifiers.map { .string($0) })
    values[Key.autoVacuumLevel] = .string("2")
    values[Key.digest] = digest.map { .string($0) }
    values[Key.checksum] = checksum.map { .string($0) }
    return values.merging(extra) { _, new in new }
  }

  /// The present values as the bytes of `Z_PLIST`. Equal values give equal bytes.
  package var plistData: [UInt8] { PropertyListValue.dictionary(values).binaryPropertyList }

  /// Writes the one row of `Z_METADATA`, replacing the old one.
  package func write(to connection: StoreConnection, schema: String = "main") throws {
    let table = "\(StoreSchema.identifier(schema)).Z_METADATA"
    try connection.execute("DELETE FROM \(table)")
    try connection.execute(
      "INSERT INTO \(table) (Z_VERSION, Z_UUID, Z_PLIST) VALUES (1, ?1, ?2)", [.text(uuid), .blob(plistData)])
  }

  /// The metadata that an application keeps in a property list or a keyed archive of its own; empty where there are
  /// none.
  static func values(in list: PropertyListValue, depth: Int = 0) -> [Text: PropertyListValue] {
    guard depth < 4, let fields = list.dictionary, fields[Key.storeType] == nil else { return list.dictionary ?? [:] }
    var inside = Array(fields.values)
    for name in fields["$top"]?.dictionary?.keys.sorted() ?? [] {
      guard var archive = try? KeyedArchive(list, top: name.string), let value = try? archive.propertyList() else {
        continue
      }
      inside.append(value)
    }
    let found = inside.map { values(in: $0, depth: depth + 1) }
    return found.first { $0[Key.storeType] != nil } ?? [:]
  }

  // MARK: Core Data's keys

  /// The version of Core Data that wrote last (241 to 1344 were seen); nil when the key is missing.
  package var frameworkVersion: Int64? { values[Key.frameworkVersion]?.integer }

  /// Entity name to version hash, abstract entities included.
  package var versionHashes: [String: [UInt8]] {
    (values[Key.versionHashes]?.dictionary ?? [:]).compactMapValues(\.bytes).named
  }

  /// The version hashes of the entities, by name; those of another length are left out.
  public var entityVersionHashes: [String: VersionHash] {
    versionHashes.compactMapValues { VersionHash(bytes: $0) }
  }

  /// 3 in every store seen; nil when the key is missing.
  package var hashesVersion: Int64? { values[Key.hashesVersion]?.integer }

  /// The version identifiers of the model that wrote last (`NSStoreModelVersionIdentifiers`).
  public var versionIdentifiers: [String] {
    (values[Key.versionIdentifiers]?.array ?? []).compactMap(\.string)
  }

  /// Base64 of SHA-512 over names and hashes; nil in stores of versions before 977.
  package var digest: String? { values[Key.digest]?.string }

  /// Base64 of SHA-256 over the hashes; nil in stores of versions before 1333.
  package var checksum: String? { values[Key.checksum]?.string }

  /// Everything that Core Data did not write.
  package var applicationValues: [Text: PropertyListValue] {
    values.filter { !Key.all.contains($0.key.string) }
  }
}

extension StoreMetadata {
  /// Keys under the prefixes of CloudKit mirroring's own classes.
  package static func isMirroringKey(_ key: String) -> Bool {
    key.hasPrefix("NSCloudKit") || key.hasPrefix("PFCloudKit")
  }
}
