/// A hook of `EntityMigrationPolicy`. Ledgers hold the numbers.
package enum PolicyHook: Int, Sendable, CaseIterable {
  case begin, endInstanceCreation, createRelationships, endRelationshipCreation, performCustomValidation, end
  /// Not a chunk of the policy stage: its chunks are those of instance creation.
  case createDestinationInstances

  /// The name of the method, which is that of the case.
  package var name: String { "\(self)" }
}
