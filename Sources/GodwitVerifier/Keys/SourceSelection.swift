import GodwitJob
import GodwitModel
import GodwitStore

/// Chooses the source objects of each mapping: its filter accepts them, and `unique-by` makes several of them one.
struct SourceSelection {
  private let stores: ComparedStores
  private let keys: KeyAssignment
  private let expectedValues: ExpectedValues
  private let findings: Findings

  init(_ stores: ComparedStores, _ keys: KeyAssignment, _ expectedValues: ExpectedValues, _ findings: Findings) {
    (self.stores, self.keys, self.expectedValues, self.findings) = (stores, keys, expectedValues, findings)
  }

  /// Adds the counterparts of every mapping, in their order.
  ///
  /// - Parameter advance: Called with the number of mappings that are done.
  func takeAll(advance: (Int) -> Void) throws {
    let limit = ByteCount(bytes: max(stores.job.memory.bytes / 8 / Int64(max(stores.mappings.count, 1)), 256 << 10))
    for mapping in stores.mappings {
      let counterparts = try Counterparts(
        mapping: mapping.index, isUnique: !mapping.uniqueBy.isEmpty, scratch: stores.scratch, turn: stores.scratchTurn,
        limit: limit)
      keys.add(counterparts)
      try take(mapping, counterparts)
      advance(mapping.index.number + 1)
      if let offset = mapping.earlierOffset { try findEarlierObjects(mapping, offset: offset, limit: limit) }
    }
  }

  private func take(_ mapping: VerifiedMapping, _ counterparts: Counterparts) throws {
    defer { counterparts.finish() }
    let evaluator = stores.filterEvaluator
    let filter = mapping.filter.map { evaluator.compile($0) }
    let isOrdered = counterparts.isUnique && (!mapping.uniqueOrder.isEmpty || mapping.fillsNil)
    let ranks = try isOrdered ? UniqueRanks(mapping: mapping.index, scratch: stores.scratch) : nil
    let kinds =
      try counterparts.isUnique && !isOrdered ? UniqueKinds(mapping: mapping.index, scratch: stores.scratch) : nil
    let values = filter == nil && !counterparts.isUnique ? nil : try stores.sourceObjects(of: mapping.sourceEntity)
    defer { values?.cursor.finalize() }
    try stores.source.query(
      "SELECT Z_PK FROM \(stores.table(try stores.sourceTable(mapping.sourceEntity).name)) WHERE \(stores.sourceSchema.isObject(of: [mapping.sourceEntity]).term) ORDER BY Z_PK"
    ) { row in
      let key = row.int64(0)
      guard let values else {
        try counterparts.add(key, winner: key)
        return true
      }
      guard try values.cursor.seek(key) else { return true }
      var object: any EvaluatedObject = values
      if values.cursor.isLarge {
        guard let stored = try stores.objects.object(entityName: mapping.sourceEntity, key: key) else { return true }
        object = stored
      }
      if let filter {
        do { guard try filter.matches(object) == true else { return true } } catch {
          findings.find(
            .source, mapping.sourceEntity, key: key, "the filter of mapping '\(mapping.name)' cannot be evaluated")
          return true
        }
      }
      if let ranks {
        guard let stored = try stores.objects.object(entityName: mapping.sourceEntity, key: key) else { return true }
        let identity = try expectedValues.identity(of: stored, in: mapping)
        try ranks.add(key, identity, place: place(of: stored, mapping, evaluator))
        return true
      }
      var winner = key
      if let kinds, let stored = try stores.objects.object(entityName: mapping.sourceEntity, key: key),
        let identity = try expectedValues.identity(of: stored, in: mapping)
      {
        winner = try kinds.first(identity, key)
      }
      try counterparts.add(key, winner: winner)
      return true
    }
    try kinds?.drop()
    try ranks?.finish { try counterparts.add($0, winner: $1, turn: $2) }
    stores.objects.reset()
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

  /// Finds the objects that an earlier job made of its source objects. Links to a deleted object are not expected.
  private func findEarlierObjects(_ mapping: VerifiedMapping, offset: Int64, limit: ByteCount) throws {
    let table = stores.table(try stores.destinationTable(mapping.destinationEntity).name)
    let isObject = stores.destinationSchema.isObject(of: [mapping.destinationEntity]).term
    let counterparts = keys.counterparts[mapping.index]
    let there = RankedKeySet(scratch: stores.scratch, table: "there_\(mapping.index)", limit: limit)
    var walk = try counterparts.taken.walk()
    while let source = try walk.next() {
      let (key, overflow) = source.addingReportingOverflow(offset)
      guard !overflow,
        try stores.integer(
          "SELECT 1 FROM \(table) WHERE Z_PK = ?1 AND \(isObject)", [.integer(key)], on: stores.destination) != nil
      else { continue }
      try there.append(source)
    }
    there.finish()
    counterparts.keep(there)
    counterparts.place = .shift(offset)
  }

  /// Every source object is migrated, filtered out or dropped with its entity.
  func countSources() throws {
    for table in stores.sourceSchema.tables + stores.sourceSchema.pairTables {
      let members = stores.job.sourceModel.family(of: table.rootEntityName)
      let known = stores.isKind(table.rootEntityName, "Z_ENT", in: stores.sourceSchema)
      try stores.source.query(
        "SELECT Z_PK FROM \(stores.table(table.name)) WHERE (\(known)) IS NOT TRUE ORDER BY Z_PK"
      ) { row in
        findings.find(
          .source, key: row.int64(0), "the row of \(table.name) in the source belongs to no entity of the model")
        return true
      }
      for entity in members {
        let total =
          try stores.source.integer(
            "SELECT COUNT(*) FROM \(stores.table(table.name)) WHERE \(stores.sourceSchema.isObject(of: [entity.name]).term)"
          )
          ?? 0
        guard total > 0 else { continue }
        if stores.sourceSchema.fillsTable(entity.name) {
          let others = try stores.source.integer(
            "SELECT COUNT(*) FROM \(stores.table(table.name)) WHERE Z_ENT IS NOT ?1",
            [.int(stores.sourceSchema.number(of: entity.name) ?? -1)])
          if let others, others > 0 {
            findings.count("source objects of \(entity.name) that have another entity's number", others)
          }
        }
        let takers = stores.mappings.filter { $0.sourceEntity == entity.name && $0.earlierOffset == nil }
        guard !takers.isEmpty else {
          findings.count("source objects dropped with entity \(entity.name)", total)
          continue
        }
        let taken = try unionCount(takers.map { keys.counterparts[$0.index].taken })
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
}
