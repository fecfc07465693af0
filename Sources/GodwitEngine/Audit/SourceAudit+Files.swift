import GodwitJob
import GodwitModel
import GodwitStore

/// Values in external files whose bytes a run needs.
extension SourceAudit {
  /// The attribute of the source whose bytes a run needs for one of the destination: the new version stores them in rows,
  /// or the destination is no SQLite store. Nil where values stay in their files.
  private func fileAttribute(
    _ attribute: AttributeDescription, copying name: String, _ mapping: ResolvedEntityMapping
  ) -> AttributeDescription? {
    guard let from = model.attribute(name, of: mapping.source.name), from.type == .binary,
      from.allowsExternalBinaryDataStorage,
      job.needsBytesOfFiles || !attribute.allowsExternalBinaryDataStorage
    else { return nil }
    return from
  }

  /// A column, or nil in place of a value without which the run goes on because its file is missing.
  func readable(
    _ column: String, _ attribute: AttributeDescription, _ name: String, _ mapping: ResolvedEntityMapping
  ) -> String {
    guard job.missingFilesAreNil, fileAttribute(attribute, copying: name, mapping) != nil else { return column }
    return
      "(CASE WHEN \(ExternalDataSQL.isReference(column)) AND godwit_file(\(column)) = 1 THEN NULL ELSE \(column) END)"
  }

  /// The checks of a value whose bytes are needed: its file is there, and its form is known.
  func fileChecks(
    _ attribute: AttributeDescription, from source: ResolvedEntityMapping.AttributeSource,
    in mapping: ResolvedEntityMapping, value: String
  ) -> [Check] {
    guard case .copy(let name) = source.withoutDefault,
      fileAttribute(attribute, copying: name, mapping) != nil
    else { return [] }
    func check(_ kind: AuditReport.Kind, _ message: String, _ state: Int) -> Check {
      Check(
        kind: kind, model: kind == .missingFile ? model.name : resolved.destinationModel.name,
        entity: mapping.source.name, property: kind == .missingFile ? name : attribute.name, mapping: mapping.name,
        message: message,
        condition: "(CASE WHEN \(ExternalDataSQL.isNotInline(value)) THEN godwit_file(\(value)) = \(state) ELSE 0 END)",
        value: value, key: "t.Z_PK")
    }
    let unknown = check(
      .invalid, "attribute '\(attribute.name)' holds neither bytes nor the name of an external file", 2)
    // The loss says what becomes of the value.
    if job.missingFilesAreNil { return [unknown] }
    return [check(.missingFile, "the external file of '\(name)' is missing", 1), unknown]
  }
}
