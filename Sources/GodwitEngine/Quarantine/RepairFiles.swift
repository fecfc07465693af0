import GodwitJob
import GodwitModel
import GodwitStore

/// Which external files an edited quarantine brings.
///
/// Each file that an object of the quarantine names is looked at, whether its value was edited or not: a file may have
/// been restored under the name that the object has always had.
struct RepairFiles {
  /// The copy of the source, with `temp.godwit_reference`.
  let copy: StoreConnection
  let quarantine: EditedQuarantine
  /// nil for a source that has no folder of files.
  let source: SupportFolder?
  /// Those of the repairs so far; nil without any.
  let earlier: SupportFolder?

  /// The external files that the source lacks, in order, each with the folder that has it. An object whose file is
  /// there again is noted as repaired.
  ///
  /// - Throws: `.dataWrong` (65) for a file that is missing, and for one with other bytes than those of its name.
  func collect(check: () throws -> Void) throws -> [(String, SupportFolder)] {
    var files: [String: SupportFolder] = [:]
    if let earlier {
      try copy.query("SELECT name FROM earlier.\(RepairsFile.files)") { row in
        if let name = row.string(0), SupportFolder.isFileName(name) { files[name] = earlier }
        return true
      }
    }
    var restored: [SQLValue] = []
    let edited = quarantine.support
    try copy.query("SELECT value, MAX(is_new) FROM temp.godwit_reference GROUP BY value ORDER BY value") { row in
      guard case .external(let name)? = StoredBinary(row.bytes(0)) else { return true }
      try check()
      let isNew = row.int64(1) != 0
      let known = try files[name] ?? (source?.size(of: name) != nil ? source : nil)
      guard try edited.size(of: name) != nil else {
        // An object whose file was never there stays as it is.
        guard isNew, known == nil else { return true }
        throw Self.missing(name, in: edited, of: quarantine)
      }
      if let known {
        guard try edited.holdsSameBytes(name, as: name, in: known) else {
          throw replaced(name, known)
        }
        return true
      }
      files[name] = edited
      if !isNew { restored.append(row.value(0)) }
      return true
    }
    for value in restored {
      try copy.execute(
        "INSERT OR IGNORE INTO temp.godwit_changed (root, key, entity) SELECT root, key, entity FROM temp.godwit_reference WHERE value = ?1",
        [value])
    }
    return files.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// A file that a repair names and nobody has.
  static func missing(_ name: String, in folder: SupportFolder, of quarantine: EditedQuarantine) -> GodwitError {
    guard folder == quarantine.support else {
      return GodwitError(
        .cannotCreate,
        "cannot take repairs from '\(quarantine.files.givenPath)': the external file '\(folder.path(of: name))' of the earlier repairs is missing",
        remedy: "restore the repairs of the destination with their folder '\(folder.path)'",
        safe: "nothing was written")
    }
    return GodwitError(
      .dataWrong,
      "cannot take repairs from '\(quarantine.files.givenPath)': its external file '\(folder.path(of: name))' is missing",
      remedy: "copy the quarantine together with its folder '\(folder.path)'", safe: "nothing was written")
  }

  private func replaced(_ name: String, _ known: SupportFolder) -> GodwitError {
    GodwitError(
      .dataWrong,
      "cannot take repairs from '\(quarantine.files.givenPath)': its external file '\(quarantine.support.path(of: name))' has other bytes than '\(known.path(of: name))'",
      cause: "an external file never changes: a new value has a file with a new name",
      remedy: "set the value with Core Data, or give the file a new UUID for a name, in the value too",
      safe: "nothing was written")
  }
}
