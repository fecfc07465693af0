import GodwitModel
import GodwitStore

/// The external files that an edited quarantine brings.
///
/// Each file that an object of the quarantine names is checked, whether its value was edited or not: a file may have
/// been restored under the unchanged name.
struct QuarantineFiles {
  /// The copy of the source, with `temp.godwit_reference`.
  let copy: StoreConnection
  let quarantine: EditedQuarantine
  /// nil for a source that has no folder of files.
  let source: SupportFolder?

  /// The names of the external files that the source lacks. An object whose file exists again is recorded as edited.
  ///
  /// - Throws: `.dataWrong` (65) for a file that is missing, and for one with other bytes than those of its name.
  func collect() throws -> [String] {
    var (names, restored): ([String], [SQLValue]) = ([], [])
    let edited = quarantine.support
    try copy.query("SELECT value, MAX(is_new) FROM temp.godwit_reference GROUP BY value ORDER BY value") { row in
      guard case .external(let name)? = StoredBinary(row.bytes(0)) else { return true }
      let isNew = row.int64(1) != 0
      let known = try source.flatMap { try $0.size(of: name) != nil ? $0 : nil }
      guard try edited.size(of: name) != nil else {
        // An object whose file never existed is unchanged.
        guard isNew, known == nil else { return true }
        throw quarantine.refusal(
          "its external file '\(edited.path(of: name))' is missing",
          remedy: "copy the quarantine together with its folder '\(edited.path)'")
      }
      if let known {
        guard try edited.holdsSameBytes(name, as: name, in: known) else { throw replaced(name, known) }
        return true
      }
      names.append(name)
      if !isNew { restored.append(row.value(0)) }
      return true
    }
    for value in restored {
      try copy.execute(
        "INSERT OR IGNORE INTO temp.godwit_changed (root, key, entity) SELECT root, key, entity FROM temp.godwit_reference WHERE value = ?1",
        [value])
    }
    return names
  }

  private func replaced(_ name: String, _ known: SupportFolder) -> GodwitError {
    quarantine.refusal(
      "its external file '\(quarantine.support.path(of: name))' has other bytes than '\(known.path(of: name))'",
      cause: "an external file never changes: a new value has a file with a new name",
      remedy: "set the value with Core Data, or give the file a new UUID for a name, in the value too")
  }
}
