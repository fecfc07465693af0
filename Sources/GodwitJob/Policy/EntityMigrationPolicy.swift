public import GodwitModel

/// Code that carries out one entity mapping, Core Data's `NSEntityMigrationPolicy`.
///
/// The seven hooks are called in this order, which is Core Data's:
/// 1. `begin`, then `createDestinationInstances` for each source object in key order, then `endInstanceCreation`: one
///    mapping after the other, in mapping order.
/// 2. `createRelationships` for each associated destination object in the order of its first source object, then
///    `endRelationshipCreation`: again one mapping after the other.
/// 3. `performCustomValidation` of every mapping, then `end` of every mapping.
///
/// One instance serves a mapping for all stages of a run. A policy with state is a `final class`. Its state is lost
/// when the process dies: see `PolicyContext.isResuming`. A hook that is not implemented does what Core Data's default
/// policy does.
///
/// ```swift
/// struct SplitFullName: EntityMigrationPolicy {
///   func createDestinationInstances(
///     forSource person: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
///   ) throws {
///     var contact = try manager.createDestinationInstance(forSource: person, in: mapping)   // what `super` was
///     let names = try person.string("fullName")?.split(separator: " ", maxSplits: 1) ?? []
///     contact["givenName"] = names.first.map(AttributeValue.init) ?? .null
///     try manager.insert(contact)
///     manager.associate(sourceInstance: person, withDestinationInstance: contact, for: mapping)
///   }
/// }
/// ```
///
/// A hook must do the same whenever it gets the same stores: no clock, no random numbers, no network. An error that it
/// throws stops the run with status 65 (a `GodwitError` keeps its own status). The message names hook, object and
/// chunk.
///
/// Do not write a policy for what an expression or `unique-by` can do. These run set at a time in SQL, and the verifier
/// can prove them.
public protocol EntityMigrationPolicy {
  /// Goes into the digest of the job: a half-finished run is not resumed with another version. Default: `1`.
  var version: String { get }

  /// Called before the first object; in a resumed run again, with what it makes set aside (`PolicyContext.isResuming`).
  func begin(_ mapping: EntityMapping, with manager: inout PolicyContext) throws

  /// Makes none, one or several objects of one source object. Default: one, inserted and associated.
  func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext) throws

  /// Runs after the mapping's last object was made, before the next mapping begins.
  func endInstanceCreation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws

  /// Sets the relationships of one object. Default: as the mapping says.
  func createRelationships(
    forDestination destination: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext) throws

  /// Runs after the last `createRelationships` of the mapping.
  func endRelationshipCreation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws

  /// Looks at what was made and throws when it is wrong. The model's own rules are checked afterwards.
  func performCustomValidation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws

  /// Runs when every mapping has been validated.
  func end(_ mapping: EntityMapping, manager: inout PolicyContext) throws

  /// Answers `FUNCTION($entityPolicy, "selector:", …)` in an expression of the mapping.
  ///
  /// Objects among the arguments are `ManagedObject`s; `$manager`, `$destination` and the like come as nil. For a
  /// relationship the answer is objects of the destination. Default: an error that names the selector.
  func value(of call: ExpressionCall, in mapping: EntityMapping, manager: inout PolicyContext) throws -> EvaluatedValue
}

extension EntityMigrationPolicy {
  /// `1`.
  public var version: String { "1" }

  /// Does nothing.
  public func begin(_ mapping: EntityMapping, with manager: inout PolicyContext) throws {}

  /// Makes one object with the mapping's values, inserts it and associates it.
  public func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
  ) throws {
    try manager.createDestinationInstances(forSource: source, in: mapping)
  }

  /// Does nothing.
  public func endInstanceCreation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws {}

  /// Sets the relationships as the mapping says.
  public func createRelationships(
    forDestination destination: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
  ) throws {
    // The method of a type is this one for all objects or for none.
    manager.run.noteDefaultRelationships(of: type(of: self))
    try manager.createRelationships(forDestination: destination, in: mapping)
  }

  /// Does nothing.
  public func endRelationshipCreation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws {}

  /// Does nothing.
  public func performCustomValidation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws {}

  /// Does nothing.
  public func end(_ mapping: EntityMapping, manager: inout PolicyContext) throws {}

  /// Throws `.configuration` (78): the policy has no function of that name.
  public func value(
    of call: ExpressionCall, in mapping: EntityMapping, manager: inout PolicyContext
  ) throws -> EvaluatedValue {
    throw GodwitError(
      .configuration, "the policy of mapping '\(mapping.name)' does not answer '\(call.selector)'",
      remedy: "implement 'value(of:in:manager:)' in the policy, or correct the expression")
  }
}
