/// How the objects of one model version become objects of another, Core Data's `NSMappingModel`.
public struct MappingModel: Sendable, Hashable {
  /// The name of the source version as the file gives it; nil when it gives none.
  package var sourceModelName: String?
  /// The name of the destination version as the file gives it; nil when it gives none.
  package var destinationModelName: String?
  /// The entity mappings, in mapping order, which decides about lookups and displacement.
  public var entityMappings: [EntityMapping]
  /// The file of the mapping model, for messages.
  package var file: String?
  /// The places of the values of the file's own keys, such as `source-model`.
  package var locations: [String: GodwitError.Location] = [:]

  /// A mapping model.
  ///
  /// - Parameters:
  ///   - sourceModelName: The name of the source version, for choosing the mapping model; nil when that is left open.
  ///   - destinationModelName: The name of the destination version; nil when that is left open.
  ///   - entityMappings: In mapping order, which decides the order of lookups and which assignment wins.
  ///   - file: The file of the mapping model, for messages.
  public init(
    sourceModelName: String? = nil, destinationModelName: String? = nil,
    entityMappings: [EntityMapping], file: String? = nil
  ) {
    self.sourceModelName = sourceModelName
    self.destinationModelName = destinationModelName
    self.entityMappings = entityMappings
    self.file = file
  }

  /// The first entity mapping with a name.
  ///
  /// Setting it replaces that mapping in its place, or adds one at the end. Setting nil removes the mapping.
  ///
  /// ```swift
  /// mapping["PersonToAdult"]?.filter = try FilterPredicate("age >= 18")
  /// ```
  public subscript(name: String) -> EntityMapping? {
    get { entityMappings[name] }
    set { entityMappings[name] = newValue }
  }
}

extension [EntityMapping] {
  /// The first mapping with a name. Setting it replaces that mapping in its place, or adds one at the end. Setting nil
  /// removes it.
  ///
  /// ```swift
  /// mapping.entityMappings["PersonToAdult"]?.filter = try FilterPredicate("age >= 18")
  /// ```
  package subscript(name: String) -> EntityMapping? {
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
  /// The treatment of the objects that a mapping reads, Core Data's `NSEntityMappingType`.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Makes objects without a source; its policy says which.
    case add
    /// Leaves the source objects out.
    case remove
    /// Makes one object of each source object; the two entities have equal properties.
    case copy
    /// Makes one object of each source object, with other properties.
    case transform
    /// As `transform`; Core Data's kind of a mapping with a policy.
    case custom
  }

  /// A key path of the source entity, and whether its values ascend. nil is below every value, texts are compared byte by
  /// byte.
  public struct SortDescriptor: Sendable, Hashable, CustomStringConvertible {
    /// To-one relationships, and an attribute at the end: `modifiedAt`, `owner.name`.
    public var keyPath: String
    /// Whether lower values come first.
    public var isAscending: Bool

    /// - Parameter keyPath: To-one relationships, and an attribute at the end.
    public init(_ keyPath: String, ascending: Bool = true) { (self.keyPath, isAscending) = (keyPath, ascending) }

    /// - Parameter text: A key path, which `ASC` or `DESC` may follow. The result is nil for anything else.
    package init?(text: String) {
      let words = text.split(whereSeparator: \.isWhitespace)
      let directions = ["ASC": true, "DESC": false]
      guard let path = words.first, words.count <= 2,
        !path.split(separator: ".", omittingEmptySubsequences: false)
          .contains(where: \.isEmpty)
      else { return nil }
      var isAscending = true
      if words.count == 2 {
        guard let known = directions[words[1].uppercased()] else { return nil }
        isAscending = known
      }
      self.init(String(path), ascending: isAscending)
    }

    /// The key path, and `DESC` where values descend.
    public var description: String { isAscending ? keyPath : "\(keyPath) DESC" }

    /// The key path as an expression on a source object.
    package var expression: ValueExpression {
      ValueExpression(.keyPath(base: nil, segments: keyPath.split(separator: ".").map(String.init)))
    }
  }

  /// The mapping's name, which other mappings and policies look it up by.
  public var name: String
  /// The treatment of the objects that the mapping reads.
  public var kind: Kind
  /// The source entity; nil for a mapping of kind add.
  public var sourceEntityName: String?
  /// The destination entity; nil for a mapping of kind remove.
  public var destinationEntityName: String?
  /// A to-many relationship of the source entity: the mapping makes one object for each of its links, where
  /// `$source` is the object that has the relationship, and `$element` the object that it leads to. nil makes one
  /// object for each source object. Core Data has no such mapping.
  public var forEach: String?
  /// Takes only the source objects for which the predicate holds; nil takes all.
  public var filter: FilterPredicate?
  /// The name of a registered `EntityMigrationPolicy`.
  public var policyName: String?
  /// Destination attributes: the mapping makes one object for each distinct combination of their values.
  public var uniqueBy: [String] = []
  /// Whether objects that have nil in one of these attributes are merged too: nil is a value like others then.
  public var mergesNil = false
  /// The order of objects that become one, Core Data's `NSSortDescriptor`s on the source entity: the first gives the
  /// object its key and its values. Ties, and objects without descriptors, are in the order of their keys.
  public var uniqueOrder: [SortDescriptor] = []
  /// Whether an attribute that is nil in the first of these objects takes the first value that is not nil, in their
  /// order.
  public var fillsNil = false
  /// The values of the attributes. Attributes that are not listed take the model's default.
  public var attributeMappings: [AttributeMapping] = []
  /// The targets of the relationships. Relationships that are not listed stay empty.
  public var relationshipMappings: [RelationshipMapping] = []
  /// Texts for a policy.
  package var userInfo: [String: String] = [:]
  /// Texts for a policy about single properties of the destination, by property.
  package var propertyUserInfo: [String: [String: String]] = [:]
  /// The place of the mapping's name in its file; nil for a mapping made in code.
  package var location: GodwitError.Location?
  /// The places of the values of the mapping's keys, such as `source`.
  package var locations: [String: GodwitError.Location] = [:]

  /// A mapping that sets no property yet.
  ///
  /// - Parameters:
  ///   - name: The mapping's name, which other mappings and policies look it up by.
  ///   - kind: The treatment of the objects that the mapping reads.
  ///   - source: The source entity; nil for a mapping of kind add.
  ///   - destination: The destination entity; nil for a mapping of kind remove.
  public init(
    name: String, kind: Kind = .transform, source: String?, destination: String?
  ) {
    self.name = name
    self.kind = kind
    sourceEntityName = source
    destinationEntityName = destination
  }
}

extension EntityMapping {
  /// The expression that gives a destination attribute its value; nil when the mapping sets none.
  ///
  /// Setting it replaces the expression if the mapping sets the attribute already, and otherwise adds the attribute at
  /// the end. Setting nil removes the attribute.
  ///
  /// ```swift
  /// mapping["PersonToAdult"]?[attribute: "name"] = try ValueExpression("$source.fullName")
  /// ```
  ///
  /// - Parameter name: The name of an attribute of the destination entity. Planning the job checks that it exists.
  public subscript(attribute name: String) -> ValueExpression? {
    get { attributeMappings.first { $0.name == name }?.value }
    set {
      let position = attributeMappings.firstIndex { $0.name == name }
      switch (position, newValue) {
      case (let position?, let value?): attributeMappings[position].value = value
      case (let position?, nil): attributeMappings.remove(at: position)
      case (nil, let value?): attributeMappings.append(AttributeMapping(name: name, value: value))
      case (nil, nil): break
      }
    }
  }

  /// The target of a destination relationship; nil when the mapping does not set it.
  ///
  /// Setting it replaces the value if the mapping sets the relationship already, and otherwise adds the relationship at
  /// the end. Setting nil removes the relationship.
  ///
  /// ```swift
  /// mapping["PersonToAdult"]?[relationship: "home"] = .mapping("HouseToHome", keyPath: ["house"])
  /// ```
  ///
  /// - Parameter name: The name of a relationship of the destination entity. Planning the job checks that it exists.
  public subscript(relationship name: String) -> RelationshipMapping.Value? {
    get { relationshipMappings.first { $0.name == name }?.value }
    set {
      let position = relationshipMappings.firstIndex { $0.name == name }
      switch (position, newValue) {
      case (let position?, let value?):
        relationshipMappings[position].value = value
        // The place of the text that the value had.
        relationshipMappings[position].valueLocation = nil
      case (let position?, nil): relationshipMappings.remove(at: position)
      case (nil, let value?): relationshipMappings.append(RelationshipMapping(name: name, value: value))
      case (nil, nil): break
      }
    }
  }
}

/// The value of a destination attribute, an `NSPropertyMapping`.
public struct AttributeMapping: Sendable, Hashable {
  /// The destination attribute's name.
  public var name: String
  /// The value of the attribute, for example `try ValueExpression("$source.name")`.
  public var value: ValueExpression
  /// Whether nil becomes the default of the destination attribute, as in an inferred mapping from optional to required.
  package var usesDefaultForNil: Bool
  /// The place of the attribute's name in its file.
  package var location: GodwitError.Location?

  package init(
    name: String, value: ValueExpression, usesDefaultForNil: Bool = false, location: GodwitError.Location? = nil
  ) {
    self.name = name
    self.value = value
    self.usesDefaultForNil = usesDefaultForNil
    self.location = location
  }
}

/// Which destination objects a relationship leads to, an `NSPropertyMapping`.
public struct RelationshipMapping: Sendable, Hashable {
  /// How the destination objects are found.
  public enum Value: Sendable, Hashable {
    /// The results of the named mapping for the objects at the key path from `$source`
    /// (segments without `$source`; empty: `$source` itself).
    case mapping(String, keyPath: [String])
    /// The results of all mappings that took the objects of that source relationship.
    case sourceRelationship(String)
    /// The objects that an expression gives, usually a call of `$manager` or `$entityPolicy`.
    case expression(ValueExpression)
  }

  /// An end of the links for which a mapping with ``EntityMapping/forEach`` makes objects.
  public enum End: String, Sendable, Hashable, CaseIterable {
    /// The object that has the relationship.
    case source
    /// The object that the relationship leads to.
    case element
  }

  /// The destination relationship's name.
  public var name: String
  /// How the destination objects are found.
  public var value: Value
  /// For an ordered relationship, what decides about the order of its objects: key paths of the source objects that they
  /// are made of. Objects that they do not tell apart keep their order in the source, else they go by key. Empty: all
  /// of them do.
  public var order: [EntityMapping.SortDescriptor] = []
  /// For a look-up in a mapping with ``EntityMapping/forEach``, the end of the pairs at which the objects of the key path
  /// stand. In such a mapping itself, the end of its pair that is looked up.
  public var end: End?
  /// The place of the relationship's name in its file; nil for one made in code.
  package var location: GodwitError.Location?
  /// The places of the value's parts: `mapping`, `key-path`, `source-relationship`.
  package var valueLocation: GodwitError.Location?
  /// The place of `order-by`.
  package var orderLocation: GodwitError.Location?
  /// The place of `of`.
  package var endLocation: GodwitError.Location?

  package init(
    name: String, value: Value, location: GodwitError.Location? = nil,
    valueLocation: GodwitError.Location? = nil
  ) {
    self.name = name
    self.value = value
    self.location = location
    self.valueLocation = valueLocation
  }
}
