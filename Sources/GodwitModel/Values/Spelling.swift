/// Finds the name a writer probably meant.
package enum Spelling {
  /// The candidate with the smallest edit distance to `name`, when it is near enough to be a
  /// plausible slip (at most a third of the length, at least 2 edits for short names). Something of the name must stay:
  /// no name of one letter is a slip of another. Blanks count only between names that are equally near.
  package static func nearest(to name: String, among candidates: some Sequence<String>) -> String? {
    let target = letters(of: name)
    let near = candidates.compactMap { candidate -> Near? in
      let distance = editDistance(target, letters(of: candidate))
      guard distance <= max(2, target.count / 3), distance < max(target.count, candidate.unicodeScalars.count) else {
        return nil
      }
      let whole = editDistance(Array(name.lowercased().unicodeScalars), Array(candidate.lowercased().unicodeScalars))
      return Near(name: candidate, distance: distance, whole: whole)
    }
    return near.min()?.name
  }

  private struct Near: Comparable {
    var name: String
    /// The distance without blanks, and that with them.
    var distance, whole: Int

    static func < (a: Near, b: Near) -> Bool { (a.distance, a.whole, a.name) < (b.distance, b.whole, b.name) }
  }

  /// ` (did you mean 'x'?)`, or an empty string when nothing is near.
  package static func suggestion(for name: String, among candidates: some Sequence<String>) -> String {
    nearest(to: name, among: candidates).map { " (did you mean '\($0)'?)" } ?? ""
  }

  /// The same, and where nothing is near, the shortest candidate that contains the name: many name their entities
  /// `BookmarkEntity`, and think of them as `Bookmark`.
  package static func suggestion(forPartOf name: String, among candidates: some Sequence<String>) -> String {
    let candidates = Array(candidates)
    let near = suggestion(for: name, among: candidates)
    guard near.isEmpty, name.count >= 3 else { return near }
    let part = name.lowercased()
    let longer = candidates.filter { $0.lowercased().contains(part) }
    let best = longer.min { ($0.count, $0) < ($1.count, $1) }
    return best.map { " (did you mean '\($0)'?)" } ?? ""
  }

  private static func letters(of name: String) -> [Unicode.Scalar] {
    name.lowercased().unicodeScalars.filter { !$0.properties.isWhitespace }
  }

  private static func editDistance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
    guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
    guard a.count <= 200, b.count <= 200 else { return a == b ? 0 : .max }
    var previous = Array(0...b.count)
    for (i, x) in a.enumerated() {
      var current = [i + 1]
      current.reserveCapacity(b.count + 1)
      for (j, y) in b.enumerated() {
        current.append(min(previous[j + 1] + 1, current[j] + 1, previous[j] + (x == y ? 0 : 1)))
      }
      previous = current
    }
    return previous[b.count]
  }
}
