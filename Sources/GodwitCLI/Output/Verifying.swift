import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitVerifier

/// A verification as a command: with progress, and stopped by signals and by a time box.
struct Verifying {
  let printer: ProgressPrinter
  let control: MigrationControl

  /// The report of a job's destination.
  ///
  /// - Parameter samplePercent: As `Verifier` has it.
  func report(of job: MigrationJob, maximumSeconds: Double?, samplePercent: Double? = nil) throws -> VerificationReport
  {
    let start = ContinuousClock.now
    var verifier = Verifier(job: job)
    verifier.samplePercent = samplePercent
    verifier.checkpointFile = URL(filePath: job.destinationPath + MigrationJob.verificationSuffix)
    var first: Double?
    return try verifier.run(control: control, maximumSeconds: maximumSeconds) { share in
      // The share of an earlier verification took no time of this one.
      let gained = share - (first ?? share)
      first = first ?? share
      let seconds = Clock.seconds(since: start)
      printer.update(
        MigrationProgress(
          percent: share * 100, step: .first, steps: 1, pass: 1, passes: 1, name: "verify", stage: "", chunk: 0,
          chunks: 0, rows: 0, totalRows: 0, rowsPerSecond: 0,
          secondsLeft: gained > 0.05 && seconds > 1 ? seconds / gained * (1 - share) : nil,
          residentBytes: ProcessMemory.residentBytes))
    }
  }
}

/// A verification report with its verdict, as JSON.
struct VerificationRecord: Encodable {
  let report: VerificationReport
  /// When the line of a run was written.
  var time: String?
  /// The store, in a run of many.
  var store: String?
  private enum CodingKeys: String, CodingKey { case isClean, schemaVersion, time, store }

  func encode(to encoder: any Encoder) throws {
    try report.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(report.isClean, forKey: .isClean)
    guard let time else { return }
    try container.encode(OutputKind.version, forKey: .schemaVersion)
    try container.encode(time, forKey: .time)
    try container.encodeIfPresent(store, forKey: .store)
  }
}
