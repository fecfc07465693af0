/// An entity as its model declares it, Core Data's `NSEntityDescription`.
///
/// It lists only its own properties. The `ManagedObjectModel` has the inherited ones.
public struct EntityDescription: Sendable, Hashable {
  /// The entity's name.
  public var name: String
  /// The name of the class that the application gives objects of the entity; nil for `NSManagedObject`.
  package var managedObjectClassName: String?
  /// The name of the parent entity; nil for a root.
  public var superentityName: String?
  /// Whether only subentities have objects.
  public var isAbstract: Bool
  /// The name in the earlier version (`elementID`); nil when it is the same.
  package var renamingIdentifier: String?
  /// A text that changes the version hash; nil for none.
  package var versionHashModifier: String?
  /// The entity's user info, as the model file gives it.
  package var userInfo: [String: String] = [:]
  /// Declared here, in the order of the file.
  public var attributes: [AttributeDescription]
  /// Declared here, in the order of the file.
  public var relationships: [RelationshipDescription]
  /// Declared here, in the order of the file.
  package var fetchedProperties: [FetchedPropertyDescription] = []
  /// The indexes that a store of the model gets for the entity.
  package var fetchIndexes: [FetchIndexDescription] = []
  /// Old compound indexes: lists of property names.
  package var compoundIndexes: [[String]] = []
  /// The uniqueness constraints that the entity declares: lists of property names.
  package var uniquenessConstraints: [[String]] = []

  package init(
    name: String, superentityName: String? = nil, isAbstract: Bool = false,
    attributes: [AttributeDescription] = [], relationships: [RelationshipDescription] = []
  ) {
    self.name = name
    self.superentityName = superentityName
    self.isAbstract = isAbstract
    self.attributes = attributes
    self.relationships = relationships
  }
}

extension EntityDescription {
  /// The attributes that a store holds for those declared here, in the same order: see
  /// ``AttributeDescription/leaves``.
  package var leaves: [AttributeDescription] {
    attributes.contains { $0.type == .composite } ? attributes.flatMap(\.leaves) : attributes
  }
}
