import Foundation
import GodwitModel

/// Reads an atomic store, XML or binary, into an ordinary SQLite store, so that all that works on those works on it.
///
/// The number of an object (`z102` in XML) becomes its primary key; where an identifier is of another form, all objects
/// are numbered in the order of the file. The key counters take over the highest number. One side of a
/// relationship and its inverse is enough, as long as the two do not contradict each other.
///
/// Memory holds one object and the caches of SQLite and of a binary store's pages; the identifiers and what a to-many
/// names wait in a temporary table. Time and disk space grow with the file.
package struct AtomicStoreConversion: Sendable {
  package enum Purpose: Sendable, Hashable {
    /// To be read. An atomic store keeps no uniqueness constraint, so none is made.
    case source
    /// To be compared with a store that was migrated: primary keys are as before it was written, and all
    /// indexes are made.
    case comparison
  }

  let files: StoreFiles
  let model: ManagedObjectModel
  let purpose: Purpose

  /// Raised when files are read in another way, so that the result of an earlier version is not used.
  private static let version = 3

  /// A name for the result: it changes with the file and the model.
  func tag() throws -> String {
    let layout = model.entities.map { entity in
      "\(entity.name) \(entity.superentityName ?? "-") "
        + entity.attributes.map {
          "\($0.name) \($0.type.rawValue) \($0.isTransient) \($0.allowsExternalBinaryDataStorage)"
        }.joined(separator: ",")
        + entity.relationships.map {
          "\($0.name) \($0.destinationEntityName) \($0.inverseName ?? "-") \($0.isToMany) \($0.isOrdered)"
        }.joined(separator: ",")
    }
    return String(Digest.hex("\(Self.version)\n\(try files.stamp())\n\(layout)").prefix(16))
  }

  /// Makes the store in the database attached as `source`, which is empty, beside an empty main database.
  ///
  /// - Throws: `.dataWrong` (65) with the place; `.configuration` (78) when the format cannot hold objects of the model; `.stopped` (75) when the file changed meanwhile; what `checkpoint` throws.
  func write(to connection: StoreConnection, checkpoint: () throws -> Void) throws {
    let stamp = try files.stamp()
    let reading = try AtomicStoreImport(self, connection: connection)
    try reading.run(checkpoint: checkpoint)
    guard try files.stamp() == stamp else {
      throw GodwitError(
        .stopped, "stopped: the source '\(files.givenPath)' changed while it was read",
        remedy: "make sure nothing writes to it and run the same command", stopReason: .sourceChanged)
    }
  }
}

extension StoreConnection {
  /// Attaches what an atomic store is converted into.
  ///
  /// Without a work folder that is a temporary database, which SQLite removes from its folder as soon as it is
  /// made, so that nothing is left behind. With one it is `source-….sqlite` there; it gets its name when it is complete
  /// and is used again while the file is as it was.
  func attachConverted(
    _ conversion: AtomicStoreConversion, cache: ByteCount, workFolder: String?, checkpoint: () throws -> Void
  ) throws {
    guard let workFolder else {
      try execute("PRAGMA temp_store = FILE")
      try attach("")
      try Self.configureConversion(self, cache: cache)
      do { try conversion.write(to: self, checkpoint: checkpoint) } catch {
        try? execute("ROLLBACK")
        try? execute("DETACH \(Self.sourceSchema)")
        throw error
      }
      return
    }
    let name = "source-\(try conversion.tag()).sqlite"
    let path = workFolder + "/" + name
    let manager = FileManager.default
    if FileStatus(named: path) == nil {
      guard errno == ENOENT else { throw StoreFiles.failure(errno, reading: path) }
      for old in (try? manager.contentsOfDirectory(atPath: workFolder)) ?? [] where old.hasPrefix("source-") {
        try? manager.removeItem(atPath: workFolder + "/" + old)
      }
      let partial = workFolder + "/source-partial.sqlite"
      let builder = try StoreConnection(path: nil, cache: .mebibytes(1))
      try builder.execute("PRAGMA temp_store = FILE")
      try builder.attach(StoreFiles.uri(path: partial, query: "mode=rwc"))
      try Self.configureConversion(builder, cache: cache)
      do { try conversion.write(to: builder, checkpoint: checkpoint) } catch {
        try? builder.close()
        try? manager.removeItem(atPath: partial)
        throw error
      }
      try builder.close()
      try NewFile.publish(partial, as: path, like: [conversion.files.path])
    }
    try attach(StoreFiles.uri(path: path, query: "mode=ro&immutable=1"))
  }

  /// An incomplete result is deleted, so it needs no journal, and syncs happen only at the end.
  private static func configureConversion(_ connection: StoreConnection, cache: ByteCount) throws {
    try EmptyStore.configure(connection, in: sourceSchema)
    try connection.undefended { try connection.execute("PRAGMA \(sourceSchema).journal_mode = OFF") }
    try connection.execute("PRAGMA \(sourceSchema).synchronous = OFF")
    try connection.execute("PRAGMA \(sourceSchema).cache_size = -\(max(64, cache.bytes / 1024))")
  }
}
