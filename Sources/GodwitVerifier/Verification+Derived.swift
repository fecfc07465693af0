import GodwitJob
import GodwitModel
import GodwitStore

/// Derived attributes are computed once more, object by object, from what the destination holds.
extension Verification {
  func compareDerived() throws {
    let model = job.destinationModel
    let context = ObjectContext(connection: destination, schema: destinationSchema, database: Self.attached)
    context.leavesLargeValues = true
    for entity in model.entities where !entity.isAbstract {
      var derived: [(attribute: AttributeDescription, column: String, derivation: Derivation)] = []
      for attribute in model.attributes(of: entity.name) where attribute.isDerived && !attribute.isTransient {
        guard let column = destinationSchema.column(of: attribute.name, in: entity.name) else { continue }
        derived.append((attribute, column, try Derivation(of: attribute, in: entity.name, model: model)))
      }
      guard !derived.isEmpty else { continue }
      var values: Int64 = 0
      var times: Set<String> = []
      var timed: Int64 = 0
      try destination.query(
        "SELECT Z_PK FROM \(table(try destinationTable(entity.name).name)) WHERE \(isObject(entity.name, "Z_ENT", in: destinationSchema))\(own("Z_PK", entity.name)) ORDER BY Z_PK"
      ) { row in
        guard let object = try context.object(entityName: entity.name, key: row.int64(0)) else { return true }
        for (attribute, column, derivation) in derived {
          let found = try object.stored(column)
          guard let expected = try value(derivation, of: object) else {
            timed += 1
            if times.count < 2 { times.insert("\(found)") }
            if !Self.isTime(found) {
              find(
                .value, entity.name, key: object.key, property: attribute.name, "it is derived from now() and no time")
            }
            continue
          }
          values += 1
          guard !Self.isSame(expected, found, attribute.type) else { continue }
          find(
            .value, entity.name, key: object.key, property: attribute.name,
            "it is not what '\(attribute.derivationExpression ?? "")' gives")
        }
        return true
      }
      context.reset()
      if times.count > 1 { find(.value, entity.name, "objects of one job have several values of now()") }
      if values > 0 { report.count("derived values of \(entity.name)", values) }
      if timed > 0 { report.count("not proved: times derived from now() in \(entity.name)", timed) }
    }
  }

  private static func isTime(_ value: SQLValue) -> Bool {
    switch value {
    case .integer, .real: true
    default: false
    }
  }

  /// What the derivation gives; nil for the time of the run, which only the run knew.
  private func value(_ derivation: Derivation, of object: StoredObject) throws -> SQLValue? {
    var current = object
    for relationship in derivation.path.prefix(while: { !$0.isToMany }) {
      guard case .object(let next?) = try current.value(relationship.name), let reached = next as? StoredObject else {
        switch derivation.kind {
        case .count, .sum: return .integer(0)
        case .value, .now: return .null
        }
      }
      current = reached
    }
    func stored(_ attribute: AttributeDescription, _ object: StoredObject) throws -> SQLValue {
      try destinationSchema.column(of: attribute.name, in: object.entityName).map { try object.stored($0) } ?? .null
    }
    switch derivation.kind {
    case .now: return nil
    case .value(let attribute, let function):
      let value = try stored(attribute, current)
      guard let function, case .text(let bytes) = value else { return value }
      return .text(Array(function(String(decoding: bytes, as: UTF8.self)).utf8))
    case .count: return .int(try objects(derivation, from: current).count)
    case .sum(let attribute):
      var whole: Int64? = 0
      var sum = 0.0
      for member in try objects(derivation, from: current) {
        switch try stored(attribute, member) {
        case .integer(let number):
          whole = whole.flatMap { total -> Int64? in
            let (next, overflow) = total.addingReportingOverflow(number)
            return overflow ? nil : next
          }
          sum += Double(number)
        case .real(let number):
          whole = nil
          sum += number
        default: break
        }
      }
      return whole.map { .integer($0) } ?? .real(sum)
    }
  }

  private func objects(_ derivation: Derivation, from object: StoredObject) throws -> [StoredObject] {
    guard let last = derivation.path.last, case .objects(let members, _) = try object.value(last.name) else {
      return []
    }
    return members.compactMap { $0 as? StoredObject }
  }

  /// Sums of fractions may differ in the last digits with the order of their parts.
  private static func isSame(_ expected: SQLValue, _ found: SQLValue, _ type: AttributeType) -> Bool {
    if case .real(let a) = expected, case .real(let b) = found { return a == b || abs(a - b) <= abs(a) * 1e-12 }
    return agree(expected, found)
  }
}
