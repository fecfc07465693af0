import Foundation
import GodwitStore
import TestSupport
import Testing

/// The lock of work folders and of shards. Within a process, two descriptors exclude each other as two processes do.
struct FileLockTests {
  private let folder: TemporaryFolder
  private var path: String { folder.file("lock") }

  init() throws { folder = try TemporaryFolder() }

  private func refusal(mode: UInt32? = 0o600) -> FileLock.Refusal? {
    do {
      _ = try FileLock(path: path, mode: mode)
      return nil
    } catch { return error }
  }

  @Test func `one at a time has it, and others are told who`() throws {
    #expect(try FileLock.state(ofFile: path) == .none)
    do {
      let lock = try FileLock(path: path, mode: 0o600)
      #expect(refusal() == .held(nil))
      lock.noteHolder()
      guard case .held(let holder?)? = refusal() else {
        Issue.record("the lock is not held by a known process")
        return
      }
      #expect(holder.pid == getpid())
      #expect(try FileLock.state(ofFile: path) == .held(holder))
      withExtendedLifetime(lock) {}
    }
    guard case .free(let last?) = try FileLock.state(ofFile: path) else {
      Issue.record("the lock is not free")
      return
    }
    #expect(last.pid == getpid() && refusal() == nil)
  }

  @Test func `a file that must be there is not made, and a link is not followed`() throws {
    #expect(refusal(mode: nil) == .unopened(ENOENT))
    #expect(!FileManager.default.fileExists(atPath: path))
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder.file("other"))
    #expect(refusal() == .unopened(ELOOP))
    #expect(try FileLock.state(ofFile: path) == .none)
    #expect(!FileManager.default.fileExists(atPath: folder.file("other")))
  }

  @Test func `a lock on a file that lost its name while it was waited for is none`() throws {
    let file = path
    let holder = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    try #require(holder >= 0 && flock(holder, LOCK_EX) == 0)
    let thread = Thread {
      usleep(40_000)
      unlink(file)
      close(holder)
    }
    thread.start()
    // On a machine that is very slow, the name is gone before the file is opened.
    let found = refusal(mode: nil)
    #expect(found == .replaced || found == .unopened(ENOENT))
  }
}
