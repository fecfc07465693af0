/// What the planner counted and decided, fixed for the life of the job.
///
/// It lies in the ledger: a resumed run reads it there instead of counting again, so that a plan never
/// changes under a half-finished destination.
struct PlanFacts: Codable, Sendable, Equatable {
  /// How destination primary keys come from source primary keys.
  enum Keys: Codable, Sendable, Hashable {
    /// destination key = source key + offset; 0 keeps the key.
    case offset(Int64)
    /// destination keys count up from `first` in source key order.
    case dense(first: Int64)
  }

  struct Mapping: Codable, Sendable, Equatable {
    /// Source objects it takes.
    var rows: Int64
    var minimumKey: Int64
    var maximumKey: Int64
    var keys: Keys
    /// Rows per chunk.
    var chunkRows: Int64

    var isEmpty: Bool { rows == 0 }
  }

  /// Source objects of an entity, and what becomes of them.
  struct Entity: Codable, Sendable, Equatable {
    var name: String
    var rows: Int64
    /// Taken by at least one mapping.
    var taken: Int64
    /// Whether a mapping that makes objects names the entity as source.
    var isMapped: Bool
    /// Rows that bear the number of another entity, or of none; nil in ledgers of earlier versions.
    var foreignNumbers: Int64?
    /// Rows whose number is NULL.
    var missingNumbers: Int64?
  }

  /// Links of a relationship that lead to no object that the relationship can hold.
  struct LinksToNothing: Codable, Sendable, Equatable {
    /// `Entity.relationship`, of the entity that declares it.
    var relationship: String
    var count: Int64
  }

  /// By index of `ResolvedMapping.entityMappings`.
  var mappings: [Mapping]
  /// Every source entity with rows.
  var entities: [Entity]
  /// Pairs of mapping indices (lower first) that take some object twice.
  var overlaps: Set<[Int]>
  /// Source root entity name to the larger of `Z_MAX` and the highest key.
  var highestKeys: [String: Int64]
  /// `now()` of every expression: seconds since 2001.
  var now: Double
  /// Destination root entity name to the first key that no mapping gives; nil without policies.
  var freeKeys: [String: Int64]?
  /// Bytes of the source file and its write-ahead log.
  var sourceBytes: Int64
  /// For a job that appends: destination root entity name to the highest key in use before it. nil for a new store.
  var highestDestinationKeys: [String: Int64]?
  /// nil in ledgers of earlier versions.
  var linksToNothing: [LinksToNothing]?

  func overlap(_ a: Int, _ b: Int) -> Bool { a != b && overlaps.contains([min(a, b), max(a, b)]) }

  /// Whether no source object goes through two of the mappings.
  func areExclusive(_ indices: some Collection<Int>) -> Bool {
    let list = Array(indices)
    return list.indices.allSatisfy { i in list[(i + 1)...].allSatisfy { !overlap(list[i], $0) } }
  }
}
