import GodwitJob
import GodwitModel
import GodwitStore

/// Compares one row with the object that it must be, and reports what differs.
struct RowComparison {
  private let stores: ComparedStores
  private let values: ValueProof
  private let valueRules: ValueRules
  private let files: ExternalFileProof
  private let findings: Findings

  init(_ proof: ObjectProof) {
    (stores, values, valueRules) = (proof.stores, proof.values, proof.valueRules)
    (files, findings) = (proof.files, proof.findings)
  }

  /// The entity that a row's `Z_ENT` names; nil, with a finding, when its objects cannot be in this table.
  func concreteEntity(of row: [SQLValue], key: Int64, root: String) throws -> String? {
    let number = SQLValue.int(stores.destinationSchema.number(of: root) ?? -1)
    if let original = stores.original, row.count > 2, row[1] != number, stores.destinationSchema.fillsTable(root),
      try original.holdsNumber(row[1], ofKey: key, in: root)
    {
      findings.count("rows of \(root) with their old number, which Core Data ignores", 1)
      return root
    }
    guard row.count > 2, case .integer(let number) = row[1], let name = stores.entityNames[number],
      stores.job.destinationModel.isKind(name, of: root)
    else {
      findings.find(.entity, root, key: key, "Z_ENT names no entity of this table")
      return nil
    }
    guard stores.job.destinationModel.entity(name)?.isAbstract == false else {
      findings.find(.entity, name, key: key, "Z_ENT names an abstract entity")
      return nil
    }
    return name
  }

  func compareValues(
    _ row: StoredRow, key: Int64, mapping: VerifiedMapping, source: Int64
  ) throws -> Int64 {
    let layout = try stores.layout(of: mapping.destinationEntity)
    guard let object = try stores.objects.object(entityName: mapping.sourceEntity, key: source) else { return 0 }
    for (property, message) in try values.differences(of: object, in: mapping, row: row, layout: layout) {
      findings.find(.value, mapping.destinationEntity, key: key, property: property, message)
    }
    return Int64(layout.attributes.count)
  }

  /// `Z_OPT`, columns of other entities, and the model's rules for attributes and required to-ones.
  ///
  /// - Parameter origin: The source object, and the mapping that took it; nil where none explains the row.
  func checkRow(
    _ row: StoredRow, key: Int64, layout: VerifiedLayout, of origin: (mapping: VerifiedMapping, source: Int64)?
  ) throws {
    try checkLock(row.values[layout.lockPlace], key: key, entity: layout.entity)
    for (name, place) in layout.others where !row.content(place).isNull {
      findings.find(.value, layout.entity, key: key, "column \(name) belongs to another entity and is not NULL")
    }
    for (attribute, place) in layout.attributes where !attribute.isDerived {
      try files.noteExternalFile(row.values[place], attribute, layout.entity)
      let found = try valueRules.brokenRules(attribute, row.content(place), on: stores.destination)
      guard !found.isEmpty else { continue }
      if try isAsBefore(row.values[place], of: attribute, key: key, in: layout.entity) {
        findings.count("values that break rules, as in the old store", 1)
      } else if let rule = try unexcused(found, attribute, origin) {
        findings.find(.invalid, layout.entity, key: key, property: attribute.name, rule.text)
      } else {
        findings.count("values that break rules (on-invalid: keep)", 1)
      }
    }
  }

  /// Whether a migration in place without a mapping model left a value as it was. By definition alone it reads none, so
  /// that no rule stops it.
  private func isAsBefore(
    _ value: SQLValue, of attribute: AttributeDescription, key: Int64, in entity: String
  ) throws -> Bool {
    guard let original = stores.original, stores.job.steps.allSatisfy(\.isInferred) else { return false }
    return try original.holds(value, of: attribute, key: key, in: entity)
  }

  /// The first rule that stops a run; nil if the job keeps what breaks these. An inferred step keeps every value that the
  /// type can hold; any other only what broke the rule of the same kind in the source.
  private func unexcused(
    _ rules: [ValueRules.BrokenRule], _ attribute: AttributeDescription,
    _ origin: (mapping: VerifiedMapping, source: Int64)?
  ) throws -> ValueRules.BrokenRule? {
    guard stores.job.keepsInvalid else { return rules.first }
    if stores.job.keepsAllInvalid { return rules.first { $0.kind == .type } }
    guard let (mapping, source) = origin,
      let from = mapping.original(of: attribute.name, in: stores.job.sourceModel),
      let object = try stores.objects.object(entityName: mapping.sourceEntity, key: source),
      let content = try values.expectedValues.expectedContent(of: attribute, in: mapping, from: object)
    else { return rules.first }
    let before = Set(try valueRules.brokenRules(from, content, on: stores.source).map(\.kind))
    return rules.first { !before.contains($0.kind) }
  }

  /// A migration sets the counter of edits to 1, or leaves the row alone.
  private func checkLock(_ found: SQLValue, key: Int64, entity: String) throws {
    guard found != .integer(1) else { return }
    guard let original = stores.original else { return findings.find(.entity, entity, key: key, "Z_OPT is not 1") }
    if try original.lock(ofKey: key, in: entity) == found { return findings.count("rows with their old Z_OPT", 1) }
    findings.find(.entity, entity, key: key, "Z_OPT is neither 1 nor what it was")
  }
}
