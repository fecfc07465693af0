/// How the objects of one model version become objects of another, Core Data's `NSMappingModel`.
public struct MappingModel: Sendable, Hashable {
  /// Model version names as the file gives them; nil when it gives none.
  public var sourceModelName: String?
  public var destinationModelName: String?
  /// In mapping order, which decides look-up order and displacement.
  public var entityMappings: [EntityMapping]
  /// The file it came from, for messages.
  public var file: String?
  /// Where the values of the file's own keys stand, such as `source-model`.
  public var locations: [String: GodwitError.Location] = [:]

  public init(
    sourceModelName: String? = nil, destinationModelName: String? = nil,
    entityMappings: [EntityMapping], file: String? = nil
  ) {
    self.sourceModelName = sourceModelName
    self.destinationModelName = destinationModelName
    self.entityMappings = entityMappings
    self.file = file
  }

  public subscript(name: String) -> EntityMapping? {
    get { entityMappings[name] }
    set { entityMappings[name] = newValue }
  }
}

extension [EntityMapping] {
  /// The first mapping with a name. Setting it replaces that mapping where it stands, or adds one at the end; nil
  /// removes it.
  ///
  /// ```swift
  /// mapping.entityMappings["PersonToAdult"]?.filter = try Predicate("age >= 18")
  /// ```
  public subscript(name: String) -> EntityMapping? {
    get { first { $0.name == name } }
    set {
      switch (firstIndex { $0.name == name }, newValue) {
      case (let index?, let mapping?): self[index] = mapping
      case (let index?, nil): remove(at: index)
      case (nil, let mapping?): append(mapping)
      case (nil, nil): break
      }
    }
  }
}

/// How the objects of one source entity become objects of one destination entity, `NSEntityMapping`.
///
/// Takes objects of exactly the source entity, not of its subentities.
public struct EntityMapping: Sendable, Hashable {
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    case add, remove, copy, transform, custom
  }

  public var name: String
  public var kind: Kind
  public var sourceEntityName: String?
  public var destinationEntityName: String?
  public var filter: FilterPredicate?
  /// The name of a registered `EntityMigrationPolicy`.
  public var policyName: String?
  /// Destination attributes; one object per distinct combination of their values.
  public var uniqueBy: [String]
  public var attributeMappings: [AttributeMapping]
  public var relationshipMappings: [RelationshipMapping]
  /// Texts for a policy.
  public var userInfo: [String: String]
  /// Texts for a policy about single properties of the destination, by property.
  public var propertyUserInfo: [String: [String: String]] = [:]
  public var location: GodwitError.Location?
  /// Where the values of the mapping's keys stand, such as `source`.
  public var locations: [String: GodwitError.Location] = [:]

  public init(
    name: String, kind: Kind = .transform, source: String?, destination: String?
  ) {
    self.name = name
    self.kind = kind
    sourceEntityName = source
    destinationEntityName = destination
    uniqueBy = []
    attributeMappings = []
    relationshipMappings = []
    userInfo = [:]
  }
}

/// An expression with the text it came from.
public struct ParsedExpression: Sendable, Hashable {
  public var expression: ValueExpression
  public var source: SourceText
  public init(_ expression: ValueExpression, source: SourceText) {
    self.expression = expression
    self.source = source
  }
}

/// What a destination attribute becomes, an `NSPropertyMapping`.
public struct AttributeMapping: Sendable, Hashable {
  public var name: String
  public var value: ParsedExpression
  /// Whether nil becomes the default of the destination attribute, as in an inferred mapping from optional to required.
  public var usesDefaultForNil: Bool
  /// Where the attribute's name stands.
  public var location: GodwitError.Location?

  public init(
    name: String, value: ParsedExpression, usesDefaultForNil: Bool = false, location: GodwitError.Location? = nil
  ) {
    self.name = name
    self.value = value
    self.usesDefaultForNil = usesDefaultForNil
    self.location = location
  }
}

/// Which destination objects a relationship leads to, an `NSPropertyMapping`.
public struct RelationshipMapping: Sendable, Hashable {
  public enum Value: Sendable, Hashable {
    /// The results of the named mapping for the objects at the key path from `$source`
    /// (segments without `$source`; empty: `$source` itself).
    case mapping(String, keyPath: [String])
    /// The results of whichever mappings carried the objects of that source relationship.
    case sourceRelationship(String)
    case expression(ParsedExpression)
  }

  public var name: String
  public var value: Value
  public var location: GodwitError.Location?
  /// Where the value's parts stand: `mapping`, `key-path`, `source-relationship`.
  public var valueLocation: GodwitError.Location?

  public init(
    name: String, value: Value, location: GodwitError.Location? = nil,
    valueLocation: GodwitError.Location? = nil
  ) {
    self.name = name
    self.value = value
    self.location = location
    self.valueLocation = valueLocation
  }
}
