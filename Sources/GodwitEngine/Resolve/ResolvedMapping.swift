package import GodwitJob
package import GodwitModel

/// A policy that is not registered, in whose place Core Data's default policy runs.
struct DefaultedPolicy: Sendable {
  var mapping, policy: String

  /// Why it is a loss.
  var reason: String { "mapping \(mapping): not registered; Core Data's default policy runs instead" }
}

/// The entity mappings of one step with every name resolved against both models.
///
/// Resolving checks names, types and forms, so that a resolved mapping can be planned. Listed mapping files are
/// concatenated; their order is the mapping order.
package struct ResolvedMapping: Sendable {
  /// The version of the source, with an entity for the links of each `for-each`.
  package let sourceModel: ManagedObjectModel
  package let destinationModel: ManagedObjectModel
  /// The mappings that make objects, in mapping order. `add` mappings make none without a policy and
  /// `remove` mappings none at all, so neither stands here.
  package internal(set) var entityMappings: [ResolvedEntityMapping]
  /// The mappings that a registered policy carries out, in mapping order.
  let policies: [ResolvedPolicy]
  /// Mappings whose policy is not registered, for which Core Data's default policy is used.
  let defaulted: [DefaultedPolicy]
  /// Indices into `entityMappings` by the name of the destination entity, in mapping order.
  private let indexesByDestination: [String: [MappingID]]

  package var hasPolicies: Bool { !policies.isEmpty }

  /// - Parameter earlier: The mappings of earlier jobs into the same store, oldest first. Those that can be looked up
  ///   stand before the job's own.
  /// - Throws: code `.configuration` (78) naming file, line and column of the first thing that is wrong.
  package init(
    _ mappingModels: [MappingModel], from source: ManagedObjectModel, to destination: ManagedObjectModel,
    policies registry: PolicyRegistry = [:], unregistered: UnregisteredPolicies = .fail, earlier: [EarlierMapping] = []
  ) throws {
    let lowering = try PairLowering(mappingModels, from: source)
    sourceModel = lowering.source
    destinationModel = destination
    var all: [EntityMapping] = []
    var firsts: [String: EntityMapping] = [:]
    for model in lowering.models {
      try Self.check(model.sourceModelName, is: source.name, key: "source-model", in: model)
      try Self.check(model.destinationModelName, is: destination.name, key: "destination-model", in: model)
      for mapping in model.entityMappings {
        if let twin = firsts[mapping.name],
          twin.sourceEntityName != mapping.sourceEntityName
            || twin.destinationEntityName != mapping.destinationEntityName
        {
          throw GodwitError(
            .configuration, "mapping '\(mapping.name)' is listed twice, for different entities",
            location: mapping.locations["name"] ?? mapping.location, remedy: "give each mapping its own name")
        }
        if firsts[mapping.name] == nil { firsts[mapping.name] = mapping }
        all.append(mapping)
      }
    }
    let resolver = MappingResolver(
      source: sourceModel, destination: destination, mappings: all, registry: registry, unregistered: unregistered,
      earlier: earlier)
    let resolved = try resolver.resolve()
    entityMappings = resolved
    policies = resolver.policies
    indexesByDestination = Dictionary(grouping: resolved.ids) { resolved[$0].destination.name }
    defaulted = all.compactMap { mapping in
      mapping.policyName.flatMap { registry[$0] == nil ? DefaultedPolicy(mapping: mapping.name, policy: $0) : nil }
    }
  }

  /// The mappings that make objects of an entity or of its subentities, in mapping order.
  func mappings(to entity: String) -> [ResolvedEntityMapping] {
    destinationModel.family(of: entity).flatMap { indexesByDestination[$0.name] ?? [] }.sorted().map {
      entityMappings[$0]
    }
  }

  private static func check(_ named: String?, is actual: String, key: String, in model: MappingModel) throws {
    guard let named, named != actual else { return }
    throw GodwitError(
      .configuration,
      "cannot use mapping file\(model.file.map { " '\($0)'" } ?? ""): its \(key) is '\(named)', the job's is '\(actual)'",
      location: model.locations[key], remedy: "list the mapping file for this step, or correct its \(key)")
  }
}

/// One entity mapping with its names resolved.
package struct ResolvedEntityMapping: Sendable, Numbered {
  package typealias NumberKind = NumberedMapping

  package indirect enum AttributeSource: Sendable, Hashable {
    /// The unchanged source attribute of that name.
    case copy(String)
    case expression(ValueExpression)
    /// The destination model's default, because nothing is mapped.
    case modelDefault
    /// The value of another source, with the destination model's default in place of nil.
    case defaultForNil(AttributeSource)

    /// The source of the value while it is not nil.
    package var withoutDefault: Self {
      if case .defaultForNil(let source) = self { source.withoutDefault } else { self }
    }
  }

  /// One relationship that is set, and the source of its objects.
  package struct RelationshipSource: Sendable, Hashable {
    package var relationship: RelationshipDescription
    /// Indices into `entityMappings`, in mapping order: whose results are taken.
    package var lookups: [MappingID]
    /// The source relationships from the source object to the objects looked up; empty: the object itself.
    package var path: [SourceRelationship]
    package var location: GodwitError.Location?
    /// The text of the expression, for messages.
    package var text: String
    /// The sort descriptors of an ordered relationship; empty where the order of the source stands.
    package var order: [EntityMapping.SortDescriptor] = []
    /// The call that the mapping's policy answers in place of lookups; nil for all others.
    var policyCall: ValueExpression?
    /// Why a lookup in a named mapping finds nothing, whatever the rows: the plan says so.
    var remark: String?
  }

  /// A relationship of the source model, seen from an entity.
  package struct SourceRelationship: Sendable, Hashable {
    package var entityName: String
    package var relationship: RelationshipDescription
  }

  /// Position in mapping order.
  package var index: MappingID
  package var mapping: EntityMapping
  package var name: String { mapping.name }
  package var source: EntityDescription
  package var destination: EntityDescription
  package var filter: FilterPredicate?
  /// Every stored attribute of the destination entity, by name.
  package var attributes: [(attribute: AttributeDescription, source: AttributeSource)]
  /// The relationships that are mapped, by name.
  package var relationships: [RelationshipSource]
  /// For a mapping of an earlier job, which makes nothing here; nil for the job's own.
  package var earlier: EarlierMapping?
  /// The keys of source objects that a plan leaves out, as a run sets them aside: a filter cannot be computed for them.
  var uncomputable: [Int64] = []

  /// The condition that a row is not among `uncomputable`; nil where nothing is.
  func isComputable(row alias: String) -> String? {
    uncomputable.isEmpty ? nil : "\(alias).Z_PK NOT IN (\(uncomputable.map(String.init).joined(separator: ", ")))"
  }
}

extension ResolvedEntityMapping {
  /// Whether the objects that become one have an order that the keys alone do not give.
  var ordersUnique: Bool { !mapping.uniqueOrder.isEmpty || mapping.fillsNil }

  /// Whether nil in the first of several objects takes the value of another.
  func fills(_ attribute: AttributeDescription, from source: AttributeSource) -> Bool {
    mapping.fillsNil && !mapping.uniqueBy.contains(attribute.name) && source.withoutDefault != .modelDefault
  }
}
