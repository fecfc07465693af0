import GodwitJob
import GodwitModel
import GodwitStore

/// Which source objects a mapping takes, and under which keys their objects should lie.
///
/// `counterparts_<mapping>` lists a mapping's source keys; `winner` is the source object that gave the
/// destination object its key: itself, or with `unique-by` the lowest of its kind.
/// `made_<root>` lists what should be in a destination table.
extension Verification {
  func counterparts(_ mapping: Int) -> String { "temp.counterparts_\(mapping)" }

  func made(_ root: String) -> String { "temp.made_\(destinationSchema.number(of: root) ?? 0)" }

  func associate() throws {
    for mapping in mappings {
      try take(mapping)
      if let offset = mapping.earlierOffset { try settleEarlier(mapping, offset: offset) }
    }
    try countSources()
    for root in job.destinationModel.rootEntities { try assignKeys(root: root.name) }
    try checkCounters()
  }

  // MARK: Taking

  private func take(_ mapping: VerifiedMapping) throws {
    let isUnique = !mapping.uniqueBy.isEmpty
    let table = counterparts(mapping.index)
    try scratch.execute("CREATE TABLE \(table) (source INTEGER PRIMARY KEY, winner INTEGER, destination INTEGER)")
    if isUnique {
      try scratch.execute(
        "CREATE TABLE temp.unique_\(mapping.index) (identity BLOB PRIMARY KEY, source INTEGER) WITHOUT ROWID")
    }
    let insert = try scratch.prepare("INSERT INTO \(table) (source, winner) VALUES (?1, ?2)")
    let first = try scratch.prepare(
      isUnique ? "INSERT OR IGNORE INTO temp.unique_\(mapping.index) (identity, source) VALUES (?1, ?2)" : "SELECT 1")
    let known = try scratch.prepare(
      isUnique ? "SELECT source FROM temp.unique_\(mapping.index) WHERE identity = ?1" : "SELECT 1")
    defer { for statement in [insert, first, known] { statement.finalize() } }
    let evaluator = ExpressionEvaluator(
      now: now, role: .filter, host: SourceHost(context: objects, now: now, fetches: fetches))
    let filter = mapping.filter.map { evaluator.compile($0) }
    try source.query(
      "SELECT Z_PK FROM \(self.table(try sourceTable(mapping.sourceEntity).name)) WHERE \(isObject(mapping.sourceEntity, "Z_ENT", in: sourceSchema)) ORDER BY Z_PK"
    ) { row in
      let key = row.int64(0)
      var winner = key
      if filter != nil || isUnique {
        guard let object = try objects.object(entityName: mapping.sourceEntity, key: key) else { return true }
        if let filter {
          do { guard try filter.matches(object) == true else { return true } } catch {
            find(.source, mapping.sourceEntity, key: key, "the filter of mapping '\(mapping.name)' cannot be evaluated")
            return true
          }
        }
        if isUnique {
          let identity = SQLValue.blob(try identity(of: object, in: mapping))
          try first.run([identity, .integer(key)])
          try known.bind([identity])
          if try known.step() { winner = known.row.int64(0) }
          try known.bind([])
        }
      }
      try insert.run([.integer(key), .integer(winner)])
      return true
    }
    if isUnique {
      try scratch.execute("DROP TABLE temp.unique_\(mapping.index)")
      try scratch.execute("CREATE INDEX temp.winner_\(mapping.index) ON counterparts_\(mapping.index) (winner, source)")
    }
    objects.reset()
  }

  /// The values of `unique-by` as bytes that differ when the values do.
  private func identity(of object: StoredObject, in mapping: VerifiedMapping) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for attribute in mapping.uniqueBy {
      guard let value = try expectedValue(of: attribute, in: mapping, from: object) else {
        throw GodwitError(
          .configuration,
          "cannot verify mapping '\(mapping.name)': unique-by '\(attribute.name)' has values that only the run knew")
      }
      let part: [UInt8]
      switch value {
      case .null: part = [0]
      case .integer(let number): part = [1] + Array("\(number)".utf8)
      case .real(let number):
        part = Int64(exactly: number).map { [1] + Array("\($0)".utf8) } ?? [2] + Array("\(number.bitPattern)".utf8)
      case .text(let text): part = [3] + text
      case .blob(let blob): part = [4] + blob
      }
      bytes += Array("\(part.count):".utf8) + part
    }
    return bytes
  }

  /// Every source object is migrated, filtered out or dropped with its entity.
  private func countSources() throws {
    for table in sourceSchema.tables {
      let members = job.sourceModel.family(of: table.rootEntityName)
      let known = isKind(table.rootEntityName, "Z_ENT", in: sourceSchema)
      try source.query(
        "SELECT Z_PK FROM \(self.table(table.name)) WHERE (\(known)) IS NOT TRUE ORDER BY Z_PK"
      ) { row in
        find(.source, key: row.int64(0), "the row of \(table.name) in the source belongs to no entity of the model")
        return true
      }
      for entity in members {
        let total =
          try source.integer(
            "SELECT COUNT(*) FROM \(self.table(table.name)) WHERE \(isObject(entity.name, "Z_ENT", in: sourceSchema))")
          ?? 0
        guard total > 0 else { continue }
        if isAlone(entity.name, in: sourceSchema) {
          let others = try source.integer(
            "SELECT COUNT(*) FROM \(self.table(table.name)) WHERE Z_ENT IS NOT ?1",
            [.int(sourceSchema.number(of: entity.name) ?? -1)])
          if let others, others > 0 {
            report.count("source objects of \(entity.name) that have another entity's number", others)
          }
        }
        let takers = mappings.filter { $0.sourceEntity == entity.name && $0.earlierOffset == nil }
        guard !takers.isEmpty else {
          report.count("source objects dropped with entity \(entity.name)", total)
          continue
        }
        let union = takers.map { "SELECT source FROM \(counterparts($0.index))" }.joined(separator: " UNION ")
        let taken = try scratch.integer("SELECT COUNT(*) FROM (\(union))") ?? 0
        report.count("source objects of \(entity.name) that mappings take", taken)
        report.count("source objects of \(entity.name) that no filter accepts", total - taken)
      }
    }
  }

  // MARK: Keys

  /// Groups mappings as the contract does and finds each group's shift of keys in what the table holds.
  ///
  /// Mappings from one source table share a group while no source object would come twice. The first
  /// group keeps its keys. What the others do, the rows tell: the shift (or the first number of a
  /// dense numbering) under which most of a sample of objects has a row with the right values. That
  /// only chooses what is then compared for every object, so a wrong choice is a finding, never a pass.
  private func assignKeys(root: String) throws {
    try scratch.execute(
      "CREATE TABLE \(made(root)) (destination INTEGER PRIMARY KEY, mapping INTEGER, source INTEGER)")
    if let appended, appended.namesMappings {
      for mapping in mappings
      where mapping.earlierOffset == nil && job.destinationModel.isKind(mapping.destinationEntity, of: root) {
        switch appended.keys(of: mapping, among: mappings) {
        case .shift(let shift): try settle(mapping.index, root: root, shift: shift)
        case .start(let start): try settle(mapping.index, root: root, start: start)
        case nil: try reportMissing(mapping.index)
        }
      }
      return
    }
    var groups: [KeyGroup] = []
    for mapping in mappings where job.destinationModel.isKind(mapping.destinationEntity, of: root) {
      let sourceRoot = job.sourceModel.root(of: mapping.sourceEntity)?.name ?? mapping.sourceEntity
      let fitting = try groups.firstIndex { group in
        try group.sourceRoot == sourceRoot && group.members.allSatisfy { try !overlap($0, mapping.index) }
      }
      if let fitting {
        groups[fitting].members.append(mapping.index)
      } else {
        groups.append(KeyGroup(sourceRoot: sourceRoot, members: [mapping.index]))
      }
    }
    keyGroups[root] = groups
    // Mappings whose objects a policy makes, under the keys of their source objects as far as it asks for them.
    var reserved: [Int] = []
    for (position, var group) in groups.enumerated() {
      let byPolicy = group.members.filter { mappings[$0].policyName != nil }
      group.members.removeAll(where: byPolicy.contains)
      if position == 0 { reserved = byPolicy }
      let sample = try sample(group)
      guard !sample.isEmpty else { continue }
      if position == 0 {
        for member in group.members { try settle(member, root: root, shift: 0) }
        continue
      }
      let free = try unclaimed(root: root, besides: reserved)
      let best = try bestShift(sample, free: free, root: root)
      let starts = try best.hits == sample.count ? [] : group.members.map { try bestStart($0, free: free, root: root) }
      if !starts.isEmpty, starts.reduce(0, { $0 + $1.hits }) > best.hits {
        // One begins where another ends, so each is looked for beside those that are found.
        for member in group.members {
          let free = try unclaimed(root: root, besides: reserved)
          let start = try bestStart(member, free: free, root: root)
          if start.hits > 0 {
            try settle(member, root: root, start: start.number)
          } else {
            try reportMissing(member)
          }
        }
      } else if best.hits > 0 {
        for member in group.members { try settle(member, root: root, shift: best.number) }
      } else {
        for member in group.members { try reportMissing(member) }
      }
    }
  }

  private func overlap(_ a: Int, _ b: Int) throws -> Bool {
    guard mappings[a].sourceEntity == mappings[b].sourceEntity else { return false }
    return try scratch.value(
      "SELECT 1 FROM \(counterparts(a)) AS a CROSS JOIN \(counterparts(b)) AS b ON b.source = a.source LIMIT 1")
      != nil
  }

  private struct Sampled {
    var mapping: Int
    var source: Int64
  }

  private static let sampleSize = 64
  private static let candidates = 8

  private func sample(_ group: KeyGroup) throws -> [Sampled] {
    var sample: [Sampled] = []
    for member in group.members { sample += try winners(member) }
    return Array(sample.sorted { $0.source < $1.source }.prefix(Self.sampleSize))
  }

  private func winners(_ mapping: Int) throws -> [Sampled] {
    try scratch.rows(
      "SELECT source FROM \(counterparts(mapping)) WHERE source = winner ORDER BY source LIMIT \(Self.sampleSize)"
    ).compactMap { row in
      if case .integer(let key)? = row.first { Sampled(mapping: mapping, source: key) } else { nil }
    }
  }

  /// Destination keys that no mapping so far explains and a numbering may begin with: the lowest, and the first of each
  /// run of neighbours.
  private func unclaimed(root: String, besides reserved: [Int]) throws -> [Int64] {
    var keys: [Int64] = []
    var runs: [Int64] = []
    let limit = hasPolicies ? Self.candidates * 8 : Self.candidates
    let claimed = try scratch.prepare("SELECT destination FROM \(made(root)) ORDER BY destination")
    defer { claimed.finalize() }
    var hasClaimed = try claimed.step()
    var last: Int64?
    try destination.query("SELECT Z_PK FROM \(table(try destinationTable(root).name)) ORDER BY Z_PK") { row in
      let key = row.int64(0)
      while hasClaimed, claimed.row.int64(0) < key { hasClaimed = try claimed.step() }
      if hasClaimed, claimed.row.int64(0) == key { return true }
      for mapping in reserved {
        let known = try integer(
          "SELECT 1 FROM \(counterparts(mapping)) WHERE source = ?1", [.integer(key)], on: scratch)
        if known != nil { return true }
      }
      if keys.count < limit { keys.append(key) }
      if last.map({ key > $0 + 1 }) ?? true { runs.append(key) }
      last = key
      return runs.count < limit + mappings.count
    }
    return keys + runs.filter { !keys.contains($0) }
  }

  private func isHit(_ sampled: Sampled, at key: Int64, root: String) throws -> Bool {
    let mapping = mappings[sampled.mapping]
    let layout = try layout(of: mapping.destinationEntity)
    guard let row = try destinationRow(key, of: root),
      row.values[layout.entityPlace] == .int(destinationSchema.number(of: mapping.destinationEntity) ?? -1),
      let object = try objects.object(entityName: mapping.sourceEntity, key: sampled.source)
    else { return false }
    return try differences(of: object, in: mapping, row: row, layout: layout).isEmpty
  }

  private func bestShift(_ sample: [Sampled], free: [Int64], root: String) throws -> (number: Int64, hits: Int) {
    var shifts: [Int64] = []
    for key in free {
      for sampled in sample.prefix(Self.candidates) {
        let (shift, overflow) = key.subtractingReportingOverflow(sampled.source)
        if !overflow, !shifts.contains(shift) { shifts.append(shift) }
      }
    }
    return try best(shifts) { shift in
      try sample.count { sampled in
        let (key, overflow) = sampled.source.addingReportingOverflow(shift)
        return try !overflow && isHit(sampled, at: key, root: root)
      }
    }
  }

  private func bestStart(_ mapping: Int, free: [Int64], root: String) throws -> (number: Int64, hits: Int) {
    let sample = try winners(mapping)
    return try best(free) { start in
      try sample.enumerated().count { place, sampled in
        let (key, overflow) = start.addingReportingOverflow(Int64(place))
        return try !overflow && isHit(sampled, at: key, root: root)
      }
    }
  }

  /// The number with the most hits; the first one on a tie.
  private func best(_ numbers: [Int64], hits: (Int64) throws -> Int) rethrows -> (number: Int64, hits: Int) {
    var best: (number: Int64, hits: Int) = (0, 0)
    for number in numbers {
      let found = try hits(number)
      if found > best.hits { best = (number, found) }
    }
    return best
  }

  private func settle(_ mapping: Int, root: String, shift: Int64) throws {
    let ends = try scratch.rows("SELECT MIN(winner), MAX(winner) FROM \(counterparts(mapping))").first ?? []
    for case .integer(let end) in ends where end.addingReportingOverflow(shift).overflow {
      return try reportMissing(mapping)
    }
    try scratch.execute("UPDATE \(counterparts(mapping)) SET destination = winner + ?1", [.integer(shift)])
    try claim(mapping, root: root)
  }

  private func settle(_ mapping: Int, root: String, start: Int64) throws {
    let rows = try scratch.integer("SELECT COUNT(*) FROM \(counterparts(mapping))") ?? 0
    guard !start.addingReportingOverflow(rows).overflow else { return try reportMissing(mapping) }
    try scratch.execute(
      """
      UPDATE \(counterparts(mapping)) SET destination = ?1 + r.place FROM (SELECT source AS first, \
      row_number() OVER (ORDER BY source) - 1 AS place FROM \(counterparts(mapping)) WHERE source = winner) AS r \
      WHERE r.first = winner
      """, [.integer(start)])
    try claim(mapping, root: root)
  }

  private func claim(_ mapping: Int, root: String) throws {
    let found = "FROM \(counterparts(mapping)) AS i"
    let wanted = try scratch.integer("SELECT COUNT(*) \(found) WHERE i.source = i.winner") ?? 0
    try scratch.execute(
      "INSERT OR IGNORE INTO \(made(root)) SELECT i.destination, \(mapping), i.source \(found) WHERE i.source = i.winner ORDER BY i.source"
    )
    guard scratch.changes < wanted else { return }
    try scratch.query(
      "SELECT i.destination \(found) JOIN \(made(root)) AS m ON m.destination = i.destination WHERE i.source = i.winner AND m.mapping <> \(mapping) ORDER BY 1"
    ) { row in
      find(
        .sharedObject, mappings[mapping].destinationEntity, key: row.int64(0),
        "mapping '\(mappings[mapping].name)' and another lead to the same object")
      return true
    }
  }

  /// Nothing in the table can be what a mapping made.
  private func reportMissing(_ mapping: Int) throws {
    try scratch.query("SELECT source FROM \(counterparts(mapping)) WHERE source = winner ORDER BY source") { row in
      find(
        .missingObject, mappings[mapping].destinationEntity,
        "mapping '\(mappings[mapping].name)' takes p\(row.int64(0)) of the source, but no row can be its object")
      return true
    }
  }
}
