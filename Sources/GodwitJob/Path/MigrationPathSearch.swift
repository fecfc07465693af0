import GodwitModel

/// The search for the shortest way from the first of some versions to the last.
///
/// The direct step is asked about first, and every other only when the way may lead over it: comparing two models is
/// the costly part, and a bundle of a hundred versions has five thousand pairs of them.
struct MigrationPathSearch {
  struct Hop: Hashable, Comparable {
    var start, end: Int
    func spans(_ other: Hop) -> Bool { start <= other.start && other.end <= end }
    static func < (a: Hop, b: Hop) -> Bool { (a.start, a.end) < (b.start, b.end) }
  }

  /// How a version is reached.
  private struct Way {
    /// The steps among them that are inferred.
    var inferred: Int
    /// The version before.
    var before: Int
  }

  let versions: [ManagedObjectModel]
  /// The mapping models that serve no step, and why not the first.
  let misses: [(origin: String, reason: String)]
  /// How many more serve no step because their models are none of these.
  let foreignCount: Int
  private let stages: [MigrationStage]
  /// Whether the versions have an order, so that no step goes back.
  private let isOrdered: Bool
  private let infers: Bool
  private let cache: InferenceCache?
  private let served: [Hop: [FoundMapping]]
  private let servedHops: [Hop]
  /// Why each step that was asked about cannot be taken; nil for one that can.
  private var known: [Hop: String?] = [:]
  private var ways: [Int: Way] = [0: Way(inferred: 0, before: 0)]

  /// How many mapping models for other models are listed one by one.
  static let limitForeign = 2

  init(
    versions: [ManagedObjectModel], mappings: [FoundMapping], stages: [MigrationStage], isOrdered: Bool = true,
    infers: Bool = true, cache: InferenceCache? = nil
  ) {
    self.infers = infers
    self.cache = cache
    self.versions = versions
    self.stages = stages
    self.isOrdered = isOrdered
    var served: [Hop: [FoundMapping]] = [:]
    var misses: [(origin: String, reason: String)] = []
    var foreign: [(origin: String, reason: String)] = []
    for mapping in mappings {
      let starts = versions.indices.filter { mapping.mayStart(versions[$0]) }
      let ends = versions.indices.filter { mapping.mayEnd(versions[$0]) }
      var isTaken = false
      for start in starts {
        for end in ends where isOrdered ? start < end : start != end {
          guard mapping.fit(versions[start], versions[end]) == .fits else { continue }
          served[Hop(start: start, end: end), default: []].append(mapping)
          isTaken = true
        }
      }
      guard !isTaken else { continue }
      var reason = "it serves no step"
      if versions.count > 1, case .differs(let text) = mapping.fit(versions[0], versions[1]) { reason = text }
      if starts.isEmpty && ends.isEmpty {
        foreign.append((mapping.origin, reason))
      } else {
        misses.append((mapping.origin, reason))
      }
    }
    // One may be misnamed; a repository full of them tells nothing.
    if foreign.count <= Self.limitForeign { misses += foreign }
    foreignCount = foreign.count <= Self.limitForeign ? 0 : foreign.count
    self.served = served
    self.misses = misses
    servedHops = served.keys.sorted()
  }

  /// The mapping models that serve a step.
  func mappings(from start: Int, to end: Int) -> [FoundMapping] { served[Hop(start: start, end: end)] ?? [] }

  /// The indices of the versions on the path with the fewest steps, then with the most mapping models; nil if there is
  /// none.
  mutating func way() -> [Int]? {
    let last = versions.count - 1
    guard last > 0 else { return nil }
    var frontier = [0]
    while !frontier.isEmpty, ways[last] == nil {
      reach(last, from: frontier)
      guard ways[last] == nil else { break }
      let before = frontier
      frontier = []
      for end in versions.indices where end != last && ways[end] == nil {
        reach(end, from: before)
        if ways[end] != nil { frontier.append(end) }
      }
    }
    guard ways[last] != nil else { return nil }
    var places = [last]
    while let place = places.last, place > 0, let way = ways[place] { places.append(way.before) }
    return places.reversed()
  }

  /// The last version that was reached.
  var furthest: Int { ways.keys.max() ?? 0 }

  /// Why a step cannot be taken; nil when it can, or nobody asked.
  func refusal(from start: Int, to end: Int) -> String? { known[Hop(start: start, end: end)] ?? nil }

  /// The shortest step without a mapping model that would complete the way, once `way()` has found none; up to a stage
  /// where it would skip one.
  var gap: (start: Int, end: Int) {
    let last = versions.count - 1
    var leading: Set = [last]
    // By start, the latest first: what leads on from a step's end is known before the step.
    for hop in servedHops.reversed() where leading.contains(hop.end) {
      if problem(hop) == nil { leading.insert(hop.start) }
    }
    var best = (start: 0, end: last)
    for start in ways.keys.sorted() {
      for end in leading where start < end && (end - start, start) < (best.end - best.start, best.start) {
        best = (start, end)
      }
    }
    return (best.start, stage(between: best.start, and: best.end) ?? best.end)
  }

  /// The first stage that a step would skip.
  private func stage(between start: Int, and end: Int) -> Int? {
    guard isOrdered, !stages.isEmpty, start < end else { return nil }
    return ((start + 1)..<end).first { place in
      stages.contains { $0.destinationModelName == versions[place].name }
    }
  }

  /// Finds the best step to a version from one of those that are a step nearer.
  private mutating func reach(_ end: Int, from frontier: [Int]) {
    var best: Way?
    let starts = frontier.filter { isOrdered ? $0 < end : $0 != end }
    for start in starts where served[Hop(start: start, end: end)] != nil {
      guard let way = ways[start], isPassable(Hop(start: start, end: end)) else { continue }
      if way.inferred < best?.inferred ?? .max { best = Way(inferred: way.inferred, before: start) }
    }
    // Comparing models comes last, and only where it can lead to a better way.
    let inferable = starts.filter { served[Hop(start: $0, end: end)] == nil }
      .compactMap { start in ways[start].map { Way(inferred: $0.inferred + 1, before: start) } }
      .sorted { ($0.inferred, $0.before) < ($1.inferred, $1.before) }
    for way in inferable {
      if let best, (best.inferred, best.before) < (way.inferred, way.before) { break }
      guard isPassable(Hop(start: way.before, end: end)) else { continue }
      best = way
      break
    }
    if let best { ways[end] = best }
  }

  private mutating func isPassable(_ hop: Hop) -> Bool {
    if let found = known[hop] { return found == nil }
    let found = problem(hop)
    known[hop] = .some(found)
    return found == nil
  }

  /// Why a step cannot be taken; nil when it can.
  private func problem(_ hop: Hop) -> String? {
    if let stop = stage(between: hop.start, and: hop.end) {
      return "it would skip the stage '\(versions[stop].name)'"
    }
    guard served[hop] == nil else { return nil }
    if !infers, !versions[hop.start].isCompatible(with: versions[hop.end].versionHashes) {
      return "no mapping model serves it"
    }
    if isOrdered, let inner = servedHops.first(where: hop.spans) {
      let (from, to) = (versions[inner.start].name, versions[inner.end].name)
      return "a mapping model serves '\(from)' to '\(to)', which inference would skip"
    }
    let (start, end) = (versions[hop.start], versions[hop.end])
    let refusals = cache?.refusals(from: start, to: end) ?? MappingInference.refusals(from: start, to: end)
    return refusals.isEmpty ? nil : refusals.map(\.description).asLines
  }
}
