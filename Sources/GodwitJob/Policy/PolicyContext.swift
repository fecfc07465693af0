public import GodwitModel

/// What a policy's hooks work with, Core Data's `NSMigrationManager`.
///
/// It lives for one call of a hook; the compiler keeps it from escaping. Everything a hook does commits with its chunk
/// or not at all.
public struct PolicyContext: ~Copyable {
  let run: any PolicyHost

  package init(_ run: any PolicyHost) { self.run = run }

  /// The version before the step.
  public var sourceModel: ManagedObjectModel { run.sourceModel }
  /// The version after the step.
  public var destinationModel: ManagedObjectModel { run.destinationModel }

  /// Whether an earlier process began this mapping.
  ///
  /// `begin` then runs again, so that a policy can build up its own state. What it makes, associates and sets that time is
  /// set aside, as it is there already: the objects it makes have the keys that they had the first time.
  public var isResuming: Bool { run.isResuming }

  /// Facts that all policies of a step share and that outlive the process; they commit with each chunk.
  ///
  /// At most 8 MiB as a property list; more fails the chunk. Writing to it while `begin` runs again has no effect.
  public var userInfo: [String: PropertyListValue] {
    get { run.userInfo }
    nonmutating set { run.setUserInfo(newValue) }
  }

  // MARK: What Core Data's default policy does

  /// An object with the values that the mapping gives it for a source object. It is in no store until `insert`.
  ///
  /// The first one for the source object of the running hook takes the key that the mapping would give without a policy;
  /// every other takes the next free key.
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
  /// The first one of the mapping's destination entity that `createDestinationInstances` makes of its source object takes the
  /// key that the mapping would give without a policy; every other takes the next free key.
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

  /// The destination object of an entity or its subentities with that value, the one with the lowest key; nil when
  /// there is none. An index makes this cheap: meant for merging several source objects into one.
  public func destinationInstance(
    ofEntityNamed name: String, where attribute: String, equals value: AttributeValue
  ) throws -> ManagedObject? {
    try run.find(name, where: attribute, equals: value)
  }

  /// Objects of an entity or its subentities by key, so many at a time, after the one given.
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

  /// Says that one comes from the other. Relationships that look the mapping up follow it.
  ///
  /// Core Data's throws nothing, and a policy is ported as it is: what goes wrong fails the hook when it returns, with
  /// `.dataWrong` for a mapping without a policy, whose associations are computed.
  public func associate(
    sourceInstance source: ManagedObject, withDestinationInstance destination: ManagedObject, for mapping: EntityMapping
  ) {
    do { try run.associate(source, destination, mapping) } catch { run.note(error) }
  }

  /// What a mapping of this or an earlier pass made of source objects, in their order; each object once.
  public func destinationInstances(
    forEntityMappingNamed name: String, sourceInstances: [ManagedObject]
  ) throws -> [ManagedObject] {
    try run.destinations(of: sourceInstances, mappings: try run.mappings(named: name))
  }

  /// What destination objects came from under a mapping; each source object once.
  public func sourceInstances(
    forEntityMappingNamed name: String, destinationInstances: [ManagedObject]
  ) throws -> [ManagedObject] {
    try run.sources(of: destinationInstances, mappings: try run.mappings(named: name))
  }

  /// What all mappings made of the objects that a relationship of the source leads to.
  public func destinationInstances(
    forSourceRelationshipNamed name: String, sourceInstances: [ManagedObject]
  ) throws -> [ManagedObject] {
    let reached = try sourceInstances.flatMap { try $0.objects(name) }
    return try run.destinations(of: reached, mappings: Array(0..<run.mappingCount))
  }

  // MARK: Relationships

  /// Sets what a relationship leads to, in place of what it led to; the inverse follows.
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
