import GodwitJob
import GodwitModel
import GodwitStore

/// Finds the destination keys of the objects of each mapping, from the rows of the tables.
struct KeySearch {
  private struct Sampled {
    var source: Int64
    var mapping: MappingID
    /// The number of the mapping's objects before it.
    var rank: Int64
  }

  private static let sampleSize = 64
  private static let candidates = 8

  private let stores: ComparedStores
  private let keys: KeyAssignment
  private let values: ValueProof
  private let findings: Findings

  init(_ stores: ComparedStores, _ keys: KeyAssignment, _ values: ValueProof, _ findings: Findings) {
    (self.stores, self.keys, self.values, self.findings) = (stores, keys, values, findings)
  }

  /// Groups mappings as the contract does, and finds each group's shift of keys from the rows of the table.
  ///
  /// Mappings from one source table share a group if no source object would come twice. The first group keeps its keys.
  /// For the others the rows show the shift, or the first number of a dense numbering: the one under which most of a
  /// sample of objects has a row with the right values. That only chooses what is then compared for every object, so a
  /// wrong choice is a finding, never a pass.
  func assignKeys(root: String) throws {
    if let appended = stores.appended, appended.namesMappings {
      for mapping in stores.mappings
      where mapping.earlierOffset == nil && stores.job.destinationModel.isKind(mapping.destinationEntity, of: root) {
        if let place = appended.place(of: mapping, among: stores.mappings) {
          try assign(mapping.index, root: root, place)
        } else {
          try reportMissing(mapping.index)
        }
      }
      return
    }
    var groups: [(sourceRoot: String, members: [MappingID])] = []
    for mapping in stores.mappings where stores.job.destinationModel.isKind(mapping.destinationEntity, of: root) {
      let sourceRoot = stores.job.sourceModel.root(of: mapping.sourceEntity)?.name ?? mapping.sourceEntity
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
    var reserved: [MappingID] = []
    for (position, var group) in groups.enumerated() {
      let byPolicy = group.members.filter { stores.mappings[$0].policyName != nil }
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
    _ members: [(member: MappingID, sample: [Sampled])], root: String, besides reserved: [MappingID]
  ) throws {
    let all = members.flatMap(\.sample)
    let lowest = all.sorted { $0.source < $1.source }.prefix(Self.sampleSize)
    let shift = try bestShift(Array(lowest), free: unclaimed(root: root, besides: reserved).starts, root: root)
    let shifted = shift.hits > 0 ? try hits(all, shift: shift.number, root: root) : 0
    var starts: [Int64?] = []
    var numbered = 0
    if shifted < all.count {
      // One begins where another ends, so each is looked for beside those that are found.
      let before = keys.claimed[root]
      for (member, sample) in members {
        let unclaimed = try unclaimed(root: root, besides: reserved)
        // Numbers that were left below others end where those begin.
        let count = keys.counterparts[member].winners.count
        let free = (unclaimed.starts + unclaimed.ends.map { $0 &- (count - 1) }).filter {
          !$0.addingReportingOverflow(keys.counterparts[member].taken.count).overflow
        }
        let start = try bestStart(sample, free: free, root: root)
        starts.append(start.hits > 0 ? start.number : nil)
        numbered += start.hits
        guard start.hits > 0 else { continue }
        keys.counterparts[member].place = .start(start.number)
        keys.claimed[root, default: []].append(member)
      }
      for (member, _) in members { keys.counterparts[member].place = .none }
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

  private func overlap(_ a: MappingID, _ b: MappingID) throws -> Bool {
    guard stores.mappings[a].sourceEntity == stores.mappings[b].sourceEntity else { return false }
    return try keys.counterparts[a].taken.intersects(keys.counterparts[b].taken)
  }

  /// The first objects of a mapping, and the last one. A dense numbering and a shift may agree up to the first gap.
  /// They agree on the last object too only without a gap.
  private func winners(_ mapping: MappingID) throws -> [Sampled] {
    let winners = keys.counterparts[mapping].winners
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
  private func unclaimed(root: String, besides reserved: [MappingID]) throws -> (starts: [Int64], ends: [Int64]) {
    var lowest: [Int64] = []
    var (runs, ends): ([Int64], [Int64]) = ([], [])
    let limit = stores.hasPolicies ? Self.candidates * 8 : Self.candidates
    var last: Int64?
    try stores.destination.query(
      "SELECT Z_PK FROM \(stores.table(try stores.destinationTable(root).name)) ORDER BY Z_PK"
    ) { row in
      let key = row.int64(0)
      if try keys.isMade(key, root: root) { return true }
      for mapping in reserved { if try keys.counterparts[mapping].taken.contains(key) { return true } }
      if lowest.count < limit { lowest.append(key) }
      if last.map({ key > $0 + 1 }) ?? true {
        runs.append(key)
        if let last { ends.append(last) }
      }
      last = key
      return runs.count < limit + stores.mappings.count
    }
    if let last { ends.append(last) }
    return (lowest + runs.filter { !lowest.contains($0) }, ends)
  }

  private func isHit(_ sampled: Sampled, at key: Int64, root: String) throws -> Bool {
    let mapping = stores.mappings[sampled.mapping]
    let layout = try stores.layout(of: mapping.destinationEntity)
    guard let row = try stores.destinationRow(key, of: root),
      row.values[layout.entityPlace] == .int(stores.destinationSchema.number(of: mapping.destinationEntity) ?? -1),
      let object = try stores.objects.object(entityName: mapping.sourceEntity, key: sampled.source)
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

  private func assign(_ mapping: MappingID, root: String, _ place: Counterparts.Place) throws {
    let own = keys.counterparts[mapping]
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
    let others = (keys.claimed[root] ?? []).map { keys.counterparts[$0] }.filter {
      $0.destinations?.overlaps(range) == true
    }
    guard !others.isEmpty else { return }
    var walk = try own.walk()
    while let (_, key) = try walk.next() {
      guard try others.contains(where: { try $0.makes(key) }) else { continue }
      findings.unsound.insert(root)
      findings.find(
        .sharedObject, stores.mappings[mapping].destinationEntity, key: key,
        "mapping '\(stores.mappings[mapping].name)' and another lead to the same object")
    }
  }

  /// Reports every object of a mapping as missing, because no row of the table can be one.
  private func reportMissing(_ mapping: MappingID) throws {
    if let root = stores.job.destinationModel.root(of: stores.mappings[mapping].destinationEntity) {
      findings.unsound.insert(root.name)
    }
    var walk = try keys.counterparts[mapping].winners.walk()
    while let source = try walk.next() {
      findings.find(
        .missingObject, stores.mappings[mapping].destinationEntity,
        "mapping '\(stores.mappings[mapping].name)' takes p\(source) of the source, but no row can be its object")
    }
  }
}
