import Foundation
package import GodwitDisk
import GodwitModel
import GodwitPlatform
import GodwitStore

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

  /// How many stores of a shard have failed: see `ShardCount`. There is none while none has.
  package func failedPath(_ shard: Int) -> String { resultsPath(named: Self.name(shard) + Self.failedSuffix) }
  /// How many stores of the canary have ended: see `ShardCount`.
  package var canaryPath: String { resultsPath(named: Self.name(0) + ".ended") }
  package static let failedSuffix = ".failed"
  /// Whether a process has found or made the folder of the destinations: see `FleetPlaces`.
  package var destinationNotePath: String { resultsPath(named: "destinations") }

  private func resultsPath(named name: String) -> String { "\(path)/results/\(name)" }

  /// `00042`.
  package static func name(_ shard: Int) -> String {
    let digits = String(max(0, shard))
    return String(repeating: "0", count: max(0, 5 - digits.count)) + digits
  }

  /// Says that the folder is a fleet's, whatever becomes of its plan.
  private var markPath: String { path + "/made-by-godwit" }
  package var isMarked: Bool { StoreFiles.isRegularFile(markPath) }
  func mark() throws {
    let descriptor = open(markPath, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw GodwitError.disk("cannot create '\(markPath)'", errno: errno) }
    close(descriptor)
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
    if case .held? = try? FileLock.state(ofFile: lockPath(shard)) { true } else { false }
  }

  /// Takes the lock of a shard's run, and writes this process into it.
  ///
  /// - Parameter previous: Called with who had the lock before, as far as its file tells.
  /// - Throws: `.stopped` (75, `lock`) while another process works on the shard; `.permission` (77), `.cannotCreate` (73)
  ///   or `.inputOutput` (74) when the file cannot be made or locked; 73 when the fleet is just planned again.
  package func lock(shard: Int, previous: (LockHolder) -> Void = { _ in }) throws -> FileLock {
    let path = lockPath(shard)
    let lock: FileLock
    do { lock = try FileLock(path: path, mode: 0o666) } catch {
      throw Self.refusal(error, shard: shard, path: path)
    }
    if let holder = lock.notedHolder { previous(holder) }
    lock.noteHolder()
    return lock
  }

  private static func refusal(_ refusal: FileLock.Refusal, shard: Int, path: String) -> GodwitError {
    switch refusal {
    case .unopened(let code):
      GodwitError(
        [EACCES, EPERM, EROFS].contains(code) ? .permission : code == ENOSPC ? .inputOutput : .cannotCreate,
        "cannot lock '\(path)': \(String(cString: strerror(code)))",
        remedy: "check the folder and its permissions, or make the plan again with `godwit fleet plan`")
    case .failed(let code):
      GodwitError(
        .inputOutput, "cannot lock '\(path)': \(String(cString: strerror(code)))",
        remedy: "put the fleet's folder on a file system with locks")
    case .held(let holder):
      GodwitError(
        .stopped, "cannot run shard \(shard): another process works on it",
        cause: holder.map { "the lock is held by \($0.description)" },
        remedy: "wait for it to end, or run another shard", stopReason: .locked)
    case .replaced:
      // A plan that was replaced meanwhile has taken the file away.
      GodwitError(
        .cannotCreate, "cannot run shard \(shard): the fleet is planned again", remedy: "run the same command again",
        safe: "nothing was written")
    }
  }
}
