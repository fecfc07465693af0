import Foundation
package import GodwitModel
import GodwitStore

/// Makes a whole store of the same version from what can be read of a damaged one.
///
/// 1. Pages are read as bytes, with those of the log up to its last sound commit (`PageFile`).
/// 2. The definitions of the tables are collected, and executed in the copy (`Catalog`, `CopyStore`).
/// 3. The model is found, and its tables and columns that are missing are made (`SalvageModel`, `ModelTables`).
/// 4. Each table is walked from its root. Where the way ends, leaves are found by their own headers (`OrphanSearch`).
/// 5. Links and counters that depend on lost rows are repaired; indexes are made (`CopyRepairs`, `JoinRebuild`).
/// 6. The copy gets its name, after its external files have theirs.
///
/// A row is written only if it decodes whole. The source is opened for reading, and nothing appears beside it. Memory
/// holds SQLite's cache, three bits for each page, the numbers of a row's pages, and values of at most 1 MiB; larger texts
/// are held three times.
package struct Salvage {
  private let store, copy: String
  private let models: [String]
  private let cache: ByteCount

  /// - Parameters:
  ///   - store: The damaged store.
  ///   - copy: A place where nothing is.
  ///   - models: Models to search for the version of the store; empty for the model inside it, or of its receipt.
  ///   - memory: The budget of the process; at least 16 MiB.
  package init(store: String, copy: String, models: [String] = [], memory: ByteCount = .mebibytes(64)) {
    (self.store, self.copy, self.models) = (store, copy, models)
    cache = .init(bytes: max(2 << 20, memory.bytes / 4))
  }

  /// Writes the copy.
  ///
  /// - Returns: The losses, and all that was inferred.
  /// - Throws: `.dataWrong` (65) if nothing of the file can be read, or it is no SQLite store; `.missingInput` (66);
  ///   `.noPath` (69) if no given model fits; `.cannotCreate` (73) if something is at the place of the copy;
  ///   `.stopped` (75) if the store changes meanwhile.
  package func run() throws -> SalvageReport {
    try refuseOtherTypes()
    let stamp = try Stamp(store)
    try checkPlace()
    let source = try SalvageSource(path: store)
    let support = SupportFolder(ofStoreAt: copy)
    var madeSupport = false
    do {
      var report: SalvageReport?
      try NewFile.make(copy, like: [store]) { temporary in
        let run = try SalvageRun(source, copy: temporary, models: models, cache: cache)
        var made = try run.write(named: copy)
        guard try Stamp(store) == stamp else {
          throw GodwitError(
            .stopped, "stopped: '\(store)' changed while it was read",
            remedy: "close the application that writes to it, and run the same command", safe: "nothing was written",
            stopReason: .sourceChanged)
        }
        madeSupport = true
        made.files = try SalvageFiles.carry(from: SupportFolder(ofStoreAt: store), to: support)
        report = made
      }
      guard let report else { throw GodwitError(.internalBug, "the salvage of '\(store)' has no report") }
      return report
    } catch {
      if madeSupport { try? support.remove() }
      throw error
    }
  }

  /// Refuses a place where something is, or where SQLite or Core Data would take other files for those of the copy.
  private func checkPlace() throws {
    guard copy != "-" else {
      throw GodwitError(
        .usage, "cannot write the copy to the standard output: a store is a file", remedy: "name a file with -o",
        safe: "nothing was written")
    }
    try OutputFile(copy, "a copy of the store", like: [store]).check()
    for suffix in ["-wal", "-shm", "-journal"] where try FileStatus.look(named: copy + suffix) != nil {
      throw GodwitError(
        .cannotCreate, "cannot write '\(copy)': the log of another store is beside it, '\(copy + suffix)'",
        remedy: "move it to the store that it belongs to, or name another copy", safe: "nothing was written")
    }
    try WorkFolder.refuseForeignSupport(of: copy, mark: nil)
  }

  private func refuseOtherTypes() throws {
    guard let status = FileStatus(following: store) else {
      throw GodwitError.reading(storeAt: store, CLibrary.errno)
    }
    guard status.isFile else {
      throw GodwitError(
        .dataWrong,
        "cannot salvage '\(store)': expected a file, found \(status.isFolder ? "a folder" : "a special file")",
        remedy: "name the store itself")
    }
    let head = try SourceFile(store, named: store).readable(4096, at: 0) ?? []
    if GitLFSPointer.matches(head) { throw GitLFSPointer.problem(store, what: "store", .dataWrong) }
    guard case .store(let type) = StoreType.Content(head: head), type.isAtomic else { return }
    throw GodwitError(
      .dataWrong, "cannot salvage '\(store)': it is \(type.nounWithArticle), and only SQLite stores have pages",
      remedy: "restore it from a backup; `godwit export STORE --raw --all` reads what is left of it",
      safe: "the store is untouched")
  }
}

/// The sizes and times of a store's files: whether another process writes to them.
private struct Stamp: Equatable {
  private var parts: [String] = []

  init(_ path: String) throws {
    let file = StoreFiles.resolvingLink(path)
    for suffix in ["", "-wal", "-journal"] {
      guard let status = try FileStatus.look(following: file + suffix) else { continue }
      parts.append("\(suffix) \(status.size) \(status.modified.seconds) \(status.modified.nanoseconds)")
    }
  }
}

/// The external files of a salvaged store.
enum SalvageFiles {
  /// Copies all external files beside the copy.
  ///
  /// - Returns: How many there are.
  static func carry(from source: SupportFolder, to target: SupportFolder) throws -> Int {
    try source.refuseLinks()
    var count = 0
    try source.forEachFile { name, _ in
      guard SupportFolder.isFileName(name) else { return }
      if count == 0 {
        for (path, original) in [(target.path, source.path), (target.dataPath, source.dataPath)] {
          try WorkFolder.makeFolder(path, mode: FileRights.folderMode(like: original))
        }
      }
      if try target.carry(name, from: source, as: name) { count += 1 }
    }
    if count > 0 {
      for folder in [target.dataPath, target.path] { try WorkFolder.sync(folder) }
    }
    return count
  }
}
