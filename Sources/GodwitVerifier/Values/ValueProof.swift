import GodwitJob
import GodwitModel
import GodwitStore

/// Compares the attributes of an object with the values that its mapping gives.
struct ValueProof {
  let expectedValues: ExpectedValues
  let external: ExternalValueProof
  private let stores: ComparedStores
  private let keys: KeyAssignment

  init(_ stores: ComparedStores, _ keys: KeyAssignment, _ findings: Findings) {
    (self.stores, self.keys) = (stores, keys)
    expectedValues = ExpectedValues(stores)
    external = ExternalValueProof(stores, expectedValues, findings)
  }

  /// Attributes whose stored value differs from the mapping's, each with the fault.
  func differences(
    of object: StoredObject, in mapping: VerifiedMapping, row: StoredRow, layout: VerifiedLayout
  ) throws -> [(property: String, message: String)] {
    var found: [(String, String)] = []
    let winner = object
    for (attribute, place) in layout.attributes where row.values.indices.contains(place) {
      let held = row.content(place)
      do {
        let object = try origin(of: attribute, in: mapping, winner)
        if mapping.isExternal(attribute) {
          let message = try external.externalDifference(of: attribute, in: mapping, from: object, found: held)
          if let message { found.append((attribute.name, message)) }
          continue
        }
        guard let expected = try expectedValues.expectedContent(of: attribute, in: mapping, from: object) else {
          continue
        }
        guard try !agree(expected, held, attribute.type) else { continue }
        if attribute.type == .transformable, stores.job.destinationType == .binary, try agreeAsArchives(expected, held)
        {
          continue
        }
        found.append(
          (
            attribute.name,
            expected.kind == held.kind
              ? "the value is not what mapping '\(mapping.name)' gives for p\(object.key) of the source"
              : "mapping '\(mapping.name)' gives \(expected.kind) for p\(object.key) of the source, the store holds \(held.kind)"
          ))
      } catch let error as ExpressionError {
        found.append(
          (attribute.name, "its value cannot be computed from p\(object.key) of the source: \(error.message)"))
      } catch let error as GodwitError where error.code == .dataWrong {
        found.append((attribute.name, error.message))
      }
    }
    return found
  }

  /// The object that gives an attribute its value: the first of those that become one, or where `fill-nil` is said the
  /// first of them that has a value.
  func origin(
    of attribute: AttributeDescription, in mapping: VerifiedMapping, _ winner: StoredObject
  ) throws -> StoredObject {
    func has(_ object: StoredObject) throws -> Bool {
      switch mapping.values[attribute.name] {
      case .stored(let from):
        guard let column = stores.sourceSchema.column(of: from.name, in: object.entityName) else { return false }
        return !object.content(column).isNull
      case .expression: return try expectedValues.mappedValue(of: attribute, in: mapping, from: object) != .null
      case nil, .standard, .unknown: return true
      }
    }
    guard mapping.fillsNil, !mapping.uniqueBy.contains(where: { $0.name == attribute.name }), try !has(winner) else {
      return winner
    }
    for key in try keys.counterparts[mapping.index].others(of: winner.key) {
      if let object = try stores.objects.object(entityName: mapping.sourceEntity, key: key), try has(object) {
        return object
      }
    }
    return winner
  }

  /// Whether the destination's value agrees with the value of the source or the mapping.
  private func agree(_ expected: StoredContent, _ found: StoredContent, _ type: AttributeType) throws -> Bool {
    if case .value(let expected) = expected, case .value(let found) = found {
      // A step that changes only definitions leaves the row unchanged, and any number but 0 is true.
      return Self.agree(expected, stores.original == nil ? found : ExpectedValues.fitted(found, type))
    }
    guard expected.kind == found.kind, let a = ExternalValueProof.bytes(expected, stores.source),
      let b = ExternalValueProof.bytes(found, stores.destination)
    else { return false }
    return try a.isSame(as: b)
  }

  /// Whether two transformable values are archives of the same objects. A binary store has the objects themselves, and
  /// what they were numbered by before is not in it.
  private func agreeAsArchives(_ expected: StoredContent, _ found: StoredContent) throws -> Bool {
    func graph(of content: StoredContent, _ connection: StoreConnection) throws -> ArchivedGraph? {
      guard content.kind == SQLValue.blob([]).kind, let bytes = ExternalValueProof.bytes(content, connection) else {
        return nil
      }
      return try? ArchivedGraph(archive: try bytes.all())
    }
    guard let a = try graph(of: expected, stores.source), let b = try graph(of: found, stores.destination) else {
      return false
    }
    return Self.isSame(.array(a.objects), .array(b.objects))
  }

  /// Whether two values are the same to the byte and the bit, without the equality by which archives are written.
  private static func isSame(_ a: PropertyListValue, _ b: PropertyListValue) -> Bool {
    switch (a, b) {
    case (.string(let x), .string(let y)): Array(x.utf8) == Array(y.utf8)
    case (.real(let x), .real(let y)), (.date(let x), .date(let y)): x.bitPattern == y.bitPattern
    case (.integer(let x), .integer(let y)): x == y
    case (.unsigned(let x), .unsigned(let y)): x == y
    case (.boolean(let x), .boolean(let y)): x == y
    case (.data(let x), .data(let y)): x == y
    case (.uid(let x), .uid(let y)): x == y
    case (.array(let x), .array(let y)): x.count == y.count && zip(x, y).allSatisfy(isSame)
    case (.dictionary(let x), .dictionary(let y)):
      x.count == y.count && x.allSatisfy { field in y[field.key].map { isSame(field.value, $0) } ?? false }
    default: false
    }
  }

  /// Whether a store holds a value. A column's affinity decides between an integer and a real number, so
  /// numbers compare by value, which is exact.
  static func agree(_ expected: SQLValue, _ found: SQLValue) -> Bool {
    switch (expected, found) {
    case (.integer(let a), .integer(let b)): return a == b
    case (.integer(let a), .real(let b)), (.real(let b), .integer(let a)): return Int64(exactly: b) == a
    case (let a, let b): return a == b
    }
  }
}
