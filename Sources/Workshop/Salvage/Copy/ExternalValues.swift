import GodwitModel
import GodwitStore

/// Values that lie in files beside the store: which of them are missing.
struct ExternalValues {
  private let copy: CopyStore
  private let schema: StoreSchema
  private let folder: SupportFolder

  /// How many names a finding has.
  private static let samples = 10

  init(_ copy: CopyStore, _ schema: StoreSchema, _ folder: SupportFolder) {
    (self.copy, self.schema, self.folder) = (copy, schema, folder)
  }

  /// Lists values whose file is missing, and sets them to nil where that is valid.
  func check(_ findings: inout [SalvageReport.MissingFiles]) throws {
    for table in schema.tables {
      for column in table.columns {
        guard case .attribute(let owner, let name, .binary) = column.role else { continue }
        for entity in schema.model.family(of: owner) where !entity.isAbstract {
          guard let attribute = schema.model.attribute(name, of: entity.name),
            attribute.allowsExternalBinaryDataStorage
          else { continue }
          if let finding = try check(attribute, of: entity.name, column.name, table.name) { findings.append(finding) }
        }
      }
    }
  }

  private func check(
    _ attribute: AttributeDescription, of entity: String, _ column: String, _ table: String
  ) throws -> SalvageReport.MissingFiles? {
    let connection = copy.connection
    let condition = schema.isObject(of: [entity]).further
    let walk = try connection.prepare(
      "SELECT Z_PK, \(quoted(column)) FROM main.\(quoted(table)) WHERE Z_PK > ?1 AND length(\(quoted(column))) = 38\(condition) ORDER BY Z_PK LIMIT 1000"
    )
    let clear = try connection.prepare("UPDATE main.\(quoted(table)) SET \(quoted(column)) = NULL WHERE Z_PK = ?1")
    defer {
      walk.finalize()
      clear.finalize()
    }
    var finding = SalvageReport.MissingFiles(
      attribute: "\(entity).\(attribute.name)", count: 0, files: [], isNil: attribute.isOptional)
    var last = Int64.min
    while true {
      var batch: [(key: Int64, bytes: [UInt8])] = []
      try walk.bind([.integer(last)])
      while try walk.step() { batch.append((walk.row.int64(0), walk.row.bytes(1))) }
      walk.reset()
      for (key, bytes) in batch {
        guard case .external(let file)? = StoredBinary(bytes), try folder.size(of: file) == nil else { continue }
        finding.count += 1
        if finding.files.count < Self.samples { finding.files.append(file) }
        if attribute.isOptional { try clear.run([.integer(key)]) }
      }
      guard let next = batch.last?.key, batch.count == 1000 else { break }
      last = next
    }
    return finding.count > 0 ? finding : nil
  }
}
