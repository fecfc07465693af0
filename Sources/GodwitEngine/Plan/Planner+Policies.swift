import GodwitJob
import GodwitModel

extension Planner {
  /// Passes whose numbers never fall in mapping order: a policy may look at all that the mappings before it made.
  static func inMappingOrder(_ levels: [Int], of resolved: ResolvedMapping) -> [Int] {
    guard resolved.hasPolicies else { return levels }
    var highest = 0
    return levels.map { level in
      highest = max(highest, level)
      return highest
    }
  }

  /// The plan's entry for a mapping of kind add, which makes objects in its policy's hooks.
  func describe(_ policy: ResolvedPolicy) -> MigrationPlan.Mapping {
    MigrationPlan.Mapping(
      name: policy.mapping.name, source: "", destination: policy.mapping.destinationEntityName ?? "", filter: nil,
      lane: .object, reasons: ["policy \(policy.name)"], rows: 0, chunks: 0, keys: "new", association: "none",
      relationships: [:], policy: policy.name)
  }
}
