import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// Values of attributes that allow external storage, compared by their bytes wherever these are stored.
extension Verification {
  /// The place of a value's bytes.
  enum Content {
    case none
    case bytes(StoredBytes)
    /// The file that the value names does not exist.
    case missing
    /// No form that is known.
    case unknown(StoredBytes)
  }

  /// Whether a value's bytes may be stored in a file, before or after.
  func isExternal(_ attribute: AttributeDescription, in mapping: VerifiedMapping) -> Bool {
    if attribute.allowsExternalBinaryDataStorage { return true }
    if case .stored(let from)? = mapping.values[attribute.name] { return from.allowsExternalBinaryDataStorage }
    return false
  }

  /// The fault of a value; nil when it has the bytes that the mapping gives.
  func externalDifference(
    of attribute: AttributeDescription, in mapping: VerifiedMapping, from object: StoredObject, found: StoredContent
  ) throws -> String? {
    var expected: Content
    switch mapping.values[attribute.name] {
    case nil, .unknown: return nil
    case .stored(let from):
      let column = sourceSchema.column(of: from.name, in: object.entityName)
      expected = try Self.content(
        column.map(object.content) ?? .value(.null), as: from, in: sourceFolder, of: source)
    case .standard, .expression:
      switch try expectedValue(of: attribute, in: mapping, from: object) {
      case nil: return nil
      case .blob(let bytes): expected = .bytes(.memory(bytes))
      case .null: expected = .none
      default: return "mapping '\(mapping.name)' gives no bytes for p\(object.key) of the source"
      }
    }
    if case .missing = expected, job.missingFilesAreNil, needsBytes(attribute) {
      findings.count("values that are nil because their external file is missing (on-invalid: keep)", 1)
      expected = .none
    }
    let isSame: Bool
    switch (expected, try Self.content(found, as: attribute, in: destinationFolder, of: destination)) {
    case (.none, .none), (.missing, .missing): isSame = true
    case (.bytes(let a), .bytes(let b)), (.unknown(let a), .unknown(let b)): isSame = try a.isSame(as: b)
    case (_, .missing): return "its external file is missing"
    default: isSame = false
    }
    return isSame ? nil : "the bytes are not what mapping '\(mapping.name)' gives for p\(object.key) of the source"
  }

  /// Whether a finished store has the bytes of an attribute's values in any case.
  private func needsBytes(_ attribute: AttributeDescription) -> Bool {
    !attribute.allowsExternalBinaryDataStorage || job.needsBytesOfFiles
  }

  /// Whether the bytes of a value are needed, and the source has none: its file is missing, or its form is not known.
  func lacksBytes(
    _ attribute: AttributeDescription, in mapping: VerifiedMapping, from object: StoredObject
  ) throws -> Bool {
    guard needsBytes(attribute), case .stored(let from)? = mapping.values[attribute.name], from.type == .binary,
      from.allowsExternalBinaryDataStorage, let column = sourceSchema.column(of: from.name, in: object.entityName)
    else { return false }
    switch try Self.content(object.content(column), as: from, in: sourceFolder, of: source) {
    case .missing: return !job.missingFilesAreNil
    case .unknown: return true
    case .none, .bytes: return false
    }
  }

  private static func content(
    _ content: StoredContent, as attribute: AttributeDescription, in folder: SupportFolder,
    of connection: StoreConnection
  ) throws -> Content {
    guard !content.isNull else { return .none }
    guard content.kind == SQLValue.blob([]).kind, let stored = bytes(content, connection) else {
      return .unknown(bytes(content, connection) ?? .memory([]))
    }
    guard attribute.allowsExternalBinaryDataStorage else { return .bytes(stored) }
    switch content {
    case .large(let large):
      let isInline = try attribute.type == .binary && stored.prefix(1) == [1]
      return isInline ? .bytes(.row(large, from: 1, connection)) : .unknown(stored)
    case .value(.blob(let bytes)):
      switch StoredBinary(bytes) {
      case .external(let name): return try folder.size(of: name) == nil ? .missing : .bytes(.file(name, folder))
      case .inline(let data) where attribute.type == .binary: return .bytes(.memory(data))
      default: return .unknown(stored)
      }
    case .value: return .unknown(stored)
    }
  }

  // MARK: Files

  func prepareExternalNames() throws {
    try scratch.execute("CREATE TABLE temp.external (name TEXT PRIMARY KEY) WITHOUT ROWID")
  }

  /// Notes the file that a destination value names.
  func noteExternalFile(
    _ value: SQLValue, _ attribute: AttributeDescription, _ entity: String, isCounted: Bool = true
  ) throws {
    guard attribute.allowsExternalBinaryDataStorage, case .blob(let bytes) = value,
      case .external(let name)? = StoredBinary(bytes)
    else { return }
    try cached("INSERT OR IGNORE INTO temp.external (name) VALUES (?1)", on: scratch).run([.text(name)])
    guard isCounted else { return }
    let isThere = try destinationFolder.size(of: name) != nil
    findings.count(
      isThere ? "values in external files" : "not proved: values whose external file is missing in the source too", 1)
  }

  /// Every file of the destination's support folder belongs to a value.
  func checkExternalFiles() throws {
    try destinationFolder.forEachFile { name, _ in
      let isKnown = try integer("SELECT 1 FROM temp.external WHERE name = ?1", [.text(name)], on: scratch) != nil
      if !isKnown { find(.file, "no value names the external file '\(name)'") }
    }
  }
}
