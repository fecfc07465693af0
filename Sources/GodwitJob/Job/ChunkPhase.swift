/// The work of a chunk. The order of cases is the order of execution within a step.
///
/// Indexes come before validation, because counts need the key's index; unique indexes last, because they check their
/// constraint.
package enum ChunkPhase: String, Sendable, Hashable, Codable, CaseIterable {
  /// Writes the pairs of an association that cannot be computed to its spill file.
  case associate
  /// Makes objects, with their attributes and the relationships that need no resolving.
  case create
  /// Gathers links that several assignments may displace, or makes join rows.
  case relate
  /// Runs a hook of a policy. The hooks of instance creation run before and after the chunks of their mapping.
  case policy
  /// Resolves collected links in assignment order and stores them.
  case resolve
  /// Builds an index.
  case index
  /// Numbers the order keys of an ordered relationship.
  case order
  /// Computes derived attributes.
  case derive
  /// Checks objects against the destination model.
  case validate
  /// Makes one of new objects and the objects of the destination that they are the same as.
  case meet
  /// Builds a unique index, which checks its constraint.
  case unique

  /// Whether SQLite sorts for a time in which it calls nobody back.
  package var isSilent: Bool { self == .index || self == .unique }
}
