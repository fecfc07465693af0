package import GodwitJob
import GodwitModel
package import GodwitStore

extension ResolvedMapping {
  /// The counters of root entities that keep the source's keys. They continue the source's counters, so that the key of
  /// a deleted object is never used again.
  package func keptCounters(
    destination: StoreSchema, facts: PlanFacts
  ) -> [(Int, Int64)] {
    var counters: [Int: Int64] = [:]
    for mapping in entityMappings where mapping.earlier == nil {
      guard case .offset(0) = facts.mappings[mapping.index].keys,
        let root = destinationModel.root(of: mapping.destination.name),
        let number = destination.number(of: root.name),
        let sourceRoot = sourceModel.root(of: mapping.source.name)
      else { continue }
      counters[number] = max(counters[number] ?? 0, facts.highestKeys[sourceRoot.name] ?? 0)
    }
    return counters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
