import Foundation

extension ManagedObjectModel {
  /// The version hash of every entity, by entity name (`NSStoreModelVersionHashes`).
  ///
  /// Computed once, in time proportional to the properties, inherited ones included. Core Data has not opened a store
  /// with computed hashes yet, so known published ones take precedence. Delete rules and the read-only flag do not count,
  /// although Apple's guide to versioning says so: 464 hashes of Apple's software come out right without. In them Nullify
  /// and Cascade occur; Deny, No Action and the flag, which Xcode's editor cannot set, do not.
  public var versionHashes: [String: VersionHash] {
    publishedVersionHashes.isEmpty
      ? computedVersionHashes : computedVersionHashes.merging(publishedVersionHashes) { _, published in published }
  }

  /// The hashes that the rules give, regardless of published ones.
  package var computedVersionHashes: [String: VersionHash] {
    hashCache.value.value {
      var computed = HashedEntities()
      for entity in entities { hash(entity.name, into: &computed) }
      return computed.hashes
    }
  }

  /// The version hash of one entity; nil when the model lacks it.
  package func versionHash(of entityName: String) -> VersionHash? {
    publishedVersionHashes[entityName] ?? computedVersionHashes[entityName]
  }

  /// The parts of an entity's version hash; nil when the model lacks the entity.
  package func versionHashParts(of entityName: String) -> VersionHashParts? {
    let line = lineage(of: entityName)
    guard let entity = line.first else { return nil }
    var digests: [String: VersionHash] = [:]
    for ancestor in line.reversed() { addDigests(of: ancestor, to: &digests) }
    return VersionHashParts(entity, parent: entity.superentityName.flatMap(versionHash(of:)), digests: digests)
  }

  /// The digest that an attribute of this description adds to an entity's hash; nil for a transient one.
  package func versionHashDigest(of attribute: AttributeDescription) -> VersionHash? {
    attribute.isTransient ? nil : VersionHash(attribute)
  }

  /// The digest that a relationship of this description, declared by that entity, adds to an entity's hash; nil for a
  /// transient one.
  package func versionHashDigest(
    of relationship: RelationshipDescription, declaredBy entityName: String
  ) -> VersionHash? {
    relationship.isTransient
      ? nil : VersionHash(relationship, isOwnInverse: isOwnInverse(relationship, declaredBy: entityName))
  }

  /// `NSStoreModelVersionHashesDigest`: base64 of the SHA-512 of each entity's name and hash.
  package var versionHashesDigest: String {
    var sum = SHA512()
    for (name, hash) in Self.inNameOrder(versionHashes) {
      sum.update(data: Array(name.utf8))
      sum.update(data: hash.bytes)
    }
    return Data(sum.finalize()).base64EncodedString()
  }

  /// `NSStoreModelVersionChecksumKey`, also in `VersionInfo.plist`: base64 of the SHA-256 of each entity's hash.
  package var versionChecksum: String {
    var sum = SHA256()
    for (_, hash) in Self.inNameOrder(versionHashes) { sum.update(data: hash.bytes) }
    return Data(sum.finalize()).base64EncodedString()
  }

  /// Whether a store with these hashes was made by this model: the same entities, each with an equal hash.
  package func isCompatible(with hashes: [String: VersionHash]) -> Bool {
    hashes.count == entities.count && versionHashes == hashes
  }

  private static func inNameOrder(_ hashes: [String: VersionHash]) -> [(String, VersionHash)] {
    hashes.map { ($0.key, $0.value) }.sorted { Text($0.0) < Text($1.0) }
  }

  // MARK: Along the inheritance

  /// The hashes known so far, so that a parent's hash and the digests it hands down are computed once.
  private struct HashedEntities {
    var hashes: [String: VersionHash] = [:]
    var digests: [String: [String: VersionHash]] = [:]
  }

  private func hash(_ name: String, into computed: inout HashedEntities) {
    guard computed.hashes[name] == nil else { return }
    var parent: VersionHash?
    var digests: [String: VersionHash] = [:]
    for entity in lineage(of: name).reversed() {
      if let known = computed.hashes[entity.name], let inherited = computed.digests[entity.name] {
        parent = known
        digests = inherited
        continue
      }
      addDigests(of: entity, to: &digests)
      let hash = VersionHashParts(entity, parent: parent, digests: digests).hash
      computed.hashes[entity.name] = hash
      computed.digests[entity.name] = digests
      parent = hash
    }
  }

  /// Adds the digests of an entity's own properties to the inherited ones; a transient override removes the inherited
  /// one.
  private func addDigests(of entity: EntityDescription, to digests: inout [String: VersionHash]) {
    for attribute in entity.attributes { digests[attribute.name] = versionHashDigest(of: attribute) }
    for relationship in entity.relationships {
      digests[relationship.name] = versionHashDigest(of: relationship, declaredBy: entity.name)
    }
  }

  /// Whether the relationship, declared by that entity, is its own inverse.
  func isOwnInverse(_ relationship: RelationshipDescription, declaredBy entityName: String) -> Bool {
    guard relationship.inverseName == relationship.name else { return false }
    let other = relationship.inverseEntityName ?? relationship.destinationEntityName
    let declaring = lineage(of: other).first { entity in
      entity.relationships.contains { $0.name == relationship.name }
    }
    return declaring?.name == entityName
  }
}
