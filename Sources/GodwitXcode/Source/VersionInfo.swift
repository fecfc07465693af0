package import GodwitModel

/// The `VersionInfo.plist` of a compiled model: its current version, and the hashes that Apple's compiler computed.
package struct VersionInfo: Sendable, Hashable {
  /// Nil when the file names none, as for a model of one version.
  package let currentVersion: String?
  /// Version name to entity name to version hash.
  package let versionHashes: [String: [String: VersionHash]]
  /// Version name to the base64 text of `ManagedObjectModel.versionChecksum`; Xcode 15 and later write it.
  package let versionChecksums: [String: String]

  /// Reads the file.
  ///
  /// - Parameter path: A `VersionInfo.plist`, or the `.momd` that holds it.
  /// - Throws: `GodwitError` with code `.missingInput` when the file is missing or is not a property list in binary or
  ///   XML form with this content; `.permission` when it cannot be read.
  package init(contentsOf path: String) throws {
    let path = XcodeFile.trimmed(path)
    let file = XcodeFileKind.identify(path) == .compiledModelBundle ? path + "/" + Self.fileName : path
    func wrong(_ problem: String) -> GodwitError {
      GodwitError(.missingInput, "cannot read '\(file)': \(problem)", remedy: "compile the model again")
    }
    let list = try PropertyListFile.read(try XcodeFile.bytes(of: file, what: "version information"), file: file)
    guard let values = list.dictionary else { throw wrong("expected a dictionary, found something else") }

    let current = values["NSManagedObjectModel_CurrentVersionName"]
    guard current == nil || current?.string?.isEmpty == false else {
      throw wrong("expected a version name in NSManagedObjectModel_CurrentVersionName, found something else")
    }
    currentVersion = current?.string

    var hashes: [String: [String: VersionHash]] = [:]
    if let list = values["NSManagedObjectModel_VersionHashes"] {
      guard let versions = list.dictionary else {
        throw wrong("expected a dictionary in NSManagedObjectModel_VersionHashes, found something else")
      }
      for (version, entities) in versions.named {
        guard let entities = entities.dictionary else { throw wrong("version '\(version)' has no hashes") }
        hashes[version] = try entities.mapValues { hash in
          guard let bytes = hash.bytes, let hash = VersionHash(bytes: bytes) else {
            throw wrong("expected hashes of 32 bytes for version '\(version)', found something else")
          }
          return hash
        }.named
      }
    }
    versionHashes = hashes

    var checksums: [String: String] = [:]
    if let list = values["NSManagedObjectModel_VersionChecksums"] {
      guard let versions = list.dictionary else {
        throw wrong("expected a dictionary in NSManagedObjectModel_VersionChecksums, found something else")
      }
      checksums = try versions.mapValues { checksum in
        guard let text = checksum.string else { throw wrong("expected checksums as text, found something else") }
        return text
      }.named
    }
    versionChecksums = checksums
  }

  static let fileName = "VersionInfo.plist"

  /// The hashes, for models to adopt.
  package func published(origin: String) -> PublishedVersionHashes {
    PublishedVersionHashes(
      origin: origin,
      versions: versionHashes.sorted { Text($0.key) < Text($1.key) }.map { .init(name: $0.key, hashes: $0.value) })
  }
}
