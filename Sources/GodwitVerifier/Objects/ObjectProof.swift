import GodwitJob
import GodwitModel
import GodwitStore

/// Proves the objects of the destination: each one that the mappings make is there, with its values, and no other.
///
/// 1. `compareOnAllCores` proves ranges of rows in place, with a `RowProof` for each mapping.
/// 2. `TableComparison` walks the rows that are left beside the expected objects, and reports what differs.
final class ObjectProof {
  let stores: ComparedStores
  let keys: KeyAssignment
  let plans: LinkPlans
  let values: ValueProof
  let valueRules: ValueRules
  let files: ExternalFileProof
  /// nil for a thread that proves rows: stores that were appended to have one reader.
  let met: MetProof?
  let findings: Findings
  let progress: VerificationProgress

  init(
    _ stores: ComparedStores, _ keys: KeyAssignment, _ plans: LinkPlans, _ values: ValueProof,
    _ files: ExternalFileProof, _ met: MetProof?, _ findings: Findings, _ progress: VerificationProgress
  ) {
    (self.stores, self.keys, self.plans, self.values) = (stores, keys, plans, values)
    (self.files, self.met, self.findings, self.progress) = (files, met, findings, progress)
    valueRules = ValueRules(stores, findings)
  }

  /// A reader of the same stores for another thread, which proves rows and reports nothing.
  convenience init(reading source: StoreConnection, _ destination: StoreConnection, as other: ObjectProof) {
    let stores = ComparedStores(reading: source, destination, as: other.stores)
    let findings = Findings()
    let keys = KeyAssignment(stores, as: other.keys)
    let plans = LinkPlans(stores, keys, as: other.plans)
    self.init(
      stores, keys, plans, ValueProof(stores, keys, findings), ExternalFileProof(stores, findings), nil, findings,
      VerificationProgress(stores, findings, plans))
  }

  /// Walks every destination table beside the list of its expected objects, both in key order.
  func compareObjects() throws {
    progress.beginRows(keys.counterparts.reduce(0) { $0 + $1.winners.count })
    for root in stores.job.destinationModel.rootEntities where progress.checkpoint?.roots.contains(root.name) != true {
      try compareRows(root: root.name)
      progress.keep {
        $0.roots.insert(root.name)
        $0.table = nil
      }
    }
    for mapping in stores.mappings where mapping.earlierOffset == nil {
      guard mapping.policyName == nil else {
        let taken = keys.counterparts[mapping.index].taken.count
        findings.count("not proved: what the policy of mapping '\(mapping.name)' made of its source objects", taken)
        continue
      }
      let unknown = try stores.layout(of: mapping.destinationEntity).attributes.filter { attribute, _ in
        if attribute.isDerived { return false }
        return if case .unknown? = mapping.values[attribute.name] { true } else { false }
      }
      if !unknown.isEmpty {
        findings.count("not proved: attributes of mapping '\(mapping.name)'", Int64(unknown.count))
      }
    }
  }

  private func compareRows(root: String) throws {
    let start = progress.checkpoint?.table.flatMap { $0.root == root ? $0 : nil }
    let comparison = try TableComparison(self, root: root, tally: start?.tally ?? TableTally())
    defer { comparison.finalize() }
    let first = try compareOnAllCores(comparison, from: start?.next ?? .min)
    if let first { try comparison.compare(from: first, through: .max) }
    try report(comparison.whole, root: root)
    stores.objects.reset()
  }

  private func report(_ tally: TableTally, root: String) throws {
    for (entity, count) in tally.counts.sorted(by: { $0.key < $1.key }) {
      findings.count("objects of \(entity)", count)
    }
    for (entity, count) in tally.made.sorted(by: { $0.key < $1.key }) {
      findings.count("not proved: objects of \(entity) that no mapping explains, as a policy may make them", count)
    }
    if tally.passedOver > 0 { findings.count("not proved: objects of \(root) outside the sample", tally.passedOver) }
    if tally.others > 0 { findings.count("objects of \(root) that the job did not make", tally.others) }
    if tally.values > 0 { findings.count("values in \(try stores.destinationTable(root).name)", tally.values) }
  }

  /// How the rows of each mapping are proved in place, by mapping.
  func rowProofs(root: String) throws -> [MappingID: RowProof] {
    var proofs: [MappingID: RowProof] = [:]
    var cursors: [CursorGroup: RowCursor] = [:]
    for index in keys.claimed[root] ?? [] {
      let mapping = stores.mappings[index]
      guard let object = try stores.sourceObjects(of: mapping.sourceEntity) else { continue }
      // Keys with one shift are in the order of the source's.
      let group: CursorGroup
      switch keys.counterparts[index].place {
      case .shift(let shift):
        group = CursorGroup(table: try stores.sourceTable(mapping.sourceEntity).name, shift: shift)
      case .start, .none: group = CursorGroup(mapping: index)
      }
      let cursor = cursors[group] ?? object.cursor
      cursors[group] = cursor
      let proof = try RowProof(
        mapping, stores, values.expectedValues, valueRules,
        source: CursorObject(context: stores.objects, layout: object.layout, cursor: cursor))
      proof.references = try plans.references(of: mapping)
      proofs[index] = proof
    }
    return proofs
  }

  private struct CursorGroup: Hashable {
    var table: String?
    var shift: Int64?
    var mapping: MappingID?
  }
}
