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

  /// About where the new objects of policies begin and end in a table, for cutting later stages.
  func policyBounds(root: String, program: StepProgram) -> [Int64] {
    guard let first = program.facts.freeKeys?[root] else { return [] }
    let makers = resolved.policies.compactMap(\.index).map { program.facts.mappings[$0] }
    let rows = makers.reduce(0) { $0 + $1.rows }
    let step = max(1, makers.map(\.chunkRows).min() ?? 1)
    var bounds: [Int64] = []
    var given: Int64 = 0
    while given < rows, case (let bound, false) = first.addingReportingOverflow(given) {
      bounds.append(bound)
      given += min(step, rows - given)
    }
    return bounds
  }
}
