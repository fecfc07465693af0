/// A rule of version hashes that a model relies on and no published hash confirms.
///
/// If a model relies on one, Core Data may refuse a store with the computed hash. To find out, compare with a store or
/// a `VersionInfo.plist` that Apple's software made of the same model.
package struct UnconfirmedHashRule: Sendable, Hashable {
  /// A rule of version hashes.
  package enum Rule: String, Sendable, Hashable, CaseIterable {
    /// How a relationship that is its own inverse counts.
    case ownInverse = "a relationship that is its own inverse counts as one without inverse"
    /// How a derivation expression counts, unless it is a count.
    case derivationExpression = "a derivation other than a count is hashed as it is written"
    /// How an attribute with both flags counts.
    case bothAttributeFlags = "external storage and preserving in history are hashed one after the other"
    /// How names beyond ASCII sort.
    case nonASCIIName = "names beyond ASCII sort by byte"
    /// The number of an attribute type.
    case attributeType = "an attribute type that occurs in no published model"
  }

  /// The rule.
  package var rule: Rule
  /// The entity whose hash relies on the rule.
  package var entityName: String
  /// Nil when the rule concerns the entity as a whole.
  package var propertyName: String?
}

extension UnconfirmedHashRule: CustomStringConvertible {
  /// For example `Person.friend: a relationship that is its own inverse …`.
  package var description: String {
    "\(entityName)\(propertyName.map { "." + $0 } ?? ""): \(rule.rawValue)"
  }
}

extension ManagedObjectModel {
  /// The unconfirmed rules that the hashes of all entities rely on, in entity order. Published hashes rely on none.
  package var unconfirmedHashRules: [UnconfirmedHashRule] {
    entities.flatMap { unconfirmedHashRules(of: $0.name) }
  }

  /// The unconfirmed rules that the hash of one entity relies on, by its own and inherited properties.
  package func unconfirmedHashRules(of entityName: String) -> [UnconfirmedHashRule] {
    publishedVersionHashes[entityName] == nil ? unconfirmedRules(of: entityName) : []
  }

  /// As above, whatever is published.
  func unconfirmedRules(of entityName: String) -> [UnconfirmedHashRule] {
    var found: [UnconfirmedHashRule] = []
    func note(_ rule: UnconfirmedHashRule.Rule, _ property: String? = nil) {
      found.append(UnconfirmedHashRule(rule: rule, entityName: entityName, propertyName: property))
    }
    let attributes = attributes(of: entityName).filter { !$0.isTransient }
    for attribute in attributes {
      if let derivation = attribute.derivationExpression {
        if VersionHash.countedPath(of: derivation) == nil { note(.derivationExpression, attribute.name) }
        continue
      }
      if attribute.allowsExternalBinaryDataStorage && attribute.preservesValueInHistoryOnDeletion {
        note(.bothAttributeFlags, attribute.name)
      }
      if [.undefined, .objectID].contains(attribute.type) { note(.attributeType, attribute.name) }
    }
    let line = lineage(of: entityName)
    let relationships = relationships(of: entityName).filter { !$0.isTransient }
    for relationship in relationships {
      let declaring = line.first { $0.relationships.contains(relationship) }
      if let declaring, isOwnInverse(relationship, declaredBy: declaring.name) {
        note(.ownInverse, relationship.name)
      }
    }
    let names = (attributes.map(\.name) + relationships.map(\.name)).sorted { Text($0) < Text($1) }
    for name in names where !name.utf8.allSatisfy({ $0 < 0x80 }) { note(.nonASCIIName, name) }
    if !entityName.utf8.allSatisfy({ $0 < 0x80 }) { note(.nonASCIIName) }
    return found
  }
}
