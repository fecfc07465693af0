import Foundation
public import GodwitModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A made-up store of any size for a model: every entity, attribute and relationship is used, and every rule kept.
///
/// Equal models, numbers of rows and seeds give equal stores, the identifier included. Memory does not grow
/// with the number of rows: every value is computed from the object's place. Not for measuring how an
/// application's own data compresses or clusters: values are spread evenly.
public struct StoreSynthesis: Sendable {
  public let model: ManagedObjectModel
  /// All objects of the store, over all entities.
  public let rows: Int
  public let seed: UInt64
  /// Whether what a migration may stumble over is made too: holes in keys, negative and huge keys, NULL
  /// wherever it is allowed, Unicode of every kind, extreme numbers, binary data of up to 1 MiB.
  public let isNasty: Bool

  /// The most rows that can be asked for.
  public static let rowLimit = 1_000_000_000

  public init(model: ManagedObjectModel, rows: Int, seed: UInt64, isNasty: Bool = false) {
    self.model = model
    self.rows = rows
    self.seed = seed
    self.isNasty = isNasty
  }

  /// Makes the store: under a temporary name beside the path, renamed when it is complete.
  ///
  /// - Throws: `.cannotCreate` when something is at the path, or its folder is missing; `.permission` when the
  ///   folder cannot be written; `.usage` when the number of rows is out of range, or when required
  ///   relationships, limits or a regular expression cannot be satisfied; `.inputOutput` when the disk is full.
  public func write(to path: String) throws {
    guard rows >= 0, rows <= Self.rowLimit else {
      throw GodwitError(.usage, "cannot make \(rows) rows: expected 0 to \(Self.rowLimit)")
    }
    let content = try SynthesisContent(self)
    let temporary = try NewFile.temporaryName(beside: path)
    do {
      try content.write(to: temporary)
      try NewFile.publish(temporary, as: path)
    } catch {
      NewFile.discard(temporary)
      throw error
    }
  }
}

/// A file that appears under its name when it is complete, or not at all.
public enum NewFile {
  /// A name beside a path at which a new file can be made.
  ///
  /// - Throws: `.cannotCreate` when something is at the path, or the folder is missing; `.permission` when it
  ///   cannot be written; `.inputOutput` when the disk is full.
  public static func temporaryName(beside path: String) throws -> String {
    guard !path.isEmpty, !path.hasSuffix("/"), !path.utf8.contains(0) else {
      throw GodwitError(.cannotCreate, "cannot create '\(path)': expected the name of a file")
    }
    var info = stat()
    guard lstat(path, &info) != 0 else { throw isTaken(path) }
    let url = URL(filePath: path)
    let temporary = url.deletingLastPathComponent().appending(path: ".\(url.lastPathComponent).\(getpid()).tmp").path
    let descriptor = open(temporary, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw failure(errno, path) }
    close(descriptor)
    unlink(temporary)
    return temporary
  }

  /// Gives a complete file its name, never replacing another.
  public static func publish(_ temporary: String, as path: String) throws {
    let descriptor = open(temporary, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(errno, path) }
    let synced = fsync(descriptor)
    let code = errno
    close(descriptor)
    guard synced == 0 else { throw failure(code, path) }
    if link(temporary, path) == 0 {
      unlink(temporary)
    } else if errno == EEXIST {
      throw isTaken(path)
    } else {
      // A file system without hard links.
      guard rename(temporary, path) == 0 else { throw failure(errno, path) }
    }
    let folder = open(URL(filePath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
    guard folder >= 0 else { return }
    fsync(folder)
    close(folder)
  }

  /// Removes a file that was not completed, and its journal.
  public static func discard(_ temporary: String) {
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(temporary + suffix) }
  }

  private static func isTaken(_ path: String) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot create '\(path)': something is there already",
      remedy: "name another path, or remove the file")
  }

  /// An error number of creating or writing a file as an error of ours.
  public static func failure(_ code: Int32, _ path: String) -> GodwitError {
    let kind: GodwitError.Code =
      switch code {
      case EACCES, EPERM: .permission
      case ENOSPC, EDQUOT, EIO: .inputOutput
      default: .cannotCreate
      }
    return GodwitError(
      kind, "cannot create '\(path)': \(String(cString: strerror(code)))",
      remedy: "check the folder, its permissions and the space on its disk")
  }
}
