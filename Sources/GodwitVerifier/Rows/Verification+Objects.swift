import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

extension Verification {
  /// Walks every destination table beside the list of its expected objects, both in key order.
  func compareObjects() throws {
    progress.beginRows(counterparts.reduce(0) { $0 + $1.winners.count })
    for root in job.destinationModel.rootEntities where progress.checkpoint?.roots.contains(root.name) != true {
      try compareRows(root: root.name)
      progress.keep {
        $0.roots.insert(root.name)
        $0.table = nil
      }
    }
    for mapping in mappings where mapping.earlierOffset == nil {
      guard mapping.policyName == nil else {
        let taken = counterparts[mapping.index].taken.count
        findings.count("not proved: what the policy of mapping '\(mapping.name)' made of its source objects", taken)
        continue
      }
      let unknown = try layout(of: mapping.destinationEntity).attributes.filter { attribute, _ in
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
    objects.reset()
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
    if tally.values > 0 { findings.count("values in \(try destinationTable(root).name)", tally.values) }
  }

  /// How the rows of each mapping are proved in place, by mapping.
  func rowProofs(root: String) throws -> [Int: RowProof] {
    var proofs: [Int: RowProof] = [:]
    var cursors: [CursorGroup: RowCursor] = [:]
    for index in claimed[root] ?? [] {
      let mapping = mappings[index]
      guard let object = try sourceObjects(of: mapping.sourceEntity) else { continue }
      // Keys with one shift are in the order of the source's.
      let group: CursorGroup
      switch counterparts[index].place {
      case .shift(let shift): group = CursorGroup(table: try sourceTable(mapping.sourceEntity).name, shift: shift)
      case .start, .none: group = CursorGroup(mapping: index)
      }
      let cursor = cursors[group] ?? object.cursor
      cursors[group] = cursor
      let proof = try RowProof(
        mapping, self, source: CursorObject(context: objects, layout: object.layout, cursor: cursor))
      proof.references = try plans.references(of: mapping)
      proofs[index] = proof
    }
    return proofs
  }

  private struct CursorGroup: Hashable {
    var table: String?
    var shift: Int64?
    var mapping: Int?
  }

  /// The entity that a row's `Z_ENT` names; nil, with a finding, when its objects cannot be in this table.
  func concreteEntity(of row: [SQLValue], key: Int64, root: String) throws -> String? {
    let number = SQLValue.int(destinationSchema.number(of: root) ?? -1)
    if let original, row.count > 2, row[1] != number, destinationSchema.fillsTable(root),
      try original.holdsNumber(row[1], ofKey: key, in: root)
    {
      findings.count("rows of \(root) with their old number, which Core Data ignores", 1)
      return root
    }
    guard row.count > 2, case .integer(let number) = row[1], let name = names[number],
      job.destinationModel.isKind(name, of: root)
    else {
      find(.entity, root, key: key, "Z_ENT names no entity of this table")
      return nil
    }
    guard job.destinationModel.entity(name)?.isAbstract == false else {
      find(.entity, name, key: key, "Z_ENT names an abstract entity")
      return nil
    }
    return name
  }

  func compareValues(
    _ row: StoredRow, key: Int64, mapping: VerifiedMapping, source: Int64
  ) throws -> Int64 {
    let layout = try layout(of: mapping.destinationEntity)
    guard let object = try objects.object(entityName: mapping.sourceEntity, key: source) else { return 0 }
    for (property, message) in try values.differences(of: object, in: mapping, row: row, layout: layout) {
      find(.value, mapping.destinationEntity, key: key, property: property, message)
    }
    return Int64(layout.attributes.count)
  }

  // MARK: Rules of one row

  /// `Z_OPT`, columns of other entities, and the model's rules for attributes and required to-ones.
  ///
  /// - Parameter origin: The source object, and the mapping that took it; nil where none explains the row.
  func checkRow(
    _ row: StoredRow, key: Int64, layout: VerifiedLayout, of origin: (mapping: VerifiedMapping, source: Int64)?
  ) throws {
    try checkLock(row.values[layout.lockPlace], key: key, entity: layout.entity)
    for (name, place) in layout.others where !row.content(place).isNull {
      find(.value, layout.entity, key: key, "column \(name) belongs to another entity and is not NULL")
    }
    for (attribute, place) in layout.attributes where !attribute.isDerived {
      try files.noteExternalFile(row.values[place], attribute, layout.entity)
      let found = try valueRules.brokenRules(attribute, row.content(place), on: destination)
      guard !found.isEmpty else { continue }
      if let rule = try unexcused(found, attribute, origin) {
        find(.invalid, layout.entity, key: key, property: attribute.name, rule.text)
      } else {
        findings.count("values that break rules (on-invalid: keep)", 1)
      }
    }
  }

  /// The first rule that stops a run; nil if the job keeps what breaks these. An inferred step keeps every value that the
  /// type can hold; any other only what broke the rule of the same kind in the source.
  private func unexcused(
    _ rules: [ValueRules.BrokenRule], _ attribute: AttributeDescription,
    _ origin: (mapping: VerifiedMapping, source: Int64)?
  ) throws -> ValueRules.BrokenRule? {
    guard job.keepsInvalid else { return rules.first }
    if job.keepsAllInvalid { return rules.first { $0.kind == .type } }
    guard let (mapping, source) = origin, case .stored(let from)? = mapping.values[attribute.name],
      let object = try objects.object(entityName: mapping.sourceEntity, key: source),
      let content = try values.expectedValues.expectedContent(of: attribute, in: mapping, from: object)
    else { return rules.first }
    let before = Set(try valueRules.brokenRules(from, content, on: self.source).map(\.kind))
    return rules.first { !before.contains($0.kind) }
  }

  /// A migration sets the counter of edits to 1, or leaves the row alone.
  private func checkLock(_ found: SQLValue, key: Int64, entity: String) throws {
    guard found != .integer(1) else { return }
    guard let original else { return find(.entity, entity, key: key, "Z_OPT is not 1") }
    if try original.lock(ofKey: key, in: entity) == found { return findings.count("rows with their old Z_OPT", 1) }
    find(.entity, entity, key: key, "Z_OPT is neither 1 nor what it was")
  }
}
