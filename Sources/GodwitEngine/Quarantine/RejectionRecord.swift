import Foundation
package import GodwitJob
package import GodwitModel
package import GodwitStore

/// The source objects that a job has quarantined, and why: a small database in the work folder.
///
/// 1. A search for rejected objects goes part by part: a filter, a chunk, an entity. The findings in a part and the
///    mark that the part is done commit together, so a killed search continues where it was.
/// 2. When all parts are done, `finishRound` ends the round. The next round runs without the objects of those before.
///
/// The findings of a round depend only on the source and the rounds before it, never on chunks or interruptions. From
/// its first commit the record names its job and its source.
package final class RejectionRecord {
  /// An object that a mapping cannot carry over.
  struct Rejection {
    var entity: String
    var key: Int64
    var mapping: String
    /// The destination entity.
    var destination: String
    /// The destination property; nil for the object as a whole.
    var property: String?
    var message: String
  }

  /// The name under which other connections attach the record.
  package static let schema = "rejections"

  package let path: String
  let connection: StoreConnection

  package static func path(in folder: String) -> String { folder + "/rejected.sqlite" }

  package static func exists(in folder: String) throws -> Bool { try WorkFolder.exists(path(in: folder)) }

  private init(openingIn folder: String) throws {
    path = Self.path(in: folder)
    // The process creates the file, or opens an existing one. A journal that cannot be created is not a missing input.
    connection = try StoreConnection(path: path, cache: .mebibytes(8), create: true)
    // `status` may be reading when a part commits.
    try connection.execute("PRAGMA busy_timeout = 30000")
    try connection.execute("PRAGMA journal_mode = DELETE")
    // The end of a journal is durable too.
    try connection.execute("PRAGMA synchronous = EXTRA")
    try connection.execute("PRAGMA fullfsync = ON")
  }

  /// Makes the record of a work folder.
  ///
  /// - Parameters:
  ///   - identity: The job, with the digest of its source.
  ///   - stamp: The state of the source's files for which the digest holds.
  package convenience init(in folder: String, for identity: JobFingerprint, stamp: StoreFiles.Stamp) throws {
    guard !identity.source.isEmpty else {
      throw GodwitError(.internalBug, "a record of rejected objects has no source")
    }
    try self.init(openingIn: folder)
    try connection.transaction {
      for sql in Self.tables { try connection.execute(sql) }
      try setState("identity", .text(Self.text(of: identity)))
      try setState("stamp", .text(Self.text(of: stamp)))
    }
    try WorkFolder.sync(folder)
  }

  /// Opens the record of a work folder; nil if it has none. A file without tables does not count: the run that made it
  /// died before it wrote anything.
  ///
  /// - Throws: `.dataWrong` (65) when it is damaged.
  package static func opened(in folder: String) throws -> RejectionRecord? {
    guard try exists(in: folder) else { return nil }
    do {
      let record = try RejectionRecord(openingIn: folder)
      let found = Set(try record.connection.strings("SELECT sql FROM sqlite_master WHERE sql NOT NULL"))
      guard !found.isEmpty else { return nil }
      guard found == Set(Self.tables.map { $0.replacing("IF NOT EXISTS ", with: "") }) else {
        throw GodwitError(
          .dataWrong, "cannot read '\(record.path)': its tables have different definitions",
          remedy: "`godwit discard` the job and run again")
      }
      return record
    } catch var error as GodwitError where error.topic == .database && error.code == .dataWrong {
      error.remedy = "check the disk, `godwit discard` the job and run again"
      throw error
    }
  }

  private static func text(of value: some Encodable) throws -> String {
    String(decoding: try value.sortedJSON(), as: UTF8.self)
  }

  private func value<T: Decodable>(_ name: String, as type: T.Type) throws -> T {
    guard case .text(let bytes)? = try state(name), let value = try? JSONDecoder().decode(type, from: Data(bytes))
    else {
      throw GodwitError(
        .dataWrong, "cannot read '\(path)': it does not name the source that it is of",
        remedy: "`godwit discard` the job and run again")
    }
    return value
  }

  /// The job, with the digest of its source.
  package var identity: JobFingerprint { get throws { try value("identity", as: JobFingerprint.self) } }

  /// The state of the source's files with that content.
  package var stamp: StoreFiles.Stamp { get throws { try value("stamp", as: StoreFiles.Stamp.self) } }

  /// Notes another state of the files with the same content.
  package func setStamp(_ stamp: StoreFiles.Stamp) throws {
    try connection.transaction { try setState("stamp", .text(Self.text(of: stamp))) }
  }

  /// - Throws: `.stopped` (75) when the files of the source are not those whose content the record knows.
  package func checkSource(_ files: StoreFiles) throws {
    let known = try stamp
    guard try files.stamp() == known else { throw SourceCheck.changed(files, since: known) }
  }

  private static let tables = [
    "CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    // The root entity names the table, in which a key is an object.
    """
    CREATE TABLE IF NOT EXISTS rejected (root TEXT, key INTEGER, entity TEXT, round INTEGER, PRIMARY KEY (root, key)) \
    WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS reason (root TEXT, key INTEGER, mapping TEXT, property TEXT, destination TEXT, \
    message TEXT, PRIMARY KEY (root, key, mapping, property)) WITHOUT ROWID
    """,
    "CREATE TABLE IF NOT EXISTS part (round INTEGER, name TEXT, PRIMARY KEY (round, name)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS link (relationship TEXT PRIMARY KEY, count INTEGER) WITHOUT ROWID",
  ]

  /// Attaches the record to another connection, which reads it.
  ///
  /// It cannot write it, so that a transaction of that connection is one of a single file.
  func attach(to other: StoreConnection) throws {
    let real = URL(filePath: path).standardizedFileURL.path
    try other.attaching(path, at: real) {
      try other.execute("ATTACH ?1 AS \(Self.schema)", [.text(StoreFiles.uri(path: real, query: "mode=ro"))])
    }
  }

  package func close() throws { try connection.close() }

  // MARK: State

  private func state(_ name: String) throws -> SQLValue? {
    try connection.value("SELECT value FROM state WHERE name = ?1", [.text(name)])
  }

  private func setState(_ name: String, _ value: SQLValue) throws {
    try connection.execute("INSERT OR REPLACE INTO state (name, value) VALUES (?1, ?2)", [.text(name), value])
  }

  /// The rounds that have ended.
  package var round: Int {
    get throws { if case .integer(let number)? = try state("round") { Int(clamping: number) } else { 0 } }
  }

  /// Whether the work folder still has the output of the round before.
  package var mustClear: Bool { get throws { try state("clear") == .integer(1) } }

  package func cleared() throws { try connection.transaction { try setState("clear", .integer(0)) } }

  /// The number of objects of the rounds before the current one; nil without a record, which is only read.
  ///
  /// - Throws: When the record cannot be read.
  package static func countBefore(readingIn folder: String) throws -> Int64? {
    try reading(in: folder) {
      try $0.integer(
        "SELECT COUNT(*) FROM source.rejected WHERE round < COALESCE((SELECT value FROM source.state WHERE name = 'round'), 0)"
      )
    } ?? nil
  }

  /// The percent that progress had reached when the round before ended; 0 without a record, which is only read.
  ///
  /// - Throws: When the record cannot be read.
  package static func percentBefore(readingIn folder: String) throws -> Double {
    let percent = try reading(in: folder) { try $0.value("SELECT value FROM source.state WHERE name = 'percent'") }
    guard case .real(let percent)?? = percent else { return 0 }
    return min(max(percent, 0), 99)
  }

  /// Reads the record; nil without one, and for one that is not whole before the next run has rolled a journal back.
  private static func reading<T>(in folder: String, _ body: (StoreConnection) throws -> T) throws -> T? {
    guard try exists(in: folder) else { return nil }
    do {
      return try Definite.answer {
        let connection = try StoreConnection(path: nil)
        try connection.attachShared(path: path(in: folder))
        return try body(connection)
      }
    } catch let error as GodwitError where error.code == .permission {
      guard try FileStatus.look(named: path(in: folder) + "-journal").map({ $0.size > 0 }) == true else { throw error }
      return nil
    }
  }

  /// The digest that the quarantine names, once it is about to be put in its place.
  package var digest: String? {
    get throws {
      if case .text(let bytes)? = try state("digest") { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
  }

  package func setDigest(_ digest: String) throws {
    try connection.transaction { try setState("digest", .text(digest)) }
  }

  /// The files of external data that objects in quarantine refer to, and the source does not have.
  package var missingFiles: Int64 {
    get throws { if case .integer(let count)? = try state("missing-files") { count } else { 0 } }
  }

  func setMissingFiles(_ count: Int64) throws {
    try connection.transaction { try setState("missing-files", .integer(count)) }
  }

  // MARK: Searching

  /// Whether this round has searched a part.
  func hasSearched(_ part: String) throws -> Bool {
    try connection.integer("SELECT 1 FROM part WHERE round = ?1 AND name = ?2", [.int(round), .text(part)]) != nil
  }

  /// Records the findings in a part one by one.
  ///
  /// - Parameters:
  ///   - roots: The root entity of each entity.
  ///   - find: Calls its argument for each object.
  ///   - check: Called with the new number of rejected objects. The part is rolled back if it throws.
  func add(
    in part: String, roots: [String: String], find: ((Rejection) throws -> Void) throws -> Void,
    check: (Int64) throws -> Void
  ) throws {
    try connection.transaction {
      let round = try round
      let object = try connection.prepare(
        "INSERT OR IGNORE INTO rejected (root, key, entity, round) VALUES (?1, ?2, ?3, ?4)")
      // The first of several reasons for one property counts. Their order does not depend on chunks.
      let reason = try connection.prepare(
        "INSERT OR IGNORE INTO reason (root, key, mapping, property, destination, message) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
      )
      defer {
        object.finalize()
        reason.finalize()
      }
      try find { one in
        let root = roots[one.entity] ?? one.entity
        try object.run([.text(root), .integer(one.key), .text(one.entity), .int(round)])
        try reason.run([
          .text(root), .integer(one.key), .text(one.mapping), .text(one.property ?? ""), .text(one.destination),
          .text(one.message),
        ])
      }
      try connection.execute("INSERT OR IGNORE INTO part (round, name) VALUES (?1, ?2)", [.int(round), .text(part)])
      try check(try count)
    }
  }

  /// The objects that are rejected, of all rounds.
  package var count: Int64 { get throws { try connection.integer("SELECT COUNT(*) FROM rejected") ?? 0 } }

  /// The number of objects that this round has found.
  package var countOfRound: Int64 {
    get throws { try connection.integer("SELECT COUNT(*) FROM rejected WHERE round = ?1", [.int(round)]) ?? 0 }
  }

  /// The number of objects of earlier rounds, without which the current round runs.
  package var countBefore: Int64 { get throws { try count - countOfRound } }

  /// Deletes the findings of this round. The round has finished with these objects, so they are in the destination: the
  /// cause of their rejection, such as a missing file, is gone.
  package func dropRound() throws {
    guard try countOfRound > 0 else { return }
    let round = SQLValue.int(try round)
    try connection.transaction {
      try connection.execute(
        "DELETE FROM reason WHERE (root, key) IN (SELECT root, key FROM rejected WHERE round = ?1)", [round])
      try connection.execute("DELETE FROM rejected WHERE round = ?1", [round])
      try connection.execute("DELETE FROM part WHERE round = ?1", [round])
    }
  }

  /// Ends the round: its output is to be removed, and the next one begins.
  ///
  /// - Parameter percent: The progress so far, of the whole.
  package func finishRound(percent: Double) throws {
    try connection.transaction {
      try setState("percent", .real(percent))
      try setState("round", .int(round + 1))
      try setState("clear", .integer(1))
    }
  }

  // MARK: Results

  /// The objects of the rounds before, by entity.
  package func quarantined() throws -> [QuarantineCount] {
    try connection.rows(
      "SELECT entity, COUNT(*) FROM rejected WHERE round < ?1 GROUP BY entity ORDER BY entity", [.int(round)]
    ).compactMap { row in
      guard case (.text(let name), .integer(let count)) = (row[0], row[1]) else { return nil }
      return QuarantineCount(entity: String(decoding: name, as: UTF8.self), objects: count)
    }
  }

  /// The losses of rejected objects, for the loss report.
  package func losses(step: StepID) throws -> [LossReport.Loss] {
    let objects = try quarantined().map {
      LossReport.Loss(
        step: step, kind: .objects, subject: $0.entity, count: $0.objects, reason: LossReport.Loss.inQuarantine,
        cause: .quarantined)
    }
    let links = try connection.rows("SELECT relationship, count FROM link ORDER BY relationship").compactMap { row in
      if case (.text(let name), .integer(let count)) = (row[0], row[1]) {
        return LossReport.Loss(
          step: step, kind: .links, subject: String(decoding: name, as: UTF8.self), count: count,
          reason: "between objects in quarantine and others", cause: .quarantined)
      }
      return nil
    }
    return objects + links
  }

  /// Replaces the counts of links between rejected objects and others.
  func setLinks(_ counts: [(relationship: String, count: Int64)]) throws {
    try connection.transaction {
      try connection.execute("DELETE FROM link")
      for one in counts where one.count > 0 {
        try connection.execute(
          "INSERT INTO link (relationship, count) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET count = count + ?2",
          [.text(one.relationship), .integer(one.count)])
      }
    }
  }

  /// Some of the reasons, for a message.
  ///
  /// - Parameter uri: Gives the URI of an object.
  func examples(_ limit: Int, uri: (String, Int64) -> String) throws -> [String] {
    try connection.rows(
      "SELECT o.entity, r.key, r.message FROM reason AS r JOIN rejected AS o USING (root, key) ORDER BY r.root, r.key, r.mapping, r.property LIMIT \(limit)"
    ).compactMap { row in
      guard case (.text(let entity), .integer(let key), .text(let message)) = (row[0], row[1], row[2]) else {
        return nil
      }
      return "\(uri(String(decoding: entity, as: UTF8.self), key)): \(String(decoding: message, as: UTF8.self))"
    }
  }
}
