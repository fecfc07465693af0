import Foundation
import GodwitModel
import GodwitPlatform
import GodwitStore

/// Puts a new fleet's folder in its place, or leaves an earlier one that says the same.
struct FleetInstallation {
  let folder: FleetFolder
  /// A folder beside it, with the new one as `plan`.
  let scratch: String
  let plan: FleetPlan

  /// - Returns: Whether an earlier plan was left, from which nothing differs.
  /// - Throws: 73 for a folder that is no fleet's, and for a plan with results; 75 while one of its shards runs.
  func install(isForced: Bool) throws -> Bool {
    let new = scratch + "/plan"
    sync(new)
    var info = stat()
    guard lstat(folder.path, &info) == 0 else {
      try move(new, folder.path)
      return false
    }
    let isEmpty = (try? FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty) ?? false
    guard isEmpty || FileManager.default.fileExists(atPath: folder.planPath) else {
      throw GodwitError(
        .cannotCreate, "cannot write the plan to '\(folder.path)': what is there is no fleet's folder",
        remedy: "name another folder with 'folder', or move that one away", safe: "nothing was written")
    }
    // A plan that cannot be read any more tells neither its shards nor its results.
    let old = try isEmpty ? nil : readOld(isForced: isForced)
    for shard in 0..<(old?.shards ?? 0) where folder.isLocked(shard) {
      throw GodwitError(
        .stopped, "cannot replace the plan in '\(folder.path)': a process works on shard \(shard)",
        remedy: "wait for it to end and run the same command", safe: "the plan and its results are as they were",
        stopReason: .locked)
    }
    if let old, folder.hasResults(shards: old.shards), !isForced {
      guard old.inputs == plan.inputs, old.surveyed == plan.surveyed else {
        throw GodwitError(
          .cannotCreate, "cannot replace the plan in '\(folder.path)': it has results, and something differs",
          cause: old.inputs == plan.inputs
            ? "other stores were found"
            : "the fleet's file, the job's manifest, a model or a mapping model has changed",
          remedy: "merge its results first, then plan again with --force: stores that are finished are passed by",
          safe: "the plan and its results are as they were")
      }
      return true
    }
    let before = scratch + "/before"
    try move(folder.path, before)
    do { try move(new, folder.path) } catch {
      try? move(before, folder.path)
      throw error
    }
    return false
  }

  private func readOld(isForced: Bool) throws -> FleetPlan? {
    do { return try folder.plan() } catch {
      if isForced { return nil }
      throw error
    }
  }

  private func move(_ old: String, _ new: String) throws {
    guard rename(old, new) == 0 else { throw GodwitError.disk("cannot create '\(new)'", errno: errno) }
    sync(new.parentPath)
  }

  private func sync(_ path: String) {
    let descriptor = open(path.isEmpty ? "." : path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    CLibrary.sync(descriptor)
    close(descriptor)
  }
}
