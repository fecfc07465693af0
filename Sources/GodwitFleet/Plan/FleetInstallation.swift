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

  /// - Parameter difference: Why an earlier plan, of the same paths and inputs, does not do any more; nil when it does.
  /// - Returns: Whether an earlier plan was left, from which nothing differs.
  /// - Throws: 73 for a folder that is no fleet's, and for a plan with results; 75 while one of its shards runs.
  func install(isForced: Bool, difference: (FleetPlan) throws -> String?) throws -> Bool {
    let new = scratch + "/plan"
    try FleetFolder(path: new).mark()
    sync(new)
    var info = stat()
    guard lstat(folder.path, &info) == 0 else {
      try move(new, folder.path)
      return false
    }
    let isEmpty = (try? FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty) ?? false
    // Many a program has a plan.json.
    guard isEmpty || (try? folder.plan()) != nil || folder.isMarked else {
      throw GodwitError(
        .cannotCreate, "cannot write the plan to '\(folder.path)': what is there is no fleet's folder",
        remedy: "name another folder with 'folder', or move that one away", safe: "nothing was written")
    }
    // A plan that cannot be read any more tells neither its shards nor its results.
    let old = try isEmpty ? nil : readOld(isForced: isForced)
    try refuseLocks(of: folder)
    if let old, folder.hasResults(shards: old.shards), !isForced {
      let cause =
        old.inputs != plan.inputs
        ? "the fleet's file, the job's manifest, a model or a mapping model has changed"
        : old.surveyed != plan.surveyed ? "other stores were found" : try difference(old)
      if let cause {
        throw GodwitError(
          .cannotCreate, "cannot replace the plan in '\(folder.path)': it has results, and something differs",
          cause: cause,
          remedy:
            "merge its results, then plan again with --force: what is finished as it would be made now is passed by",
          safe: "the plan and its results are as they were")
      }
      return true
    }
    let before = scratch + "/before"
    try move(folder.path, before)
    do {
      // A run may have taken a lock meanwhile. One that comes later finds no file, or the new plan's.
      try refuseLocks(of: FleetFolder(path: before))
      try move(new, folder.path)
    } catch {
      try? move(before, folder.path)
      throw error
    }
    return false
  }

  /// - Throws: 75 while a process works on a shard.
  private func refuseLocks(of place: FleetFolder) throws {
    guard let shard = place.lockedShard else { return }
    throw GodwitError(
      .stopped, "cannot replace the plan in '\(folder.path)': a process works on shard \(shard)",
      remedy: "wait for it to end and run the same command", safe: "the plan and its results are as they were",
      stopReason: .locked)
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
