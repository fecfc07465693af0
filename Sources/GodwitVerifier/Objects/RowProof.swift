import GodwitJob
import GodwitModel
import GodwitStore

/// Proves rows of one mapping in SQLite's memory, beside the source rows that they were made of.
///
/// It only ever says that a row is right. If it is not sure, the methods that find faults (`compareValues`, `checkRow`)
/// read and report the row.
final class RowProof {
  /// The expected content of a column.
  private enum Expected {
    case copied(place: Int)
    case constant(SQLValue)
    case computed(CompiledExpression)
    /// Not to be known.
    case unknown
    /// Bytes that may be stored in a file; nil for none.
    case external(place: Int?)
  }

  private struct Value {
    var attribute: AttributeDescription
    var type: AttributeType
    var place: Int
    var expected: Expected
    /// The value that replaces nil.
    var standard: SQLValue?
    /// Whether the model's rules depend on the value.
    var hasRules: Bool
  }

  /// The expected content of a key column.
  struct Reference {
    enum Origin {
      /// The mapping assigns no value.
      case none
      /// The source object itself.
      case own
      /// A place of the source row.
      case column(Int)
    }

    var relation: ToOneProof
    var place: Int
    /// The place in the row of the entity number of the other object.
    var entityPlace: Int?
    var origin: Origin
    /// The mappings whose objects it may lead to, in order, and the numbers of their entities.
    var targets: [(counterparts: Counterparts, number: Int64)]
  }

  let mapping: VerifiedMapping
  let entity: String
  let number: Int64
  let layout: VerifiedLayout
  var references: [Reference] = []
  private var values: [Value] = []
  /// How many rows were met.
  var objects: Int64 = 0
  private let source: CursorObject
  private let stores: ComparedStores
  private let expectedValues: ExpectedValues
  private let valueRules: ValueRules

  init(
    _ mapping: VerifiedMapping, _ stores: ComparedStores, _ expectedValues: ExpectedValues, _ valueRules: ValueRules,
    source: CursorObject
  ) throws {
    (self.mapping, self.stores, self.source) = (mapping, stores, source)
    (self.expectedValues, self.valueRules) = (expectedValues, valueRules)
    entity = mapping.destinationEntity
    number = Int64(stores.destinationSchema.number(of: entity) ?? -1)
    layout = try stores.layout(of: entity)
    values = layout.attributes.map { value(of: $0.attribute, place: $0.place) }
  }

  func finalize() { source.cursor.finalize() }

  private func value(of attribute: AttributeDescription, place: Int) -> Value {
    let given = mapping.values[attribute.name]
    var expected: Expected
    switch given {
    case nil, .unknown?: expected = .unknown
    case .standard?: expected = .constant(ExpectedValues.stored(attribute.defaultValue))
    case .stored(let from)?:
      let column = stores.sourceSchema.column(of: from.name, in: mapping.sourceEntity)
      expected = column.flatMap { source.layout.places[$0] }.map { .copied(place: $0) } ?? .constant(.null)
    case .expression(let expression)?:
      expected = .computed(expectedValues.compiled(expression, for: attribute.name, in: mapping))
    }
    if mapping.isExternal(attribute) {
      switch (given, expected) {
      case (.stored(let from)?, .copied(let from_))
      where from.allowsExternalBinaryDataStorage && from.type == .binary
        && attribute.allowsExternalBinaryDataStorage && attribute.type == .binary:
        expected = .external(place: from_)
      default: expected = .external(place: nil)
      }
    }
    let hasRules =
      attribute.minimumValue != nil || attribute.maximumValue != nil || attribute.minimumLength != nil
      || attribute.maximumLength != nil || attribute.regularExpression != nil
    return Value(
      attribute: attribute, type: attribute.type, place: place, expected: expected,
      standard: mapping.nilIsDefault.contains(attribute.name) ? ExpectedValues.stored(attribute.defaultValue) : nil,
      hasRules: hasRules)
  }

  // MARK: Values

  /// Whether the row has the mapping's values and keeps the rules of one row.
  func holds(_ row: SQLRow, source key: Int64) throws -> Bool {
    guard try source.cursor.seek(key), !source.cursor.isLarge else { return false }
    guard row.storage(layout.lockPlace) == .integer, row.int64(layout.lockPlace) == 1 else { return false }
    for (_, place) in layout.others where !row.isNull(place) { return false }
    let from = source.cursor.row
    for index in values.indices { guard try holds(values[index], row, from) else { return false } }
    return true
  }

  private func holds(_ value: Value, _ row: SQLRow, _ from: SQLRow) throws -> Bool {
    switch value.expected {
    case .unknown: break
    case .copied(let place):
      if let standard = value.standard, from.isNull(place) {
        guard Self.isSame(standard, row, value.place) else { return false }
      } else {
        guard Self.isCopy(row, value.place, of: from, place, value.type) else { return false }
      }
    case .constant(var expected):
      if let standard = value.standard, expected == .null { expected = standard }
      guard Self.isSame(expected, row, value.place) else { return false }
    case .computed(let expression):
      // A failed computation is reported where the row is compared in full.
      guard case .value(let result)? = try? expression.evaluate(with: source) else { return false }
      var expected = ExpectedValues.fitted(ExpectedValues.stored(result), value.type)
      if let standard = value.standard, expected == .null { expected = standard }
      guard Self.isSame(expected, row, value.place) else { return false }
    case .external(let place):
      guard let place else { return false }
      switch (from.storage(place), row.storage(value.place)) {
      case (.null, .null): break
      case (.blob, .blob):
        // The first byte says that the others are the data themselves.
        guard row.firstByte(value.place) == 1, row.hasSameBytes(value.place, as: from, place) else { return false }
      default: return false
      }
    }
    return try value.attribute.isDerived || keepsRules(value, row)
  }

  private func keepsRules(_ value: Value, _ row: SQLRow) throws -> Bool {
    let storage = row.storage(value.place)
    if storage == .null { return value.attribute.isOptional }
    if value.hasRules {
      return try valueRules.brokenRules(value.attribute, row.value(value.place)).isEmpty
    }
    // A value in a file is recorded elsewhere.
    if value.attribute.allowsExternalBinaryDataStorage {
      guard value.type == .binary, storage == .blob, row.firstByte(value.place) == 1 else { return false }
    }
    switch value.type {
    case .integer16:
      return storage == .integer && Int16(exactly: row.int64(value.place)) != nil
    case .integer32:
      return storage == .integer && Int32(exactly: row.int64(value.place)) != nil
    case .integer64: return storage == .integer
    case .boolean: return storage == .integer && (0...1).contains(row.int64(value.place))
    case .double, .float, .date, .decimal: return storage == .integer || storage == .real
    case .string, .uri: return storage == .text
    case .binary, .transformable: return storage == .blob
    case .uuid: return storage == .blob && row.byteCount(value.place) == 16
    default: return try valueRules.brokenRules(value.attribute, row.value(value.place)).isEmpty
    }
  }

  /// As `ValueProof.agree`, for the result of `ExpectedValues.fitted` on a value of the source.
  private static func isCopy(
    _ row: SQLRow, _ place: Int, of from: SQLRow, _ origin: Int, _ type: AttributeType
  ) -> Bool {
    switch from.storage(origin) {
    case .null: return row.isNull(place)
    case .text: return row.storage(place) == .text && row.hasSameBytes(place, as: from, origin)
    case .blob: return row.storage(place) == .blob && row.hasSameBytes(place, as: from, origin)
    case .integer:
      let number = from.int64(origin)
      switch type {
      case .boolean: return isSame(.integer(number == 0 ? 0 : 1), row, place)
      case .double, .float: return isSame(.real(Double(number)), row, place)
      default: return isSame(.integer(number), row, place)
      }
    case .real:
      let number = from.double(origin)
      return isSame(type == .boolean ? .integer(number == 0 ? 0 : 1) : .real(number), row, place)
    }
  }

  /// As `ValueProof.agree`.
  private static func isSame(_ expected: SQLValue, _ row: SQLRow, _ place: Int) -> Bool {
    switch (expected, row.storage(place)) {
    case (.null, .null): true
    case (.integer(let number), .integer): row.int64(place) == number
    case (.real(let number), .real): row.double(place) == number
    case (.integer(let number), .real): Int64(exactly: row.double(place)) == number
    case (.real(let number), .integer): Int64(exactly: number) == row.int64(place)
    case (.text(let bytes), .text), (.blob(let bytes), .blob): row.hasBytes(place, bytes)
    default: false
    }
  }

  // MARK: To-ones

  /// A column with a key, at any place in the row.
  private enum Key: Equatable {
    case none, other
    case key(Int64)

    init(_ row: SQLRow, _ place: Int) {
      switch row.storage(place) {
      case .null: self = .none
      case .integer: self = .key(row.int64(place))
      case .real, .text, .blob: self = .other
      }
    }

    init(_ row: StoredRow, _ place: Int) {
      switch row.content(place) {
      case .value(.null): self = .none
      case .value(.integer(let key)): self = .key(key)
      case .value, .large: self = .other
      }
    }
  }

  /// Compares each key of the row with the mapping's. A difference marks the relationship as doubtful.
  func compareReferences(_ row: SQLRow, source key: Int64) throws {
    for index in references.indices where !references[index].relation.isDoubtful {
      try compare(references[index], source: key) { Key(row, $0) }
    }
  }

  /// The same for a row that is too large to be read in place.
  func compareReferences(_ row: StoredRow, source key: Int64) throws {
    for index in references.indices where !references[index].relation.isDoubtful {
      try compare(references[index], source: key) { Key(row, $0) }
    }
  }

  private func compare(_ reference: Reference, source key: Int64, held: (Int) -> Key) throws {
    var wanted: Int64?
    switch reference.origin {
    case .none: break
    case .own: wanted = key
    case .column(let place):
      switch try sourceKey(place, of: key) {
      case .none: break
      case .key(let key): wanted = key
      case .other: return reference.relation.doubt()
      }
    }
    if let wanted {
      for target in reference.targets {
        guard let expected = try target.counterparts.destination(of: wanted) else { continue }
        guard held(reference.place) == .key(expected),
          reference.entityPlace.map({ held($0) == .key(target.number) }) ?? true
        else { return reference.relation.doubt() }
        reference.relation.count += 1
        return
      }
    }
    guard held(reference.place) == .none, reference.entityPlace.map({ held($0) == .none }) ?? true else {
      return reference.relation.doubt()
    }
  }

  private func sourceKey(_ place: Int, of key: Int64) throws -> Key {
    guard try source.cursor.seek(key) else { return .other }
    guard source.cursor.isLarge else { return Key(source.cursor.row, place) }
    guard let row = try stores.objects.storedRow(key, of: mapping.sourceEntity) else { return .other }
    return Key(row, place)
  }
}
