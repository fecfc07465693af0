import CSQLite
import GodwitModel

/// The content of a store in a few numbers, whatever its pages, its row order and its counters of edits are.
///
/// Each object gives a digest of its entity, its key, and the names, types and values of its attributes. Each link
/// gives one of its relationship, its two keys and its place. The digests of an entity, or of a relationship, are
/// added modulo 2^128: the order does not matter, and no row makes up for another by accident.
///
/// A digest is SipHash-1-3 with 128 bits. Its key is the first half of the SHA-256 of these lines:
///
/// - An object: `godwit-checksum-1`, `entity`, the entity's name, then for each stored attribute, by name, its name and
///   type.
/// - A link: `godwit-checksum-1`, `relationship`, the entity's name, the relationship's name.
///
/// Its input is words of 64 bits, lowest byte first. `ChecksumTag` has the words of a value.
///
/// - An object: its primary key, then the value of each attribute, in that order.
/// - A to-one: the row's key, the value of its key; with an entity column, the first half of the key of the lines
///   `godwit-checksum-1`, `entity` and that entity's name; with an ordered inverse, the order key.
/// - A many-to-many: the values of the owner's and of the other key; if ordered, the order key.
///
/// A row with an unknown `Z_ENT` is one of the root entity, with the words 1 and that number after the key. In a link, an
/// entity column without a value gives 0, with an unknown number 1. Digests leave out `Z_OPT`.
package struct StoreChecksums: Sendable {
  /// The count and checksum of many objects or links.
  package struct Sum: Sendable, Hashable {
    package var count: Int64 = 0
    package var sum: UInt128 = 0

    package init() {}

    @inline(__always) mutating func add(_ digest: UInt128) {
      count &+= 1
      sum &+= digest
    }

    fileprivate mutating func add(_ other: Sum) { (count, sum) = (count &+ other.count, sum &+ other.sum) }

    /// The sum as 32 hexadecimal digits.
    package var checksum: String {
      let digits = String(sum, radix: 16)
      return String(repeating: "0", count: 32 - digits.count) + digits
    }
  }

  /// The objects of one entity, its subentities left out.
  package struct Entity: Sendable {
    package var name: String
    package var objects = Sum()
    /// The sum of the objects' counters of edits (`Z_OPT`), which are not part of the checksum.
    package var edits: Int64 = 0
    /// Objects that are not summed up: those of later jobs, and all others.
    package var laterObjects: Int64 = 0
    package var newerObjects: Int64 = 0

    fileprivate mutating func add(_ other: Entity) {
      objects.add(other.objects)
      edits &+= other.edits
      laterObjects += other.laterObjects
      newerObjects += other.newerObjects
    }
  }

  /// The links of one relationship, from the end at which they are stored.
  package struct Relationship: Sendable {
    package var entity: String
    package var name: String
    package var links = Sum()
    /// Links of objects that are not summed up: those of later jobs, and all others.
    package var laterLinks: Int64 = 0
    package var newerLinks: Int64 = 0

    fileprivate mutating func add(_ other: Relationship) {
      links.add(other.links)
      laterLinks += other.laterLinks
      newerLinks += other.newerLinks
    }
  }

  /// Up to which keys objects are summed up, by root entity. Others are counted.
  package struct Limits: Sendable {
    package var highest: [String: Int64]
    /// The keys that later jobs gave out: above the lower bound, up to the upper one.
    package var later: [String: [ClosedRange<Int64>]]

    package init(highest: [String: Int64], later: [String: [ClosedRange<Int64>]] = [:]) {
      (self.highest, self.later) = (highest, later)
    }
  }

  /// The job or application that a key belongs to.
  enum Owner {
    case receipt, later, other

    /// The owner of a link between two objects.
    func with(_ other: Owner) -> Owner {
      switch (self, other) {
      case (.receipt, .receipt): .receipt
      case (.other, _), (_, .other): .other
      default: .later
      }
    }
  }

  /// The limits of one root entity.
  struct KeyLimits {
    let highest: Int64
    private let later: [ClosedRange<Int64>]

    init(_ limits: Limits?, root: String) {
      highest = limits.map { $0.highest[root] ?? 0 } ?? .max
      later = limits?.later[root] ?? []
    }

    @inline(__always) func owner(of key: Int64) -> Owner { key <= highest ? .receipt : laterOwner(of: key) }

    private func laterOwner(of key: Int64) -> Owner { later.contains { $0.contains(key) } ? .later : .other }
  }

  /// In name order.
  package private(set) var entities: [Entity] = []
  /// In the order of entity and name.
  package private(set) var relationships: [Relationship] = []

  /// A part of a store whose rows are read together.
  enum Part {
    /// The rows of a table between two keys; nil for all of them.
    case rows(StoreSchema.EntityTable, ClosedRange<Int64>?)
    case links(StoreSchema.JoinTable)
  }

  /// A table of more keys is read in parts.
  private static let keysOfPart: Int64 = 20_000
  private static let limitParts: Int64 = 16

  /// All parts of a store, each row in one of them.
  static func parts(
    of connection: StoreConnection, database: String, schema: StoreSchema
  ) throws -> [Part] {
    var parts: [Part] = schema.joinTables.map { .links($0) }
    for table in schema.tables {
      let name = "\(StoreSchema.identifier(database)).\(StoreSchema.identifier(table.name))"
      guard let keys = try connection.keys(of: name),
        case (let span, false) = keys.upperBound.subtractingReportingOverflow(keys.lowerBound), span >= keysOfPart
      else {
        parts.append(.rows(table, nil))
        continue
      }
      parts += KeySpans(keys, parts: limitParts).map { .rows(table, $0) }
    }
    return parts
  }

  /// Reads a part of a store.
  ///
  /// - Parameters:
  ///   - connection: Has the store.
  ///   - database: The name under which it is attached.
  ///   - support: Where the store has its external files.
  ///   - isInPieces: Whether all rows are read as those with large values are.
  ///   - check: Called every few thousand rows; an error that it throws ends the reading.
  init(
    of part: Part, on connection: StoreConnection, database: String, schema: StoreSchema, support: ExternalFiles,
    limits: Limits?, inPieces isInPieces: Bool, check: () throws -> Void
  ) throws {
    switch part {
    case .rows(let table, let keys):
      let scan = try TableScan(
        table, schema, connection, database: database, support: support, marks: TableScan.marks(of: schema),
        limits: limits)
      try scan.run(keys, inPieces: isInPieces, check: check)
      (entities, relationships) = scan.result
    case .links(let join):
      relationships = try Self.links(
        of: join, schema.model, connection, database: database, limits: limits, check: check)
    }
  }

  /// The sum of all parts.
  init(_ parts: [StoreChecksums]) {
    let objects = parts.flatMap(\.entities).reduce(into: [String: Entity]()) { sums, part in
      sums[part.name, default: Entity(name: part.name)].add(part)
    }
    let links = parts.flatMap(\.relationships).reduce(into: [[String]: Relationship]()) { sums, part in
      sums[[part.entity, part.name], default: Relationship(entity: part.entity, name: part.name)].add(part)
    }
    entities = objects.values.sorted { Text($0.name) < Text($1.name) }
    relationships = links.values.sorted { (Text($0.entity), Text($0.name)) < (Text($1.entity), Text($1.name)) }
  }

  /// The key of the digests of one kind of object or link.
  static func key(_ lines: [String]) -> SipHash.Key {
    let digest = SHA256.hash(data: Array((["godwit-checksum-1"] + lines).joined(separator: "\n").utf8))
    return digest.withUnsafeBytes { bytes in
      SipHash.Key(
        low: UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)),
        high: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
  }

  static func key(entity: String, relationship: String) -> SipHash.Key {
    key(["relationship", entity, relationship])
  }

  /// The links of a many-to-many, from its first end; from the other too where that one has an order of its own.
  private static func links(
    of join: StoreSchema.JoinTable, _ model: ManagedObjectModel, _ connection: StoreConnection, database: String,
    limits: Limits?, check: () throws -> Void
  ) throws -> [Relationship] {
    var ends = [join]
    if !join.isReflexive, join.destinationOrderColumn != nil, let turned = join.turned { ends.append(turned) }
    func limit(_ entity: String) -> KeyLimits { KeyLimits(limits, root: model.root(of: entity)?.name ?? entity) }
    return try ends.map { end in
      var relationship = Relationship(entity: end.ownerEntityName, name: end.ownerRelationshipName)
      let hashKey = key(entity: relationship.entity, relationship: relationship.name)
      let (subjectLimit, objectLimit) = (limit(end.ownerEntityName), limit(end.destinationEntityName))
      let columns = [end.ownerColumn, end.destinationColumn, end.ownerOrderColumn].compactMap { $0 }
        .map(StoreSchema.identifier)
      // Without an index, because an index may differ from the table.
      let rows = join.rows(in: database) + (join.isReflexive ? "" : " NOT INDEXED")
      try RowFeed(connection).run(columns: columns, from: rows, check: check) { values, count in
        let owner = subjectLimit.owner(of: sqlite3_value_int64(values[0])).with(
          objectLimit.owner(of: sqlite3_value_int64(values[1])))
        switch owner {
        case .receipt:
          var hash = SipHash(hashKey)
          for place in 0..<count { try hash.add(values[place], files: nil) }
          relationship.links.add(hash.digest())
        case .later: relationship.laterLinks += 1
        case .other: relationship.newerLinks += 1
        }
      }
      return relationship
    }
  }
}
