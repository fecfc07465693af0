import GodwitModel

/// A lock of the kernel on a file: one process at a time has it.
///
/// The lock ends with the value, or with the process, however that ends, so it never goes stale. The file stays, and
/// names the current or last holder: see `LockHolder`.
package final class FileLock: Sendable {
  /// The file, with the lock.
  package let descriptor: Int32

  /// The reason why the lock was not acquired.
  package enum Refusal: Error, Equatable {
    /// The file cannot be opened, or made: the number of the error.
    case unopened(Int32)
    /// Another process has it.
    case held(LockHolder?)
    /// The file system takes no locks: the number of the error.
    case failed(Int32)
    /// Another process has removed or replaced the file since it was opened, so no other process would see this lock.
    case replaced
  }

  /// - Parameters:
  ///   - path: The file.
  ///   - mode: The rights of a new file; nil for a file that must exist.
  package init(path: String, mode: UInt32?) throws(Refusal) {
    // Non-blocking, because opening a pipe would otherwise wait for its other end.
    let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let file = if let mode { CLibrary.open(path, flags | O_CREAT, mode_t(mode)) } else { CLibrary.open(path, flags) }
    guard file >= 0 else { throw Refusal.unopened(CLibrary.errno) }
    let code = Self.take(file)
    guard code == 0 else {
      let holder = LockHolder(reading: file)
      close(file)
      throw code == EWOULDBLOCK ? Refusal.held(holder) : Refusal.failed(code)
    }
    // The holder may have removed the file between our open and our lock, and another process may have made it again.
    let named = FileStatus(following: path)
    var lookCode = named == nil ? CLibrary.errno : 0
    let held = FileStatus(openFile: file)
    if held == nil { lookCode = CLibrary.errno }
    guard let held, named?.identity == held.identity else {
      Self.release(file)
      throw [0, ENOENT, ENOTDIR].contains(lookCode) ? Refusal.replaced : Refusal.failed(lookCode)
    }
    descriptor = file
  }

  deinit { Self.release(descriptor) }

  /// A process that is just being started has the descriptor too, and would hold the lock until its program runs.
  private static func release(_ descriptor: Int32) {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Acquires the lock. Tries for a moment, because a process that only checks the lock holds it briefly.
  ///
  /// - Returns: 0, or the number of the error.
  private static func take(_ descriptor: Int32) -> Int32 {
    for _ in 0..<20 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return 0 }
      let code = CLibrary.errno
      guard code == EWOULDBLOCK else { return code }
      usleep(10_000)
    }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : CLibrary.errno
  }

  /// Writes this process into the file, as the one that holds the lock.
  ///
  /// - Parameter isSynced: Whether the file is synced. Without that, a power cut may leave the name of an earlier
  ///   holder.
  package func noteHolder(isSynced: Bool = true) { LockHolder.current().write(to: descriptor, isSynced: isSynced) }

  /// The state of a file's lock. Writes nothing.
  ///
  /// - Throws: The number of the error when the file exists and cannot be opened, or takes no locks.
  package static func state(ofFile path: String) throws(Refusal) -> LockState {
    let descriptor = CLibrary.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      let code = CLibrary.errno
      // A missing file or one that is not a regular path holds no lock. Acquiring the lock reports the obstacle.
      if [ENOENT, ENOTDIR, ELOOP, ENXIO].contains(code) { return .none }
      throw Refusal.unopened(code)
    }
    defer { close(descriptor) }
    let holder = LockHolder(reading: descriptor)
    guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else {
      let code = CLibrary.errno
      guard code == EWOULDBLOCK else { throw Refusal.failed(code) }
      return .held(holder)
    }
    flock(descriptor, LOCK_UN)
    return .free(holder)
  }
}

/// Whether a process holds a lock.
package enum LockState: Sendable, Hashable {
  /// The lock does not exist. A work folder without a lock is missing, or is being made or removed.
  case none
  /// A process holds the lock.
  case held(LockHolder?)
  /// No process holds the lock. The value is the last holder.
  case free(LockHolder?)
}
