/// One unit of work: what commits together with the ledger entry that vouches for it.
///
/// Most chunks are one entity mapping, one stage and one half-open range of primary keys or one
/// predicate of the user's; index building and the like are chunks too, so that they resume alike.
public struct Chunk: Sendable, Hashable {
  /// What is done. The order of cases is the order of execution within a step.
  public enum Stage: String, Sendable, Hashable, Codable, CaseIterable {
    /// Pairs of an association that cannot be computed are written to its spill file.
    case associate
    /// Objects are made, with their attributes and the relationships that need no resolving.
    case create
    /// Links that several assignments may displace are gathered, or join rows made.
    case relate
    /// A hook of a policy runs; those of instance creation stand around the chunks of their mapping.
    case policy
    /// Gathered links are resolved by assignment order and stored.
    case resolve
    /// An index is built.
    case index
    /// Order keys of an ordered relationship are numbered.
    case order
    /// Derived attributes are computed.
    case derive
    /// Objects are checked against the destination model.
    case validate
    /// A uniqueness constraint is checked and its index built.
    case unique
  }

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
    package var last: Int64 { upper.map { $0 - 1 } ?? .max }
  }

  /// Position in execution order, from 0.
  package var id: Int
  /// From 1; 0 for work that belongs to no pass.
  package var pass: Int
  package var stage: Stage
  /// The mapping's name, or what is built (`index ZPERSON_ZADDRESS_INDEX`).
  package var name: String
  /// Index of the mapping, link, index or rule, by stage.
  package var subject: Int
  /// Within one subject: which relationship, look-up or hook, by stage.
  package var part: Int
  package var range: KeyRange
  /// Index into the user's predicates; nil for a key range.
  package var predicate: Int?
  /// Rows that the plan expects it to read.
  package var rows: Int64

  package init(
    id: Int, pass: Int, stage: Stage, name: String, subject: Int, part: Int, range: KeyRange, predicate: Int? = nil,
    rows: Int64
  ) {
    self.id = id
    self.pass = pass
    self.stage = stage
    self.name = name
    self.subject = subject
    self.part = part
    self.range = range
    self.predicate = predicate
    self.rows = rows
  }

  /// `chunk 17 (Person p40001 to p50000)` without the number.
  package func site(entityName: String) -> String {
    if let predicate { return "\(entityName), predicate \(predicate + 1)" }
    switch (range.lower, range.upper) {
    case (nil, nil): return "every \(entityName)"
    case (nil, let upper?): return "\(entityName) up to p\(upper - 1)"
    case (let lower?, nil): return "\(entityName) from p\(lower)"
    case (let lower?, let upper?): return "\(entityName) p\(lower) to p\(upper - 1)"
    }
  }
}
