/// What is done in a chunk. The order of cases is the order of execution within a step.
public enum ChunkPhase: String, Sendable, Hashable, Codable, CaseIterable {
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
