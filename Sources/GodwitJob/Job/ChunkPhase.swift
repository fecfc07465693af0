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

  /// The row of the table of stages: a stage's name in messages, and what a row costs before costs are known.
  package struct Row: Sendable {
    /// Follows `pass 1 of 2,` in an error.
    package let title: String
    /// The time of a row, as a multiple of the time of making one object by SQL.
    package let weight: Double
    /// Instructions of SQLite's virtual machine.
    package let instructions: Double
    /// The time of a row, as a multiple of the time in which the planner reads a row of its sample.
    package let readings: Double

    fileprivate init(_ title: String, weight: Double, instructions: Double, readings: Double) {
      (self.title, self.weight, self.instructions, self.readings) = (title, weight, instructions, readings)
    }
  }

  package var row: Row {
    switch self {
    case .associate: Row("association", weight: 0.5, instructions: 25, readings: 1)
    case .create: Row("instance creation", weight: 1, instructions: 40, readings: 1.4)
    case .relate: Row("relationship creation", weight: 0.5, instructions: 40, readings: 1)
    case .policy: Row("policy", weight: 4, instructions: 300, readings: 3)
    case .resolve: Row("relationship creation", weight: 0.8, instructions: 60, readings: 1)
    case .index: Row("indexes", weight: 0.35, instructions: 14, readings: 0.3)
    case .order: Row("relationship creation", weight: 0.5, instructions: 40, readings: 1)
    case .derive: Row("derived attributes", weight: 0.5, instructions: 40, readings: 1)
    case .validate: Row("validation", weight: 0.15, instructions: 25, readings: 0.3)
    case .meet:
      Row("objects of the destination with the same values", weight: 0.5, instructions: 40, readings: 1)
    case .unique: Row("validation", weight: 0.35, instructions: 14, readings: 0.3)
    }
  }
}
