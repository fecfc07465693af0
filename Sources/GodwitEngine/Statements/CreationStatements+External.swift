import GodwitJob
import GodwitModel
import GodwitStore

extension CreationStatements {
  /// The stored value of an attribute that is copied where one of the two models allows external storage; nil where
  /// none does.
  ///
  /// | source allows | destination allows | |
  /// |---|---|---|
  /// | yes | yes | unchanged, with its file |
  /// | yes | no | the prefix is removed; a file becomes the value |
  /// | no | yes | byte 1 is put before it |
  func externalValue(
    of attribute: AttributeDescription, copying name: String, in mapping: ResolvedEntityMapping, column: String,
    checked: String, site: Int, builder: StatementBuilder
  ) -> String? {
    guard let from = resolved.sourceModel.attribute(name, of: mapping.source.name) else { return nil }
    let reference = ExternalDataSQL.isReference(column)
    switch (from.allowsExternalBinaryDataStorage, attribute.allowsExternalBinaryDataStorage) {
    case (false, false): return nil
    case (false, true): return ExternalDataSQL.prefixed(checked)
    case (true, true):
      builder.movesFiles = true
      let salt = externalSalt(of: attribute, copying: name, in: mapping).map { builder.bind(.text($0)) } ?? "NULL"
      let isCarried = attribute.type == .binary ? ExternalDataSQL.isNotInline(column) : reference
      return
        "(CASE WHEN \(isCarried) THEN godwit_carry(\(column), \(salt), \(site), s.Z_PK) ELSE \(checked) END)"
    case (true, false):
      builder.movesFiles = true
      let key =
        mapping.mapping.uniqueBy.isEmpty
        ? associations(builder).counterpart(mapping.index, ofRow: "s") : "u.destination"
      let target = destinationSchema.column(of: attribute.name, in: mapping.destination.name) ?? ""
      return
        "(CASE WHEN \(column) IS NULL THEN NULL WHEN typeof(\(column)) = 'blob' AND substr(\(column), 1, 1) = x'01' THEN substr(\(column), 2) WHEN \(reference) THEN godwit_inline(\(column), \(site), s.Z_PK, \(builder.bind(.text(target))), \(key)) ELSE godwit_bad(\(site), s.Z_PK, replace(typeof(\(column)), 'blob', 'reference')) END)"
    }
  }

  /// A text that makes a file's new name unique if an earlier mapping or attribute has used the file for the same
  /// object. Core Data deletes a file with its value, so that no two values may share one.
  private func externalSalt(
    of attribute: AttributeDescription, copying name: String, in mapping: ResolvedEntityMapping
  ) -> String? {
    // An existing store may have the same file from an earlier job.
    if let inUse = facts.highestDestinationKeys?[
      resolved.destinationModel.root(of: mapping.destination.name)?.name ?? mapping.destination.name]
    {
      return "append \(inUse) \(mapping.destination.name) \(mapping.name).\(attribute.name)"
    }
    for other in mappings.prefix(mapping.index.number + 1)
    where other.source.name == mapping.source.name
      && (other.index == mapping.index || facts.overlap(other.index, mapping.index))
    {
      for (taken, source) in other.attributes
      where source == .copy(name) && taken.allowsExternalBinaryDataStorage {
        if other.index == mapping.index, taken.name == attribute.name { return nil }
        return "\(mapping.name).\(attribute.name)"
      }
    }
    return nil
  }
}
