import Foundation
package import GodwitJob
import GodwitModel
package import GodwitStore

/// Makes one store of several of one version: the source of a job with `source: {merge: …}`.
///
/// 1. Each part is looked at: its tables, identifier and metadata.
/// 2. An empty store of the version is made under another name.
/// 3. Part after part is attached and copied, a range of keys at a time. Keys are raised, for each root entity, above all
///    keys of the parts before: those of the first part stay.
/// 4. Counters and indexes are made. The store gets its name when it is complete and synced, and then its record.
/// A store without a record that tells of it is not complete: it is made again from the first part.
package struct StoreMerge {
  let job: MigrationJob
  let model: ManagedObjectModel
  let files: StoreFiles
  let folder: String
  /// Why the work is to stop; nil to go on.
  let stopReason: () -> String?
  /// Gets the connection that is at work, and nil when it is not any more.
  let working: (StoreConnection?) -> Void
  /// Called with the number of each part, from 1, before it is copied.
  private let starting: (Int) -> Void

  private var partPath: String { folder + "/merged-part.sqlite" }
  private var storePath: String { folder + "/" + MergedSources.fileName }
  private var recordPath: String { folder + "/merged.json" }
  var support: SupportFolder { SupportFolder(ofStoreAt: storePath) }

  /// - Parameters:
  ///   - job: A job with a merged source.
  ///   - folder: Gets the store; a work folder, or a temporary one.
  package init(
    _ job: MigrationJob, in folder: String, stopReason: @escaping () -> String? = { nil },
    working: @escaping (StoreConnection?) -> Void = { _ in }, starting: @escaping (Int) -> Void = { _ in }
  ) throws {
    (self.job, self.folder, self.stopReason, self.working) = (job, folder, stopReason, working)
    self.starting = starting
    model = job.sourceModel.withoutPairs
    files = try job.sourceFiles()
  }

  // MARK: Known

  /// The record of a store that is complete, and made of the parts as they are now; nil if there is none.
  ///
  /// - Throws: When a part cannot be read.
  package func known() throws -> MergeRecord? {
    guard FileStatus(named: storePath)?.isFile == true,
      let data = try? ReadableFile.bytes(of: recordPath, limit: .mebibytes(64)),
      var record = try? JSONDecoder().decode(MergeRecord.self, from: data),
      record.parts.map(\.path) == files.parts.map(\.givenPath), try record.made == StoreFiles(path: storePath).stamp()
    else { return nil }
    let stamp = try files.stamp()
    guard record.stamp != stamp else { return record }
    // A file that was touched, or copied back, has the same content.
    guard try files.contentDigest() == record.digest else { return nil }
    record.stamp = stamp
    return record
  }

  /// Makes the store.
  ///
  /// - Throws: `.dataWrong` (65) for a part that cannot be merged; `.stopped` (75) when it is stopped, or a part changes
  ///   meanwhile; what the disk refused.
  package func make() throws -> MergeRecord {
    try clear()
    let stamp = try files.stamp()
    let looks = try files.parts.map(look)
    let metadata = try metadata(looks)
    let schema = StoreSchema(model: model, names: looks[0].names)
    let connection = try EmptyStore.create(
      at: partPath, schema: schema, metadata: metadata, cache: .init(bytes: max(job.memory.bytes / 8, 1 << 20)))
    defer {
      working(nil)
      try? connection.close()
    }
    // A store that is not complete is never used, so nothing is synced before the end.
    for pragma in ["synchronous = OFF", "journal_mode = MEMORY", "temp_store = FILE"] {
      try connection.execute("PRAGMA \(pragma)")
    }
    working(connection)
    connection.whileRunning { [stopReason] in stopReason() != nil }
    try addForeign(looks, to: schema, connection)
    let writer = try LargeRowWriter(connection, tables: Set(schema.tables.map(\.name)))
    var highest = MergePart.Highest()
    var parts: [MergeRecord.Part] = []
    var rounded = RoundedDecimals()
    for (index, file) in files.parts.enumerated() {
      starting(index + 1)
      let part = MergePart(self, connection, schema, looks[index], index, writer, firstKeys: parts.first?.keys)
      do {
        parts.append(try part.copy(from: file, above: &highest, rounded: &rounded, notes: notes(looks, index)))
      } catch var error
        as GodwitError
      {
        // SQLite does not say which of the two files is damaged, and the merged one is new.
        error.message = error.message.replacing("'\(partPath)' with the source ", with: "")
        throw error
      }
    }
    try connection.transaction {
      try EmptyStore.updatePrimaryKeyCounters(of: schema, on: connection)
      try createIndexes(of: schema, on: connection)
      try rounded.write(to: connection, in: "main")
    }
    connection.whileRunning(stopIf: nil)
    try connection.close()
    return try publish(parts, stamp)
  }

  /// A stop between two statements.
  func checkpoint() throws {
    guard let reason = stopReason() else { return }
    throw GodwitError(
      .stopped, "stopped: \(reason)", remedy: "run the same command: the stores are merged again",
      safe: "the stores are untouched", stopReason: GodwitError.StopReason(of: reason))
  }

  /// The record goes first: without it a store is not complete.
  private func clear() throws {
    for path in [recordPath, recordPath + ".new", storePath, partPath, partPath + "-journal"] {
      try WorkFolder.removeFile(path)
    }
    try support.remove()
  }

  private func publish(_ parts: [MergeRecord.Part], _ stamp: StoreFiles.Stamp) throws -> MergeRecord {
    try FileRights.copyMode(of: files.parts.map(\.path), to: partPath)
    try WorkFolder.sync(partPath)
    for path in [support.dataPath, support.path] where try WorkFolder.exists(path) { try WorkFolder.sync(path) }
    guard try files.stamp() == stamp else {
      throw GodwitError(
        .stopped, "stopped: '\(files.nameOfChange(since: stamp))' changed while the stores were merged",
        remedy: "make sure nothing writes to it, and run the same command", safe: "the stores are untouched",
        stopReason: .sourceChanged)
    }
    guard rename(partPath, storePath) == 0 else { throw GodwitError.disk("cannot rename '\(partPath)'", errno: errno) }
    var record = MergeRecord(parts: parts, stamp: stamp, made: try StoreFiles(path: storePath).stamp())
    // A stamp tells of later changes that leave no other trace. The digest tells that a file is the same in another place.
    record.digest = try files.contentDigest { stopReason() == nil }
    try WorkFolder.writeNote(try record.sortedJSON(), to: recordPath)
    try WorkFolder.sync(folder)
    return record
  }

  /// A uniqueness constraint that objects of two parts break together is the destination's affair.
  private func createIndexes(of schema: StoreSchema, on connection: StoreConnection) throws {
    for index in schema.indexes {
      do { try connection.execute(index.sql) } catch let error as GodwitError where error.refusal == .duplicate {
        continue
      }
    }
  }

  // MARK: Looking

  /// The facts about a part that are read before anything is copied.
  struct Look {
    var path: String
    var metadata: StoreMetadata
    var names: JoinNames
    var foreign: UnmodelledContent
    /// The tables of the part, by those of the model.
    var tables: [String: String]
    var notes: [MigrationNote]
    var mirroringKeys: [String]
  }

  private func look(at part: StoreFiles) throws -> Look {
    try checkpoint()
    let reader = try StoreConnection(path: nil, cache: .mebibytes(1))
    defer { try? reader.close() }
    try reader.attachSource(part, model: model, checkpoint: checkpoint)
    try reader.checkCoreDataTables(path: part.givenPath)
    if !part.type.isAtomic { try SupportFolder(ofStoreAt: part.path).refuseLinks() }
    let schema = try StoreSchema(model: model, probing: reader)
    try schema.checkKeys(reader)
    // SQLite's check beside the run reads a store without its hot journal.
    if job.sourceCheck != .none, try part.hasHotJournal(),
      let complaint = try reader.complaints(
        about: StoreConnection.sourceSchema, isFull: job.sourceCheck == .full, limit: 1
      ).first
    {
      throw SourceCheck.damage(part.givenPath, complaint)
    }
    var alone = job
    (alone.sourcePath, alone.merged) = (part.givenPath, nil)
    let left = try UnmodelledTables(reader, job: alone, isStandIn: false)
    return Look(
      path: part.givenPath, metadata: try StoreMetadata(reading: reader, path: part.givenPath),
      names: JoinNames(of: schema), foreign: schema.foreignContent,
      tables: Dictionary(schema.tables.map { ($0.name, $0.rootEntityName) }) { first, _ in first },
      notes: left.notes + schema.foreignContent.notes, mirroringKeys: left.metadataKeys)
  }

  // MARK: Metadata

  /// The keys by which a store tells of itself, which are not true of the merged one.
  private static let ownKeys = [
    StoreMetadata.Key.jobs, StoreMetadata.Key.step, StoreMetadata.Key.quarantined, StoreMetadata.Key.moments,
    StoreMetadata.Key.ancillaryHashes, StoreMetadata.Key.storeUUID, AppendRecord.key,
  ]

  /// The metadata of the first part, with an identifier made of those of all parts.
  private func metadata(_ looks: [Look]) throws -> StoreMetadata {
    var metadata = looks[0].metadata
    metadata.uuid = MergedSources.uuid(of: looks.map(\.metadata.uuid))
    for key in Self.ownKeys + looks[0].mirroringKeys { metadata.values[Text(key)] = nil }
    return metadata
  }

  /// The content of a part that is left out.
  private func notes(_ looks: [Look], _ index: Int) -> [MigrationNote] {
    let look = looks[index]
    var notes = look.notes.map { MigrationNote($0.code, "of '\(look.path)': \($0.text)") }
    let (first, own) = (looks[0].metadata.applicationValues, look.metadata.applicationValues)
    let others = own.filter { key, value in
      first[key] != value && !Self.ownKeys.contains(key.string) && !look.mirroringKeys.contains(key.string)
    }.map(\.key.string).sorted()
    if !others.isEmpty {
      let names = others.map { "'\($0)'" }.joined(separator: ", ")
      notes.append(
        MigrationNote(
          .merged, "of '\(look.path)': metadata keys that differ are left out, the first store's stay: \(names)"))
    }
    return notes
  }
}
