/// Results of comparisons of versions, so that no pair is compared twice.
///
/// Versions are distinguished by their names: use one cache for the versions of one bundle, on one thread.
package final class InferenceCache {
  private struct Pair: Hashable {
    var source, destination: String

    init(_ source: ManagedObjectModel, _ destination: ManagedObjectModel) {
      (self.source, self.destination) = (source.name, destination.name)
    }
  }

  private var refusals: [Pair: [MappingInference.Refusal]] = [:]
  private var ways: [Pair: [InferredLoss.Name: InferredLoss.Name]?] = [:]
  /// Whether a way follows renaming identifiers that are the name in the version before, which Core Data does not.
  private let followsIntent: Bool

  package init(followsIntent: Bool = false) { self.followsIntent = followsIntent }

  /// Why nothing can be inferred between two versions; empty when it can.
  package func refusals(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> [MappingInference.Refusal] {
    let pair = Pair(source, destination)
    if let known = refusals[pair] { return known }
    let found = MappingInference.refusals(from: source, to: destination)
    refusals[pair] = found
    return found
  }

  /// The names that inferred steps from version to version carry over to the last one, by their names in the first;
  /// nil if a step cannot be inferred.
  func way(through versions: [ManagedObjectModel]) -> [InferredLoss.Name: InferredLoss.Name]? {
    guard let last = versions.last else { return nil }
    // The ways of the later versions are those of an earlier question.
    var way: [InferredLoss.Name: InferredLoss.Name]?
    for (before, after) in zip(versions, versions.dropFirst()).reversed() {
      let pair = Pair(before, last)
      if let known = ways[pair] {
        way = known
        continue
      }
      let isLast = after.name == last.name
      if refusals(from: before, to: after).isEmpty, isLast || way != nil {
        let hop = InferredLoss.carried(from: before, to: after, followsIntent: followsIntent)
        way = isLast ? hop : hop.compactMapValues { way?[$0] }
      } else {
        way = nil
      }
      ways[pair] = .some(way)
    }
    return way
  }
}
