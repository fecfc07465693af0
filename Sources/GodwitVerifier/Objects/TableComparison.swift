import GodwitJob
import GodwitModel
import GodwitStore

/// A walk over the rows of a destination table beside the list of its expected objects, both in the order of keys.
final class TableComparison {
  let root: String
  private let stores: ComparedStores
  private let keys: KeyAssignment
  private let findings: Findings
  private let progress: VerificationProgress
  private let files: ExternalFileProof
  private let met: MetProof?
  private let rows: RowComparison
  private let table: StoreSchema.EntityTable
  private let cursor: RowCursor
  /// How the rows of each mapping are proved in place, by mapping.
  private let proofs: [MappingID: RowProof]
  /// The same as a list, since one is read for every row.
  private let proofList: [RowProof?]
  /// The keys of the job's objects.
  private let own: AppendedPart.Keys
  private var tally: TableTally
  private var expected: MadeObjects?
  private var wanted: MadeObjects.Object?
  /// Where the walk is: every row and object below it was compared.
  private var next: Int64?

  /// - Parameter tally: The result for the rows before the first that is compared.
  init(_ proof: ObjectProof, root: String, tally: TableTally = TableTally()) throws {
    (stores, keys, findings) = (proof.stores, proof.keys, proof.findings)
    (progress, files, met, rows) = (proof.progress, proof.files, proof.met, RowComparison(proof))
    (self.root, self.tally) = (root, tally)
    table = try stores.destinationTable(root)
    own = stores.keys(of: root)
    cursor = try RowCursor(
      stores.destination, database: ComparedStores.attached, table: table.name,
      columns: table.columns.map { .init(name: $0.name) })
    let proofs = try proof.rowProofs(root: root)
    (self.proofs, proofList) = (proofs, stores.mappings.ids.map { proofs[$0] })
  }

  /// Ends its use of the two stores.
  func finalize() {
    cursor.finalize()
    for proof in proofs.values { proof.finalize() }
  }

  /// The result so far, with the rows that were proved in place.
  var whole: TableTally {
    var whole = tally
    for proof in proofs.values where proof.objects > 0 { whole.counts[proof.entity, default: 0] += proof.objects }
    return whole
  }

  /// Adds rows that were proved elsewhere.
  func add(_ rows: ProvedRows) {
    for (entity, count) in rows.objects { tally.counts[entity, default: 0] += count }
    tally.values += rows.values
    progress.countRows(rows.objects.values.reduce(0, +))
  }

  /// Goes to the first row and the first expected object from a key on.
  private func seek(_ first: Int64) throws {
    if let next, next == first { return }
    expected = try keys.made(root, from: first)
    try take()
    while let object = wanted, object.key < first { try take() }
    _ = try cursor.seek(first)
    next = first
  }

  /// Goes to the next object that has a row of its own.
  private func take() throws {
    while true {
      wanted = try expected?.next()
      guard let object = wanted, let old = try met?.met?.old(object.key, root: root) else { return }
      tally.values += try met?.compare(object, with: old) ?? 0
    }
  }

  // MARK: Rows that are right

  /// Proves rows until one is not as it must be, or is not to be proved in place. Reports nothing.
  func prove(_ range: ClosedRange<Int64>) throws -> ProvedRows {
    let (objects, values) = (proofs.mapValues(\.objects), tally.values)
    try seek(range.lowerBound)
    var proved = ProvedRows()
    while true {
      guard let object = wanted, object.key == cursor.key, object.key <= range.upperBound, try isRight(object) else {
        let place = min(wanted?.key ?? .max, cursor.key ?? .max)
        let isOver =
          (wanted.map { $0.key > range.upperBound } ?? true) && (cursor.key.map { $0 > range.upperBound } ?? true)
        proved.next = isOver ? nil : place
        next = isOver ? (range.upperBound == .max ? nil : range.upperBound + 1) : place
        break
      }
      try take()
      _ = try cursor.next()
    }
    for (mapping, proof) in proofs {
      let count = proof.objects - (objects[mapping] ?? 0)
      if count > 0 { proved.objects[proof.entity, default: 0] += count }
    }
    proved.values = tally.values - values
    return proved
  }

  /// Whether the row at the cursor is the one that an object must have become: the path of nearly every row.
  private func isRight(_ object: MadeObjects.Object) throws -> Bool {
    guard stores.usesShortcuts, let proof = proofList[object.mapping.number], !cursor.isLarge, own.contains(object.key),
      cursor.row.storage(1) == .integer, cursor.row.int64(1) == proof.number,
      try proof.holds(cursor.row, source: object.source)
    else { return false }
    try proof.compareReferences(cursor.row, source: object.source)
    tally.values += Int64(proof.layout.attributes.count)
    proof.objects += 1
    return true
  }

  // MARK: All rows

  /// Compares the rows and the expected objects between two keys, and reports what differs.
  func compare(from first: Int64, through last: Int64) throws {
    try seek(first)
    while true {
      let place = min(wanted?.key ?? .max, cursor.key ?? .max)
      guard wanted != nil || cursor.key != nil, place <= last else { break }
      if progress.isCheckpointDue {
        progress.keep { $0.table = .init(root: root, next: place, tally: whole) }
        progress.isCheckpointDue = false
        try progress.checkStop()
      }
      guard let key = cursor.key, wanted.map({ $0.key >= key }) ?? true else {
        if let object = wanted { reportMissing(object) }
        try take()
        continue
      }
      let object = wanted.flatMap { $0.key == key ? $0 : nil }
      if try !passesOver(key, object) {
        progress.countRows()
        if try object.map(isRight) != true { try compare(key, object) }
      }
      if object != nil { try take() }
      _ = try cursor.next()
    }
    next = last == .max ? nil : last + 1
  }

  private func reportMissing(_ object: MadeObjects.Object) {
    let mapping = stores.mappings[object.mapping]
    findings.find(
      .missingObject, mapping.destinationEntity, key: object.key,
      "mapping '\(mapping.name)' takes p\(object.source) of the source, its object is missing")
    findings.unsound.insert(root)
  }

  /// Whether a row is not in the sample. A row that no source object explains is found outside a sample too.
  private func passesOver(_ key: Int64, _ object: MadeObjects.Object?) throws -> Bool {
    guard let sample = stores.sample, !sample.contains(key),
      object != nil || stores.hasPolicies || !own.contains(key)
    else { return false }
    tally.passedOver += 1
    return true
  }

  /// Compares a row that was not proved in place.
  private func compare(_ key: Int64, _ object: MadeObjects.Object?) throws {
    guard let row = try stores.destinationRow(key, of: root) else {
      throw GodwitError(
        .stopped, "cannot verify '\(stores.job.destinationPath)': a row of \(table.name) is gone",
        remedy: "stop what writes to it and run the same command", stopReason: .sourceChanged)
    }
    let mapping = object.map { stores.mappings[$0.mapping] }
    guard own.contains(key) else {
      tally.others += 1
      if let mapping {
        findings.find(
          .sharedObject, root, key: key, "mapping '\(mapping.name)' leads to an object of another job")
      }
      return try files.noteExternalFiles(ofOther: row, root: root)
    }
    let entity = try rows.concreteEntity(of: row.values, key: key, root: root)
    if let object, let proof = proofs[object.mapping], entity == proof.entity {
      try proof.compareReferences(row, source: object.source)
    } else {
      findings.unsound.insert(root)
    }
    if let object, let mapping {
      if let entity, entity != mapping.destinationEntity {
        findings.find(
          .entity, mapping.destinationEntity, key: key,
          "mapping '\(mapping.name)' makes \(mapping.destinationEntity), the row says \(entity)")
      } else if entity != nil {
        tally.values += try rows.compareValues(row, key: key, mapping: mapping, source: object.source)
      }
    } else if stores.hasPolicies, let entity {
      tally.made[entity, default: 0] += 1
      findings.policyEntities.insert(entity)
    } else {
      findings.find(.extraObject, entity ?? root, key: key, "no source object explains it")
    }
    if let entity {
      tally.counts[entity, default: 0] += 1
      let origin = object.map { (stores.mappings[$0.mapping], $0.source) }
      try rows.checkRow(row, key: key, layout: try stores.layout(of: entity), of: origin)
    }
  }
}
