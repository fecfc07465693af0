/// Finds the one fact of an entity that would have to be another for the model to give a store's hash.
///
/// Hashes cannot be read backwards, so one fact at a time is turned round and the hash computed again.
package struct HashExplanation {
  let model: ManagedObjectModel
  let storeHashes: [String: VersionHash]
  /// The name in messages of the model that has the hashes.
  let other: String

  /// - Parameter hashes: The hashes of another model, by entity.
  package init(
    model: ManagedObjectModel, storeHashes hashes: [String: VersionHash], other: String = "the store's model"
  ) {
    self.model = model
    storeHashes = hashes
    self.other = other
  }

  /// For example `Note.title: the store's model says optional`; nil when no single fact explains the hash.
  ///
  /// Tries a few dozen hashes for each property, inherited ones included.
  package func reason(forEntity name: String) -> String? {
    guard let wanted = storeHashes[name], var parts = model.versionHashParts(of: name) else { return nil }
    let line = model.lineage(of: name)
    if let above = line.dropFirst().first {
      // Takes the parent's hash from the store, so that the parent's differences do not hide those of the entity.
      parts.parent = storeHashes[above.name] ?? parts.parent
      if parts.hash == wanted { return "entity \(name): only its parent '\(above.name)' differs" }
    }
    if let entity = line.first, let says = Self.fact(of: entity, parts, wanted) {
      return "entity \(name): \(other) says \(says)"
    }
    // An override hides the declaration of an ancestor.
    var seen: Set<String> = []
    for entity in line {
      for attribute in entity.attributes where seen.insert(attribute.name).inserted {
        for (says, variant) in Self.variants(of: attribute) {
          var changed = parts
          changed.setDigest(model.versionHashDigest(of: variant), ofProperty: attribute.name)
          if changed.hash == wanted { return "\(entity.name).\(attribute.name): \(other) \(says)" }
        }
      }
      for relationship in entity.relationships where seen.insert(relationship.name).inserted {
        for (says, variant) in Self.variants(of: relationship) {
          var changed = parts
          let digest = model.versionHashDigest(of: variant, declaredBy: entity.name)
          changed.setDigest(digest, ofProperty: relationship.name)
          if changed.hash == wanted { return "\(entity.name).\(relationship.name): \(other) \(says)" }
        }
      }
    }
    parts.parent = nil
    return parts.hash == wanted ? "entity \(name): \(other) says no parent" : nil
  }

  // MARK: One fact at a time

  /// The fact of the entity as a whole that explains the hash.
  private static func fact(of entity: EntityDescription, _ parts: VersionHashParts, _ wanted: VersionHash) -> String? {
    func explains(_ change: (inout VersionHashParts) -> Void) -> Bool {
      var changed = parts
      change(&changed)
      return changed.hash == wanted
    }
    if explains({ $0.isAbstract.toggle() }) { return entity.isAbstract ? "not abstract" : "abstract" }
    if explains({ $0.versionHashModifier = nil }) { return "no hash modifier" }
    for (index, constraint) in entity.uniquenessConstraints.enumerated()
    where explains({ $0.uniquenessConstraints.remove(at: index) }) {
      return "no uniqueness of (\(constraint.joined(separator: ", ")))"
    }
    if explains({ $0.uniquenessConstraints = [] }) { return "no uniqueness at all" }
    for attribute in entity.attributes where !attribute.isTransient {
      if explains({ $0.uniquenessConstraints.append([attribute.name]) }) { return "uniqueness of (\(attribute.name))" }
    }
    return nil
  }

  private static func variants(of attribute: AttributeDescription) -> [(says: String, AttributeDescription)] {
    var variants: [(says: String, AttributeDescription)] = []
    func add(_ says: String, _ change: (inout AttributeDescription) -> Void) {
      var other = attribute
      change(&other)
      variants.append((says, other))
    }
    guard !attribute.isTransient else {
      add("says not transient") { $0.isTransient = false }
      return variants
    }
    for (index, element) in attribute.elements.enumerated() {
      for (says, variant) in Self.variants(of: element) {
        add("says otherwise of element '\(element.name)': it \(says)") { $0.elements[index] = variant }
      }
    }
    // A transient property is left out of the hash, so a missing one looks the same.
    add("lacks it, or says transient") { $0.isTransient = true }
    if attribute.isDerived {
      add("says no derivation") { $0.derivationExpression = nil }
      return variants
    }
    add(attribute.isOptional ? "says required" : "says optional") { $0.isOptional.toggle() }
    for type in AttributeType.allCases where ![attribute.type, .composite].contains(type) {
      add("says type \(type.xcodeName)") { $0.type = type }
      // A type is often changed together with the flag beside it in Xcode's inspector.
      add("says \(attribute.isOptional ? "required" : "optional") and type \(type.xcodeName)") {
        $0.type = type
        $0.isOptional.toggle()
      }
    }
    if attribute.versionHashModifier != nil { add("says no hash modifier") { $0.versionHashModifier = nil } }
    switch (attribute.allowsExternalBinaryDataStorage, attribute.preservesValueInHistoryOnDeletion) {
    case (false, false):
      let says =
        [.binary, .transformable].contains(attribute.type)
        ? "says external storage (or kept in history, which hashes alike)"
        : "says kept in history"
      add(says) { $0.preservesValueInHistoryOnDeletion = true }
    case (true, false): add("says no external storage") { $0.allowsExternalBinaryDataStorage = false }
    case (false, true): add("says not kept in history") { $0.preservesValueInHistoryOnDeletion = false }
    case (true, true):
      add("says external storage or kept in history, not both") { $0.preservesValueInHistoryOnDeletion = false }
    }
    return variants
  }

  private static func variants(of relationship: RelationshipDescription) -> [(says: String, RelationshipDescription)] {
    var variants: [(says: String, RelationshipDescription)] = []
    func add(_ says: String, _ change: (inout RelationshipDescription) -> Void) {
      var other = relationship
      change(&other)
      variants.append((says, other))
    }
    guard !relationship.isTransient else {
      add("says not transient") { $0.isTransient = false }
      return variants
    }
    add("lacks it, or says transient") { $0.isTransient = true }
    let optionality = relationship.isOptional ? "required" : "optional"
    add("says \(optionality)") { $0.isOptional.toggle() }
    add(relationship.isOrdered ? "says unordered" : "says ordered") { $0.isOrdered.toggle() }
    if relationship.versionHashModifier != nil { add("says no hash modifier") { $0.versionHashModifier = nil } }
    if relationship.inverseName != nil { add("says no inverse") { $0.inverseName = nil } }
    let minimum = relationship.minCount == 0 ? 1 : 0
    add("says minimum count \(minimum)") { $0.minCount = minimum }
    add("says \(optionality) and minimum count \(minimum)") {
      $0.minCount = minimum
      $0.isOptional.toggle()
    }
    if relationship.isToMany { add("says to-one") { $0.maxCount = 1 } } else { add("says to-many") { $0.maxCount = 0 } }
    // A model built in code may say -1 for no limit where a file says 0.
    if relationship.isToMany {
      for maximum in [0, -1] where relationship.maxCount != maximum {
        add("says maximum count \(maximum)") { $0.maxCount = maximum }
      }
    }
    return variants
  }
}
