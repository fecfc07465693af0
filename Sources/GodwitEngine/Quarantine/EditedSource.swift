import Foundation
package import GodwitJob
import GodwitModel
import GodwitStore

/// A copy of a source with the edited objects of its quarantine: the output of `godwit quarantine apply`.
///
/// 1. The work folder of the copy is claimed, and the leftovers of a killed run are removed.
/// 2. The source is copied into it, with its write-ahead log. An atomic store becomes a SQLite store.
/// 3. `QuarantineMerge` writes the quarantine's values over those of the copy.
/// 4. Files, store and mode are published like those of any finished store, after everything is complete.
///
/// A run that was killed after 4 has left the copy under its name. The next one makes it again and compares both: then
/// nothing is left to do but to remove the work folder.
package struct EditedSource {
  private let quarantinePath, sourcePath, path: String

  package init(quarantine: String, source: String, copy: String) {
    (quarantinePath, sourcePath, path) = (quarantine, source, copy)
  }

  /// - Throws: `.dataWrong` (65) for edits that cannot be applied and for a quarantine of another source;
  ///   `.cannotCreate` (73) when the destination exists; `.stopped` (75) when the source or the quarantine changes
  ///   during the run.
  package func write() throws -> QuarantineEdits {
    let quarantine = try EditedQuarantine(readingAt: quarantinePath)
    if let merged = quarantine.metadata.applicationValues[QuarantineModel.mergedKey]?.array {
      throw quarantine.refusal(
        "the run that wrote it has merged several stores",
        cause: "the edits belong into " + merged.compactMap(\.string).map { "'\($0)'" }.joined(separator: " and "),
        remedy: "correct the objects in a copy of their own store, name the copy under 'merge', and run the job again")
    }
    let files = try StoreFiles(path: sourcePath)
    let stamp = try files.stamp()
    let mayBeFinished = try checkPlace()
    guard try files.contentDigest() == quarantine.sourceDigest else {
      throw quarantine.refusal(
        "it is not the quarantine of '\(sourcePath)' as it is now",
        cause: "the run that wrote it has read other content: the store is another one, or has changed since",
        remedy: "name the store that the run has read, or run the job again and edit the new quarantine")
    }
    try quarantine.checkModel(asIn: StoreMetadata(readingStoreAt: sourcePath))
    let folder = try WorkFolder(forDestination: path)
    var journal = try WorkJournal.read(in: folder.path)
    guard journal == nil || journal?.owner == .edits else {
      throw GodwitError(
        .cannotCreate, "cannot write '\(path)': the unfinished work of a job is in '\(folder.path)'",
        remedy: "`godwit discard` that job, or name another copy", safe: "nothing in it was changed")
    }
    do {
      if !mayBeFinished { try WorkFolder.removeMovedSupport(of: path, mark: journal?.support) }
      try folder.removeContent()
      journal = nil
      if !mayBeFinished { try WorkFolder.refuseForeignSupport(of: path, mark: nil) }
      let edits = try write(in: folder.path, from: files, quarantine)
      try quarantine.checkUnchanged()
      guard try files.stamp() == stamp else {
        throw GodwitError(
          .stopped, "stopped: '\(sourcePath)' changed while it was copied",
          remedy: "close the application that writes to it, and run the same command", safe: "nothing was written",
          stopReason: .sourceChanged)
      }
      let made = Self.storePath(in: folder.path)
      if mayBeFinished {
        guard try StoreComparison(made, path).firstDifference() == nil else { throw NewFile.isTaken(path) }
      } else {
        try folder.publish(made, to: path, like: files.path, mark: nil) { mark in
          journal = WorkJournal(owner: .edits, support: mark)
          try journal?.write(in: folder.path)
        }
      }
      try WorkFolder.sync(path.parentPath)
      try folder.remove()
      return edits
    } catch {
      // Files that cannot be looked at stay, as does the folder that names them.
      let isFree = try !WorkFolder.exists(path)
      if isFree { try WorkFolder.removeMovedSupport(of: path, mark: journal?.support) }
      folder.undo()
      throw error
    }
  }

  private static func storePath(in folder: String) -> String { folder + "/edited.sqlite" }

  /// - Returns: Whether a store is there, which may be the copy.
  private func checkPlace() throws -> Bool {
    let inputs = [("source", sourcePath), ("quarantine", quarantinePath)]
    let head = Array("SQLite format 3\0".utf8)
    let isThere = try OutputFile(path, "a copy of the source", isEarlier: { $0.starts(with: head) }).check { other in
      try inputs.first { try FileStatus.areSame($0.1, other) }?.0
    }
    // SQLite would apply the log of another store to the copy.
    for suffix in ["-wal", "-shm", "-journal"] where try WorkFolder.exists(path + suffix) {
      throw GodwitError(
        .cannotCreate, "cannot write '\(path)': the log of another store is beside it, '\(path + suffix)'",
        remedy: "move it to the store that it belongs to, or name another copy", safe: "nothing was written")
    }
    return isThere
  }

  // MARK: Writing

  private func write(in folder: String, from files: StoreFiles, _ quarantine: EditedQuarantine) throws
    -> QuarantineEdits
  {
    let storePath = Self.storePath(in: folder)
    let reader = try StoreConnection(path: nil)
    try reader.attachSource(files, cache: .mebibytes(8), workFolder: folder, model: quarantine.model)
    try reader.checkCoreDataTables(path: sourcePath)
    let foreign = try reader.foreignIndexes(in: StoreConnection.sourceSchema)
    try FilteredSource.copySource(of: reader, to: storePath)
    try reader.close()
    let copy = try StoreConnection(path: storePath, cache: .mebibytes(8), create: true)
    for pragma in ["journal_mode = DELETE", "synchronous = OFF", "journal_mode = MEMORY", "temp_store = FILE"] {
      try copy.execute("PRAGMA \(pragma)")
    }
    let leftOut = try leaveOut(foreign, of: copy)
    let schema = try StoreSchema(model: quarantine.model, probing: copy, schema: "main")
    try schema.checkKeys(copy, database: "main", isWritten: true)
    try copy.attachSource(quarantine.files, model: quarantine.model)
    var merge = QuarantineMerge(copy, schema, quarantine)
    try merge.findLargeValues()
    let source = files.type == .sqlite ? SupportFolder(ofStoreAt: sourcePath) : nil
    var names: [String] = []
    try copy.undefended {
      try copy.transaction {
        let definitions = try SourceDefinitions(removingFrom: copy, withIndexes: merge.hasLargeValues)
        try merge.prepare()
        try merge.mergeRows()
        try merge.mergePairs()
        names = try QuarantineFiles(copy: copy, quarantine: quarantine, source: source).collect()
        try definitions.restore(on: copy, quarantine)
      }
    }
    var edits = try merge.count()
    edits.leftOut = leftOut
    guard edits.edited + edits.deleted > 0 else {
      throw quarantine.refusal(
        "no object in it was edited or deleted", remedy: "edit the objects, save, and run the same command")
    }
    try copy.execute("DETACH source")
    try copy.close()
    try carryFiles(names, to: SupportFolder(ofStoreAt: storePath), from: source, quarantine.support)
    return edits
  }

  /// Removes the indexes that the application alone can keep: the copy would have them in another order.
  ///
  /// - Returns: Which they are, and why.
  /// - Throws: `.dataWrong` (65) for an index that is a part of its table.
  private func leaveOut(_ indexes: [ForeignIndex], of copy: StoreConnection) throws -> [String] {
    if let index = try FilteredSource.drop(indexes, from: copy).first {
      throw GodwitError(
        .dataWrong, "cannot write a copy of '\(sourcePath)': \(index.reason)",
        remedy: "correct the objects in the source with the application, and run the job again",
        safe: "nothing was written")
    }
    return Set(indexes.map(\.reason)).sorted()
  }

  private func carryFiles(
    _ names: [String], to made: SupportFolder, from source: SupportFolder?, _ edited: SupportFolder
  ) throws {
    func carry(_ name: String, from folder: SupportFolder) throws {
      if try !made.exists {
        for (path, original) in [(made.path, folder.path), (made.dataPath, folder.dataPath)] {
          try WorkFolder.makeFolder(path, mode: FileRights.folderMode(like: original))
        }
      }
      _ = try made.carry(name, from: folder, as: name)
    }
    for name in names { try carry(name, from: edited) }
    guard let source else { return }
    try source.refuseLinks()
    try source.forEachFile { name, _ in if SupportFolder.isFileName(name) { try carry(name, from: source) } }
  }
}

/// The triggers and unique indexes of a store, removed while its rows are edited. Triggers call functions that exist only
/// inside Core Data. Two rows that exchange their values break a unique index for a moment.
private struct SourceDefinitions {
  private struct Definition {
    var table, sql: String
    /// Those of an index.
    var columns: [String]?
  }

  private var statements: [Definition] = []

  /// - Parameter withIndexes: Whether all indexes are removed: large values are written into tables without any.
  init(removingFrom copy: StoreConnection, withIndexes: Bool) throws {
    let rows = try copy.rows(
      """
      SELECT m.type, m.name, m.sql, m.tbl_name FROM main.sqlite_master AS m WHERE m.sql IS NOT NULL AND (m.type = 'trigger' \
      OR m.type = 'index' AND (\(withIndexes ? 1 : 0) OR EXISTS \
      (SELECT 1 FROM pragma_index_list(m.tbl_name, 'main') AS i WHERE i.name = m.name AND i."unique" = 1))) \
      ORDER BY m.rowid
      """)
    for row in rows {
      let texts = row.map { if case .text(let text) = $0 { String(decoding: text, as: UTF8.self) } else { "" } }
      var columns: [String]?
      if texts[0] == "index" {
        columns = try copy.strings(
          "SELECT COALESCE(name, '') FROM pragma_index_info(?1, 'main')", [.text(texts[1])])
      }
      try copy.execute("DROP \(texts[0]) main.\(quoted(texts[1]))")
      statements.append(Definition(table: texts[3], sql: texts[2], columns: columns))
    }
  }

  /// - Throws: `.dataWrong` (65) for edits that give two objects the values of one uniqueness constraint.
  func restore(on copy: StoreConnection, _ quarantine: EditedQuarantine) throws {
    for statement in statements {
      do { try copy.execute(statement.sql) } catch let error as GodwitError where error.refusal == .duplicate {
        guard let columns = statement.columns else { throw error }
        throw try duplicates(of: columns, in: statement.table, copy, quarantine, cause: error.message)
      }
    }
  }

  private func duplicates(
    of columns: [String], in table: String, _ copy: StoreConnection, _ quarantine: EditedQuarantine, cause: String
  ) throws -> GodwitError {
    let remedy = "correct one of them in the quarantine, and run the same command"
    // The name of an expression is empty.
    guard !columns.contains("") else {
      return quarantine.refusal(
        "two rows of table '\(table)' have the same values after the edits",
        cause: "a unique index of the source forbids that: \(cause)", remedy: remedy)
    }
    let names = columns.map(quoted).joined(separator: ", ")
    let row = try copy.rows(
      "SELECT MIN(Z_PK), MAX(Z_PK) FROM main.\(quoted(table)) GROUP BY \(names) HAVING COUNT(*) > 1 AND \(columns.map { "\(quoted($0)) IS NOT NULL" }.joined(separator: " AND ")) LIMIT 1"
    ).first
    let keys = (row ?? []).map { if case .integer(let key) = $0 { "p\(key)" } else { "?" } }.joined(separator: " and ")
    return quarantine.refusal(
      "\(keys) of table '\(table)' have the same values after the edits",
      cause: "a uniqueness constraint of the source forbids that for the columns \(columns.joined(separator: ", "))",
      remedy: remedy)
  }
}
