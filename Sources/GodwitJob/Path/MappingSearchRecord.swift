/// The findings of a search for mapping models, in lines for the plan.
package struct MappingSearchRecord: Sendable {
  /// Where the search looked, and how it used each mapping model that it found.
  package private(set) var lines: [String] = []
  /// The lines that the owner of the job should act on: a mapping model that is stale or serves no two versions, and
  /// the hints.
  package private(set) var advice: [String] = []
  /// Which stages would keep what the path loses.
  package private(set) var hints: [String] = []

  /// The folders under `mapping-search` that have no mapping model in them.
  package var emptyFolders: [String] = []
  /// Mapping models nearby that were not searched and would serve an inferred step.
  package var unsearched: [String] = []

  package init() {}

  package mutating func add(_ line: String) { lines.append(line) }

  /// Makes a line that was added a piece of advice.
  package mutating func advise(_ line: String) { advice.append(line) }

  package mutating func addAdvice(_ line: String) {
    lines.append(line)
    advice.append(line)
  }

  package mutating func addHint(_ line: String) {
    addAdvice(line)
    hints.append(line)
  }
}
