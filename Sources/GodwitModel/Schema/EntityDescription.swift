/// An entity as its model declares it, Core Data's `NSEntityDescription`.
///
/// It lists its own properties only; ask the `ManagedObjectModel` for inherited ones.
public struct EntityDescription: Sendable, Hashable {
  public var name: String
  public var managedObjectClassName: String?
  public var superentityName: String?
  public var isAbstract: Bool
  /// The name in the earlier version (`elementID`); nil when it is the same.
  public var renamingIdentifier: String?
  public var versionHashModifier: String?
  public var userInfo: [String: String]
  /// Declared here, in the order of the file.
  public var attributes: [AttributeDescription]
  /// Declared here, in the order of the file.
  public var relationships: [RelationshipDescription]
  public var fetchedProperties: [FetchedPropertyDescription]
  public var fetchIndexes: [FetchIndexDescription]
  /// Old compound indexes: lists of property names.
  public var compoundIndexes: [[String]]
  /// Declared here: lists of property names.
  public var uniquenessConstraints: [[String]]

  public init(
    name: String, superentityName: String? = nil, isAbstract: Bool = false,
    attributes: [AttributeDescription] = [], relationships: [RelationshipDescription] = []
  ) {
    self.name = name
    self.superentityName = superentityName
    self.isAbstract = isAbstract
    self.attributes = attributes
    self.relationships = relationships
    userInfo = [:]
    fetchedProperties = []
    fetchIndexes = []
    compoundIndexes = []
    uniquenessConstraints = []
  }
}
