import GodwitStore

/// What a plan asks of the stores that were found.
extension SurveyTable {
  /// Stores of one version and state.
  package struct Group: Sendable {
    package var version: Int64?
    package var state: State
    package var stores, bytes: Int64
  }

  /// The stores by version and state.
  package func groups() throws -> [Group] {
    try commit()
    var groups: [Group] = []
    try connection.query(
      "SELECT version, state, COUNT(*), TOTAL(bytes) FROM stores GROUP BY version, state ORDER BY version, state"
    ) { row in
      groups.append(
        Group(
          version: row.isNull(0) ? nil : row.int64(0), state: State(rawValue: row.int64(1)) ?? .found,
          stores: row.int64(2), bytes: row.int64(3)))
      return true
    }
    return groups
  }

  /// The digest of a version's hashes.
  package func key(ofVersion version: Int64) throws -> String {
    guard case .text(let bytes)? = try connection.value("SELECT key FROM versions WHERE id = ?1", [.integer(version)])
    else { return "" }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The smallest stores of a version: what one of them tells, it tells soon.
  package func smallest(ofVersion version: Int64, count: Int) throws -> [Row] {
    var rows: [Row] = []
    try connection.query(
      "SELECT id, path, bytes FROM stores WHERE version = ?1 AND state = 3 ORDER BY bytes, path LIMIT \(max(1, count))",
      [.integer(version)]
    ) { row in
      rows.append(Row(id: row.int64(0), path: row.string(1) ?? "", bytes: row.int64(2)))
      return true
    }
    return rows
  }

  /// The largest stores of a version among those that are soon counted: they have most of what may be lost.
  package func largest(ofVersion version: Int64, atMost bytes: Int64, count: Int) throws -> [Row] {
    var rows: [Row] = []
    try connection.query(
      """
      SELECT id, path, bytes FROM stores WHERE version = ?1 AND state = 3 AND bytes <= ?2
      ORDER BY bytes DESC, path LIMIT \(max(1, count))
      """, [.integer(version), .integer(bytes)]
    ) { row in
      rows.append(Row(id: row.int64(0), path: row.string(1) ?? "", bytes: row.int64(2)))
      return true
    }
    return rows
  }

  /// How much is to be done.
  package struct Work: Sendable {
    package var stores: Int64
    package var bytes: Int64
    package var seconds: Double
  }

  /// The stores for shards that are not in one, and that take at least so long, or less.
  package func work(atLeast seconds: Double) throws -> (long: Work, short: Work) {
    try commit()
    func work(_ condition: String) throws -> Work {
      let row =
        try connection.rows(
          "SELECT COUNT(*), TOTAL(bytes), TOTAL(seconds) FROM stores WHERE state = 3 AND shard IS NULL AND seconds \(condition) ?1",
          [.real(seconds)]
        ).first ?? []
      guard case .integer(let stores)? = row.first, row.count == 3, case .real(let bytes) = row[1],
        case .real(let sum) = row[2]
      else { return Work(stores: 0, bytes: 0, seconds: 0) }
      return Work(stores: stores, bytes: Int64(min(bytes, 9e18)), seconds: sum)
    }
    return (try work(">="), try work("<"))
  }

  /// Calls `body` with the stores for shards that are not in one, the longest first; and keeps the shard that it gives.
  package func packLongestFirst(_ body: (Double) -> Int) throws {
    try assign("ORDER BY seconds DESC, path") { _, seconds in body(seconds) }
  }

  /// Calls `body` with the place of each store for shards, in the order of versions and sizes; and takes those into
  /// shard 0 for which it says so.
  ///
  /// - Returns: The versions of those that were taken.
  package func sample(_ body: (Int64) -> Bool) throws {
    var place: Int64 = -1
    try assign("ORDER BY version, bytes, path") { _, _ in
      place += 1
      return body(place) ? 0 : nil
    }
  }

  /// Takes into shard 0 the store in the middle of each version that has none there.
  package func sampleEachVersion() throws {
    try commit()
    let versions = try connection.rows(
      "SELECT version, COUNT(*) FROM stores WHERE state = 3 GROUP BY version HAVING COUNT(shard) = 0 ORDER BY version")
    for row in versions {
      guard row.count == 2, case .integer(let version) = row[0], case .integer(let count) = row[1] else { continue }
      let id = try connection.integer(
        "SELECT id FROM stores WHERE version = ?1 AND state = 3 ORDER BY bytes, path LIMIT 1 OFFSET ?2",
        [.integer(version), .integer(count / 2)])
      if let id { try setShard(0, of: id) }
    }
  }

  private func assign(_ order: String, _ body: (Int64, Double) -> Int?) throws {
    try commit()
    // What the order says is sorted before the first row comes, so that the changes do not reach it.
    try connection.execute(
      "CREATE TEMP TABLE sorted AS SELECT id, seconds FROM stores WHERE state = 3 AND shard IS NULL \(order)")
    let statement = try connection.prepare("SELECT id, seconds FROM temp.sorted ORDER BY rowid")
    defer { statement.finalize() }
    while try statement.step() {
      let (id, seconds) = (statement.row.int64(0), statement.row.double(1))
      if let shard = body(id, seconds) { try setShard(shard, of: id) }
    }
    statement.reset()
    try commit()
    statement.finalize()
    try connection.execute("DROP TABLE temp.sorted")
  }

  /// Calls `body` with the stores of all shards, shard by shard, the longest of each first.
  package func forEachByShard(
    _ body: (_ shard: Int, _ path: String, _ bytes: Int64, _ version: Int64, _ seconds: Double) throws -> Void
  ) throws {
    try commit()
    try connection.query(
      """
      SELECT shard, path, bytes, version, seconds FROM stores WHERE state = 3 AND shard IS NOT NULL
      ORDER BY shard, seconds DESC, path
      """
    ) { row in
      try body(row.int(0), row.string(1) ?? "", row.int64(2), row.int64(3), row.double(4))
      return true
    }
  }

  /// Calls `body` with the unreadable stores in the order of their paths.
  package func forEachUnreadable(_ body: (_ path: String, _ problem: String) throws -> Void) throws {
    try commit()
    try connection.query("SELECT path, problem FROM stores WHERE state = 2 ORDER BY path") { row in
      try body(row.string(0) ?? "", row.string(1) ?? "")
      return true
    }
  }

  /// Calls `body` with the paths of all stores in their order.
  package func forEachPath(_ body: (String) throws -> Void) throws {
    try commit()
    try connection.query("SELECT path FROM stores ORDER BY path") { row in
      try body(row.string(0) ?? "")
      return true
    }
  }
}
