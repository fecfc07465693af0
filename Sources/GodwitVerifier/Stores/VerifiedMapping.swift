import GodwitJob
import GodwitModel

/// An entity mapping as the verifier reads it, with names looked up and nothing decided.
struct VerifiedMapping: Numbered {
  typealias NumberKind = NumberedMapping

  enum Value {
    /// The stored value of a source attribute.
    case stored(AttributeDescription)
    case expression(ValueExpression)
    /// The attribute's default.
    case standard
    /// Not to be known from the mapping.
    case unknown
  }

  struct Assignment {
    var relationship: RelationshipDescription
    /// Relationship names from the source object; empty: the object itself.
    var path: [String]
    /// Indices of the mappings whose objects it leads to.
    var lookups: [MappingID]
    /// The sort descriptors of the objects.
    var order: [EntityMapping.SortDescriptor] = []
  }

  var index: MappingID
  var name: String
  var sourceEntity: String
  var destinationEntity: String
  var filter: FilterPredicate?
  /// The value of `$entityMapping`.
  var bindings: MappingBindings
  var uniqueBy: [AttributeDescription]
  /// Whether two objects with a nil among these may be one.
  var mergesNil: Bool
  /// The order of objects that become one.
  var uniqueOrder: [EntityMapping.SortDescriptor]
  /// Whether nil in the first of them takes the value of another.
  var fillsNil: Bool
  var values: [String: Value]
  /// Attributes whose nil becomes the default.
  var nilIsDefault: Set<String>
  var assignments: [Assignment]
  /// Relationships that some expression sets which cannot be read.
  var unread: Int
  /// The registered policy that makes its objects; nil without one.
  var policyName: String?
  /// The number that is added to a source key, for a mapping of an earlier job, whose objects are targets and are not
  /// compared. nil for the job's own.
  var earlierOffset: Int64?

  /// The mappings that make objects, in mapping order; before them those of earlier jobs.
  static func all(
    of job: MigrationJob, at moment: JobClock, earlier: [(mapping: EntityMapping, offset: Int64)] = []
  ) throws -> [VerifiedMapping] {
    let own = job.mappingModels.flatMap(\.entityMappings)
    let makers = earlier.map(\.mapping) + own.filter { $0.kind != .add && $0.kind != .remove }
    return try makers.indices.map { index in
      var mapping = try VerifiedMapping(
        at: index, among: makers, earlier: earlier.count, names: Set(own.map(\.name)), job: job, moment: moment)
      if index < earlier.count { mapping.earlierOffset = earlier[index].offset }
      return mapping
    }
  }

  /// - Parameters:
  ///   - earlier: How many of the makers are those of earlier jobs.
  ///   - names: The names of the job's own mappings, which hide those of earlier ones.
  private init(
    at index: Int, among makers: [EntityMapping], earlier: Int, names: Set<String>, job: MigrationJob,
    moment: JobClock
  ) throws {
    let mapping = makers[index]
    let (from, to) = (job.sourceModel, job.destinationModel)
    guard let source = mapping.sourceEntityName, from.entity(source) != nil,
      let destination = mapping.destinationEntityName, to.entity(destination) != nil
    else {
      throw GodwitError(
        .configuration, "mapping '\(mapping.name)': expected entities of the two models, found others",
        location: mapping.location, remedy: "correct the mapping file and run the job")
    }
    self.index = MappingID(index)
    policyName = mapping.policyName.flatMap { job.policies[$0] == nil ? nil : $0 }
    name = mapping.name
    sourceEntity = source
    destinationEntity = destination
    filter = mapping.filter
    bindings = MappingBindings(mapping, property: nil)
    uniqueBy = mapping.uniqueBy.compactMap { to.attribute($0, of: destination) }
    mergesNil = mapping.mergesNil
    (uniqueOrder, fillsNil) = (mapping.uniqueOrder, mapping.fillsNil)
    values = [:]
    nilIsDefault = Set(mapping.attributeMappings.filter(\.usesDefaultForNil).map(\.name))
    for attribute in to.attributes(of: destination) where !attribute.isTransient {
      values[attribute.name] =
        policyName == nil ? Self.value(of: attribute, in: mapping, source: source, model: from, moment) : .unknown
    }
    assignments = []
    unread = 0
    guard policyName == nil else { return }
    for relationship in to.relationships(of: destination) where !relationship.isTransient {
      let given = mapping.relationshipMappings.first { $0.name == relationship.name }
      let entry =
        given?.value
        ?? (mapping.kind == .copy && to.isStored(relationship)
          && from.relationship(relationship.name, of: source).map(from.isStored) == true
          ? .sourceRelationship(relationship.name) : nil)
      guard let entry else { continue }
      var wanted: (name: String?, path: [String])
      switch entry {
      case .mapping(let name, let path): wanted = (name, path)
      case .sourceRelationship(let name): wanted = (nil, [name])
      case .expression(let parsed):
        if case .constant(.null) = parsed.node { continue }
        guard let read = Self.lookUp(parsed) else {
          unread += 1
          continue
        }
        wanted = read
      }
      wanted.path.removeAll { $0.hasPrefix("@") }
      let reached = try Self.entity(at: wanted.path, from: source, in: mapping, model: from)
      let lookups = makers.indices.filter { other in
        guard let taken = makers[other].sourceEntityName, let made = makers[other].destinationEntityName,
          wanted.name == nil || wanted.name == makers[other].name,
          other >= earlier || wanted.name.map({ !names.contains($0) }) ?? true
        else { return false }
        return (wanted.path.isEmpty ? taken == reached : from.isKind(taken, of: reached))
          && to.isKind(made, of: relationship.destinationEntityName)
      }
      assignments.append(
        Assignment(
          relationship: relationship, path: wanted.path, lookups: lookups.map { MappingID($0) },
          order: given?.order ?? []))
    }
  }

  /// The entity that a path of relationships leads to.
  private static func entity(
    at path: [String], from source: String, in mapping: EntityMapping, model: ManagedObjectModel
  ) throws -> String {
    var reached = source
    for segment in path {
      guard let next = model.relationship(segment, of: reached) else {
        throw GodwitError(
          .configuration, "mapping '\(mapping.name)': '\(reached)' has no relationship '\(segment)'",
          location: mapping.location, remedy: "correct the mapping file and run the job")
      }
      reached = next.destinationEntityName
    }
    return reached
  }

  /// The attribute of the source whose value an attribute takes unchanged; nil where the value is computed. It belongs to
  /// the source object, or to an object at an end of the link that a mapping with `for-each` takes.
  func original(of attribute: String, in model: ManagedObjectModel) -> AttributeDescription? {
    switch values[attribute] {
    case .stored(let from)?: return from
    case .expression(let expression)?:
      guard case .keyPath(let base?, let segments) = expression.node, case .variable("source") = base.node,
        let (entity, name) = Self.property(along: segments, of: sourceEntity, in: model)
      else { return nil }
      return model.attribute(name, of: entity)
    case .standard?, .unknown?, nil: return nil
    }
  }

  /// The property at the end of a path of one name, or of a name after an end of a link, with the entity of its object.
  static func property(
    along path: [String], of entity: String, in model: ManagedObjectModel
  ) -> (entity: String, name: String)? {
    if path.count == 1 { return (entity, path[0]) }
    guard path.count == 2, let pair = model.pairEntity(entity),
      let end = PairEntity.End.allCases.first(where: { $0.toOne == path[0] })
    else { return nil }
    return (pair.entityName(of: end), path[1])
  }

  /// Whether a value's bytes may be stored in a file, before or after.
  func isExternal(_ attribute: AttributeDescription) -> Bool {
    if attribute.allowsExternalBinaryDataStorage { return true }
    if case .stored(let from)? = values[attribute.name] { return from.allowsExternalBinaryDataStorage }
    return false
  }

  private static func value(
    of attribute: AttributeDescription, in mapping: EntityMapping, source: String, model: ManagedObjectModel,
    _ moment: JobClock
  ) -> Value {
    if attribute.isDerived { return .unknown }
    var given = mapping.attributeMappings.first { $0.name == attribute.name }?.value
    if given == nil, mapping.kind == .copy, model.attribute(attribute.name, of: source)?.isTransient == false {
      given = ValueExpression(.keyPath(base: ValueExpression(.variable("source")), segments: [attribute.name]))
    }
    guard let expression = given else { return .standard }
    if case .keyPath(let base?, let segments) = expression.node, case .variable("source") = base.node,
      segments.count == 1, let same = model.attribute(segments[0], of: source), !same.isTransient,
      isStored(same, as: attribute)
    {
      return moment.unknown.contains(same.name, of: source) ? .unknown : .stored(same)
    }
    let isUnknown =
      expression.callsPolicy || !moment.isKnown && expression.callsNow || moment.unknown.areRead(by: expression)
    return isUnknown ? .unknown : .expression(expression)
  }

  /// Whether the stored value of one attribute is the value of the other. A Boolean may be stored as any number, and
  /// another type accepts 0 or 1. A decimal may lack a value, which only a decimal can hold.
  private static func isStored(_ same: AttributeDescription, as attribute: AttributeDescription) -> Bool {
    ![.boolean, .decimal].contains(same.type) || attribute.type == same.type
  }

  /// Reads `FUNCTION($manager, "destinationInstancesFor…", "name", $source.path)`.
  private static func lookUp(_ expression: ValueExpression) -> (name: String?, path: [String])? {
    guard case .call(let operand, let selector, let arguments) = expression.node,
      case .variable("manager") = operand.node, arguments.count == 2,
      case .constant(.string(let name)) = arguments[0].node
    else { return nil }
    let path: [String]
    switch arguments[1].node {
    case .variable("source"): path = []
    case .keyPath(let base?, let segments):
      guard case .variable("source") = base.node else { return nil }
      path = segments
    default: return nil
    }
    switch selector {
    case "destinationInstancesForEntityMappingNamed:sourceInstances:": return (name.string, path)
    case "destinationInstancesForSourceRelationshipNamed:sourceInstances:": return (nil, path)
    default: return nil
    }
  }
}
