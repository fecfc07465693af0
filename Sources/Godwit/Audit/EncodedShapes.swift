import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The shapes of the values that bytes of a source encode.
struct EncodedShapes {
  let source: AttachedSource
  let step: MigrationJob

  /// The most shapes that are told apart in one attribute.
  private static let limitShapes = 50
  /// Larger values are not decoded.
  private static let limitBytes: Int64 = 1 << 20

  /// The shapes by attribute: a property marked `.codable` may have another one in each row, because a change of its type
  /// does not change the model.
  ///
  /// An attribute of which no value is JSON, a property list or an archive is left out.
  func found() throws -> [AuditReport.Shape] {
    let support = step.sourceSupport
    let (schema, connection) = (source.sourceSchema, source.connection)
    var found: [AuditReport.Shape] = []
    for entity in step.sourceModel.entities where !entity.isAbstract {
      guard let table = schema.table(of: entity.name)?.name else { continue }
      for attribute in step.sourceModel.attributes(of: entity.name)
      where [.binary, .transformable].contains(attribute.type) && !attribute.isTransient {
        guard let column = schema.column(of: attribute.name, in: entity.name).map(quoted) else { continue }
        var counts = ShapeCounts()
        let rows =
          "FROM source.\(quoted(table)) WHERE \(column) IS NOT NULL AND \(schema.isObject(of: [entity.name]).term)"
        try connection.query(
          "SELECT CASE WHEN typeof(\(column)) = 'blob' AND length(\(column)) <= \(Self.limitBytes) THEN \(column) END \(rows)"
        ) { row in
          counts.add(
            row.isNull(0) ? nil : try Self.bytes(row.bytes(0), of: attribute, in: support), limit: Self.limitShapes)
          return true
        }
        found += counts.shapes(entity: entity.name, attribute: attribute.name)
      }
    }
    return found
  }

  /// The plain bytes of a stored value; nil for a file that is missing or large.
  private static func bytes(
    _ stored: [UInt8], of attribute: AttributeDescription, in support: SupportFolder
  ) throws -> [UInt8]? {
    guard attribute.type == .binary, attribute.allowsExternalBinaryDataStorage else { return stored }
    switch StoredBinary(stored) {
    case .inline(let bytes): return bytes
    case .external(let name):
      guard let size = try support.size(of: name), size <= limitBytes else { return nil }
      return try support.bytes(of: name, limit: ByteCount(bytes: limitBytes))
    case nil: return nil
    }
  }
}

/// The values of one attribute, by form and shape.
private struct ShapeCounts {
  private struct Key: Hashable {
    var form: String
    var shape: String
  }
  private var known: [Key: Int64] = [:]
  private var others: Int64 = 0
  private var more: Int64 = 0

  mutating func add(_ bytes: [UInt8]?, limit: Int) {
    guard let bytes, let encoded = EncodedValue(bytes) else {
      others += 1
      return
    }
    let key = Key(form: encoded.form.rawValue, shape: encoded.value.shape())
    guard known[key] != nil || known.count < limit else {
      more += 1
      return
    }
    known[key, default: 0] += 1
  }

  /// The most frequent first.
  func shapes(entity: String, attribute: String) -> [AuditReport.Shape] {
    guard !known.isEmpty else { return [] }
    var shapes = known.map { key, count in
      AuditReport.Shape(entity: entity, attribute: attribute, form: key.form, shape: key.shape, count: count)
    }.sorted { ($1.count, $0.form, $0.shape ?? "") < ($0.count, $1.form, $1.shape ?? "") }
    if more > 0 { shapes.append(.init(entity: entity, attribute: attribute, form: "more", shape: nil, count: more)) }
    if others > 0 {
      shapes.append(.init(entity: entity, attribute: attribute, form: "other", shape: nil, count: others))
    }
    return shapes
  }
}
