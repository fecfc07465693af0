import Foundation
import GodwitDisk
package import GodwitJob
import GodwitModel
package import GodwitStore

/// A copy of the source with the repairs of an edited quarantine, and of those before it: what `--from-quarantine` reads.
///
/// 1. The source is copied, and the repairs that the destination was made with are applied (`RepairsFile`).
/// 2. What the quarantine says of its objects is written over theirs (`RepairMerge`).
/// 3. All that differs from the source then becomes the new repairs file.
/// The run knows nothing of repairs: it reads the copy, as it would read any source.
package struct RepairedSource {
  /// What came of an edited quarantine.
  package struct Outcome {
    package var mark: RepairsMark
    /// Objects of the quarantine that were edited, those that were not, and those that were deleted from it.
    package var repaired, unchanged, deleted: Int64
  }

  private let job: MigrationJob
  private let folder: String

  package static func path(in folder: String) -> String { folder + "/source-repaired.sqlite" }
  package static func repairsPath(in folder: String) -> String { folder + "/repairs.sqlite" }
  private var partPath: String { folder + "/repaired-part.sqlite" }
  private var repairsPartPath: String { folder + "/repairs-part.sqlite" }

  package init(_ job: MigrationJob, in folder: String) { (self.job, self.folder) = (job, folder) }

  /// Makes the copy and the repairs file. Each takes its name when it is complete and synced, the copy last.
  ///
  /// - Parameters:
  ///   - files: The source.
  ///   - digest: That of its content.
  ///   - earlier: The repairs that the destination was made with.
  ///   - content: What the quarantine holds: `EditedQuarantine.contentDigest`.
  ///   - working: Gets each connection that is at work, and nil at the end.
  ///   - check: Called now and then; what it throws ends the work.
  /// - Returns: nil when nothing in the quarantine was edited.
  package func make(
    from files: StoreFiles, digest: String, earlier: RepairsMark?, quarantine: EditedQuarantine, content: String,
    working: (StoreConnection?) -> Void, check: () throws -> Void
  ) throws -> Outcome? {
    try Self.remove(in: folder)
    try copySource(files, working)
    defer { working(nil) }
    let copy = try StoreConnection(
      path: partPath, cache: .init(bytes: max(job.memory.bytes / 8, 4 << 20)), create: true)
    working(copy)
    for pragma in ["journal_mode = DELETE", "synchronous = OFF", "journal_mode = MEMORY", "temp_store = FILE"] {
      try copy.execute("PRAGMA \(pragma)")
    }
    let schema = try StoreSchema(model: job.sourceModel, probing: copy, schema: "main")
    if earlier != nil {
      try Self.attach(job.repairsPath, as: "earlier", to: copy)
      try RepairsFile.checkForm(in: copy, as: "earlier", of: job.repairsPath, source: digest)
    }
    try copy.attachSource(quarantine.files, model: job.sourceModel)
    var merge = RepairMerge(copy, schema, quarantine)
    let known = SupportFolder(ofStoreAt: job.repairsPath)
    let source = files.type == .sqlite ? SupportFolder(ofStoreAt: job.sourcePath) : nil
    var names: [(String, SupportFolder)] = []
    try copy.undefended {
      try copy.transaction {
        let definitions = try SourceDefinitions(removingFrom: copy, of: schema)
        try merge.prepare()
        if earlier != nil { try merge.applyEarlier() }
        try merge.mergeRows()
        try merge.mergePairs()
        names = try RepairFiles(
          copy: copy, quarantine: quarantine, source: source, earlier: earlier.map { _ in known }
        ).collect(check: check)
        try definitions.restore(on: copy)
      }
    }
    try check()
    let count = try merge.changedObjects()
    guard count > 0 else {
      try copy.close()
      try Self.remove(in: folder)
      return nil
    }
    var outcome = Outcome(
      mark: RepairsMark(digest: "", objects: 0, files: (earlier?.files ?? []) + [content]), repaired: count,
      unchanged: try merge.heldObjects() - count, deleted: try merge.deletedObjects())
    try writeRepairs(merge, copy, hasEarlier: earlier != nil, digest: digest)
    try writeFiles(names, copy, quarantine, check)
    outcome.mark.objects = try copy.integer("SELECT COUNT(*) FROM repairs.\(RepairsFile.objects)") ?? 0
    for name in ["repairs", "source"] + (earlier == nil ? [] : ["earlier"]) { try copy.execute("DETACH \(name)") }
    try copy.close()
    outcome.mark.digest = try StoreFiles(path: repairsPartPath).contentDigest()
    try carryFiles(ofSource: files.type == .sqlite, check)
    for (part, path) in [(repairsPartPath, Self.repairsPath(in: folder)), (partPath, Self.path(in: folder))] {
      try WorkFolder.sync(part)
      guard rename(part, path) == 0 else { throw GodwitError.disk("cannot rename '\(part)'", errno: errno) }
    }
    try WorkFolder.sync(folder)
    return outcome
  }

  /// Whether the copy and the repairs file of a folder are there with the external files of the repairs. A folder that
  /// was being removed may lack some.
  package static func isWhole(in folder: String) throws -> Bool {
    for path in [path(in: folder), repairsPath(in: folder)] {
      guard FileManager.default.fileExists(atPath: path) else { return false }
    }
    return try RepairsFile.fileComplaint(about: repairsPath(in: folder)) == nil
  }

  /// Removes what an earlier run has made.
  package static func remove(in folder: String) throws {
    for name in ["source-repaired.sqlite", "repaired-part.sqlite", "repairs.sqlite", "repairs-part.sqlite"] {
      for suffix in ["", "-journal"] { try WorkFolder.removeFile("\(folder)/\(name)\(suffix)") }
    }
    for path in [path(in: folder), repairsPath(in: folder)] { try SupportFolder(ofStoreAt: path).remove() }
  }

  private func copySource(_ files: StoreFiles, _ working: (StoreConnection) -> Void) throws {
    let reader = try StoreConnection(path: nil)
    working(reader)
    try reader.attachSource(
      files, cache: .init(bytes: job.memory.bytes / 8), workFolder: folder, model: job.sourceModel)
    try reader.checkCoreDataTables(path: job.sourcePath)
    try KeptSource.copySource(of: reader, to: partPath)
    try reader.close()
  }

  private static func attach(_ path: String, as name: String, query: String = "mode=ro", to connection: StoreConnection)
    throws
  {
    let path = URL(filePath: path).standardizedFileURL.path
    try connection.execute("ATTACH ?1 AS \(name)", [.text(StoreFiles.uri(path: path, query: query))])
  }

  // MARK: Repairs

  private func writeRepairs(
    _ merge: RepairMerge, _ copy: StoreConnection, hasEarlier: Bool, digest: String
  ) throws {
    try Self.attach(repairsPartPath, as: "repairs", query: "mode=rwc", to: copy)
    for pragma in ["page_size = 4096", "journal_mode = MEMORY", "synchronous = OFF"] {
      try copy.execute("PRAGMA repairs.\(pragma)")
    }
    try copy.transaction {
      for sql in RepairsFile.createStatements {
        try copy.execute(sql.replacing("CREATE TABLE ", with: "CREATE TABLE repairs.", maxReplacements: 1))
      }
      let state: [(String, SQLValue)] = [("version", .integer(RepairsFile.version)), ("source", .text(digest))]
      for (name, value) in state {
        try copy.execute(
          "INSERT INTO repairs.\(RepairsFile.state) (name, value) VALUES (?1, ?2)", [.text(name), value])
      }
      try merge.writeRows(hasEarlier: hasEarlier)
    }
  }

  private func writeFiles(
    _ names: [(String, SupportFolder)], _ copy: StoreConnection, _ quarantine: EditedQuarantine,
    _ check: () throws -> Void
  ) throws {
    let insert = try copy.prepare(
      "INSERT OR REPLACE INTO repairs.\(RepairsFile.files) (name, digest) VALUES (?1, ?2)")
    defer { insert.finalize() }
    let support = SupportFolder(ofStoreAt: Self.repairsPath(in: folder))
    for (name, from) in names {
      try check()
      if !support.exists { try makeSupport(support, like: from) }
      guard try support.carry(name, from: from, as: name) else {
        throw RepairFiles.missing(name, in: from, of: quarantine)
      }
      try insert.run([.text(name), .text(try RepairsFile.digest(of: name, in: support))])
    }
    if support.exists { for path in [support.dataPath, support.path] { try WorkFolder.sync(path) } }
  }

  private func makeSupport(_ support: SupportFolder, like other: SupportFolder) throws {
    for (path, original) in [(support.path, other.path), (support.dataPath, other.dataPath)] {
      try WorkFolder.makeFolder(path, mode: FileRights.folderMode(like: original))
    }
  }

  /// Gives the copy the external files of the source, and those that the repairs have brought.
  ///
  /// - Parameter hasFiles: false for an XML store: a folder beside it is another's.
  private func carryFiles(ofSource hasFiles: Bool, _ check: () throws -> Void) throws {
    let made = SupportFolder(ofStoreAt: Self.path(in: folder))
    let repairs = SupportFolder(ofStoreAt: Self.repairsPath(in: folder))
    let source = SupportFolder(ofStoreAt: job.sourcePath)
    // A file that a repair has brought comes first: of one name there is one file.
    for from in hasFiles ? [repairs, source] : [repairs] {
      try from.refuseLinks()
      try from.forEachFile { name, _ in
        guard SupportFolder.isFileName(name) else { return }
        try check()
        if !made.exists { try makeSupport(made, like: from) }
        guard try made.size(of: name) == nil else { return }
        _ = try made.carry(name, from: from, as: name)
      }
    }
    if made.exists { for path in [made.dataPath, made.path] { try WorkFolder.sync(path) } }
  }
}

/// What of a store's definitions stands in the way of changes: triggers, which call functions that exist inside Core Data
/// alone, and unique indexes, which two rows that exchange their values break for a moment.
private struct SourceDefinitions {
  private var statements: [(sql: String, isIndex: Bool)] = []

  init(removingFrom copy: StoreConnection, of schema: StoreSchema) throws {
    let rows = try copy.rows(
      """
      SELECT m.type, m.name, m.sql FROM main.sqlite_master AS m WHERE m.sql IS NOT NULL AND (m.type = 'trigger' OR m.type = 'index' \
      AND EXISTS (SELECT 1 FROM pragma_index_list(m.tbl_name, 'main') AS i WHERE i.name = m.name AND i."unique" = 1)) \
      ORDER BY m.rowid
      """)
    for row in rows {
      guard case (.text(let type), .text(let name), .text(let sql)) = (row[0], row[1], row[2]) else { continue }
      let isIndex = String(decoding: type, as: UTF8.self) == "index"
      try copy.execute("DROP \(isIndex ? "INDEX" : "TRIGGER") main.\(quoted(String(decoding: name, as: UTF8.self)))")
      statements.append((String(decoding: sql, as: UTF8.self), isIndex))
    }
  }

  /// Values under a constraint that are there twice are the destination's to refuse, as those of any source.
  func restore(on copy: StoreConnection) throws {
    for statement in statements {
      do { try copy.execute(statement.sql) } catch let error as GodwitError
        where statement.isIndex && error.refusal == .duplicate
      { continue }
    }
  }
}
