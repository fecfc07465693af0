import Foundation
import GodwitModel
import GodwitStore

/// Values of attributes that allow external storage, compared by their bytes wherever these lie.
extension Verification {
  /// Where the bytes of a value are.
  enum Content {
    case none
    case bytes([UInt8])
    case file(String, SupportFolder)
    /// The file that the value names does not exist.
    case missing
    /// No form that is known.
    case unknown([UInt8])
  }

  var sourceFolder: SupportFolder { SupportFolder(ofStoreAt: job.sourcePath) }
  var destinationFolder: SupportFolder { SupportFolder(ofStoreAt: job.destinationPath) }

  /// Whether a value has bytes that may lie in a file, before or after.
  func isExternal(_ attribute: AttributeDescription, in mapping: VerifiedMapping) -> Bool {
    if attribute.allowsExternalBinaryDataStorage { return true }
    if case .stored(let from)? = mapping.values[attribute.name] { return from.allowsExternalBinaryDataStorage }
    return false
  }

  /// What is wrong with a value; nil when it has the bytes that the mapping gives.
  func externalDifference(
    of attribute: AttributeDescription, in mapping: VerifiedMapping, from object: StoredObject, found: SQLValue
  ) throws -> String? {
    let expected: Content
    switch mapping.values[attribute.name] {
    case nil, .unknown: return nil
    case .stored(let from):
      let column = sourceSchema.column(of: from.name, in: object.entityName)
      expected = Self.content(column.map { object.stored($0) } ?? .null, as: from, in: sourceFolder)
    case .standard, .expression:
      switch try expectedValue(of: attribute, in: mapping, from: object) {
      case nil: return nil
      case .blob(let bytes): expected = .bytes(bytes)
      case .null: expected = .none
      default: return "mapping '\(mapping.name)' gives no bytes for p\(object.key) of the source"
      }
    }
    let isSame: Bool
    switch (expected, Self.content(found, as: attribute, in: destinationFolder)) {
    case (.none, .none), (.missing, .missing): isSame = true
    case (.bytes(let a), .bytes(let b)), (.unknown(let a), .unknown(let b)): isSame = a == b
    case (.file(let a, let folder), .file(let b, let other)): isSame = try folder.holdsSameBytes(a, as: b, in: other)
    case (.file(let name, let folder), .bytes(let bytes)), (.bytes(let bytes), .file(let name, let folder)):
      isSame = try Self.holds(folder, name, bytes)
    case (_, .missing): return "its external file is missing"
    default: isSame = false
    }
    return isSame ? nil : "the bytes are not what mapping '\(mapping.name)' gives for p\(object.key) of the source"
  }

  private static func content(_ value: SQLValue, as attribute: AttributeDescription, in folder: SupportFolder)
    -> Content
  {
    guard case .blob(let bytes) = value else { return value == .null ? .none : .unknown([]) }
    guard attribute.allowsExternalBinaryDataStorage else { return .bytes(bytes) }
    switch StoredBinary(bytes) {
    case .external(let name): return folder.size(of: name) == nil ? .missing : .file(name, folder)
    case .inline(let data) where attribute.type == .binary: return .bytes(data)
    default: return .unknown(bytes)
    }
  }

  private static func holds(_ folder: SupportFolder, _ name: String, _ bytes: [UInt8]) throws -> Bool {
    guard folder.size(of: name) == Int64(bytes.count) else { return false }
    var offset = 0
    var isSame = true
    try bytes.withUnsafeBytes { known in
      try folder.forEachPiece(of: name) { piece in
        guard isSame, offset + piece.count <= known.count, let start = known.baseAddress, let found = piece.baseAddress
        else {
          isSame = false
          return
        }
        isSame = memcmp(start + offset, found, piece.count) == 0
        offset += piece.count
      }
    }
    return isSame && offset == bytes.count
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
    let isThere = destinationFolder.size(of: name) != nil
    report.count(
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
