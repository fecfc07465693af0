import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The source of a job for a verb that writes nothing: a merged one is made in `TMPDIR`, and is there as long as the value
/// lives. The source of any other job is its store.
final class MergedSource {
  /// The job, which reads the merged store.
  let job: MigrationJob
  let record: MergeRecord?
  private let given: MigrationJob
  private let scratch: ScratchFolder?

  /// - Throws: `.inputOutput` (74) when `TMPDIR` has too little room; what `StoreMerge.make` throws.
  init(_ job: MigrationJob, stopReason: @escaping () -> String? = { nil }) throws {
    given = job
    guard job.merged != nil else {
      (self.job, record, scratch) = (job, nil, nil)
      return
    }
    let needed = try job.sourceFiles().size
    let place = FreeSpace.temporaryFolder
    if let room = FreeSpace.at(place), room.bytes < needed {
      throw GodwitError(
        .inputOutput,
        "cannot merge the stores of '\(job.name)': expected \(ByteCount(bytes: needed)) of free space in '\(place)', found \(ByteCount(bytes: room.bytes))",
        remedy: "free disk space, or set TMPDIR to a folder on another disk", safe: "nothing was written"
      ).about(.tooLittleRoom)
    }
    let scratch = try ScratchFolder()
    self.scratch = scratch
    record = try StoreMerge(job, in: scratch.path, stopReason: stopReason).make()
    var reading = job.readingMerged(in: scratch.path)
    // A run does not find this copy on the disk.
    let (find, own) = (job.hooks.freeSpace, FreeSpace.at(scratch.path)?.device)
    let bytes = StoreFiles.size(ofFile: reading.sourcePath)
    reading.hooks.freeSpace = { path in
      guard var room = find(path), room.device == own else { return find(path) }
      room.bytes += bytes
      return room
    }
    self.job = reading
  }

  /// Runs `body` with the job. Errors name the stores, and not the one in the temporary folder.
  func reading<T>(_ body: (MigrationJob) throws -> T) throws -> T {
    defer { withExtendedLifetime(scratch) {} }
    do { return try body(job) } catch let error as GodwitError { throw job.namingParts(error) }
  }
}
