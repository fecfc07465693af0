package import GodwitModel

/// The counts and decisions of the planner, fixed for the life of the job.
///
/// It is stored in the ledger: a resumed run reads it there instead of counting again, so that a plan never
/// changes under a half-finished destination.
package struct PlanFacts: Codable, Sendable, Equatable {
  /// How destination primary keys come from source primary keys.
  package enum Keys: Codable, Sendable, Hashable {
    /// destination key = source key + offset; 0 keeps the key.
    case offset(Int64)
    /// destination keys count up from `first` in source key order.
    case dense(first: Int64)
  }

  package struct Mapping: Codable, Sendable, Equatable, Numbered {
    package typealias NumberKind = NumberedMapping

    /// Source objects it takes.
    package var rows: Int64
    package var minimumKey: Int64
    package var maximumKey: Int64
    package var keys: Keys
    /// Rows per chunk.
    package var chunkRows: Int64

    package init(rows: Int64, minimumKey: Int64, maximumKey: Int64, keys: Keys, chunkRows: Int64) {
      self.rows = rows
      self.minimumKey = minimumKey
      self.maximumKey = maximumKey
      self.keys = keys
      self.chunkRows = chunkRows
    }

    package var isEmpty: Bool { rows == 0 }
  }

  /// Source objects of an entity, and what becomes of them.
  package struct Entity: Codable, Sendable, Equatable {
    package var name: String
    package var rows: Int64
    /// Taken by at least one mapping.
    package var taken: Int64
    /// Whether a mapping that makes objects names the entity as source.
    package var isMapped: Bool

    package init(name: String, rows: Int64, taken: Int64, isMapped: Bool) {
      self.name = name
      self.rows = rows
      self.taken = taken
      self.isMapped = isMapped
    }
  }

  /// By index of `ResolvedMapping.entityMappings`.
  package var mappings: [Mapping]
  /// Every source entity with rows.
  package var entities: [Entity]
  /// Pairs of mapping indices (lower first) that take some object twice.
  @OrderedPairs package var overlaps: Set<[MappingID]>
  /// Source root entity name to the larger of `Z_MAX` and the highest key.
  package var highestKeys: [String: Int64]
  /// `now()` of every expression: seconds since 2001.
  package var now: Double
  /// Destination root entity name to the first key that no mapping gives; nil without policies.
  package var freeKeys: [String: Int64]?
  /// Bytes of the source file and its write-ahead log.
  package var sourceBytes: Int64
  /// For a job that appends: destination root entity name to the highest key in use before it. nil for a new store.
  package var highestDestinationKeys: [String: Int64]?

  package init(
    mappings: [Mapping], entities: [Entity], overlaps: Set<[MappingID]>, highestKeys: [String: Int64], now: Double,
    freeKeys: [String: Int64]? = nil, sourceBytes: Int64, highestDestinationKeys: [String: Int64]? = nil
  ) {
    self.mappings = mappings
    self.entities = entities
    self.overlaps = overlaps
    self.highestKeys = highestKeys
    self.now = now
    self.freeKeys = freeKeys
    self.sourceBytes = sourceBytes
    self.highestDestinationKeys = highestDestinationKeys
  }

  package func overlap(_ a: MappingID, _ b: MappingID) -> Bool { a != b && overlaps.contains([min(a, b), max(a, b)]) }

  /// Whether no source object goes through two of the mappings.
  package func areExclusive(_ indices: some Collection<MappingID>) -> Bool {
    let list = Array(indices)
    return list.indices.allSatisfy { i in list[(i + 1)...].allSatisfy { !overlap(list[i], $0) } }
  }
}

/// Pairs that are encoded in order, so that equal facts have one digest.
@propertyWrapper
package struct OrderedPairs: Sendable, Codable, Hashable {
  package var wrappedValue: Set<[MappingID]>

  package init(wrappedValue: Set<[MappingID]>) { self.wrappedValue = wrappedValue }

  package init(from decoder: any Decoder) throws {
    wrappedValue = try Set(decoder.singleValueContainer().decode([[MappingID]].self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue.sorted { $0.lexicographicallyPrecedes($1) })
  }
}
