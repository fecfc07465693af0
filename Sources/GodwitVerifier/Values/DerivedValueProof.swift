import GodwitJob
import GodwitModel
import GodwitStore

/// Derived attributes are computed again, object by object, from the content of the destination.
struct DerivedValueProof {
  private struct DerivedColumn {
    var attribute: AttributeDescription
    var column: String
    var derivation: Derivation
  }

  private let stores: ComparedStores
  private let findings: Findings

  init(_ stores: ComparedStores, _ findings: Findings) { (self.stores, self.findings) = (stores, findings) }

  func compareDerived() throws {
    let model = stores.job.destinationModel
    let context = ObjectContext(
      connection: stores.destination, schema: stores.destinationSchema, database: ComparedStores.attached)
    context.leavesLargeValues = true
    for entity in model.entities where !entity.isAbstract {
      var derived: [DerivedColumn] = []
      for attribute in model.attributes(of: entity.name) where attribute.isDerived && !attribute.isTransient {
        guard let column = stores.destinationSchema.column(of: attribute.name, in: entity.name) else { continue }
        derived.append(
          DerivedColumn(
            attribute: attribute, column: column,
            derivation: try Derivation(of: attribute, in: entity.name, model: model)))
      }
      guard !derived.isEmpty else { continue }
      var values: Int64 = 0
      var times: Set<String> = []
      var timed: Int64 = 0
      try stores.destination.query(
        "SELECT Z_PK FROM \(stores.table(try stores.destinationTable(entity.name).name)) WHERE \(stores.destinationSchema.isObject(of: [entity.name]).term)\(stores.own("Z_PK", entity.name)) ORDER BY Z_PK"
      ) { row in
        guard let object = try context.object(entityName: entity.name, key: row.int64(0)) else { return true }
        for item in derived {
          let attribute = item.attribute
          let found = try object.stored(item.column)
          guard let (expected, leeway) = try value(item.derivation, of: object) else {
            timed += 1
            if times.count < 2 { times.insert("\(found)") }
            if !Self.isTime(found) {
              findings.find(
                .value, entity.name, key: object.key, property: attribute.name,
                "it is derived from now() but is not a time")
            }
            continue
          }
          values += 1
          guard !Self.isSame(expected, found, within: leeway) else { continue }
          findings.find(
            .value, entity.name, key: object.key, property: attribute.name,
            "it is not what '\(attribute.derivationExpression ?? "")' gives")
        }
        return true
      }
      context.reset()
      if times.count > 1 { findings.find(.value, entity.name, "objects of one job have several values of now()") }
      if values > 0 { findings.count("derived values of \(entity.name)", values) }
      if timed > 0 { findings.count("not proved: times derived from now() in \(entity.name)", timed) }
    }
  }

  private static func isTime(_ value: SQLValue) -> Bool {
    switch value {
    case .integer, .real: true
    default: false
    }
  }

  /// The derivation's value, and how far a sum in another order may be from it. nil for a time that only the run knew,
  /// and for one in a store that was migrated in place, whose rows may have the time of an earlier change.
  private func value(_ derivation: Derivation, of object: StoredObject) throws -> (SQLValue, leeway: Double)? {
    var current = object
    for relationship in derivation.path.prefix(while: { !$0.isToMany }) {
      guard case .object(let next?) = try current.value(relationship.name), let reached = next as? StoredObject else {
        switch derivation.kind {
        case .count, .sum: return (.integer(0), 0)
        case .value, .now: return (.null, 0)
        }
      }
      current = reached
    }
    func stored(_ attribute: AttributeDescription, _ object: StoredObject) throws -> SQLValue {
      try stores.destinationSchema.column(of: attribute.name, in: object.entityName).map { try object.stored($0) }
        ?? .null
    }
    switch derivation.kind {
    case .now: return stores.moment.isKnown && stores.original == nil ? (.real(stores.now), 0) : nil
    case .value(let attribute, let function):
      let value = try stored(attribute, current)
      guard let function, case .text(let bytes) = value else { return (value, 0) }
      return (.text(Array(function(String(decoding: bytes, as: UTF8.self)).utf8)), 0)
    case .count: return (.int(try objects(derivation, from: current).count), 0)
    case .sum(let attribute):
      var whole: Int64? = 0
      var sum = RoundedSum()
      for member in try objects(derivation, from: current) {
        switch try stored(attribute, member) {
        case .integer(let number):
          whole = whole.flatMap { total -> Int64? in
            let (next, overflow) = total.addingReportingOverflow(number)
            return overflow ? nil : next
          }
          sum.add(Double(number))
        case .real(let number):
          whole = nil
          sum.add(number)
        default: break
        }
      }
      if let whole { return (.integer(whole), 0) }
      return (sum.value.isNaN ? .null : .real(sum.value), sum.leeway)
    }
  }

  private func objects(_ derivation: Derivation, from object: StoredObject) throws -> [StoredObject] {
    guard let last = derivation.path.last, case .objects(let members, _) = try object.value(last.name) else {
      return []
    }
    return members.compactMap { $0 as? StoredObject }
  }

  /// Whether a store holds a value, or a sum of the same parts in another order.
  private static func isSame(_ expected: SQLValue, _ found: SQLValue, within leeway: Double) -> Bool {
    if ValueProof.agree(expected, found) { return true }
    guard leeway > 0, case .real(let sum) = expected else { return false }
    switch found {
    case .real(let other): return abs(sum - other) <= leeway
    case .integer(let other): return abs(sum - Double(other)) <= leeway
    default: return false
    }
  }
}
