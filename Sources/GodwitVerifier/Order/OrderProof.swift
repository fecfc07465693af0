import GodwitJob
import GodwitModel
import GodwitStore

/// Proves the order of an ordered relationship: the positions ascend, and are what `order-by` or the source says.
///
/// It reads the places of the links from the table that `LinkReplay` made.
struct OrderProof {
  /// The columns of an ordered to-many.
  struct Columns {
    var table, owner, member, order: String
  }

  /// One place of an ordered to-many.
  private struct Place {
    var owner, order, member: Int64
    /// The source's place, as it is stored, and the way that the link came; negative where no link is known.
    var place = SQLValue.null
    var way: Int64 = -1
    /// The rank by `order-by`, which comes before the place.
    var grade = RelatedOrder.Grade.unsorted

    /// Whether `order-by` puts it before, or after, another place of its owner; nil where it does not tell.
    func precedes(_ other: Place) -> Bool? {
      switch (grade, other.grade) {
      case (.bytes(let own), .bytes(let others)):
        own == others ? nil : own.lexicographicallyPrecedes(others)
      case (.bytes, .last): true
      case (.last, .bytes): false
      case (.unsorted, _), (_, .unsorted), (.last, .last): nil
      }
    }
  }

  private let stores: ComparedStores
  private let keys: KeyAssignment
  private let findings: Findings

  init(_ stores: ComparedStores, _ keys: KeyAssignment, _ findings: Findings) {
    (self.stores, self.keys, self.findings) = (stores, keys, findings)
  }

  /// Order keys ascend strictly for each owner, and follow the source's order if there is one to keep.
  ///
  /// - Parameter end: The end whose objects own the order: 0 for the places `pa`.
  func compareOrder(
    _ owner: VerifiedLink.End, sql: Columns, end: Int
  ) throws {
    let names = [sql.owner, sql.order, sql.member].map(StoreSchema.identifier)
    let place =
      end == 0
      ? "SELECT pa, way FROM temp.edge WHERE a = ?1 AND b = ?2"
      : "SELECT pb, way FROM temp.edge WHERE b = ?1 AND a = ?2"
    var last: Place?
    var unproved: Int64 = 0
    var places: Int64 = 0
    let sorted = try relatedOrder(of: owner)
    defer { try? sorted?.drop() }
    try stores.destination.query(
      "SELECT \(names.joined(separator: ", ")) FROM \(stores.table(sql.table)) WHERE \(names[0]) IS NOT NULL\(stores.own(names[0], owner.entity)) ORDER BY \(names.joined(separator: ", "))"
    ) { row in
      let (key, order, member) = (row.int64(0), row.int64(1), row.int64(2))
      places += 1
      func wrong(_ what: String) {
        findings.find(
          .order, owner.entity, key: key, property: owner.relationship.name, "the position of p\(member) \(what)")
      }
      guard !row.isNull(1) else {
        wrong("is not set")
        return true
      }
      let expected = try stores.row(place, [.integer(key), .integer(member)], on: stores.scratch)
      var now = Place(owner: key, order: order, member: member)
      if let stored = expected?.first, case .integer(let way)? = expected?.last { (now.place, now.way) = (stored, way) }
      if let sorted { now.grade = try sorted.grade(of: member, in: key) }
      if let last, last.owner == key {
        if order <= last.order { wrong("is not after that of p\(last.member)") }
        if let isSound = last.precedes(now) {
          if !isSound { wrong("is not what order-by says: p\(last.member) should come after it") }
        } else if now.way < 0 || last.way < 0 || now.way != last.way || now.way & 2 != 0 {
          unproved += 1
        } else if now.place.comesBefore(last.place) ?? (last.member > now.member) {
          wrong("is not the source's: p\(last.member) should come after it")
        }
      }
      last = now
      return true
    }
    findings.count("positions in \(owner.name)", places)
    if unproved > 0 { findings.count("not proved: neighbours in \(owner.name)", unproved) }
  }

  /// The order of the new links of objects that were in the destination before: they come behind those that such an
  /// object had, and follow `order-by`. The order that several sources give is not proved, as for any `unique-by`.
  func compareMetOrder(_ owner: VerifiedLink.End, sql: Columns, _ met: MetObjects) throws {
    let names = [sql.owner, sql.order, sql.member].map(StoreSchema.identifier)
    let (root, memberRoot) = (root(of: owner.entity), root(of: owner.relationship.destinationEntityName))
    let new = stores.keys(of: memberRoot)
    let sorted = try relatedOrder(of: owner)
    defer { try? sorted?.drop() }
    let query =
      "SELECT \(names[1]), \(names[2]) FROM \(stores.table(sql.table)) WHERE \(names[0]) = ?1 ORDER BY \(names[1]), \(names[2])"
    var places: Int64 = 0
    try met.forEach(of: root) { made, old in
      var last: Place?
      try stores.destination.query(query, [.integer(old)]) { row in
        let (order, member) = (row.isNull(0) ? nil : row.int64(0), row.int64(1))
        func wrong(_ member: Int64, _ what: String) {
          findings.find(
            .order, owner.entity, key: old, property: owner.relationship.name, "the position of p\(member) \(what)")
        }
        guard member >= new.first else {
          // An object that was met itself may have come with its place.
          if let last, try !met.isOld(member, root: memberRoot) {
            wrong(last.member, "is not behind that of p\(member), which was there before")
          }
          return true
        }
        guard member <= new.last else { return true }
        places += 1
        guard let order else {
          wrong(member, "is not set")
          return true
        }
        var now = Place(owner: old, order: order, member: member)
        if let sorted { now.grade = try sorted.grade(of: member, in: made) }
        if let last {
          if order <= last.order { wrong(member, "is not after that of p\(last.member)") }
          if last.precedes(now) == false {
            wrong(member, "is not what order-by says: p\(last.member) should come after it")
          }
        }
        last = now
        return true
      }
    }
    if places > 0 { findings.count("positions in \(owner.name) of objects that were there before", places) }
  }

  private func root(of entity: String) -> String { stores.job.destinationModel.root(of: entity)?.name ?? entity }

  /// The order of the objects of a relationship; nil if no mapping sorts them.
  private func relatedOrder(of owner: VerifiedLink.End) throws -> RelatedOrder? {
    let model = stores.job.destinationModel
    let sorters = stores.mappings.filter {
      $0.earlierOffset == nil && model.isKind($0.destinationEntity, of: owner.entity)
    }
    .compactMap { mapping -> (VerifiedMapping, VerifiedMapping.Assignment)? in
      mapping.assignments.first { $0.relationship.name == owner.relationship.name && !$0.order.isEmpty }
        .map { (mapping, $0) }
    }
    guard !sorters.isEmpty else { return nil }
    let order = try RelatedOrder(scratch: stores.scratch)
    let evaluator = stores.filterEvaluator
    for (mapping, assignment) in sorters {
      var walk = try keys.counterparts[mapping.index].walk()
      while let (_, object) = try walk.next() { try order.add(owner: object, part: mapping.index) }
      let routines = assignment.order.map { ($0.isAscending, evaluator.compile($0.expression)) }
      for lookup in assignment.lookups {
        var members = try keys.counterparts[lookup].walk()
        while let (winner, object) = try members.next() {
          let entity = stores.mappings[lookup].sourceEntity
          guard let stored = try stores.objects.object(entityName: entity, key: winner) else { continue }
          var grade: [UInt8] = []
          for (isAscending, routine) in routines {
            // A value that does not fit its column sorts as nil.
            var bytes = SortBytes.of(.null)
            do {
              if case .value(let value) = try routine.evaluate(with: stored) { bytes = SortBytes.of(value) }
            } catch let error as GodwitError where !error.isDefinite { throw error } catch {}
            grade += isAscending ? bytes : bytes.map { ~$0 }
          }
          try order.add(object, part: mapping.index, grade: grade)
        }
      }
      stores.objects.reset()
    }
    return order
  }
}

extension SQLValue {
  /// Whether a place comes before another one, as SQLite sorts values; without a place a link comes last. Nil for equal
  /// places.
  fileprivate func comesBefore(_ other: SQLValue) -> Bool? {
    switch (self, other) {
    case (.integer(let own), .integer(let others)): return own == others ? nil : own < others
    case (.text(let own), .text(let others)), (.blob(let own), .blob(let others)):
      return own == others ? nil : own.lexicographicallyPrecedes(others)
    default:
      if let own = number, let others = other.number { return own == others ? nil : own < others }
      return placeClass == other.placeClass ? nil : placeClass < other.placeClass
    }
  }

  private var number: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .real(let number): number
    case .null, .text, .blob: nil
    }
  }

  private var placeClass: Int {
    switch self {
    case .integer, .real: 0
    case .text: 1
    case .blob: 2
    case .null: 3
    }
  }
}
