import GodwitJob
import GodwitModel
import GodwitStore

/// New objects that the destination had already, by `unique-by`, when the job appended to it.
///
/// The old values are gone. The store shows for each pair whether the old object comes first by `order-by`. If neither
/// does, the store must have the new one's values, or `order-by` does not decide: the job's record has the number of
/// values and links that differ then.
final class MetProof {
  let stores: ComparedStores
  private let keys: KeyAssignment
  private let values: ValueProof
  let findings: Findings
  private let progress: VerificationProgress
  /// The new objects that are one with an object of the destination; nil without one.
  private(set) var met: MetObjects?
  /// By mapping.
  private var knownOrderings: [MappingID: [Ordering]] = [:]

  init(
    _ stores: ComparedStores, _ keys: KeyAssignment, _ values: ValueProof, _ findings: Findings,
    _ progress: VerificationProgress
  ) {
    (self.stores, self.keys, self.values) = (stores, keys, values)
    (self.findings, self.progress) = (findings, progress)
  }

  // MARK: Search

  func find() throws {
    guard let appended = stores.appended, appended.foundStore else { return }
    for mapping in stores.mappings where mapping.earlierOffset == nil && !mapping.uniqueBy.isEmpty {
      let root = stores.job.destinationModel.root(of: mapping.destinationEntity)?.name ?? mapping.destinationEntity
      guard let highest = appended.highestBefore(root) else { continue }
      let found = try met ?? MetObjects(scratch: stores.scratch)
      try find(mapping, root: root, upTo: highest, found)
      if !found.counts.isEmpty { met = found }
      if met == nil { try stores.scratch.execute("DROP TABLE \(MetObjects.table)") }
    }
    // No checkpoint has their counts.
    if met != nil { progress.keepsPlaces = false }
  }

  private func find(
    _ mapping: VerifiedMapping, root: String, upTo highest: Int64, _ found: MetObjects
  ) throws {
    let kinds = "temp.old_kinds"
    try stores.scratch.execute(
      "CREATE TABLE \(kinds) (identity BLOB PRIMARY KEY, key INTEGER, place BLOB) WITHOUT ROWID")
    let addition = try stores.scratch.prepare(
      """
      INSERT INTO \(kinds) (identity, key, place) VALUES (?1, ?2, ?3) \
      ON CONFLICT (identity) DO UPDATE SET key = excluded.key, place = excluded.place WHERE excluded.place < place
      """)
    let search = try stores.scratch.prepare("SELECT key FROM \(kinds) WHERE identity = ?1")
    let layout = try stores.layout(of: mapping.destinationEntity)
    let keyPlaces = mapping.uniqueBy.map { key in layout.attributes.first { $0.attribute.name == key.name }?.place }
    let isObject = stores.destinationSchema.isObject(of: [mapping.destinationEntity]).term
    let table = stores.table(try stores.destinationTable(mapping.destinationEntity).name)
    try stores.destination.query("SELECT Z_PK FROM \(table) WHERE Z_PK <= \(highest) AND \(isObject) ORDER BY Z_PK") {
      row in
      let key = row.int64(0)
      guard let stored = try stores.destinationRow(key, of: mapping.destinationEntity) else { return true }
      let held = keyPlaces.map { $0.map { stored.values[$0] } ?? .null }
      guard let identity = UniqueIdentity.bytes(of: held, mergesNil: mapping.mergesNil) else { return true }
      try addition.run([.blob(identity), .integer(key), .blob(place(of: stored, mapping, layout))])
      return true
    }
    var walk = try keys.counterparts[mapping.index].walk()
    while let (source, new) = try walk.next() {
      guard let object = try stores.objects.object(entityName: mapping.sourceEntity, key: source),
        let identity = try values.expectedValues.identity(of: object, in: mapping)
      else { continue }
      try search.bind([.blob(identity)])
      if try search.step() { try found.add(new, old: search.row.int64(0), root: root, mapping: mapping.index) }
      search.reset()
    }
    for statement in [addition, search] { statement.finalize() }
    try stores.scratch.execute("DROP TABLE \(kinds)")
    stores.objects.reset()
  }

  // MARK: Order

  /// An attribute that has the values of a sort descriptor, with its place in a row.
  private struct Ordering {
    var attribute: AttributeDescription
    var place: Int
    var isAscending: Bool
  }

  private func orderings(_ mapping: VerifiedMapping, _ layout: VerifiedLayout) -> [Ordering] {
    if let known = knownOrderings[mapping.index] { return known }
    let found = mapping.uniqueOrder.compactMap { descriptor -> Ordering? in
      let name = mapping.values.keys.sorted { Text($0) < Text($1) }.first { name in
        switch mapping.values[name] {
        case .stored(let from): return from.name == descriptor.keyPath
        case .expression(let expression):
          guard case .keyPath(_, let segments) = expression.node else { return false }
          return segments.joined(separator: ".") == descriptor.keyPath
        case .standard, .unknown, nil: return false
        }
      }
      return layout.attributes.first { $0.attribute.name == name }.map { attribute, place in
        Ordering(attribute: attribute, place: place, isAscending: descriptor.isAscending)
      }
    }
    knownOrderings[mapping.index] = found
    return found
  }

  /// A decimal without a value (NaN, infinite) is as nil.
  private static func ordered(_ value: SQLValue, _ attribute: AttributeDescription) -> SQLValue {
    switch value {
    case .text where attribute.type == .decimal: .null
    case .real(let number) where attribute.type == .decimal && !number.isFinite: .null
    default: value
    }
  }

  private func place(of row: StoredRow, _ mapping: VerifiedMapping, _ layout: VerifiedLayout) -> [UInt8] {
    orderings(mapping, layout).reduce(into: []) { bytes, one in
      let part = SortBytes.of(stored: Self.ordered(row.values[one.place], one.attribute))
      bytes += one.isAscending ? part : part.map { ~$0 }
    }
  }

  /// The same for what a mapping gives a source object.
  private func place(of object: StoredObject, _ mapping: VerifiedMapping, _ layout: VerifiedLayout) throws -> [UInt8] {
    var bytes: [UInt8] = []
    for one in orderings(mapping, layout) {
      let object = try values.origin(of: one.attribute, in: mapping, object)
      let value = try values.expectedValues.expectedValue(of: one.attribute, in: mapping, from: object) ?? .null
      let part = SortBytes.of(stored: Self.ordered(value, one.attribute))
      bytes += one.isAscending ? part : part.map { ~$0 }
    }
    return bytes
  }

  // MARK: Values

  /// Compares the values of an old object with those of the new one that is the same.
  ///
  /// - Returns: How many values were compared.
  func compare(_ made: MadeObjects.Object, with old: Int64) throws -> Int64 {
    let mapping = stores.mappings[made.mapping]
    let entity = mapping.destinationEntity
    let root = stores.job.destinationModel.root(of: entity)?.name ?? entity
    progress.countRows()
    if let sample = stores.sample, !sample.contains(old) { return 0 }
    guard let row = try stores.destinationRow(old, of: entity),
      let object = try stores.objects.object(entityName: mapping.sourceEntity, key: made.source)
    else { return 0 }
    let layout = try stores.layout(of: entity)
    let (there, given) = (place(of: row, mapping, layout), try place(of: object, mapping, layout))
    let isOld = there.lexicographicallyPrecedes(given)
    guard isOld || there == given else {
      try met?.judge(made.key, root: root, .wrong)
      findings.find(
        .value, entity, key: old,
        "order-by puts p\(made.source) of the source before it, and it does not have its values (mapping '\(mapping.name)')"
      )
      return 0
    }
    try met?.judge(made.key, root: root, isOld ? .old : .even)
    if isOld { met?.kept[made.mapping, default: 0] += 1 }
    let ordering = Set(orderings(mapping, layout).map(\.attribute.name))
    let compared = layout.attributes.filter { attribute, _ in
      switch mapping.values[attribute.name] {
      case .stored, .expression: !mapping.uniqueBy.contains { $0.name == attribute.name }
      case .standard, .unknown, nil: false
      }
    }
    let differing = Set(try values.differences(of: object, in: mapping, row: row, layout: layout).map(\.property))
    for (attribute, place) in compared where differing.contains(attribute.name) {
      let isFilled = mapping.fillsNil && !ordering.contains(attribute.name)
      let origin = try values.origin(of: attribute, in: mapping, object)
      let isNil = try values.expectedValues.expectedContent(of: attribute, in: mapping, from: origin)?.isNull ?? true
      if isFilled, !isNil, row.content(place).isNull {
        findings.find(
          .value, entity, key: old, property: attribute.name,
          "fill-nil gives it the value of p\(origin.key) of the source")
      } else if !isOld, !(isFilled && isNil) {
        met?.unlike[made.mapping, default: 0] += 1
      }
    }
    // The values of an old object that comes first were there before the job, but for those that it lacked.
    return Int64(isOld ? 0 : compared.count)
  }

  // MARK: Record

  /// Compares what was counted with the record of the job.
  func checkRecord() throws {
    guard let appended = stores.appended, appended.foundStore else { return }
    for mapping in stores.mappings where mapping.earlierOffset == nil && !mapping.uniqueBy.isEmpty {
      let known = appended.met(of: mapping, among: stores.mappings) ?? .init(objects: 0, changed: 0, unlike: 0, kept: 0)
      let count = met?.counts[mapping.index] ?? 0
      if count > 0 {
        findings.count("objects of \(mapping.destinationEntity) that were in the destination already", count)
      }
      if count != known.objects {
        findings.find(
          .missingObject, mapping.destinationEntity,
          "mapping '\(mapping.name)' met \(known.objects.counted("object")) of the destination, and the store shows \(count)"
        )
      }
      let kept = met?.kept[mapping.index] ?? 0
      if kept > 0 {
        findings.count(
          "not proved: values of objects of \(mapping.destinationEntity) that were there before and come first by order-by",
          kept)
      }
      let unlike = met?.unlike[mapping.index] ?? 0
      guard stores.sample == nil else { continue }
      if kept != known.kept {
        findings.find(
          .value, mapping.destinationEntity,
          "\(kept.counted("object")) that were there before come before those of mapping '\(mapping.name)' by order-by, and the run found \(known.kept)"
        )
      }
      guard unlike != known.unlike else { continue }
      findings.find(
        .value, mapping.destinationEntity,
        "\(unlike.counted("value")) and links of objects that were there before differ from those of mapping '\(mapping.name)', and the run left \(known.unlike)"
      )
    }
  }
}
