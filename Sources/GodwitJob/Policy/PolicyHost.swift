package import GodwitModel
package import GodwitStore

/// Carries out the requests that the policies of a step make through `PolicyContext` and `ManagedObject`.
package protocol PolicyHost: AnyObject {
  var sourceModel: ManagedObjectModel { get }
  var destinationModel: ManagedObjectModel { get }
  /// Reads the objects of the source.
  var sourceContext: ObjectContext { get }
  /// The mappings of the step.
  var mappingIDs: [MappingID] { get }
  var isResuming: Bool { get }
  var userInfo: [String: PropertyListValue] { get }
  func setUserInfo(_ info: [String: PropertyListValue])

  /// Keeps an error that the hook fails with when it returns.
  func note(_ error: any Error)
  func makeObject(forSource source: ManagedObject, in mapping: EntityMapping) throws -> ManagedObject
  func makeObject(_ entityName: String) throws -> ManagedObject
  func write(_ object: ManagedObject) throws
  func destinationObject(_ entityName: String, key: Int64) throws -> ManagedObject?
  func find(_ entityName: String, where attribute: String, equals value: AttributeValue) throws -> ManagedObject?
  func objects(_ entityName: String, isSource: Bool, after last: Int64?, limit: Int) throws -> [ManagedObject]

  func associate(_ source: ManagedObject, _ destination: ManagedObject, _ mapping: EntityMapping) throws
  func mappings(named name: String) throws -> [MappingID]
  func destinations(of sources: [ManagedObject], mappings: [MappingID]) throws -> [ManagedObject]
  func sources(of destinations: [ManagedObject], mappings: [MappingID]) throws -> [ManagedObject]

  /// Hears that policies of a type have no `createRelationships` of their own.
  func noteDefaultRelationships(of type: any EntityMigrationPolicy.Type)
  func setMappedRelationships(of object: ManagedObject, in mapping: EntityMapping) throws
  func setRelationship(_ name: String, of object: ManagedObject, to targets: [ManagedObject]) throws
  func add(_ target: ManagedObject, toRelationship name: String, of object: ManagedObject) throws
  func related(_ object: ManagedObject, _ relationship: String) throws -> [ManagedObject]
}
