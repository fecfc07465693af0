import Foundation

/// The 32 bytes by which Core Data decides whether an entity of a model describes the entity of a store.
///
/// `ManagedObjectModel.versionHashes` computes them. The rules are derived from hashes that Apple's software stored in
/// published files.
public struct VersionHash: Sendable, Hashable {
  /// The length of a version hash, in bytes.
  package static let byteCount = 32

  /// The 32 bytes of the hash.
  package let bytes: [UInt8]

  /// Nil unless there are exactly 32 bytes.
  package init?(bytes: some Sequence<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  /// Nil unless the text is base64 of exactly 32 bytes, as in `NSStoreModelVersionHashes` printed as XML.
  package init?(base64: String) {
    guard let data = Data(base64Encoded: base64) else { return nil }
    self.init(bytes: data)
  }

  init(_ sum: SHA256) {
    var sum = sum
    bytes = sum.finalize()
  }

  /// The bytes in base64, as in a property list in XML form.
  package var base64: String { Data(bytes).base64EncodedString() }
}

extension VersionHash: CustomStringConvertible {
  /// The bytes in base64.
  public var description: String { base64 }
}

// MARK: Computation

extension VersionHash {
  /// A composite attribute counts by its stored leaves alone, sorted by their own names.
  package init(_ attribute: AttributeDescription) {
    var sum = SHA256()
    if let expression = attribute.derivationExpression {
      sum.update(text: Self.printed(derivation: expression))
    } else if attribute.type == .composite {
      for element in Self.storedElements(of: attribute).sorted(by: { Text($0.name) < Text($1.name) }) {
        sum.update(data: VersionHash(element).bytes)
      }
    } else {
      sum.update(
        data: Self.common(
          name: attribute.name, isOptional: attribute.isOptional, isTransient: attribute.isTransient,
          modifier: attribute.versionHashModifier
        ).bytes)
      sum.update(littleEndian: UInt32(truncatingIfNeeded: attribute.type.rawValue))
      if attribute.allowsExternalBinaryDataStorage { sum.update(data: [1] as [UInt8]) }
      if attribute.preservesValueInHistoryOnDeletion { sum.update(data: [1] as [UInt8]) }
    }
    self.init(sum)
  }

  /// - Parameter isOwnInverse: such a relationship counts as one without inverse.
  package init(_ relationship: RelationshipDescription, isOwnInverse: Bool) {
    var sum = SHA256()
    sum.update(
      data: Self.common(
        name: relationship.name, isOptional: relationship.isOptional, isTransient: relationship.isTransient,
        modifier: relationship.versionHashModifier
      ).bytes)
    sum.update(text: relationship.destinationEntityName)
    if let inverse = relationship.inverseName, !isOwnInverse { sum.update(text: inverse) }
    sum.update(littleEndian: Int32(truncatingIfNeeded: relationship.maxCount))
    sum.update(littleEndian: Int32(truncatingIfNeeded: relationship.minCount))
    if relationship.isOrdered { sum.update(littleEndian: UInt16(1)) }
    self.init(sum)
  }

  private static func common(
    name: String, isOptional: Bool, isTransient: Bool, modifier: String?
  ) -> VersionHash {
    var sum = SHA256()
    sum.update(text: name)
    sum.update(littleEndian: UInt16((isOptional ? 1 : 0) | (isTransient ? 2 : 0)))
    if let modifier { sum.update(text: modifier) }
    return VersionHash(sum)
  }

  /// The stored elements at any depth, without the composites that hold them.
  private static func storedElements(of composite: AttributeDescription) -> [AttributeDescription] {
    composite.elements.filter { !$0.isTransient }.flatMap { $0.type == .composite ? storedElements(of: $0) : [$0] }
  }

  /// The derivation as NSExpression prints it. Only the form of `x.@count` is confirmed.
  package static func printed(derivation: String) -> String {
    let text = derivation.trimmingCharacters(in: .whitespacesAndNewlines)
    guard let path = countedPath(of: text) else { return text }
    return "count:(\(path))"
  }

  /// The key path `x` of the derivation `x.@count`; nil for any other.
  static func countedPath(of derivation: String) -> String? {
    let suffix = ".@count"
    guard derivation.hasSuffix(suffix) else { return nil }
    let path = derivation.dropLast(suffix.count)
    let isPath = path.unicodeScalars.allSatisfy {
      $0.properties.isAlphabetic || "_.0123456789".unicodeScalars.contains($0)
    }
    return isPath && !path.isEmpty ? String(path) : nil
  }
}

extension SHA256 {
  fileprivate mutating func update(text: String) { update(data: Array(text.utf8)) }

  fileprivate mutating func update(littleEndian value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.littleEndian) { update(bufferPointer: $0) }
  }
}
