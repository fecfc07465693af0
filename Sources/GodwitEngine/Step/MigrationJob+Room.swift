import Foundation
package import GodwitJob
import GodwitModel
import GodwitStore

/// Room on the disks, looked at before the first write.
extension MigrationJob {
  /// Refuses a job that cannot fit, with the figures. Beside other jobs of the process, it waits until it fits.
  ///
  /// - Parameter need: The need of the whole job from its beginning.
  /// - Throws: `.inputOutput` (74) when the file system of the destination or of temporary files has not enough room;
  ///   when both are one, the sum counts. `.stopped` (75) when it is stopped while it waits.
  package func checkSpace(_ need: DiskNeed, safe: String? = nil) throws {
    let safe = safe ?? (position.isFirst ? "nothing was written" : "the steps before it are done")
    if let reason = hooks.space?.claim(claim(of: need)) {
      throw GodwitError(
        .stopped, "stopped: \(reason)", cause: "the job waited for room on the disk", remedy: "run the same command",
        safe: safe, stopReason: GodwitError.StopReason(of: reason))
    }
    try refuseTooLittleSpace(need, safe: safe)
  }

  /// Tells other jobs of the process what is left to be written of a job that an earlier run began.
  func noteSpace(_ need: DiskNeed) { hooks.space?.note(claim(of: need)) }

  private func claim(of need: DiskNeed) -> SpaceClaim {
    let (find, work) = (hooks.freeSpace, workPath)
    var places = [work.parentPath]
    // A small job sorts in memory.
    if need.temporaryBytes > 0 { places.append(FreeSpace.temporaryFolder) }
    let devices = places.map { find($0)?.device }
    var bytes: [UInt64: Int64] = [:]
    for (device, needed) in zip(devices, [need.destinationBytes, need.temporaryBytes]) {
      if let device { bytes[device, default: 0] += needed }
    }
    return SpaceClaim(bytes: bytes, folder: work, device: devices[0]) { [places] in
      var free: [UInt64: Int64] = [:]
      for room in places.compactMap(find) { free[room.device] = room.bytes }
      return free
    }
  }

  private func refuseTooLittleSpace(_ need: DiskNeed, safe: String? = nil) throws {
    let temporary = FreeSpace.temporaryFolder
    let destination = workPath.parentPath
    let (room, other) = (hooks.freeSpace(destination), hooks.freeSpace(temporary))
    let sorting =
      need.temporaryBytes > 0 ? " and \(ByteCount(bytes: need.temporaryBytes)) for sorting in '\(temporary)'" : ""
    let isShared = room != nil && room?.device == other?.device
    func refusal(_ place: String, _ wanted: Int64, _ found: Int64, _ remedy: String) -> GodwitError {
      var figures = ("\(ByteCount(bytes: wanted))", "\(ByteCount(bytes: found))")
      if figures.0 == figures.1 { figures = ("\(wanted) bytes", "\(found) bytes") }
      return GodwitError(
        .inputOutput,
        "cannot start '\(name)': expected \(figures.0) of free space in '\(place)', found \(figures.1)",
        cause: "the run needs about \(ByteCount(bytes: need.destinationBytes)) beside the destination\(sorting)",
        remedy: remedy, safe: safe
      ).about(.tooLittleRoom)
    }
    let wanted = need.destinationBytes + (isShared ? need.temporaryBytes : 0)
    if let room, room.bytes < wanted {
      throw refusal(
        destination.isEmpty ? "." : destination, wanted, room.bytes,
        "free disk space" + (!isInPlace ? ", or name a destination on another disk" : ""))
    }
    if !isShared, let other, other.bytes < need.temporaryBytes {
      throw refusal(
        temporary, need.temporaryBytes, other.bytes, "free disk space, or set TMPDIR to a folder on another disk")
    }
  }

  /// A plan with the room there is now.
  ///
  /// - Parameter isResumed: Whether a run resumes: it has most of its room already, and is not asked for it.
  package func measured(_ plan: MigrationPlan, isResumed: Bool = false) -> MigrationPlan {
    var plan = plan
    plan.freeBytes = hooks.freeSpace(workPath.parentPath)?.bytes
    plan.temporaryFolder = FreeSpace.temporaryFolder
    plan.temporaryFreeBytes = hooks.freeSpace(FreeSpace.temporaryFolder)?.bytes
    guard !isResumed else { return plan }
    do { try refuseTooLittleSpace(plan.disk) } catch { plan.shortage = (error as? GodwitError)?.message ?? "\(error)" }
    return plan
  }
}
