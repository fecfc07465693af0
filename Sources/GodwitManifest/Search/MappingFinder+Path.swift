import Foundation
package import GodwitJob
package import GodwitModel
import Synchronization

/// The path between two versions, and a record of what the search found for it.
extension MappingFinder {
  /// - Parameters:
  ///   - way: The versions that a path may go through.
  ///   - all: All versions there are, for what a mapping model may have been meant for.
  ///   - log: Hears of every mapping model considered, and why it was or was not taken.
  /// - Throws: 69 with the nearest miss and the places that were searched.
  package func path(
    on way: Way, among all: () -> [ManagedObjectModel], log: @escaping @Sendable (String) -> Void
  ) throws -> (steps: [MigrationStep], record: MappingSearchRecord) {
    let found = try found(among: way.versions)
    let looked =
      "searched for mapping models in " + found.places.joined(separator: ", ")
      + (found.mappings.isEmpty ? ": none found" : "")
    log(looked)
    let record = Mutex(MappingSearchRecord())
    record.withLock {
      $0.add(looked)
      $0.emptyFolders = found.empty
    }
    var finder = MigrationPathFinder(
      models: way.versions, mappings: found.mappings.map(\.mapping), stages: way.stages, infers: way.infers
    ) { line in
      log(line)
      record.withLock { $0.add(line) }
    }
    let misses = Mutex<[(origin: String, line: String)]>([])
    finder.logMiss = { origin, line in misses.withLock { $0.append((origin, line)) } }
    do {
      let steps = try finder.path(from: way.source, to: way.destination)
      let missed = misses.withLock { $0 }
      if !missed.isEmpty, steps.contains(where: \.isInferred) {
        let all = all()
        for miss in missed
        where found.mappings.contains(where: {
          $0.mapping.origin == miss.origin && Self.isForNoStep($0.mapping, among: all)
        }) {
          record.withLock { $0.advise(miss.line) }
        }
      }
      for step in steps {
        for candidate in found.mappings
        where (step.origin ?? "").components(separatedBy: ", ").contains(candidate.mapping.origin) {
          guard let reason = candidate.staleness(step.sourceModel, step.destinationModel) else { continue }
          let line =
            "mapping model '\(candidate.mapping.origin)' is stale: \(reason); it is used because the names of its models match"
          log(line)
          record.withLock { $0.addAdvice(line) }
        }
      }
      return (steps, record.withLock { $0 })
    } catch var error as GodwitError where error.location == nil && error.code == .noPath {
      error.cause = [error.cause, looked].compactMap(\.self).joined(separator: "\n")
      throw error
    }
  }

  /// Whether a mapping model starts or ends at one of the versions, and leads from none to another: it was meant for an
  /// inferred step, maybe.
  private static func isForNoStep(_ mapping: FoundMapping, among versions: [ManagedObjectModel]) -> Bool {
    let starts = versions.filter(mapping.mayStart)
    let ends = versions.filter(mapping.mayEnd)
    guard !starts.isEmpty || !ends.isEmpty else { return false }
    return !starts.contains { start in
      ends.contains { $0.name != start.name && mapping.fit(start, $0) == .fits }
    }
  }

  /// The versions on the way, both ends included. All of them where the ends do not say.
  package static func namesBetween(_ source: String, _ destination: String, in names: [String]) -> [String] {
    guard let first = names.firstIndex(of: source), let last = names.lastIndex(of: destination), first <= last else {
      return names
    }
    return Array(names[first...last])
  }
}
