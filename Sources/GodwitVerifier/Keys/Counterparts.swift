import Foundation
import GodwitModel
import GodwitStore

/// Which source objects a mapping takes, and under which keys their objects should lie.
///
/// The *winner* of a source object is the one that gave the destination object its key: itself, or with `unique-by` the
/// first of its kind.
final class Counterparts: Numbered {
  typealias NumberKind = NumberedMapping

  /// The rule that gives a destination object its key from its winner.
  enum Place {
    /// No object can be that of the mapping.
    case none
    case shift(Int64)
    /// The first of a dense numbering.
    case start(Int64)
  }

  private(set) var taken: RankedKeySet
  /// The same without `unique-by`.
  let winners: RankedKeySet
  let isUnique: Bool
  var place = Place.none
  /// `source` and `winner`, only with `unique-by`.
  let table: String
  private let scratch: StoreConnection
  /// Held while the temporary tables are read.
  private let turn: NSLock
  private var search: SQLStatement?
  private var insertion: SQLStatement?
  private var members: SQLStatement?
  private var ordered: SQLStatement?

  init(mapping: MappingID, isUnique: Bool, scratch: StoreConnection, turn: NSLock, limit: ByteCount) throws {
    (self.isUnique, self.scratch, self.turn) = (isUnique, scratch, turn)
    table = "counterparts_\(mapping)"
    taken = RankedKeySet(scratch: scratch, table: "taken_\(mapping)", limit: limit)
    winners = isUnique ? RankedKeySet(scratch: scratch, table: "winners_\(mapping)", limit: limit) : taken
    guard isUnique else { return }
    try scratch.execute("CREATE TABLE temp.\(table) (source INTEGER PRIMARY KEY, winner INTEGER, turn INTEGER)")
    insertion = try scratch.prepare("INSERT INTO temp.\(table) (source, winner, turn) VALUES (?1, ?2, ?3)")
    search = try scratch.prepare("SELECT winner FROM temp.\(table) WHERE source = ?1")
  }

  /// - Parameters:
  ///   - source: Above every one before.
  ///   - turn: The number of the object among those of its kind, from 1, where they have an order.
  func add(_ source: Int64, winner: Int64, turn: Int64 = 0) throws {
    try taken.append(source)
    guard let insertion else { return }
    if source == winner { try winners.append(source) }
    insertion.bind(source, at: 1)
    insertion.bind(winner, at: 2)
    insertion.bind(turn, at: 3)
    try insertion.runBound()
  }

  func finish() {
    taken.finish()
    winners.finish()
    insertion?.finalize()
    insertion = nil
  }

  /// Whether keys are in a temporary table, whose walks are for one thread.
  var isSpilled: Bool { taken.isSpilled || winners.isSpilled }

  /// Leaves only some of the objects.
  func keep(_ some: RankedKeySet) { taken = some }

  /// nil for an object that is not taken.
  func winner(of source: Int64) throws -> Int64? {
    guard let search else { return try taken.contains(source) ? source : nil }
    // Several threads may look up, and a connection is for one at a time.
    return try turn.withLock {
      search.reset()
      search.bind(source, at: 1)
      defer { search.reset() }
      return try search.step() ? search.row.int64(0) : nil
    }
  }

  /// The source objects of one destination object from the second on, in the order of the mapping.
  func others(of winner: Int64) throws -> [Int64] {
    // Several threads may look up, and a connection is for one at a time.
    try turn.withLock {
      if ordered == nil {
        try scratch.execute("CREATE INDEX temp.turn_\(table) ON \(table) (winner, turn)")
        ordered = try scratch.prepare("SELECT source FROM temp.\(table) WHERE winner = ?1 AND turn > 1 ORDER BY turn")
      }
      guard let ordered else { return [] }
      ordered.reset()
      ordered.bind(winner, at: 1)
      defer { ordered.reset() }
      var keys: [Int64] = []
      while try ordered.step() { keys.append(ordered.row.int64(0)) }
      return keys
    }
  }

  /// All source objects of one destination object, in the order of their keys.
  func forEachSource(of winner: Int64, _ body: (Int64) throws -> Void) throws {
    guard isUnique else { return try body(winner) }
    if members == nil {
      try scratch.execute("CREATE INDEX temp.winner_\(table) ON \(table) (winner, source)")
      members = try scratch.prepare("SELECT source FROM temp.\(table) WHERE winner = ?1 ORDER BY source")
    }
    guard let members else { return }
    members.reset()
    members.bind(winner, at: 1)
    while try members.step() { try body(members.row.int64(0)) }
    members.reset()
  }

  // MARK: Destination

  /// The key of the object that a source object became; nil when it became none.
  func destination(of source: Int64) throws -> Int64? {
    switch place {
    case .none: return nil
    case .shift(let shift):
      guard let winner = try winner(of: source) else { return nil }
      let (key, overflow) = winner.addingReportingOverflow(shift)
      return overflow ? nil : key
    case .start(let start):
      return try winner(of: source).flatMap { try winners.rank($0) }.map { start + $0 }
    }
  }

  /// The lowest and the highest key; nil without objects.
  var destinations: ClosedRange<Int64>? {
    guard winners.count > 0 else { return nil }
    switch place {
    case .none: return nil
    case .shift(let shift): return (winners.first + shift)...(winners.last + shift)
    case .start(let start): return start...(start + winners.count - 1)
    }
  }

  func makes(_ destination: Int64) throws -> Bool {
    guard let range = destinations, range.contains(destination) else { return false }
    switch place {
    case .none: return false
    case .shift(let shift): return try winners.contains(destination - shift)
    case .start: return true
    }
  }

  /// The source object that gave a destination object its key; nil for a dense numbering, which needs a walk.
  func source(of destination: Int64) throws -> Int64? {
    guard case .shift(let shift) = place, try makes(destination) else { return nil }
    return destination - shift
  }

  /// The objects of the mapping in the order of their keys.
  ///
  /// - Parameter first: The walk begins at or before this key of the destination.
  func walk(from first: Int64 = .min) throws -> Walk {
    switch place {
    case .none: return Walk(sources: try winners.walk(), place: place)
    case .shift(let shift):
      let (source, overflow) = first.subtractingReportingOverflow(shift)
      return Walk(sources: try winners.walk(from: overflow ? .min : source), place: place)
    case .start(let start):
      let (rank, overflow) = first.subtractingReportingOverflow(start)
      guard !overflow, rank > 0, let source = winners.key(ofRank: min(rank, winners.count - 1)) else {
        return Walk(sources: try winners.walk(), place: place)
      }
      return Walk(sources: try winners.walk(from: source), place: .start(start + min(rank, winners.count - 1)))
    }
  }

  struct Walk {
    fileprivate var sources: RankedKeySet.Walk
    fileprivate var place: Place

    mutating func next() throws -> (source: Int64, destination: Int64)? {
      guard let source = try sources.next() else { return nil }
      switch place {
      case .none: return nil
      case .shift(let shift): return (source, source + shift)
      case .start(let key):
        // No key follows the last one.
        place = .start(key &+ 1)
        return (source, key)
      }
    }
  }
}
