import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport

@testable import Godwit

/// The parts of a run of one job, for suites that look at one of them.
struct RunWorld {
  let job: MigrationJob
  let watch = StopCondition(control: MigrationControl(), start: Date(), maximumSeconds: nil)

  init(_ job: MigrationJob) { self.job = MigrationManager(job).job }

  var request: RunRequest { get throws { try RunRequest(job, isTaken: try job.isDestinationTaken) } }

  var hasFolder: Bool { get throws { try WorkFolder.exists(job.workPath) } }

  /// The names in the work folder.
  var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: job.workPath).sorted() } }

  /// Makes the store in the work folder, up to the receipt.
  func make(in claim: borrowing Claim) throws -> RunPipeline.Made {
    let source = try SourceFiles(job, attach: false, existing: try DestinationLook(job).existingDestination())
    try claim.begin(job)
    try claim.journal.update { $0.owner = job.owner }
    var (summary, _) = try StepsMaker(request: request, watch: watch).make(in: claim, source: source) { _ in }
    let folder = job.lastStepFolder(in: claim.path)
    let history = HistoryRecorder(job, folder: nil, begin: watch.start)
    _ = try ReceiptPlacement(job).prepare(of: folder.storePath, in: claim, &summary, watch.control, history: history)
    return .init(folder: folder, file: folder.storePath, source: source.files)
  }

  /// Runs the job until its first progress.
  func stop() throws {
    let control = MigrationControl()
    try MigrationManager(job).run(control: control) { _ in control.stop(reason: "test") }
  }
}
