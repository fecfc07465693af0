import Foundation
import GodwitModel
import GodwitStore

/// The lock file: the versions that were shipped, as they were, and findings that the team accepts.
///
/// It is JSON with sorted keys and one block for each version, so that the additions of two branches merge.
package struct ModelLock: Sendable, Hashable, Codable {
  /// The state of a version when it was recorded.
  package struct Version: Sendable, Hashable, Codable {
    /// The checksum that Core Data calls `NSStoreModelVersionChecksumKey`.
    package var checksum: String
    /// The version hashes in base64, by entity.
    package var entities: [String: String]

    init(_ model: ManagedObjectModel) {
      checksum = model.versionChecksum
      entities = model.versionHashes.mapValues(\.base64)
    }
  }

  /// A model.
  package struct Bundle: Sendable, Hashable, Codable {
    /// Keys of findings.
    package var accepted: [String] = []
    /// The versions, oldest first, where their names do not say.
    package var versionOrder: [String]?
    package var versions: [String: Version] = [:]

    package init() {}

    package init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      accepted = try container.decodeIfPresent([String].self, forKey: .accepted) ?? []
      versionOrder = try container.decodeIfPresent([String].self, forKey: .versionOrder)
      versions = try container.decodeIfPresent([String: Version].self, forKey: .versions) ?? [:]
    }

    package func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      if !accepted.isEmpty { try container.encode(accepted, forKey: .accepted) }
      try container.encodeIfPresent(versionOrder, forKey: .versionOrder)
      try container.encode(versions, forKey: .versions)
    }

    private enum CodingKeys: String, CodingKey { case accepted, versionOrder, versions }
  }

  /// The bundles by path, relative to the folder of the lock file.
  package var bundles: [String: Bundle] = [:]
  package private(set) var schemaVersion = 1

  package init() {}

  /// The default name of the lock file.
  package static let standardName = "models.lock.json"
  /// A lock file of a hundred models with a hundred versions has a tenth of this.
  static let limit = ByteCount.mebibytes(64)

  // MARK: Reading

  /// - Throws: code `.missingInput` if the file is missing, `.permission`, `.configuration` for other content.
  package init(contentsOf path: String) throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
      throw GodwitError(
        .missingInput, "cannot find lock file '\(path)'",
        remedy: "correct the path, or add `--write-lock` to make the file")
    }
    let data: Data?
    do { data = try ReadableFile.bytes(of: path, limit: Self.limit) } catch let error as GodwitError {
      let isDenied = error.code == .permission
      throw GodwitError(
        isDenied ? .permission : .missingInput, "cannot read lock file '\(path)'", cause: error.message,
        remedy: isDenied ? "let this user read the file" : "restore the file from version control")
    }
    guard let data else {
      throw GodwitError(.configuration, "lock file '\(path)': expected at most \(Self.limit), found more")
    }
    self = try Self(data, path: path)
  }

  init(_ data: Data, path: String) throws {
    func wrong(_ problem: String, line: Int? = nil) -> GodwitError {
      GodwitError(
        .configuration, "cannot use lock file '\(path)': \(problem)",
        location: line.map { .init(file: path, line: $0, column: 1) },
        remedy: "restore the file from version control, or delete it and run the command with `--write-lock`")
    }
    let lines = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    if let place = lines.firstIndex(where: { $0.hasPrefix("<<<<<<<") }) {
      var error = wrong("it has the conflict markers of an unfinished merge", line: place + 1)
      error.remedy = "keep the versions of both sides, and remove the markers"
      throw error
    }
    let decoder = JSONDecoder()
    struct Head: Decodable { var schemaVersion: Int? }
    do {
      let head = try decoder.decode(Head.self, from: data)
      guard let version = head.schemaVersion else { throw wrong("expected the key 'schemaVersion', found none") }
      guard version == 1 else {
        throw GodwitError(
          .configuration, "cannot use lock file '\(path)': expected schemaVersion 1, found \(version)",
          remedy: "use the version of Godwit that wrote it")
      }
      self = try decoder.decode(Self.self, from: data)
    } catch let error as DecodingError {
      throw wrong(Self.text(of: error))
    }
    if let unknown = try Self.unknownKey(in: JSONSerialization.jsonObject(with: data)) {
      throw wrong("unknown \(unknown)")
    }
  }

  /// A key that the file does not have, with its place; nil without one.
  private static func unknownKey(in root: Any) -> String? {
    func members(_ value: Any?) -> [(key: String, value: Any)] {
      ((value as? [String: Any]) ?? [:]).sorted { $0.key < $1.key }
    }
    func unknown(_ value: Any, _ known: [String], _ place: String) -> String? {
      members(value).first { !known.contains($0.key) }.map {
        "key '\($0.key)'\(place)\(Spelling.suggestion(for: $0.key, among: known))"
      }
    }
    if let key = unknown(root, ["schemaVersion", "bundles"], "") { return key }
    for (path, bundle) in members((root as? [String: Any])?["bundles"]) {
      if let key = unknown(bundle, ["accepted", "versionOrder", "versions"], " of '\(path)'") { return key }
      for (name, version) in members((bundle as? [String: Any])?["versions"]) {
        if let key = unknown(version, ["checksum", "entities"], " of version '\(name)' of '\(path)'") { return key }
      }
    }
    return nil
  }

  private static func text(of error: DecodingError) -> String {
    func place(_ path: [any CodingKey]) -> String {
      path.isEmpty ? "" : " at '" + path.map(\.stringValue).joined(separator: ".") + "'"
    }
    switch error {
    case .keyNotFound(let key, let context):
      return "expected the key '\(key.stringValue)'\(place(context.codingPath)), found none"
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      return "expected another kind of value\(place(context.codingPath))"
    case .dataCorrupted(let context):
      return "expected JSON\(place(context.codingPath)), found something else"
    @unknown default: return "expected a lock file, found something else"
    }
  }

  // MARK: Writing

  /// Adds the missing versions. An existing version keeps its recorded state.
  ///
  /// - Returns: The names of the versions that were added.
  mutating func add(_ bundle: LintedBundle, as path: String) -> [String] {
    var entry = bundles[path] ?? Bundle()
    var added: [String] = []
    for name in bundle.versions where entry.versions[name] == nil {
      guard let model = bundle.model(name) else { continue }
      entry.versions[name] = Version(model)
      added.append(name)
    }
    if let order = entry.versionOrder { entry.versionOrder = order + bundle.versions.filter { !order.contains($0) } }
    bundles[path] = entry
    return added
  }

  /// The file's text, the same for the same content.
  package func text() throws -> String { try LintJSON.document(self) }

  /// Replaces the file.
  ///
  /// - Throws: the errors of `OutputFile` and `NewFile`: 64, 73, 74 or 77.
  package func write(to path: String) throws {
    let file = OutputFile(path, "a lock file", option: "--lock") { _ in (try? ModelLock(contentsOf: path)) != nil }
    try ExportFile.write(text() + "\n", to: file)
  }
}
