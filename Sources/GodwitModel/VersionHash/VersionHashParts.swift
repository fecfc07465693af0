/// The parts of an entity's version hash, so that the hash can be recomputed with one part changed.
///
/// For finding out how a model would have to differ to have a hash found in a store. For the model's own hashes, use
/// `ManagedObjectModel.versionHashes`.
package struct VersionHashParts: Sendable {
  package let entityName: String
  package var isAbstract: Bool
  /// The hash of the parent entity; nil for a root.
  package var parent: VersionHash?
  package var versionHashModifier: String?
  package var uniquenessConstraints: [[String]]
  /// Sorted; the digest of each lies at the same place in `digests`.
  private var names: [Text]
  /// One after the other, so that replacing one costs a copy of bytes.
  private var digests: [UInt8]

  /// - Parameter digests: The digest of every attribute and relationship that is stored, inherited ones included, by
  ///   name. Transient and fetched properties are left out.
  package init(_ entity: EntityDescription, parent: VersionHash?, digests: [String: VersionHash]) {
    entityName = entity.name
    isAbstract = entity.isAbstract
    self.parent = parent
    versionHashModifier = entity.versionHashModifier
    uniquenessConstraints = entity.uniquenessConstraints
    let sorted = digests.map { (Text($0.key), $0.value) }.sorted { $0.0 < $1.0 }
    names = sorted.map(\.0)
    self.digests = sorted.flatMap(\.1.bytes)
  }

  /// Puts the digest of a property in the place of the one it has; nil leaves the property out, as if transient.
  ///
  /// Costs time in proportion to the properties.
  package mutating func setDigest(_ digest: VersionHash?, ofProperty name: String) {
    let name = Text(name)
    let place = names.firstIndex { name <= $0 } ?? names.count
    let isPresent = place < names.count && names[place] == name
    let range = place * VersionHash.byteCount..<(place + (isPresent ? 1 : 0)) * VersionHash.byteCount
    digests.replaceSubrange(range, with: digest?.bytes ?? [])
    if isPresent, digest == nil { names.remove(at: place) }
    if !isPresent, digest != nil { names.insert(name, at: place) }
  }

  /// The version hash of an entity with these parts.
  package var hash: VersionHash {
    var sum = SHA256()
    sum.update(data: Array(entityName.utf8))
    sum.update(data: [isAbstract ? 1 : 0] as [UInt8])
    if let parent { sum.update(data: parent.bytes) }
    sum.update(data: digests)
    if let versionHashModifier { sum.update(data: Array(versionHashModifier.utf8)) }
    for constraint in uniquenessConstraints.map({ Text($0.joined(separator: ".")) }).sorted() {
      sum.update(data: constraint.utf8)
    }
    return VersionHash(sum)
  }
}
