import GodwitModel

/// The meaning of the names in an XML store, which has entities in upper case and properties in lower case.
struct XMLStoreNames {
  struct Entity {
    var name: String
    var root: String
    /// Stored ones by their name in lower case.
    var attributes: [String: AttributeDescription] = [:]
    var relationships: [String: RelationshipDescription] = [:]
  }

  /// The entities by name in upper case.
  let entities: [String: Entity]

  /// - Throws: `.configuration` (78) when two names differ in case alone; as `StoreType.checkComposites`.
  init(model: ManagedObjectModel) throws {
    try StoreType.xml.checkComposites(of: model)
    func collision(_ what: String, _ a: String, _ b: String) -> GodwitError {
      GodwitError(
        .configuration,
        "cannot use model '\(model.name)' with an XML store: \(what) '\(a)' and '\(b)' differ only in case",
        remedy: "XML stores do not keep the case of names; use a SQLite store")
    }
    var entities: [String: Entity] = [:]
    for description in model.entities {
      var entity = Entity(name: description.name, root: model.root(of: description.name)?.name ?? description.name)
      for attribute in model.attributes(of: description.name)
      where !attribute.isTransient && !attribute.type.facts.xmlNames.isEmpty {
        if let other = entity.attributes.updateValue(attribute, forKey: attribute.name.lowercased()) {
          throw collision("attributes of entity '\(description.name)',", other.name, attribute.name)
        }
      }
      for relationship in model.relationships(of: description.name) where !relationship.isTransient {
        if let other = entity.relationships.updateValue(relationship, forKey: relationship.name.lowercased()) {
          throw collision("relationships of entity '\(description.name)',", other.name, relationship.name)
        }
      }
      if let other = entities.updateValue(entity, forKey: description.name.uppercased()) {
        throw collision("entities", other.name, description.name)
      }
    }
    self.entities = entities
  }

  /// The number in an identifier such as `z102`; nil for one that Core Data would not make.
  static func number(of identifier: String) -> Int64? {
    guard identifier.utf8.first == UInt8(ascii: "z") else { return nil }
    let digits = identifier.utf8.dropFirst()
    guard let first = digits.first, (0x31...0x39).contains(first), digits.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    return Int64(String(Substring(digits)))
  }
}
