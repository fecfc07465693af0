import GodwitJob
import GodwitModel
import GodwitStore

/// Values of attributes that allow external storage, compared by their bytes wherever these are stored.
struct ExternalValueProof {
  /// The place of a value's bytes.
  enum Content {
    case none
    case bytes(StoredBytes)
    /// The file that the value names does not exist.
    case missing
    /// No form that is known.
    case unknown(StoredBytes)
  }

  private let stores: ComparedStores
  private let values: ExpectedValues
  private let findings: Findings

  init(_ stores: ComparedStores, _ values: ExpectedValues, _ findings: Findings) {
    (self.stores, self.values, self.findings) = (stores, values, findings)
  }

  /// The fault of a value; nil when it has the bytes that the mapping gives.
  func externalDifference(
    of attribute: AttributeDescription, in mapping: VerifiedMapping, from object: StoredObject, found: StoredContent
  ) throws -> String? {
    var expected: Content
    switch mapping.values[attribute.name] {
    case nil, .unknown: return nil
    case .stored(let from):
      let column = stores.sourceSchema.column(of: from.name, in: object.entityName)
      expected = try Self.content(
        column.map(object.content) ?? .value(.null), as: from, in: stores.sourceFolder, of: stores.source)
    case .standard, .expression:
      switch try values.expectedValue(of: attribute, in: mapping, from: object) {
      case nil: return nil
      case .blob(let bytes): expected = .bytes(.memory(bytes))
      case .null: expected = .none
      default: return "mapping '\(mapping.name)' gives no bytes for p\(object.key) of the source"
      }
    }
    if case .missing = expected, stores.job.missingFilesAreNil, needsBytes(attribute) {
      findings.count("values that are nil because their external file is missing (on-invalid: keep)", 1)
      expected = .none
    }
    let isSame: Bool
    switch (expected, try Self.content(found, as: attribute, in: stores.destinationFolder, of: stores.destination)) {
    case (.none, .none), (.missing, .missing): isSame = true
    case (.bytes(let a), .bytes(let b)), (.unknown(let a), .unknown(let b)): isSame = try a.isSame(as: b)
    case (_, .missing): return "its external file is missing"
    default: isSame = false
    }
    return isSame ? nil : "the bytes are not what mapping '\(mapping.name)' gives for p\(object.key) of the source"
  }

  /// Whether a finished store has the bytes of an attribute's values in any case.
  private func needsBytes(_ attribute: AttributeDescription) -> Bool {
    !attribute.allowsExternalBinaryDataStorage || stores.job.needsBytesOfFiles
  }

  /// Whether the bytes of a value are needed, and the source has none: its file is missing, or its form is not known.
  func lacksBytes(
    _ attribute: AttributeDescription, in mapping: VerifiedMapping, from object: StoredObject
  ) throws -> Bool {
    guard needsBytes(attribute), case .stored(let from)? = mapping.values[attribute.name], from.type == .binary,
      from.allowsExternalBinaryDataStorage,
      let column = stores.sourceSchema.column(of: from.name, in: object.entityName)
    else { return false }
    switch try Self.content(object.content(column), as: from, in: stores.sourceFolder, of: stores.source) {
    case .missing: return !stores.job.missingFilesAreNil
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

  /// The bytes of a text or blob; nil for another value.
  static func bytes(_ content: StoredContent, _ connection: StoreConnection) -> StoredBytes? {
    switch content {
    case .large(let large): .row(large, connection)
    case .value(.text(let bytes)), .value(.blob(let bytes)): .memory(bytes)
    case .value: nil
    }
  }
}
