import Godwit
import GodwitCLI

/// Entries whose name begins with "a" do not alert.
struct QuietEntries: EntityMigrationPolicy {
  func createDestinationInstances(
    forSource entry: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
  ) throws {
    var made = try manager.createDestinationInstance(forSource: entry, in: mapping)
    made["doNotAlert"] = .boolean(try entry.string("name")?.hasPrefix("a") == true)
    try manager.insert(made)
    manager.associate(sourceInstance: entry, withDestinationInstance: made, for: mapping)
  }
}

/// The whole command line, with this policy in it.
@main struct TodoMigration {
  static func main() { GodwitCommand.main(policies: ["QuietEntries": { QuietEntries() }]) }
}
