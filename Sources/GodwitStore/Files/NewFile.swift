import Foundation
package import GodwitModel

/// A file that appears under its name when it is complete, or not at all.
package enum NewFile {
  /// Makes an empty file of an unpredictable name beside a path, which its owner alone can read.
  ///
  /// - Throws: `.usage` for a name with another meaning: see `OutputFile.reserved`; `.cannotCreate` when something is
  ///   at the path, or the folder is missing; `.permission` when it cannot be written; `.inputOutput` when the disk is
  ///   full.
  ///
  /// - Parameter replaces: Whether a file may exist at the path.
  package static func temporaryName(beside path: String, replaces: Bool = false) throws -> String {
    guard !path.isEmpty, !path.hasSuffix("/"), !path.utf8.contains(0) else {
      throw GodwitError(.cannotCreate, "cannot create '\(path)': expected the name of a file")
    }
    guard try replaces || FileStatus.look(named: path) == nil else { throw isTaken(path) }
    try refuseReserved(path)
    let url = URL(filePath: path)
    // Contains the name of the file, for people who find it. A name may have 255 bytes.
    let name = url.lastPathComponent.utf8.count < 200 ? url.lastPathComponent : "godwit"
    while true {
      // The name cannot be guessed in advance, so that another process cannot put a link in its place.
      let random = String(UInt64.random(in: .min ... .max), radix: 36)
      let temporary = url.deletingLastPathComponent().appending(path: ".\(name).\(random).tmp").path
      let descriptor = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0o600)
      if descriptor < 0, errno == EEXIST { continue }
      guard descriptor >= 0 else { throw failure(errno, path) }
      close(descriptor)
      return temporary
    }
  }

  /// Makes a file that has its name when it is complete.
  ///
  /// - Parameter body: Writes the content into the temporary file at a path. If it fails, that is removed.
  /// - Throws: The errors of `temporaryName`, `publish` and `body`.
  package static func make(
    _ path: String, like originals: [String], replaces: Bool = false, _ body: (_ temporary: String) throws -> Void
  ) throws {
    let temporary = try temporaryName(beside: path, replaces: replaces)
    do {
      try body(temporary)
      try publish(temporary, as: path, like: originals, replaces: replaces)
    } catch {
      discard(temporary)
      throw error
    }
  }

  /// Writes all bytes.
  ///
  /// - Throws: The error that `failure` makes of an error number.
  package static func write(
    _ bytes: some Collection<UInt8>, to descriptor: Int32, failure: (Int32) -> GodwitError
  ) throws {
    let copied: Void? = try bytes.withContiguousStorageIfAvailable {
      try write(UnsafeRawBufferPointer($0), to: descriptor, failure: failure)
    }
    if copied == nil { try write(Array(bytes), to: descriptor, failure: failure) }
  }

  package static func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, failure: (Int32) -> GodwitError
  ) throws {
    var written = 0
    while written < bytes.count {
      let count = CLibrary.write(descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure(errno) }
      written += count
    }
  }

  /// Gives a complete file its name.
  ///
  /// - Parameter originals: The files whose permissions it gets, as far as all have them; none for those that the umask
  ///   leaves.
  /// - Parameter replaces: Whether it takes the place of a file at the path; otherwise one there is an error.
  package static func publish(
    _ temporary: String, as path: String, like originals: [String], replaces: Bool = false
  ) throws {
    try FileRights.copyMode(of: originals, to: temporary)
    let descriptor = open(temporary, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(errno, path) }
    let synced = CLibrary.sync(descriptor)
    let code = errno
    close(descriptor)
    guard synced == 0 else { throw failure(code, path) }
    if replaces {
      guard rename(temporary, path) == 0 else { throw failure(errno, path) }
    } else if link(temporary, path) == 0 {
      unlink(temporary)
    } else if errno == EEXIST {
      throw isTaken(path)
    } else {
      // A file system without hard links.
      guard try FileStatus.look(named: path) == nil else { throw isTaken(path) }
      guard rename(temporary, path) == 0 else { throw failure(errno, path) }
    }
    let folder = open(URL(filePath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
    guard folder >= 0 else { return }
    CLibrary.sync(folder)
    close(folder)
  }

  /// Removes a file that was not completed, and its journal.
  package static func discard(_ temporary: String) {
    for suffix in ["", "-journal", "-wal", "-shm"] { unlink(temporary + suffix) }
  }

  /// - Throws: `.usage` (64).
  package static func refuseReserved(_ path: String) throws {
    guard let why = OutputFile.reserved(path) else { return }
    throw GodwitError(
      .usage, "cannot create '\(path)': \(why)", remedy: "name another path", safe: "nothing was written")
  }

  package static func isTaken(_ path: String) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot create '\(path)': it already exists",
      remedy: "name another path, or remove the file")
  }

  /// The `GodwitError` for an error number of creating or writing a file.
  package static func failure(_ code: Int32, _ path: String) -> GodwitError {
    let kind: GodwitError.Code =
      switch code {
      case EACCES, EPERM: .permission
      case ENOSPC, EDQUOT, EIO: .inputOutput
      default: .cannotCreate
      }
    var error = GodwitError(
      kind, "cannot create '\(path)': \(String(cString: strerror(code)))",
      remedy: "check the folder, its permissions and the space on its disk")
    if [ENOSPC, EDQUOT].contains(code) { error.topic = .diskFull }
    return error
  }
}
