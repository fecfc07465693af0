/// One unit of work, which commits together with its ledger entry.
///
/// Most chunks are one entity mapping, one stage and one half-open range of primary keys or one predicate that the user
/// gave. Index building and similar work also runs as chunks, so that it resumes in the same way.
package struct Chunk: Sendable, Hashable {
  /// Half-open; nil is minus or plus infinity.
  package struct KeyRange: Sendable, Hashable {
    package var lower: Int64?
    package var upper: Int64?
    package init(lower: Int64?, upper: Int64?) {
      self.lower = lower
      self.upper = upper
    }

    package static let all = KeyRange(lower: nil, upper: nil)
    /// The first key inside.
    package var first: Int64 { lower ?? .min }
    /// The last key inside.
    package var last: Int64 { upper.map { $0 &- 1 } ?? .max }
  }

  /// Position in execution order, from 0.
  package var id: Int
  /// From 1; 0 for work that belongs to no pass.
  package var pass: Int
  /// The kind of work, and its subject.
  package var work: ChunkWork
  /// The mapping's name, or what is built (`index ZPERSON_ZADDRESS_INDEX`).
  package var name: String
  package var range: KeyRange
  /// Rows that the plan expects it to read.
  package var rows: Int64

  package init(id: Int, pass: Int, work: ChunkWork, name: String, range: KeyRange, rows: Int64) {
    self.id = id
    self.pass = pass
    self.work = work
    self.name = name
    self.range = range
    self.rows = rows
  }

  /// The phase of the work.
  package var phase: ChunkPhase { work.phase }
  /// Index into the user's predicates; nil for a key range.
  package var predicate: Int? {
    if case .create(_, let predicate) = work { predicate } else { nil }
  }

  /// `chunk 17 (Person p40001 to p50000)` without the number.
  package func context(entityName: String) -> String {
    if let predicate { return "\(entityName), predicate \(predicate + 1)" }
    switch (range.lower, range.upper) {
    case (nil, nil): return "every \(entityName)"
    case (nil, let upper?): return "\(entityName) up to p\(upper &- 1)"
    case (let lower?, nil): return "\(entityName) from p\(lower)"
    case (let lower?, let upper?): return "\(entityName) p\(lower) to p\(upper &- 1)"
    }
  }
}
