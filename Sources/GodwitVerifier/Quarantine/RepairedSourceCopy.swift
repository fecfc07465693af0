import Foundation
package import GodwitJob
import GodwitModel
import GodwitStore

/// A copy of the source with the repairs that a destination was made with, so that the destination can be compared with
/// it.
///
/// It lies in a temporary folder. The run applies the repairs with code of its own: here they are read row by row.
package final class RepairedSourceCopy {
  /// The job with the copy as its source.
  package let job: MigrationJob
  /// The digest under which the destination names the job.
  package let digest: String
  /// Whether the copy is whole. Without its repairs a destination cannot be compared.
  package private(set) var isComplete = false
  /// What is wrong with the repairs.
  package private(set) var report = VerificationReport()
  private let original: MigrationJob
  private let mark: RepairsMark
  /// The digest of the source's content.
  private let content: String
  private let folder: ScratchFolder
  private let files: StoreFiles
  private let stamp: StoreFiles.Stamp

  /// - Parameter known: The digest of a job whose source is such a copy already.
  /// - Returns: nil when the destination was made of the source as it is, or of another one.
  package init?(of job: MigrationJob, digest known: String?) throws {
    guard known == nil, let metadata = try? StoreMetadata(readingStoreAt: job.destinationPath),
      let mark = RepairsMark(metadata)
    else { return nil }
    let resolved = job.resolvingLinks().fusingSteps()
    files = try StoreFiles(path: resolved.sourcePath)
    stamp = try files.stamp()
    let fingerprint = try JobFingerprint(resolved).withContent(of: files)
    let digest = fingerprint.repaired(by: mark).digest
    let jobs = metadata.applicationValues[StoreMetadata.Key.jobs]?.array?.compactMap(\.string) ?? []
    guard jobs.contains(digest) else { return nil }
    folder = try ScratchFolder()
    (original, self.mark, self.digest, content) = (resolved, mark, digest, fingerprint.source)
    var made = resolved
    made.sourcePath = folder.path + "/source.sqlite"
    self.job = made
  }

  /// - Throws: `.stopped` (75) when somebody has written to the source meanwhile.
  func checkUnchanged() throws {
    guard try files.stamp() != stamp else { return }
    throw GodwitError(
      .stopped, "cannot verify '\(job.destinationPath)': a store changed during the verification",
      remedy: "stop what writes to it and run the same command", stopReason: .sourceChanged)
  }

  /// Makes the copy.
  package func apply(isStopped: @escaping () -> Bool) throws {
    let path = original.repairsPath
    if let complaint = RepairsFile.complaint(about: path, digest: mark.digest, objects: mark.objects) {
      report.add(.init(.file, message: complaint))
      return
    }
    let source = try StoreConnection.openStore(
      readingAt: original.sourcePath, cache: .init(bytes: max(original.memory.bytes / 8, 1 << 20)),
      model: original.sourceModel)
    source.whileRunning { isStopped() }
    let schema = try StoreSchema(model: original.sourceModel, probing: source)
    try source.undefended { try source.execute("VACUUM source INTO ?1", [.text(job.sourcePath)]) }
    try source.close()

    let repairs = try StoreConnection(path: nil)
    try repairs.attachSource(StoreFiles(path: path))
    try RepairsFile.checkForm(in: repairs, as: "source", of: path, source: content)
    let copy = try StoreConnection(path: job.sourcePath)
    for connection in [repairs, copy] { connection.whileRunning { isStopped() } }
    try copy.undefended {
      try copy.execute("PRAGMA journal_mode = OFF")
      try copy.execute("PRAGMA synchronous = OFF")
      // Nobody else writes to the copy. What a constraint says of two rows is said of the destination.
      for (type, name) in try definitions(of: copy) { try copy.execute("DROP \(type) \(quoted(name))") }
      try copy.transaction {
        for table in schema.tables { try repair(table.name, repairs, copy) }
        for join in schema.joinTables { try repair(join, repairs, copy) }
      }
    }
    try copy.close()
    try carryFiles(repairs, isStopped)
    let objects = try repairs.integer("SELECT COUNT(*) FROM source.\(RepairsFile.objects)") ?? 0
    report.count("repaired objects", objects)
    if objects != mark.objects {
      report.add(
        .init(.metadata, property: RepairsMark.key, message: "it does not have the number of repaired objects"))
    }
    isComplete = true
  }

  private func definitions(of copy: StoreConnection) throws -> [(String, String)] {
    var found: [(String, String)] = []
    try copy.query("SELECT name FROM sqlite_master WHERE type = 'trigger'") { row in
      found.append(("TRIGGER", row.string(0) ?? ""))
      return true
    }
    try copy.query(
      "SELECT i.name FROM sqlite_master AS t, pragma_index_list(t.name) AS i WHERE t.type = 'table' AND i.\"unique\" = 1 AND i.origin = 'c'"
    ) { row in
      found.append(("INDEX", row.string(0) ?? ""))
      return true
    }
    return found
  }

  /// The names of a table's columns in the repairs; empty without such a table.
  private func columns(_ table: String, _ repairs: StoreConnection) throws -> [String] {
    var names: [String] = []
    try repairs.query("PRAGMA source.table_info(\(quoted(table)))") { row in
      if let name = row.string(1) { names.append(name) }
      return true
    }
    return names
  }

  /// Writes the repaired rows of an entity's table.
  private func repair(_ table: String, _ repairs: StoreConnection, _ copy: StoreConnection) throws {
    let names = try columns(table, repairs).filter { $0 != "Z_PK" }
    guard !names.isEmpty else { return }
    let values = names.enumerated().map { "\(quoted($1)) = ?\($0 + 2)" }.joined(separator: ", ")
    let update = try copy.prepare("UPDATE \(quoted(table)) SET \(values) WHERE Z_PK = ?1")
    defer { update.finalize() }
    let list = (["Z_PK"] + names).map(quoted).joined(separator: ", ")
    try repairs.query("SELECT \(list) FROM source.\(quoted(table)) ORDER BY 1") { row in
      try update.run((0...names.count).map { row.value($0) })
      if copy.changes != 1 {
        report.add(
          .init(.source, key: row.int64(0), message: "the repairs have a row of table '\(table)' that the source lacks")
        )
      }
      return true
    }
  }

  /// Takes away the pairs that are gone, and adds those that are new.
  private func repair(_ join: StoreSchema.JoinTable, _ repairs: StoreConnection, _ copy: StoreConnection) throws {
    let table = quoted(join.name)
    let delete = try copy.prepare(
      "DELETE FROM \(table) WHERE \(quoted(join.ownerColumn)) = ?1 AND \(quoted(join.destinationColumn)) = ?2")
    defer { delete.finalize() }
    try repairs.query("SELECT a, b FROM source.\(RepairsFile.removed) WHERE name = ?1", [.text(join.name)]) { row in
      try delete.run([row.value(0), row.value(1)])
      return true
    }
    let names = try columns(join.name, repairs)
    guard !names.isEmpty else { return }
    let places = (1...names.count).map { "?\($0)" }.joined(separator: ", ")
    let list = names.map(quoted).joined(separator: ", ")
    let insert = try copy.prepare("INSERT OR REPLACE INTO \(table) (\(list)) VALUES (\(places))")
    defer { insert.finalize() }
    try repairs.query("SELECT \(list) FROM source.\(table)") { row in
      try insert.run(names.indices.map { row.value($0) })
      return true
    }
  }

  /// Brings the external files of the source beside the copy, and those that only the repairs have.
  private func carryFiles(_ repairs: StoreConnection, _ isStopped: () -> Bool) throws {
    let made = SupportFolder(ofStoreAt: job.sourcePath)
    let (own, other) = (SupportFolder(ofStoreAt: original.repairsPath), SupportFolder(ofStoreAt: original.sourcePath))
    for folder in [own, other] { try folder.refuseLinks() }
    func carry(_ name: String, _ folder: SupportFolder) throws -> Bool {
      if isStopped() { throw GodwitError(.stopped, "stopped while external files were copied") }
      if !made.exists {
        try FileManager.default.createDirectory(atPath: made.dataPath, withIntermediateDirectories: true)
      }
      return try made.carry(name, from: folder, as: name)
    }
    for row in try repairs.rows("SELECT name, digest FROM source.\(RepairsFile.files) ORDER BY name") {
      guard case (.text(let bytes), .text(let digest)) = (row[0], row[1]) else { continue }
      let name = String(decoding: bytes, as: UTF8.self)
      report.count("external files of the repairs", 1)
      guard SupportFolder.isFileName(name), try carry(name, own) else {
        report.add(.init(.file, message: "the external file '\(name)' of the repairs is missing"))
        continue
      }
      guard try RepairsFile.digest(of: name, in: own) != String(decoding: digest, as: UTF8.self) else { continue }
      report.add(.init(.file, message: "the external file '\(name)' of the repairs is not the one that was taken"))
    }
    try other.forEachFile { name, _ in
      guard SupportFolder.isFileName(name), try made.size(of: name) == nil else { return }
      _ = try carry(name, other)
    }
  }
}
