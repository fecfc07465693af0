import GodwitJob
import GodwitModel
import GodwitStore

/// Which source objects a mapping takes, and under which keys their objects should lie.
extension Verification {
  func associate() throws {
    let limit = ByteCount(bytes: max(job.memory.bytes / 8 / Int64(max(mappings.count, 1)), 256 << 10))
    for mapping in mappings {
      let counterparts = try Counterparts(
        mapping: mapping.index, isUnique: !mapping.uniqueBy.isEmpty, scratch: scratch, turn: stores.scratchTurn,
        limit: limit)
      keys.add(counterparts)
      try take(mapping, counterparts)
      progress.advance(
        Share.file + (Share.associations - Share.file) * Double(mapping.index + 1) / Double(mappings.count + 1))
      if let offset = mapping.earlierOffset { try findEarlierObjects(mapping, offset: offset, limit: limit) }
    }
    try countSources()
    if sample == nil { try provePairs() }
    for root in job.destinationModel.rootEntities { try assignKeys(root: root.name) }
    try CounterProof(stores, findings).checkCounters(keys)
  }

  // MARK: Taking

  private func take(_ mapping: VerifiedMapping, _ counterparts: Counterparts) throws {
    defer { counterparts.finish() }
    let evaluator = stores.filterEvaluator
    let filter = mapping.filter.map { evaluator.compile($0) }
    let isOrdered = counterparts.isUnique && (!mapping.uniqueOrder.isEmpty || mapping.fillsNil)
    let ranks = try isOrdered ? UniqueRanks(mapping: mapping.index, scratch: scratch) : nil
    let kinds = try counterparts.isUnique && !isOrdered ? UniqueKinds(mapping: mapping.index, scratch: scratch) : nil
    let values = filter == nil && !counterparts.isUnique ? nil : try sourceObjects(of: mapping.sourceEntity)
    defer { values?.cursor.finalize() }
    try source.query(
      "SELECT Z_PK FROM \(self.table(try sourceTable(mapping.sourceEntity).name)) WHERE \(sourceSchema.isObject(of: [mapping.sourceEntity]).term) ORDER BY Z_PK"
    ) { row in
      let key = row.int64(0)
      guard let values else {
        try counterparts.add(key, winner: key)
        return true
      }
      guard try values.cursor.seek(key) else { return true }
      var object: any EvaluatedObject = values
      if values.cursor.isLarge {
        guard let stored = try objects.object(entityName: mapping.sourceEntity, key: key) else { return true }
        object = stored
      }
      if let filter {
        do { guard try filter.matches(object) == true else { return true } } catch {
          find(.source, mapping.sourceEntity, key: key, "the filter of mapping '\(mapping.name)' cannot be evaluated")
          return true
        }
      }
      if let ranks {
        guard let stored = try objects.object(entityName: mapping.sourceEntity, key: key) else { return true }
        try ranks.add(key, identity(of: stored, in: mapping), place: place(of: stored, mapping, evaluator))
        return true
      }
      var winner = key
      if let kinds, let stored = try objects.object(entityName: mapping.sourceEntity, key: key),
        let identity = try identity(of: stored, in: mapping)
      {
        winner = try kinds.first(identity, key)
      }
      try counterparts.add(key, winner: winner)
      return true
    }
    try kinds?.drop()
    try ranks?.finish { try counterparts.add($0, winner: $1, turn: $2) }
    objects.reset()
  }

  /// The values by which objects of a kind are ordered, as bytes in that order.
  private func place(
    of object: StoredObject, _ mapping: VerifiedMapping, _ evaluator: ExpressionEvaluator
  ) throws -> [UInt8] {
    try mapping.uniqueOrder.reduce(into: []) { bytes, descriptor in
      guard case .value(let value) = try evaluator.compile(descriptor.expression).evaluate(with: object) else { return }
      let key = SortBytes.of(value)
      bytes += descriptor.isAscending ? key : key.map { ~$0 }
    }
  }

  /// The values of `unique-by` as bytes that differ when the values do; nil for an object that is one with no other.
  private func identity(of object: StoredObject, in mapping: VerifiedMapping) throws -> [UInt8]? {
    var bytes: [UInt8] = []
    for attribute in mapping.uniqueBy {
      guard let value = try values.expectedValues.expectedValue(of: attribute, in: mapping, from: object) else {
        throw GodwitError(
          .configuration,
          "cannot verify mapping '\(mapping.name)': unique-by '\(attribute.name)' has values that only the run knew")
      }
      let part: [UInt8]
      switch value {
      case .null:
        guard mapping.mergesNil else { return nil }
        part = [0]
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
    for table in sourceSchema.tables + sourceSchema.pairTables {
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
            "SELECT COUNT(*) FROM \(self.table(table.name)) WHERE \(sourceSchema.isObject(of: [entity.name]).term)")
          ?? 0
        guard total > 0 else { continue }
        if sourceSchema.fillsTable(entity.name) {
          let others = try source.integer(
            "SELECT COUNT(*) FROM \(self.table(table.name)) WHERE Z_ENT IS NOT ?1",
            [.int(sourceSchema.number(of: entity.name) ?? -1)])
          if let others, others > 0 {
            findings.count("source objects of \(entity.name) that have another entity's number", others)
          }
        }
        let takers = mappings.filter { $0.sourceEntity == entity.name && $0.earlierOffset == nil }
        guard !takers.isEmpty else {
          findings.count("source objects dropped with entity \(entity.name)", total)
          continue
        }
        let taken = try unionCount(takers.map { counterparts[$0.index].taken })
        findings.count("source objects of \(entity.name) that mappings take", taken)
        findings.count("source objects of \(entity.name) that no filter accepts", total - taken)
      }
    }
  }

  private func unionCount(_ sets: [RankedKeySet]) throws -> Int64 {
    if sets.count == 1 { return sets[0].count }
    var walks = try sets.map { try $0.walk() }
    var heads = try walks.indices.map { try walks[$0].next() }
    var count: Int64 = 0
    while let lowest = heads.compactMap(\.self).min() {
      count += 1
      for index in heads.indices where heads[index] == lowest { heads[index] = try walks[index].next() }
    }
    return count
  }

  // MARK: Keys

  /// Groups mappings as the contract does, and finds each group's shift of keys from the rows of the table.
  ///
  /// Mappings from one source table share a group if no source object would come twice. The first group keeps its keys.
  /// For the others the rows show the shift, or the first number of a dense numbering: the one under which most of a
  /// sample of objects has a row with the right values. That only chooses what is then compared for every object, so a
  /// wrong choice is a finding, never a pass.
  private func assignKeys(root: String) throws {
    if let appended, appended.namesMappings {
      for mapping in mappings
      where mapping.earlierOffset == nil && job.destinationModel.isKind(mapping.destinationEntity, of: root) {
        if let place = appended.place(of: mapping, among: mappings) {
          try assign(mapping.index, root: root, place)
        } else {
          try reportMissing(mapping.index)
        }
      }
      return
    }
    var groups: [(sourceRoot: String, members: [Int])] = []
    for mapping in mappings where job.destinationModel.isKind(mapping.destinationEntity, of: root) {
      let sourceRoot = job.sourceModel.root(of: mapping.sourceEntity)?.name ?? mapping.sourceEntity
      let fitting = try groups.firstIndex { group in
        try group.sourceRoot == sourceRoot && group.members.allSatisfy { try !overlap($0, mapping.index) }
      }
      if let fitting {
        groups[fitting].members.append(mapping.index)
      } else {
        groups.append((sourceRoot, [mapping.index]))
      }
    }
    keys.keptRoots[root] = groups.first?.sourceRoot
    // Mappings whose policy makes the objects, under the keys of their source objects if the policy uses them.
    var reserved: [Int] = []
    for (position, var group) in groups.enumerated() {
      let byPolicy = group.members.filter { mappings[$0].policyName != nil }
      group.members.removeAll(where: byPolicy.contains)
      if position == 0 { reserved = byPolicy }
      let members = try group.members.map { (member: $0, sample: try winners($0)) }.filter { !$0.sample.isEmpty }
      guard !members.isEmpty else { continue }
      if position == 0 {
        for (member, _) in members { try assign(member, root: root, .shift(0)) }
        continue
      }
      try assignKeys(members, root: root, besides: reserved)
    }
  }

  /// Finds the shift of a group, or the first number of each mapping of it.
  private func assignKeys(
    _ members: [(member: Int, sample: [Sampled])], root: String, besides reserved: [Int]
  ) throws {
    let all = members.flatMap(\.sample)
    let lowest = all.sorted { $0.source < $1.source }.prefix(Self.sampleSize)
    let shift = try bestShift(Array(lowest), free: unclaimed(root: root, besides: reserved).starts, root: root)
    let shifted = shift.hits > 0 ? try hits(all, shift: shift.number, root: root) : 0
    var starts: [Int64?] = []
    var numbered = 0
    if shifted < all.count {
      // One begins where another ends, so each is looked for beside those that are found.
      let before = claimed[root]
      for (member, sample) in members {
        let unclaimed = try unclaimed(root: root, besides: reserved)
        // Numbers that were left below others end where those begin.
        let count = counterparts[member].winners.count
        let free = (unclaimed.starts + unclaimed.ends.map { $0 &- (count - 1) }).filter {
          !$0.addingReportingOverflow(counterparts[member].taken.count).overflow
        }
        let start = try bestStart(sample, free: free, root: root)
        starts.append(start.hits > 0 ? start.number : nil)
        numbered += start.hits
        guard start.hits > 0 else { continue }
        counterparts[member].place = .start(start.number)
        keys.claimed[root, default: []].append(member)
      }
      for (member, _) in members { counterparts[member].place = .none }
      keys.claimed[root] = before
    }
    for (place, (member, _)) in members.enumerated() {
      if numbered > shifted, let start = starts[place] {
        try assign(member, root: root, .start(start))
      } else if numbered <= shifted, shifted > 0 {
        try assign(member, root: root, .shift(shift.number))
      } else {
        try reportMissing(member)
      }
    }
  }

  private func overlap(_ a: Int, _ b: Int) throws -> Bool {
    guard mappings[a].sourceEntity == mappings[b].sourceEntity else { return false }
    return try counterparts[a].taken.intersects(counterparts[b].taken)
  }

  private struct Sampled {
    var source: Int64
    var mapping: Int
    /// The number of the mapping's objects before it.
    var rank: Int64
  }

  private static let sampleSize = 64
  private static let candidates = 8

  /// The first objects of a mapping, and the last one. A dense numbering and a shift may agree up to the first gap.
  /// They agree on the last object too only without a gap.
  private func winners(_ mapping: Int) throws -> [Sampled] {
    let winners = counterparts[mapping].winners
    var walk = try winners.walk()
    var sample: [Sampled] = []
    while sample.count < Self.sampleSize, let key = try walk.next() {
      sample.append(Sampled(source: key, mapping: mapping, rank: Int64(sample.count)))
    }
    if winners.count > Self.sampleSize {
      sample.append(Sampled(source: winners.last, mapping: mapping, rank: winners.count - 1))
    }
    return sample
  }

  /// Destination keys that no mapping so far explains. A numbering may begin with the lowest ones and with the first of
  /// each run of neighbours, and end with the last of a run.
  private func unclaimed(root: String, besides reserved: [Int]) throws -> (starts: [Int64], ends: [Int64]) {
    var keys: [Int64] = []
    var (runs, ends): ([Int64], [Int64]) = ([], [])
    let limit = hasPolicies ? Self.candidates * 8 : Self.candidates
    var last: Int64?
    try destination.query("SELECT Z_PK FROM \(table(try destinationTable(root).name)) ORDER BY Z_PK") { row in
      let key = row.int64(0)
      if try isMade(key, root: root) { return true }
      for mapping in reserved { if try counterparts[mapping].taken.contains(key) { return true } }
      if keys.count < limit { keys.append(key) }
      if last.map({ key > $0 + 1 }) ?? true {
        runs.append(key)
        if let last { ends.append(last) }
      }
      last = key
      return runs.count < limit + mappings.count
    }
    if let last { ends.append(last) }
    return (keys + runs.filter { !keys.contains($0) }, ends)
  }

  private func isHit(_ sampled: Sampled, at key: Int64, root: String) throws -> Bool {
    let mapping = mappings[sampled.mapping]
    let layout = try layout(of: mapping.destinationEntity)
    guard let row = try destinationRow(key, of: root),
      row.values[layout.entityPlace] == .int(destinationSchema.number(of: mapping.destinationEntity) ?? -1),
      let object = try objects.object(entityName: mapping.sourceEntity, key: sampled.source)
    else { return false }
    return try values.differences(of: object, in: mapping, row: row, layout: layout).isEmpty
  }

  private func bestShift(_ sample: [Sampled], free: [Int64], root: String) throws -> (number: Int64, hits: Int) {
    var shifts: [Int64] = []
    for key in free {
      for sampled in sample.prefix(Self.candidates) {
        let (shift, overflow) = key.subtractingReportingOverflow(sampled.source)
        if !overflow, !shifts.contains(shift) { shifts.append(shift) }
      }
    }
    return try best(shifts) { try hits(sample, shift: $0, root: root) }
  }

  private func hits(_ sample: [Sampled], shift: Int64, root: String) throws -> Int {
    try sample.count { sampled in
      let (key, overflow) = sampled.source.addingReportingOverflow(shift)
      return try !overflow && isHit(sampled, at: key, root: root)
    }
  }

  private func bestStart(_ sample: [Sampled], free: [Int64], root: String) throws -> (number: Int64, hits: Int) {
    try best(free) { start in
      try sample.count { sampled in
        let (key, overflow) = start.addingReportingOverflow(sampled.rank)
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

  private func assign(_ mapping: Int, root: String, _ place: Counterparts.Place) throws {
    let own = counterparts[mapping]
    let overflows =
      switch place {
      case .none: false
      case .shift(let shift):
        own.winners.count > 0
          && [own.winners.first, own.winners.last].contains { $0.addingReportingOverflow(shift).overflow }
      case .start(let start): start.addingReportingOverflow(own.taken.count).overflow
      }
    if overflows { return try reportMissing(mapping) }
    own.place = place
    defer { keys.claimed[root, default: []].append(mapping) }
    guard let range = own.destinations else { return }
    let others = (claimed[root] ?? []).map { counterparts[$0] }.filter {
      $0.destinations?.overlaps(range) == true
    }
    guard !others.isEmpty else { return }
    var walk = try own.walk()
    while let (_, key) = try walk.next() {
      guard try others.contains(where: { try $0.makes(key) }) else { continue }
      findings.unsound.insert(root)
      find(
        .sharedObject, mappings[mapping].destinationEntity, key: key,
        "mapping '\(mappings[mapping].name)' and another lead to the same object")
    }
  }

  /// Reports every object of a mapping as missing, because no row of the table can be one.
  private func reportMissing(_ mapping: Int) throws {
    if let root = job.destinationModel.root(of: mappings[mapping].destinationEntity) {
      findings.unsound.insert(root.name)
    }
    var walk = try counterparts[mapping].winners.walk()
    while let source = try walk.next() {
      find(
        .missingObject, mappings[mapping].destinationEntity,
        "mapping '\(mappings[mapping].name)' takes p\(source) of the source, but no row can be its object")
    }
  }
}
