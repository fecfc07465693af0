import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitVerifier

/// Tells of a run beside its output: in a metrics file, and to the commands `on-success` and `on-failure`.
///
/// 1. `manifestRead` and `jobLoaded` as soon as these are known.
/// 2. `update` takes every progress.
/// 3. `ended`, `failed` or `stopped`, once.
struct RunObserver {
  private let session: CommandSession
  private let metrics: MetricsFile?
  private var hooks: JobHooks?
  private(set) var jobName: String?
  private var job: MigrationJob?

  /// - Parameters:
  ///   - metricsPath: Where metrics go; nil for nowhere.
  ///   - manifest: The path of the manifest, which names the job until it is read.
  /// - Throws: The error of `MetricsFile` when it cannot be written.
  init(_ session: CommandSession, metricsPath: String?, manifest: String?) throws {
    self.session = session
    let name = JobManifest.name(ofFile: manifest ?? "job")
    metrics = try metricsPath.map {
      try MetricsFile(path: $0, job: name, start: Date(), warn: { session.warn($0) })
    }
    metrics?.setJob(name)
  }

  mutating func manifestRead(_ loader: JobLoader) {
    hooks = loader.hooks
    jobName = loader.manifest.job
    session.diagnostics.logSettings?.job = jobName
    metrics?.setJob(loader.manifest.job)
    metrics?.change { $0.budget = loader.manifest.memory }
  }

  /// - Throws: `.usage` (64) when the metrics would go where the job has its files.
  mutating func jobLoaded(_ job: MigrationJob) throws {
    do { try metrics?.output.check(owner: MigrationManager(job).files.name) } catch {
      metrics?.abandon()
      throw error
    }
    self.job = job
    metrics?.change { $0.sourceBytes = Self.size(of: job.sourcePaths) }
  }

  private static func size(of paths: [String]) -> Int64? {
    let sizes = paths.compactMap { (try? FileManager.default.attributesOfItem(atPath: $0))?[.size] as? Int64 }
    return sizes.isEmpty ? nil : sizes.reduce(0, +)
  }

  /// The first one comes when the run holds its lock: only then is the metrics file its own.
  func update(_ progress: MigrationProgress) {
    metrics?.change { $0.progress = progress }
    metrics?.start()
  }

  // MARK: The end

  /// The run has done its work.
  ///
  /// - Parameters:
  ///   - status: The exit status: 0, 3 with objects in quarantine, 4 after a verification with findings, or that of
  ///     `broken`.
  ///   - broken: Why the verification after it could not be done; nil if it was, or none was asked for.
  /// - Returns: Why a command failed; nil when none did.
  func ended(
    _ summary: MigrationSummary, job: MigrationJob, report: VerificationReport?, broken: GodwitError? = nil,
    status: Int32
  ) -> GodwitError? {
    metrics?.change { metrics in
      metrics.summary = summary
      metrics.findings = report.map { $0.totalFindings }
      metrics.destinationBytes = Self.size(of: [job.destinationPath])
    }
    let record = SummaryRecord(summary, job: job, time: Clock.stamp, status: status, verifyFailure: broken)
    let isSuccess = status == 0 || status == RunVerb.quarantinedStatus
    var failure = call(isSuccess ? .success : .failure, record)
    if !isSuccess, let error = failure {
      // The status of the run itself counts.
      session.warn(of: error)
      failure = nil
    }
    failure?.safe = "the destination is finished"
    finish(failure?.code.rawValue ?? status, summary.outcome.rawValue)
    return failure
  }

  /// The run stopped at a checkpoint, and ends with 75 or by a signal. No command is called.
  ///
  /// - Parameter status: The status if a verification was stopped after the migration had finished.
  func stopped(_ summary: MigrationSummary, job: MigrationJob, status: Int32 = 0) {
    metrics?.change { $0.summary = summary }
    let record = SummaryRecord(summary, job: job, time: Clock.stamp, status: status)
    finish(record.status, summary.outcome.rawValue, reason: record.reasonCode)
  }

  /// The run failed. Commands are called unless it stopped at a checkpoint or by a signal.
  func failed(_ error: GodwitError) {
    if !error.code.isStop {
      let record = FailureRecord(error, type: nil, time: Clock.stamp, job: jobName)
      if let second = call(.failure, record) { session.warn(of: second) }
    }
    // The file is that of the run which holds the lock.
    guard error.stopReason != .locked else {
      metrics?.abandon()
      return
    }
    finish(error.code.rawValue, "failed", reason: error.stopReason?.rawValue)
  }

  /// Whether a failure calls commands, which may take long: the error is printed before.
  func callsCommands(after error: GodwitError) -> Bool { !error.code.isStop && hooks?.has(.failure) == true }

  private func finish(_ status: Int32, _ outcome: String, reason: String? = nil) {
    metrics?.finish(.init(time: Date(), status: status, outcome: outcome, reason: reason ?? ""))
  }

  private func call(_ key: JobHooks.Key, _ record: some SummaryLine) -> GodwitError? {
    var variables: [String: String] = [:]
    if let job {
      variables["GODWIT_SOURCE"] = job.sourcePaths.map { URL(filePath: $0).path }.joined(separator: "\n")
      variables["GODWIT_DESTINATION"] = URL(filePath: job.destinationPath).path
    }
    return hooks?.call(key, record, job: jobName, variables)
  }
}

/// The last line of a run, which its commands get too.
protocol SummaryLine: Encodable {
  var status: Int32 { get }
  var outcome: String { get }
}

extension JobHooks {
  /// Calls the commands of a key.
  ///
  /// - Returns: Why one failed; nil when none did, or there is none.
  func call(
    _ key: Key, _ record: some SummaryLine, job: String?, _ variables: [String: String] = [:]
  ) -> GodwitError? {
    guard has(key) else { return nil }
    var variables = variables
    variables["GODWIT_STATUS"] = "\(record.status)"
    variables["GODWIT_OUTCOME"] = record.outcome
    variables["GODWIT_JOB"] = job
    do {
      try run(key, summary: try JSONText.line(ofType: "summary", record) + "\n", variables: variables)
      return nil
    } catch { return GodwitCommand.known(error) }
  }
}

extension GodwitError.Code {
  /// Whether a run ended at a checkpoint or by a signal, and calls no commands.
  var isStop: Bool { [.stopped, .interrupted, .terminated].contains(self) }
}
