import GodwitJob
import GodwitModel
import GodwitStore

/// The external files of the destination, and the values that name them.
///
/// 1. `prepareExternalNames` makes the list of names.
/// 2. `noteExternalFile` adds the name in a value, while rows are compared.
/// 3. `checkExternalFiles` finds files that are not in the list.
struct ExternalFileProof {
  private let stores: ComparedStores
  private let findings: Findings

  init(_ stores: ComparedStores, _ findings: Findings) { (self.stores, self.findings) = (stores, findings) }

  func prepareExternalNames() throws {
    try stores.scratch.execute("CREATE TABLE temp.external (name TEXT PRIMARY KEY) WITHOUT ROWID")
  }

  /// Notes the file that a destination value names.
  func noteExternalFile(
    _ value: SQLValue, _ attribute: AttributeDescription, _ entity: String, isCounted: Bool = true
  ) throws {
    guard attribute.allowsExternalBinaryDataStorage, case .blob(let bytes) = value,
      case .external(let name)? = StoredBinary(bytes)
    else { return }
    try noteExternalName(name)
    guard isCounted else { return }
    let isThere = try stores.destinationFolder.size(of: name) != nil
    findings.count(
      isThere ? "values in external files" : "not proved: values whose external file is missing in the source too", 1)
  }

  /// Every file of the destination's support folder belongs to a value.
  func checkExternalFiles() throws {
    try stores.destinationFolder.forEachFile { name, _ in
      let isKnown =
        try stores.integer("SELECT 1 FROM temp.external WHERE name = ?1", [.text(name)], on: stores.scratch) != nil
      if !isKnown { findings.find(.file, "no value names the external file '\(name)'") }
    }
  }

  /// Notes the external files of an object that the job did not make.
  func noteExternalFiles(ofOther row: StoredRow, root: String) throws {
    var name: String? = stores.destinationSchema.fillsTable(root) ? root : nil
    if name == nil, row.values.count > 1, case .integer(let number) = row.values[1] {
      name = stores.entityNames[number]
    }
    guard let name else { return }
    for (attribute, place) in try stores.layout(of: name).attributes where row.values.indices.contains(place) {
      try noteExternalFile(row.values[place], attribute, name, isCounted: false)
    }
  }

  // MARK: Going on

  /// Adds a name that an earlier verification noted.
  func noteExternalName(_ name: String) throws {
    try stores.cached("INSERT OR IGNORE INTO temp.external (name) VALUES (?1)", on: stores.scratch).run([.text(name)])
  }

  /// The names so far; more than a limit are left out.
  func externalNames(limit: Int) throws -> [String] {
    try stores.scratch.strings("SELECT name FROM temp.external LIMIT \(limit)")
  }
}
