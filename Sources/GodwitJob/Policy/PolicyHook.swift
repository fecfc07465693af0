/// A hook of `EntityMigrationPolicy`. Ledgers hold the numbers.
package enum PolicyHook: Int, Sendable, CaseIterable {
  case begin, endInstanceCreation, createRelationships, endRelationshipCreation, performCustomValidation, end
  /// Not a chunk of the policy stage: its chunks are those of instance creation.
  case createDestinationInstances

  package var name: String {
    switch self {
    case .begin: "begin"
    case .createDestinationInstances: "createDestinationInstances"
    case .endInstanceCreation: "endInstanceCreation"
    case .createRelationships: "createRelationships"
    case .endRelationshipCreation: "endRelationshipCreation"
    case .performCustomValidation: "performCustomValidation"
    case .end: "end"
    }
  }
}
