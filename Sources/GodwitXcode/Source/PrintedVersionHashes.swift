import Foundation
package import GodwitModel

/// Version hashes as developers have them: in a property list, in a message of Core Data, or as hex or base64.
///
/// A message shortens each hash to its first 16 and its last 8 bytes: `{length = 32, bytes = 0x… ... … }`.
package struct PrintedVersionHashes: Sendable, Hashable {
  /// One hash, of which bytes in the middle may be missing.
  package struct Hash: Sendable, Hashable {
    /// nil where the text gives no name.
    package var entity: String?
    /// The bytes at the beginning, and those at the end. A whole hash has no end.
    package var head: [UInt8]
    package var tail: [UInt8] = []

    package func matches(_ hash: VersionHash) -> Bool {
      hash.bytes.starts(with: head) && hash.bytes.suffix(tail.count).elementsEqual(tail)
    }

    /// The hash itself, or one with zeros where bytes are missing, which belongs to no model.
    var filled: VersionHash? {
      let gap = max(0, VersionHash.byteCount - head.count - tail.count)
      return VersionHash(bytes: head + [UInt8](repeating: 0, count: gap) + tail)
    }
  }

  package let hashes: [Hash]

  /// - Parameters:
  ///   - bytes: A property list in binary or XML form, or any text with hashes in it.
  ///   - file: The name of the input in messages.
  /// - Throws: `.dataWrong` (65) where no hash is found, and for a damaged property list.
  package init(_ bytes: [UInt8], file: String) throws {
    let start = String(decoding: bytes.prefix(512), as: UTF8.self).drop { $0.isWhitespace || $0 == "\u{FEFF}" }
    let isList = ["bplist", "<?xml", "<!DOCTYPE", "<plist"].contains { start.hasPrefix($0) }
    hashes =
      try isList
      ? Self.listed(PropertyListFile.read(bytes, file: file), file: file) : PrintedHashScanner(bytes).found
    guard !hashes.isEmpty else {
      throw GodwitError(
        .dataWrong, "cannot find version hashes in '\(file)'",
        cause: "a version hash has 32 bytes: 64 hexadecimal digits, 44 characters of base64, or what Core Data prints",
        remedy: "give the message of Core Data, the metadata of the store or a VersionInfo.plist")
    }
    for (index, hash) in hashes.enumerated() {
      guard let name = hash.entity, let other = hashes[..<index].first(where: { $0.entity == name }), other != hash
      else { continue }
      throw GodwitError(
        .dataWrong, "cannot use the version hashes in '\(file)': two differ that have the name '\(name)'",
        remedy: "give the hashes of one store")
    }
  }

  /// The hashes of the metadata of a store, of the current version of a `VersionInfo.plist`, or of a plain dictionary.
  private static func listed(_ list: PropertyListValue, file: String) throws -> [Hash] {
    guard let values = list.dictionary else { return [] }
    func wrong(_ what: String) -> GodwitError {
      GodwitError(
        .dataWrong, "cannot use the version hashes in '\(file)': \(what)", remedy: "give the hashes of one version")
    }
    var entities = values["NSStoreModelVersionHashes"]?.dictionary ?? values
    if let versions = values["NSManagedObjectModel_VersionHashes"]?.dictionary {
      let current = values["NSManagedObjectModel_CurrentVersionName"]?.string
      let own = current.flatMap { versions[Text($0)] } ?? (versions.count == 1 ? versions.first?.value : nil)
      guard let own = own?.dictionary else { throw wrong("it has several versions and names no current one") }
      entities = own
    }
    return try entities.named.sorted { $0.key < $1.key }.compactMap { name, value in
      guard let bytes = value.bytes else { return nil }
      guard bytes.count == VersionHash.byteCount else { throw wrong("that of '\(name)' has \(bytes.count) bytes") }
      return Hash(entity: name, head: Array(bytes))
    }
  }

  // MARK: Models

  /// Whether all of these hashes are those of a model.
  package func areAll(of model: ManagedObjectModel) -> Bool {
    let own = model.versionHashes
    return hashes.allSatisfy { hash in
      guard let name = hash.entity else { return own.values.contains(where: hash.matches) }
      return own[name].map(hash.matches) ?? false
    }
  }

  /// The hashes by entity. The models give the names and bytes that a text leaves out.
  package func completed(by models: [ManagedObjectModel]) -> [String: VersionHash] {
    var whole: [String: VersionHash] = [:]
    for (index, hash) in hashes.enumerated() {
      let found = models.lazy.compactMap { model in
        model.versionHashes.first { (hash.entity ?? $0.key) == $0.key && hash.matches($0.value) }
      }.first
      whole[hash.entity ?? found?.key ?? "hash \(index + 1)"] = found?.value ?? hash.filled
    }
    return whole
  }
}

/// Finds version hashes in a text, each with the word before it.
private struct PrintedHashScanner {
  private let bytes: [UInt8]
  private var position = 0
  private(set) var found: [PrintedVersionHashes.Hash] = []
  private var word: String?

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    while position < bytes.count {
      if !takeBraces(), !takeAngles(), !takeRun() { position += 1 }
    }
  }

  private mutating func take(_ head: [UInt8], _ tail: [UInt8] = []) {
    // Checksums of the whole model stand beside the hashes.
    if word?.hasPrefix("NSStoreModelVersion") != true { found.append(.init(entity: word, head: head, tail: tail)) }
    word = nil
  }

  /// `{length = 32, bytes = 0x00112233 44556677 8899aabb ccddeeff ... 00112233 44556677 }`
  private mutating func takeBraces() -> Bool {
    guard bytes[position] == UInt8(ascii: "{"),
      let end = bytes[position...].prefix(256).firstIndex(of: UInt8(ascii: "}"))
    else { return false }
    let text = String(decoding: bytes[position..<end], as: UTF8.self)
    guard !text.dropFirst().contains("{"), text.contains("length = 32"),
      let start = text.range(of: "bytes = 0x")
    else { return false }
    let parts = text[start.upperBound...].replacing("...", with: "|").split(separator: "|").map(Self.hex)
    guard (1...2).contains(parts.count), let head = parts[0], let tail = parts.count > 1 ? parts[1] : [],
      head.count >= 8, head.count + tail.count <= VersionHash.byteCount
    else { return false }
    take(head, tail)
    position = end + 1
    return true
  }

  /// `<00112233 44556677 …>`, eight groups of four bytes.
  private mutating func takeAngles() -> Bool {
    guard bytes[position] == UInt8(ascii: "<"),
      let end = bytes[position...].prefix(128).firstIndex(of: UInt8(ascii: ">")),
      let hash = Self.hex(String(decoding: bytes[(position + 1)..<end], as: UTF8.self)[...]),
      hash.count == VersionHash.byteCount
    else { return false }
    take(hash)
    position = end + 1
    return true
  }

  /// A word, or a hash without anything around it.
  private mutating func takeRun() -> Bool {
    let run = bytes[position...].prefix { Self.isOfRun($0) }
    guard !run.isEmpty else { return false }
    position = run.endIndex
    // `Note=…` is a word and a hash.
    if let equals = run.firstIndex(of: UInt8(ascii: "=")), run[equals...].contains(where: { $0 != UInt8(ascii: "=") }) {
      position = equals + 1
      word = String(decoding: run[..<equals], as: UTF8.self)
      return true
    }
    let text = String(decoding: run, as: UTF8.self)
    let digits = text.hasPrefix("0x") ? text.dropFirst(2) : text[...]
    if digits.utf8.count == 2 * VersionHash.byteCount, let hash = Self.hex(digits) {
      take(hash)
    } else if run.count == 44, let hash = VersionHash(base64: text) {
      take(hash.bytes)
    } else if let last = run.lastIndex(where: { $0 != UInt8(ascii: "=") }) {
      word = String(decoding: run[...last], as: UTF8.self)
    }
    return true
  }

  private static func isOfRun(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="),
      UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }

  /// The bytes of hexadecimal digits with spaces between them; nil for any other text.
  private static func hex(_ text: Substring) -> [UInt8]? {
    let digits = text.utf8.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\n") }
    let values = digits.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard values.count == digits.count, values.count.isMultiple(of: 2), !values.isEmpty else { return nil }
    return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
  }
}
