import Foundation
package import GodwitJob
import GodwitModel
package import GodwitStore

/// Carries external binary data while a chunk's rows are made.
///
/// A value that stays external brings its file into the support folder under construction, as a hard link where the
/// file system allows. Names do not depend on chunks, so a chunk that is run again finds its files there. `finishChunk`
/// makes them durable before the commit of the rows that name them.
package final class ExternalDataMover {
  package let source: SupportFolder
  let destination: SupportFolder
  private var isFolderMade = false
  private var isSynced = true
  private var pending: [Pending] = []
  /// Whether the bytes of values that stay external are needed: see `MigrationJob.needsBytesOfFiles`.
  private let needsBytes: Bool
  /// Whether a value whose bytes are needed and whose file is missing becomes nil.
  let missingFilesAreNil: Bool

  /// A large file whose bytes a row waits for; NULL is in their place.
  private struct Pending {
    var column: String
    var key: Int64
    var name: String
  }

  /// Files up to this size become a value in one piece; larger ones are written into their row a piece at a time.
  private static let wholeBytes: Int64 = 1 << 20
  /// The most bytes that SQLite takes in one value.
  private static let limitBytes: Int64 = 1_000_000_000

  package init(_ job: MigrationJob, source: SupportFolder, destination: SupportFolder) {
    self.source = source
    self.destination = destination
    (needsBytes, missingFilesAreNil) = (job.needsBytesOfFiles, job.missingFilesAreNil)
  }

  package func beginChunk() { pending = [] }

  /// Rows that wait for `finishChunk`.
  package var pendingCount: Int { pending.count }

  /// Drops the rows that began to wait after the first `count`, because they were rolled back.
  package func forgetPending(after count: Int) { pending.removeSubrange(min(count, pending.count)...) }

  /// The files, by column, of the one row that began to wait after the first `count`. The caller completes it.
  package func takePending(after count: Int) throws -> [String: any LargeBytes] {
    defer { forgetPending(after: count) }
    return try files(pending.dropFirst(count))
  }

  private func files(_ waiting: some Sequence<Pending>) throws -> [String: any LargeBytes] {
    var files: [String: any LargeBytes] = [:]
    for one in waiting { files[one.column] = try OpenFile(one.name, in: source) }
    return files
  }

  /// Carries the file of a value that stays external.
  ///
  /// - Parameters:
  ///   - salt: makes a new name of the file's, for a second value that refers to it.
  ///   - servesPolicy: Whether the value is handed to a policy: then its reference stays that of the source until the
  ///     object is inserted.
  /// - Returns: the stored value. Where its file is missing it is the source's, so that the reference is not lost; nil if
  ///   its bytes are needed.
  package func carry(_ value: [UInt8], salt: String?, servesPolicy: Bool = false) throws -> [UInt8]? {
    guard case .external(let name)? = StoredBinary(value), !servesPolicy else { return value }
    if needsBytes, try source.isMissing(name) { return nil }
    if !isFolderMade {
      for (folder, like) in [(destination.path, source.path), (destination.dataPath, source.dataPath)] {
        try WorkFolder.makeFolder(folder, mode: FileRights.folderMode(like: like))
      }
      isFolderMade = true
      isSynced = false
    }
    let newName = salt.map { Self.name(from: name, salt: $0) } ?? name
    guard try destination.carry(name, from: source, as: newName) else { return value }
    isSynced = false
    return StoredBinary.external(name: newName).bytes
  }

  /// A UUID that depends on a name and a salt alone.
  static func name(from name: String, salt: String) -> String {
    let digits = Array(Digest.hex("\(name)\n\(salt)").uppercased().prefix(32))
    let cuts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
    return cuts.map { String(digits[$0]) }.joined(separator: "-")
  }

  /// Whether a value has no form that the finished store can have: its bytes are needed, and it has none and names no
  /// file.
  func isUnusable(_ value: [UInt8]) -> Bool { needsBytes && StoredBinary(value) == nil }

  /// The plain value of an external one, or NULL for a large one, which is written later; nil when the file is missing.
  ///
  /// - Parameter servesPolicy: Whether the value is handed to a policy: then the file is read as a whole.
  func inline(_ name: String, column: String, key: Int64, servesPolicy: Bool) throws -> SQLFunctionResult? {
    guard let size = try source.size(of: name) else { return nil }
    if servesPolicy { return try source.bytes(of: name, limit: ObjectContext.externalLimit).map { .value(.blob($0)) } }
    guard size > Self.wholeBytes else {
      return try source.bytes(of: name, limit: .init(bytes: Self.wholeBytes)).map { .value(.blob($0)) }
    }
    guard size <= Self.limitBytes else {
      throw GodwitError(
        .dataWrong,
        "cannot store the external file '\(source.path(of: name))' in its row: SQLite takes \(ByteCount(bytes: Self.limitBytes)) at most",
        remedy: "keep 'Allows External Storage' in the destination model"
      ).about(.externalFile)
    }
    pending.append(Pending(column: column, key: key, name: name))
    return .value(.null)
  }

  /// Completes the rows that wait and makes files durable. Call inside the chunk's transaction.
  ///
  /// - Parameter complete: Gives a row its large values, by column.
  package func finishChunk(complete: (Int64, [String: any LargeBytes]) throws -> Void) throws {
    for (key, waiting) in Dictionary(grouping: pending, by: \.key).sorted(by: { $0.key < $1.key }) {
      try complete(key, try files(waiting))
    }
    pending = []
    guard !isSynced else { return }
    for folder in [destination.dataPath, destination.path, destination.path.parentPath] {
      try WorkFolder.sync(folder)
    }
    isSynced = true
  }
}
