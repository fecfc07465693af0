/// Whether a mapping model between two models can be inferred, with a reason for every line, or every reason why not.
///
/// It follows Core Data's lightweight migration: properties and entities added, removed and renamed; optional to
/// required with a default, and back; to-one to to-many; ordered to unordered and back; parents and children added,
/// properties moved along a hierarchy, entities moved out of one. No data is read. If Core Data's documentation leaves
/// a case open, inference refuses a change that could lose rows.
package struct MappingInference: Sendable {
  /// One reason why no mapping model can be inferred.
  package struct Refusal: Sendable, Hashable, CustomStringConvertible {
    /// The kind of reason. The raw values never change.
    package enum Code: String, Sendable, Hashable, Encodable, CaseIterable {
      /// Entities without a common parent get one.
      case hierarchiesMerge = "hierarchies-merge"
      /// An entity with objects becomes abstract.
      case becomesAbstract = "becomes-abstract"
      /// A relationship becomes an attribute.
      case relationshipToAttribute = "relationship-to-attribute"
      /// An attribute becomes a relationship.
      case attributeToRelationship = "attribute-to-relationship"
      /// The type of an attribute changes.
      case typeChange = "type-change"
      /// An optional attribute becomes required and has no default.
      case optionalToRequired = "optional-to-required"
      /// A required attribute is new and has no default.
      case requiredAttributeAdded = "required-attribute-added"
      /// A required relationship is new.
      case requiredRelationshipAdded = "required-relationship-added"
      /// A to-many becomes a to-one.
      case toManyToOne = "to-many-to-one"
      /// The entity that a required relationship led to is gone.
      case destinationGone = "destination-gone"
    }

    /// The kind of reason.
    package let code: Code
    /// The entity's name in the later model, in the earlier one where it is gone.
    package let entity: String
    /// The property's name; nil when the entity as a whole is concerned.
    package let property: String?
    /// The reason, in one sentence.
    package let reason: String
    /// The expression of a mapping for a change of type; nil without one.
    package var expression: String?

    /// `Person.age: Integer 32 to String`.
    package var description: String { "\(property.map { "\(entity).\($0)" } ?? "entity \(entity)"): \(reason)" }

    /// The expression with the attribute that it is for; nil without one.
    package var way: String? { expression.map { "'\($0)' for \(entity).\(property ?? "")" } }
  }

  /// The versions that are compared.
  package let source, destination: ManagedObjectModel
  /// Every reason why nothing can be inferred, in name order of the entities; empty when it can.
  package private(set) var refusals: [Refusal] = []
  /// A reason for every entity mapping and property.
  package private(set) var remarks: [MappingRemark] = []
  private(set) var entityMappings: [EntityMapping] = []
  let pairing: ModelPairing

  /// Compares the models, in time proportional to their properties, inherited ones included.
  package init(from source: ManagedObjectModel, to destination: ManagedObjectModel) {
    self.init(from: source, to: destination, refusalsOnly: false)
  }

  /// Why nothing can be inferred; empty when it can. It looks at no entity that is the same in both models.
  package static func refusals(from source: ManagedObjectModel, to destination: ManagedObjectModel) -> [Refusal] {
    MappingInference(from: source, to: destination, refusalsOnly: true).refusals
  }

  private init(from source: ManagedObjectModel, to destination: ManagedObjectModel, refusalsOnly: Bool) {
    self.source = source
    self.destination = destination
    pairing = ModelPairing(from: source, to: destination)
    refuseMergedHierarchies()
    let hashes = (source.versionHashes, destination.versionHashes)
    for pair in pairing.entities {
      switch pair {
      case (let before?, let after?):
        if refusalsOnly, pairing.isSame(before, after) { continue }
        add(before, after, isSame: before.name == after.name && hashes.0[before.name] == hashes.1[after.name])
      case (nil, let entity?):
        let mapping = EntityMapping(
          name: Self.name(.add, entity.name), kind: .add, source: nil, destination: entity.name)
        entityMappings.append(mapping)
        remarks.append(MappingRemark(mapping: mapping.name, doubted("new: no objects yet", entity.name)))
      case (let entity?, nil):
        let mapping = EntityMapping(
          name: Self.name(.remove, entity.name), kind: .remove, source: entity.name, destination: nil)
        entityMappings.append(mapping)
        remarks.append(MappingRemark(mapping: mapping.name, "gone: its objects are dropped"))
      case (nil, nil): continue
      }
    }
  }

  /// The inferred mapping model.
  ///
  /// - Throws: code `.noPath` with all refusals.
  package func mappingModel() throws -> MappingModel {
    guard refusals.isEmpty else {
      throw GodwitError(
        .noPath, "no mapping model can be inferred from '\(source.name)' to '\(destination.name)'",
        cause: refusals.map(\.description).asLines,
        remedy: "write a mapping file for this step; `godwit mapping new` drafts one" + Self.ways(refusals))
    }
    return MappingModel(
      sourceModelName: source.name, destinationModelName: destination.name, entityMappings: entityMappings)
  }

  /// The expressions for attributes whose type changes, as the end of a remedy.
  private static func ways(_ refusals: [Refusal]) -> String {
    let changes = refusals.filter { $0.code == .typeChange }
    guard !changes.isEmpty else { return "" }
    let named = changes.compactMap(\.way)
    let more = named.count > 3 ? " and \(named.count - 3) more" : ""
    return named.isEmpty
      ? "; a policy converts the types"
      : ", with " + named.prefix(3).joined(separator: ", ") + more + ", or use a policy"
  }

  // MARK: Entities

  /// Core Data's names: `IEM_Transform_Person`, after the source entity if there is one.
  static func name(_ kind: EntityMapping.Kind, _ entity: String) -> String {
    "IEM_\(kind.rawValue.prefix(1).uppercased())\(kind.rawValue.dropFirst())_\(entity)"
  }

  mutating func refuse(
    _ code: Refusal.Code, _ entity: String, _ property: String?, _ reason: String, expression: String? = nil
  ) {
    refusals.append(
      Refusal(code: code, entity: entity, property: property, reason: reason, expression: expression))
  }

  /// A remark with what names and renaming identifiers say differently.
  func doubted(_ text: String, _ entity: String, _ property: String? = nil) -> String {
    let doubt = if let property { pairing.doubt(of: property, in: entity) } else { pairing.doubt(of: entity) }
    return text + (doubt.map { "; " + $0.remark } ?? "")
  }

  mutating func remark(_ mapping: String, _ subject: MappingRemark.Subject, _ text: String) {
    remarks.append(MappingRemark(mapping: mapping, subject: subject, text))
  }

  /// Two entities without a common ancestor cannot get one, because their rows are in different tables.
  private mutating func refuseMergedHierarchies() {
    for root in destination.rootEntities {
      let roots = Set(
        destination.family(of: root.name).compactMap { member in
          pairing.oldName(of: member.name).flatMap { source.root(of: $0)?.name }
        })
      guard roots.count > 1 else { continue }
      let names = roots.sorted(by: ManagedObjectModel.precedes).map { "'\($0)'" }.joined(separator: " and ")
      refuse(
        .hierarchiesMerge, root.name, nil,
        "its hierarchy merges those of \(names), which have no common parent in '\(source.name)'")
    }
  }

  private mutating func add(_ before: EntityDescription, _ after: EntityDescription, isSame: Bool) {
    guard !after.isAbstract else {
      // An abstract entity has no objects on either side. Its subentities have mappings of their own.
      guard !before.isAbstract else {
        remarks.append(MappingRemark(mapping: nil, "'\(after.name)' is abstract: it has no objects"))
        return
      }
      return refuse(.becomesAbstract, after.name, nil, "it becomes abstract, so its objects would have no entity")
    }
    let kind: EntityMapping.Kind = isSame ? .copy : .transform
    var mapping = EntityMapping(
      name: Self.name(kind, before.name), kind: kind, source: before.name, destination: after.name)
    remark(mapping.name, .entity, doubted(isSame ? "unchanged" : Self.reason(before, after, pairing), after.name))
    addAttributes(to: &mapping, before, after)
    addRelationships(to: &mapping, before, after)
    remarkLosses(mapping.name, before, after)
    entityMappings.append(mapping)
  }

  private static func reason(
    _ before: EntityDescription, _ after: EntityDescription, _ pairing: ModelPairing
  ) -> String {
    var reasons: [String] = []
    if before.name != after.name { reasons.append("renamed from \(before.name)") }
    let parents = (before.superentityName, after.superentityName)
    if parents.0.map({ pairing.newName(of: $0) ?? $0 }) != parents.1 {
      reasons.append("parent \(parents.0 ?? "none") to \(parents.1 ?? "none")")
    }
    return reasons.isEmpty ? "its version hash differs" : reasons.joined(separator: ", ")
  }

  /// Says which stored properties have no successor.
  private mutating func remarkLosses(_ mapping: String, _ before: EntityDescription, _ after: EntityDescription) {
    remarks += pairing.dropped(from: before.name, to: after.name).map { $0.remark(mapping) }
  }
}

extension ModelPairing {
  /// A stored property of the source that no property of the destination takes the place of.
  enum Dropped {
    case attribute(AttributeDescription)
    case relationship(RelationshipDescription)

    func remark(_ mapping: String) -> MappingRemark {
      switch self {
      case .attribute(let gone):
        MappingRemark(
          mapping: mapping, subject: .attribute(gone.name), "the earlier '\(gone.name)' is gone: its values are dropped"
        )
      case .relationship(let gone):
        MappingRemark(
          mapping: mapping, subject: .relationship(gone.name),
          "the earlier '\(gone.name)' is gone: its links are dropped")
      }
    }
  }

  /// The dropped properties of an entity.
  func dropped(from before: String, to after: String) -> [Dropped] {
    let kept = Set(Property.all(of: after, in: new).compactMap { origin(of: $0, in: after, from: before)?.name })
    let attributes = old.attributes(of: before).filter {
      !kept.contains($0.name) && !$0.isTransient && !$0.isDerived
    }
    let relationships = old.relationships(of: before).filter { !kept.contains($0.name) && old.isStored($0) }
    return attributes.map { .attribute($0) } + relationships.map { .relationship($0) }
  }
}
