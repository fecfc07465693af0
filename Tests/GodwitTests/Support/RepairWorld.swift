import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A job with a quarantine, the edits of a person in the quarantine, and the same edits made by hand in a copy of the
/// source: `quarantine apply` must write that copy.
///
/// Each edit is written twice in plain SQL, once as it shows in the quarantine and once as it is in a whole store.
final class RepairWorld {
  let world: QuarantineWorld
  var folder: TemporaryFolder { world.folder }
  var repairedPath: String { folder.file("by-hand/source.sqlite") }
  var destination: String { folder.file("out/people.sqlite") }
  var quarantine: String { destination + Quarantine.suffix }

  init(seed: UInt64, people: Int = 40, broken: Int = 35) throws {
    world = try QuarantineWorld(seed: seed, people: people, broken: broken)
    try world.write(to: world.sourcePath)
    try FileManager.default.createDirectory(
      atPath: folder.file("by-hand"), withIntermediateDirectories: true)
    for name in ["source.sqlite", ".source_SUPPORT"] where FileManager.default.fileExists(atPath: folder.file(name)) {
      try FileManager.default.copyItem(atPath: folder.file(name), toPath: folder.file("by-hand/" + name))
    }
  }

  func job(_ path: String? = nil, rows: Int? = 7) throws -> MigrationJob {
    var job = try world.job(
      from: path ?? world.sourcePath, to: path == nil ? destination : folder.file("by-hand/people.sqlite"),
      chunkRows: rows, quarantine: Quarantine(maximumPercent: 100))
    job.receipt = .besideDestination
    return job
  }

  @discardableResult
  func run() throws -> MigrationSummary { try MigrationManager(job()).run() }

  /// The result of an ordinary run from the source that was repaired by hand.
  func expected() throws -> (content: [String], files: [String], quarantined: [QuarantineCount]) {
    let job = try job(repairedPath)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.file("by-hand"))
    where name.contains("people") {
      try FileManager.default.removeItem(atPath: folder.file("by-hand/" + name))
    }
    let summary = try MigrationManager(job).run()
    return (
      try QuarantineWorld.content(job.destinationPath), try InPlaceContent(job.destinationPath).files,
      summary.quarantined
    )
  }

  // MARK: Edits

  /// One of the two stores that an edit is written into.
  final class Store {
    let connection: StoreConnection
    let schema: StoreSchema

    init(_ path: String, _ model: ManagedObjectModel) throws {
      connection = try StoreConnection(path: path)
      schema = StoreSchema(model: model)
    }

    func set(_ key: Int64, _ column: String, _ value: SQLValue, table: String = "ZPERSON") throws {
      try connection.execute("UPDATE \(table) SET \(column) = ?1 WHERE Z_PK = ?2", [value, .integer(key)])
    }

    /// Sets a to-one of a person, with the number of the entity where the row has one.
    func link(_ key: Int64, _ name: String, to other: (entity: String, key: Int64)?, place: Int64? = nil) throws {
      guard case .foreignKey(let table, let column, let entity, let order) = schema.storage(of: name, in: "Person")
      else { throw GodwitError(.internalBug, "'\(name)' is no to-one") }
      try set(key, quoted(column), other.map { .integer($0.key) } ?? .null, table: table)
      if let entity {
        let number = other.flatMap { schema.number(of: $0.entity) }
        try set(key, quoted(entity), number.map { .int($0) } ?? .null, table: table)
      }
      if let order { try set(key, quoted(order), place.map { .integer($0) } ?? .null, table: table) }
    }

    func pair(_ key: Int64, _ other: Int64, isThere: Bool) throws {
      guard case .join(let join, let a, let b, _) = schema.storage(of: "friends", in: "Person") else { return }
      try connection.execute(
        isThere
          ? "INSERT OR IGNORE INTO \(quoted(join.name)) (\(quoted(a)), \(quoted(b))) VALUES (?1, ?2)"
          : "DELETE FROM \(quoted(join.name)) WHERE \(quoted(a)) = ?1 AND \(quoted(b)) = ?2",
        [.integer(key), .integer(other)])
    }

    func keys(_ sql: String) throws -> [Int64] {
      try connection.rows(sql).map { if case .integer(let key) = $0[0] { key } else { 0 } }
    }

    func link(of key: Int64, _ name: String) throws -> Int64? {
      guard case .foreignKey(_, let column, _, _) = schema.storage(of: name, in: "Person") else { return nil }
      return try connection.integer("SELECT \(quoted(column)) FROM ZPERSON WHERE Z_PK = ?1", [.integer(key)])
    }
  }

  /// Both stores, for edits of one and the same objects.
  struct Both {
    let held: Store
    let whole: Store
    let people: [Int64]
    let addresses: [Int64]
    var stores: [Store] { [held, whole] }

    /// Whether a to-one of a person leads to a person who is not in quarantine.
    func leadsOut(_ key: Int64, _ name: String) throws -> Bool {
      try whole.link(of: key, name).map { !people.contains($0) } ?? false
    }

    func close() throws { for store in stores { try store.connection.close() } }
  }

  func open(_ file: String? = nil) throws -> Both {
    let held = try Store(file ?? quarantine, try QuarantineModel.model(for: try QuarantineWorld.source))
    return Both(
      held: held, whole: try Store(repairedPath, try QuarantineWorld.source),
      people: try held.keys("SELECT Z_PK FROM ZPERSON ORDER BY 1"),
      addresses: try held.keys("SELECT Z_PK FROM ZADDRESS ORDER BY 1"))
  }

  func entity(_ key: Int64) -> String { world.people[Int(key) - 1].isEmployee ? "Employee" : "Person" }

  /// Edits objects of the quarantine and of the copy in the same way.
  ///
  /// - Parameter percent: How many of the objects become valid.
  func edit(_ file: String? = nil, seed: UInt64, percent: Int) throws {
    var random = SeededGenerator(seed: seed)
    let both = try open(file)
    let bound = try (
      both.people.filter { try both.leadsOut($0, "spouse") }, both.people.filter { try both.leadsOut($0, "spouseOf") }
    )
    for key in both.addresses where random.chance(percent) {
      for store in both.stores { try store.set(key, "ZSTREET", .text("new street \(key)"), table: "ZADDRESS") }
    }
    for key in both.people {
      if random.chance(percent) { try makeValid(key, both, &random) }
      guard random.chance(60) else { continue }
      let other = both.people[random.below(both.people.count)]
      switch random.below(5) {
      case 0: for store in both.stores { try store.link(key, "boss", to: (entity(other), other)) }
      case 1:
        // The quarantine alone does not tell whether a boss who is not in it is to go: that one stays.
        if let boss = try both.whole.link(of: key, "boss"), both.people.contains(boss) {
          for store in both.stores { try store.link(key, "boss", to: nil) }
        }
      case 2: for store in both.stores { try store.pair(key, other, isThere: true) }
      case 3: for store in both.stores { try store.pair(key, other, isThere: false) }
      default: try marry(key, other, both, bound)
      }
    }
    try both.close()
  }

  private func makeValid(_ key: Int64, _ both: Both, _ random: inout SeededGenerator) throws {
    let place = 1000 + key
    let address = try both.whole.link(of: key, "address")
    let new = address == nil && !both.addresses.isEmpty ? both.addresses[random.below(both.addresses.count)] : nil
    for store in both.stores {
      try store.set(key, "ZNAME", .text("repaired \(key)"))
      try store.set(key, "ZAGE", .integer(key % 50))
      if entity(key) == "Employee" { try store.set(key, "ZBADGE", .text("B\(key)")) }
      if let new { try store.link(key, "address", to: ("Address", new), place: place) }
    }
  }

  /// Gives one person another as spouse: whoever was there before is free.
  ///
  /// - Parameter bound: People whose `spouse`, or `spouseOf`, was not in quarantine. They are not freed again: without a
  ///   new partner the quarantine does not tell that they left the first one, who then stays.
  private func marry(_ key: Int64, _ other: Int64, _ both: Both, _ bound: (spouse: [Int64], spouseOf: [Int64])) throws {
    guard key != other else { return }
    let (old, left) = (try both.whole.link(of: key, "spouse"), try both.whole.link(of: other, "spouseOf"))
    guard !bound.spouseOf.contains(where: { $0 == old }), !bound.spouse.contains(where: { $0 == left }) else { return }
    // The ends of a link may disagree from the beginning: a partner who leads to a third person keeps that one.
    let freesOld = try old.map { try both.whole.link(of: $0, "spouseOf") == key } ?? false
    let freesLeft = try left.map { try both.whole.link(of: $0, "spouse") == other } ?? false
    for store in both.stores {
      // A partner who is not in quarantine has no row there.
      if let old, freesOld { try store.link(old, "spouseOf", to: nil) }
      if let left, freesLeft { try store.link(left, "spouse", to: nil) }
      try store.link(key, "spouse", to: (entity(other), other))
      try store.link(other, "spouseOf", to: (entity(key), key))
    }
  }
}
