public import GodwitModel

/// The object that a policy's hooks work with: Core Data's `NSMigrationManager`.
///
/// It lives for one call of a hook; the compiler keeps it from escaping. Everything a hook does commits with its chunk
/// or not at all.
public struct PolicyContext: ~Copyable {
  package let run: any PolicyHost

  package init(_ run: any PolicyHost) { self.run = run }

  /// The version before the step.
  public var sourceModel: ManagedObjectModel { run.sourceModel }
  /// The version after the step.
  public var destinationModel: ManagedObjectModel { run.destinationModel }

  /// Whether an earlier process began this mapping.
  ///
  /// `begin` then runs again, so that a policy can build up its own state. All that this call makes, associates and
  /// sets is dropped, because it is already in the store. The objects that it makes have the keys of the first call.
  public var isResuming: Bool { run.isResuming }

  /// Data that all policies of a step share. It commits with each chunk, so it survives the process.
  ///
  /// At most 8 MiB as a property list; more fails the chunk. Writing to it while `begin` runs again has no effect.
  public var userInfo: [String: PropertyListValue] {
    get { run.userInfo }
    nonmutating set { run.setUserInfo(newValue) }
  }

  // MARK: Core Data's default policy

  /// An object with the values that the mapping gives it for a source object. It is in no store until `insert`.
  ///
  /// The first one for the source object of the running hook takes the key that the mapping would give without a
  /// policy. All others take the next free key.
  public func createDestinationInstance(
    forSource source: ManagedObject, in mapping: EntityMapping
  ) throws -> ManagedObject {
    try run.makeObject(forSource: source, in: mapping)
  }

  /// The default of that hook: one object, inserted and associated.
  public func createDestinationInstances(forSource source: ManagedObject, in mapping: EntityMapping) throws {
    let object = try createDestinationInstance(forSource: source, in: mapping)
    try insert(object)
    associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
  }

  /// The default of that hook: relationships as the mapping says. One object of several sources takes a to-one from the
  /// source with the lowest key, and a to-many from all.
  public func createRelationships(forDestination destination: ManagedObject, in mapping: EntityMapping) throws {
    try run.setMappedRelationships(of: destination, in: mapping)
  }

  // MARK: Objects

  /// A new object of any entity of the destination, with the model's defaults. It is in no store until `insert`.
  ///
  /// The first one of the mapping's destination entity that `createDestinationInstances` makes from its source object
  /// takes the key that the mapping would give without a policy. All others take the next free key.
  public func createInstance(ofEntityNamed name: String) throws -> ManagedObject { try run.makeObject(name) }

  /// Writes a new object.
  ///
  /// - Throws: `.dataWrong` when a value that was set does not fit.
  public func insert(_ object: ManagedObject) throws { try run.write(object) }

  /// Writes an object that was inserted before and changed since.
  ///
  /// - Throws: `.dataWrong` when no policy made it: other objects are what their mapping says.
  public func save(_ object: ManagedObject) throws { try run.write(object) }

  /// A destination object by entity (or an ancestor's name) and key; nil when there is none.
  public func destinationInstance(ofEntityNamed name: String, key: Int64) throws -> ManagedObject? {
    try run.destinationObject(name, key: key)
  }

  /// The destination object of an entity or its subentities with that value; the one with the lowest key if there are
  /// several; nil if there is none. An index makes the search fast, so it can merge many source objects into one.
  public func destinationInstance(
    ofEntityNamed name: String, where attribute: String, equals value: AttributeValue
  ) throws -> ManagedObject? {
    try run.find(name, where: attribute, equals: value)
  }

  /// Objects of an entity or its subentities in key order: at most `limit`, after the given one.
  public func destinationInstances(
    ofEntityNamed name: String, after last: ManagedObject? = nil, limit: Int = 500
  ) throws -> [ManagedObject] {
    try run.objects(name, isSource: false, after: last?.key, limit: limit)
  }

  /// As `destinationInstances(ofEntityNamed:after:limit:)`, in the source.
  public func sourceInstances(
    ofEntityNamed name: String, after last: ManagedObject? = nil, limit: Int = 500
  ) throws -> [ManagedObject] {
    try run.objects(name, isSource: true, after: last?.key, limit: limit)
  }

  // MARK: Associations

  /// Records that the destination object was made from the source object. Lookups of the mapping then find it.
  ///
  /// It does not throw, like Core Data's, so that a policy can be ported line by line. After an error the hook fails
  /// when it returns: `.dataWrong` for a mapping without a policy, whose associations are computed.
  public func associate(
    sourceInstance source: ManagedObject, withDestinationInstance destination: ManagedObject, for mapping: EntityMapping
  ) {
    do { try run.associate(source, destination, mapping) } catch { run.note(error) }
  }

  /// The objects that a mapping of this or an earlier pass made from source objects, in their order; each object once.
  public func destinationInstances(
    forEntityMappingNamed name: String, sourceInstances: [ManagedObject]
  ) throws -> [ManagedObject] {
    try run.destinations(of: sourceInstances, mappings: try run.mappings(named: name))
  }

  /// The source objects that a mapping made destination objects from; each source object once.
  public func sourceInstances(
    forEntityMappingNamed name: String, destinationInstances: [ManagedObject]
  ) throws -> [ManagedObject] {
    try run.sources(of: destinationInstances, mappings: try run.mappings(named: name))
  }

  /// The objects that all mappings made from the targets of a relationship of the source.
  public func destinationInstances(
    forSourceRelationshipNamed name: String, sourceInstances: [ManagedObject]
  ) throws -> [ManagedObject] {
    let reached = try sourceInstances.flatMap { try $0.objects(name) }
    return try run.destinations(of: reached, mappings: run.mappingIDs)
  }

  // MARK: Relationships

  /// Replaces the objects that a relationship leads to. The inverse is updated too.
  ///
  /// One end must be an object that a policy made.
  public func setRelationship(_ name: String, of object: ManagedObject, to targets: [ManagedObject]) throws {
    try run.setRelationship(name, of: object, to: targets)
  }

  /// As `setRelationship(_:of:to:)` for a to-one.
  public func setRelationship(_ name: String, of object: ManagedObject, to target: ManagedObject?) throws {
    try run.setRelationship(name, of: object, to: target.map { [$0] } ?? [])
  }

  /// Adds one object to a to-many.
  public func add(_ target: ManagedObject, toRelationship name: String, of object: ManagedObject) throws {
    try run.add(target, toRelationship: name, of: object)
  }
}
