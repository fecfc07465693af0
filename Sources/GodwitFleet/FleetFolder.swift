import Foundation
import GodwitModel
import GodwitPlatform

/// The folder of a fleet, which all machines share.
package struct FleetFolder: Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  package var planPath: String { path + "/plan.json" }
  package var unreadablePath: String { path + "/unreadable.jsonl" }
  package func shardPath(_ shard: Int) -> String { "\(path)/shards/\(Self.name(shard)).jsonl" }
  package func resultsPath(_ shard: Int) -> String { "\(path)/results/\(Self.name(shard)).jsonl" }
  package func lockPath(_ shard: Int) -> String { "\(path)/results/\(Self.name(shard)).lock" }
  /// Which stores are at work: see `AttemptNote`.
  package func attemptsPath(_ shard: Int) -> String { "\(path)/results/\(Self.name(shard)).begun" }

  /// `00042`.
  package static func name(_ shard: Int) -> String {
    let digits = String(max(0, shard))
    return String(repeating: "0", count: max(0, 5 - digits.count)) + digits
  }

  package func plan() throws -> FleetPlan { try FleetPlan(contentsOf: planPath) }

  /// Whether any store has ended.
  package func hasResults(shards: Int) -> Bool {
    (0..<max(0, shards)).contains { shard in
      var info = stat()
      return stat(resultsPath(shard), &info) == 0 && info.st_size > 0
    }
  }

  /// A shard on which a process works; nil without one. It goes by the locks that are there, whatever the plan says.
  package var lockedShard: Int? {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path + "/results")) ?? []
    return names.filter { $0.hasSuffix(".lock") }.compactMap { Int($0.dropLast(5)) }.sorted().first(where: isLocked)
  }

  /// Whether a process works on a shard.
  package func isLocked(_ shard: Int) -> Bool {
    let descriptor = open(lockPath(shard), O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { return errno == EWOULDBLOCK }
    flock(descriptor, LOCK_UN)
    return false
  }
}

/// The lock of a shard's run, which the kernel keeps: it ends with the process, however that ends.
package final class ShardLock {
  private let descriptor: Int32

  /// - Throws: `.stopped` (75, `lock`) while another process works on the shard; `.permission` (77) or `.cannotCreate`
  ///   (73) when the file cannot be made.
  package init(_ folder: FleetFolder, shard: Int) throws {
    let path = folder.lockPath(shard)
    let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else {
      let code = errno
      throw GodwitError(
        [EACCES, EPERM, EROFS].contains(code) ? .permission : code == ENOSPC ? .inputOutput : .cannotCreate,
        "cannot lock '\(path)': \(String(cString: strerror(code)))",
        remedy: "check the folder and its permissions, or make the plan again with `godwit fleet plan`")
    }
    let code = Self.take(descriptor)
    guard code == 0 else {
      let holder = Self.holder(descriptor)
      close(descriptor)
      guard code == EWOULDBLOCK else {
        throw GodwitError(
          .inputOutput, "cannot lock '\(path)': \(String(cString: strerror(code)))",
          remedy: "put the fleet's folder on a file system with locks")
      }
      throw GodwitError(
        .stopped, "cannot run shard \(shard): another process works on it",
        cause: holder.map { "the lock is held by \($0)" }, remedy: "wait for it to end, or run another shard",
        stopReason: .locked)
    }
    // A plan that was replaced meanwhile has taken the file away: nobody else would see this lock.
    var (own, current) = (stat(), stat())
    guard fstat(descriptor, &own) == 0, stat(path, &current) == 0, own.st_dev == current.st_dev,
      own.st_ino == current.st_ino
    else {
      close(descriptor)
      throw GodwitError(
        .cannotCreate, "cannot run shard \(shard): the fleet is planned again", remedy: "run the same command again",
        safe: "nothing was written")
    }
    self.descriptor = descriptor
    note()
  }

  deinit {
    // A child that is just being started has the descriptor too.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Takes the lock. Tries for a moment, because who only looks whether it is held has it for as long.
  ///
  /// - Returns: 0, or the number of the error.
  private static func take(_ descriptor: Int32) -> Int32 {
    for _ in 0..<20 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return 0 }
      let code = errno
      guard code == EWOULDBLOCK else { return code }
      usleep(10_000)
    }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno
  }

  /// Who has the lock, for people.
  private func note() {
    var name = [CChar](repeating: 0, count: 256)
    let isKnown = gethostname(&name, name.count - 1) == 0
    let host = isKnown ? String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : ""
    let text = Array("process \(getpid())\(host.isEmpty ? "" : " on '\(host)'")\n".utf8)
    guard ftruncate(descriptor, 0) == 0 else { return }
    _ = text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  }

  private static func holder(_ descriptor: Int32) -> String? {
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
    guard count > 0 else { return nil }
    let text = String(decoding: bytes.prefix(count), as: UTF8.self).prefix { !$0.isNewline }
    return text.isEmpty ? nil : String(text).onOneLine
  }
}
