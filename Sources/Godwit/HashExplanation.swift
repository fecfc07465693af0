import GodwitModel

/// Finds the one fact of an entity that would have to be another for the model to give a store's hash.
///
/// Hashes cannot be read backwards, so one fact at a time is turned round and the hash computed again.
struct HashExplanation {
  let model: ManagedObjectModel
  let storeHashes: [String: VersionHash]

  /// For example `Note.title: the store's model says optional`; nil when no single fact explains the hash.
  ///
  /// Tries a few dozen hashes for each property, inherited ones included.
  func reason(forEntity name: String) -> String? {
    guard let wanted = storeHashes[name] else { return nil }
    let line = model.lineage(of: name)
    // What the store says of the parent, so that its differences do not hide those of the entity.
    let parent = line.dropFirst().first.flatMap { storeHashes[$0.name] ?? model.versionHash(of: $0.name) }
    func fits(_ line: [EntityDescription], _ parent: VersionHash?) -> Bool {
      model.versionHash(ofLine: line, parent: parent) == wanted
    }
    if let above = line.dropFirst().first, fits(line, parent) {
      return "entity \(name): it differs by its parent '\(above.name)' alone"
    }
    for (place, entity) in line.enumerated() {
      for variant in place == 0 ? Self.variants(of: entity) : [] where fits([variant.entity] + line.dropFirst(), parent)
      {
        return "entity \(entity.name): the store's model says \(variant.says)"
      }
      for variant in Self.propertyVariants(of: entity) {
        var changed = line
        changed[place] = variant.entity
        if fits(changed, parent) { return "\(entity.name).\(variant.property): the store's model \(variant.says)" }
      }
    }
    if line.count > 1, fits(line, nil) { return "entity \(name): the store's model says no parent" }
    return nil
  }

  // MARK: One fact at a time

  private static func variants(of entity: EntityDescription) -> [(entity: EntityDescription, says: String)] {
    var variants: [(entity: EntityDescription, says: String)] = []
    func add(_ says: String, _ change: (inout EntityDescription) -> Void) {
      var other = entity
      change(&other)
      variants.append((other, says))
    }
    add(entity.isAbstract ? "not abstract" : "abstract") { $0.isAbstract.toggle() }
    if entity.versionHashModifier != nil { add("no hash modifier") { $0.versionHashModifier = nil } }
    for (index, constraint) in entity.uniquenessConstraints.enumerated() {
      add("no uniqueness of (\(constraint.joined(separator: ", ")))") { $0.uniquenessConstraints.remove(at: index) }
    }
    if entity.uniquenessConstraints.count > 1 { add("no uniqueness at all") { $0.uniquenessConstraints = [] } }
    for attribute in entity.attributes where !attribute.isTransient {
      let constraint = [attribute.name]
      guard !entity.uniquenessConstraints.contains(constraint) else { continue }
      add("uniqueness of (\(attribute.name))") { $0.uniquenessConstraints.append(constraint) }
    }
    return variants
  }

  private static func propertyVariants(
    of entity: EntityDescription
  ) -> [(entity: EntityDescription, property: String, says: String)] {
    var variants: [(entity: EntityDescription, property: String, says: String)] = []
    for (index, attribute) in entity.attributes.enumerated() {
      for (says, variant) in Self.variants(of: attribute) {
        var other = entity
        other.attributes[index] = variant
        variants.append((other, attribute.name, says))
      }
    }
    for (index, relationship) in entity.relationships.enumerated() {
      for (says, variant) in Self.variants(of: relationship) {
        var other = entity
        other.relationships[index] = variant
        variants.append((other, relationship.name, says))
      }
    }
    return variants
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
    // A transient property is left out of the hash, so the two cannot be told apart.
    add("lacks it, or says transient") { $0.isTransient = true }
    if attribute.isDerived {
      add("says no derivation") { $0.derivationExpression = nil }
      return variants
    }
    add(attribute.isOptional ? "says required" : "says optional") { $0.isOptional.toggle() }
    for type in AttributeType.allCases where type != attribute.type && type != .composite {
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
