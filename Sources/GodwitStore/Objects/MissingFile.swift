package import GodwitModel

extension GodwitError {
  /// The error of a value whose bytes are needed and whose external file is missing.
  ///
  /// - Parameters:
  ///   - path: The path that the file would have.
  ///   - action: The work that needs the bytes, such as `evaluate`.
  ///   - schema: Names the table and the column of the value.
  package static func missingFile(
    _ path: String, of attribute: String, entityName: String, key: Int64, action: String = "evaluate",
    schema: StoreSchema
  ) -> GodwitError {
    let table = schema.table(of: entityName).map { "table \($0.name), " } ?? ""
    let column = schema.column(of: attribute, in: entityName).map { "column \($0), " } ?? ""
    return GodwitError(
      .dataWrong, "cannot \(action) '\(attribute)' for \(entityName) p\(key): its external file '\(path)' is missing",
      cause: "\(table)\(column)Z_PK \(key)",
      remedy:
        "restore the file and run the same command; or `godwit discard` the job, set such objects aside or keep them without the value ('on-invalid: {quarantine: …}' or 'on-invalid: keep'), and run again"
    ).about(.missingFile)
  }
}
