package import GodwitModel

/// Results of comparisons of versions, so that no pair is compared twice.
///
/// Versions are distinguished by their names: use one cache for the versions of one bundle, on one thread.
package final class InferenceCache {
  private struct Pair: Hashable {
    var source, destination: String
  }

  private var refusals: [Pair: [MappingInference.Refusal]] = [:]
  private var hops: [Pair: [InferredLoss.Name: InferredLoss.Name]] = [:]

  package init() {}

  /// Why nothing can be inferred between two versions; empty when it can.
  package func refusals(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> [MappingInference.Refusal] {
    let pair = Pair(source: source.name, destination: destination.name)
    if let known = refusals[pair] { return known }
    let found = MappingInference.refusals(from: source, to: destination)
    refusals[pair] = found
    return found
  }

  /// The names that an inferred step carries over, by their names before the step.
  func hop(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> [InferredLoss.Name: InferredLoss.Name] {
    let pair = Pair(source: source.name, destination: destination.name)
    if let known = hops[pair] { return known }
    let found = InferredLoss.carried(from: source, to: destination)
    hops[pair] = found
    return found
  }
}
