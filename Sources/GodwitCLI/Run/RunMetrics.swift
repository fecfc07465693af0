import Foundation
import GodwitJob
import GodwitModel

/// The metrics of `run --metrics`, as values.
struct RunMetrics: Sendable {
  /// The values that are retained from the runs before.
  struct History: Sendable, Hashable {
    /// When a run last ended with 0; in seconds since 1970.
    var success: Double?
    /// When a run last ended.
    var end: Double?
    /// The status that it ended with.
    var status: Double?

    init() {}

    /// - Parameter text: The file of an earlier run, or anything else.
    init(job: String, in text: String) {
      func value(_ name: String) -> Double? {
        PrometheusText.value(of: name, label: ("job", job), in: text)
      }
      success = value(RunMetrics.successName).flatMap { $0 > 0 ? $0 : nil }
      end = value(RunMetrics.endName).flatMap { $0 > 0 ? $0 : nil }
      status = value(RunMetrics.statusName)
    }
  }

  /// How the run ended.
  struct End: Sendable {
    var time: Date
    var status: Int32
    var outcome: String
    /// Why it stopped, as a code; else empty.
    var reason = ""
  }

  var job: String
  var start: Date
  var history = History()
  var budget: ByteCount?
  var sourceBytes: Int64?
  var destinationBytes: Int64?
  var progress: MigrationProgress?
  var summary: MigrationSummary?
  /// The number of findings of `--verify`; nil without a verification.
  var findings: Int64?
  var end: End?

  /// How every file begins.
  static let beginning = "# HELP godwit_build_info "

  fileprivate static let successName = "godwit_last_success_timestamp_seconds"
  fileprivate static let endName = "godwit_last_run_end_timestamp_seconds"
  fileprivate static let statusName = "godwit_last_run_exit_status"

  /// Ends the run. The statuses 0 and 3 count as success.
  mutating func finish(_ end: End) {
    self.end = end
    history.end = end.time.timeIntervalSince1970
    history.status = Double(end.status)
    if end.status == 0 || end.status == RunVerb.quarantinedStatus { history.success = history.end }
  }

  /// The file's text.
  ///
  /// - Parameters:
  ///   - now: When it is written.
  ///   - resident, peak: The memory of the process, in bytes.
  func text(now: Date, resident: Int64, peak: Int64) -> String {
    var text = PrometheusText()
    let labels: [(name: String, value: String)] = [("job", job)]
    func add(_ name: String, _ help: String, _ value: Double?, _ kind: PrometheusText.Kind = .gauge) {
      text.add(name, kind, help, labels: labels, value.map { [.init($0)] } ?? [])
    }
    text.add(
      "godwit_build_info", .gauge, "The version of Godwit.", labels: labels,
      [.init(1, [("version", GodwitCommand.version)])])
    add("godwit_run_active", "1 while a run is at work, else 0.", end == nil ? 1 : 0)
    add("godwit_run_start_timestamp_seconds", "When the run began.", start.timeIntervalSince1970)
    add("godwit_run_updated_timestamp_seconds", "When this file was written.", now.timeIntervalSince1970)
    let seconds = max(0, (end?.time ?? now).timeIntervalSince(start))
    add("godwit_run_duration_seconds", "How long the run has lasted.", seconds)
    addProgress(add)
    add("godwit_source_bytes", "The size of the source store.", sourceBytes.map(Double.init))
    add("godwit_destination_bytes", "The size of the destination store.", destinationBytes.map(Double.init))
    add("godwit_memory_resident_bytes", "The resident memory of the process.", Double(resident))
    add("godwit_memory_peak_bytes", "The peak of the resident memory.", Double(peak))
    add(
      "godwit_memory_budget_bytes", "The memory that the run may allocate, on top of the program itself.",
      budget.map { Double($0.bytes) })
    addResult(add)
    text.add(
      "godwit_lost_items", .gauge, "Lost items, by step, kind, reason and subject.", labels: labels,
      lossSamples)
    add(Self.statusName, "The exit status of the last run that ended.", history.status)
    add(Self.endName, "When the last run ended.", history.end)
    add(Self.successName, "When a run last ended with status 0 or 3.", history.success)
    if let end {
      text.add(
        "godwit_last_run_info", .gauge, "How the last run ended, and why it stopped.", labels: labels,
        [.init(1, [("outcome", end.outcome), ("reason", end.reason)])])
    }
    return text.text
  }

  private typealias Adding = (String, String, Double?, PrometheusText.Kind) -> Void

  private func addProgress(_ add: Adding) {
    let done = summary.map { $0.outcome != .stopped } ?? false
    let ratio = done ? 1 : (progress?.percent).map { min(max($0 / 100, 0), 1) }
    add("godwit_progress_ratio", "How much of the job is done, from 0 to 1.", ratio, .gauge)
    guard let progress else { return }
    add("godwit_current_step", "The step of the job that runs, from 1.", Double(progress.step), .gauge)
    add("godwit_planned_steps", "The steps of the job.", Double(progress.steps), .gauge)
    guard progress.totalRows > 0 else { return }
    add(
      "godwit_rows_read_total", "Rows that the stages of the step have read, those of earlier runs included.",
      Double(progress.rows), .counter)
    add("godwit_planned_rows", "Rows that the stages of the step will have read.", Double(progress.totalRows), .gauge)
    add("godwit_rows_per_second", "Rows read per second, on average over the run.", progress.rowsPerSecond, .gauge)
    add(
      "godwit_remaining_seconds", "The estimated time left.",
      end == nil ? progress.secondsLeft.flatMap { $0.isFinite ? $0 : nil } : nil, .gauge)
  }

  private func addResult(_ add: Adding) {
    guard let summary else { return }
    if summary.isCounted, summary.outcome != .alreadyFinished {
      add("godwit_objects", "Objects made by all runs of the job together.", Double(summary.objects), .gauge)
    }
    add("godwit_verify_findings", "The number of findings of the verification.", findings.map(Double.init), .gauge)
  }

  /// A set of labels must not come twice.
  private var lossSamples: [PrometheusText.Sample] {
    struct Key: Hashable { var step, kind, reason, subject, accepted: String }
    let counted = (summary?.losses.losses ?? []).filter { $0.isLoss && $0.count != nil }
    return counted.grouped { loss in
      Key(
        step: "\(loss.step)", kind: loss.kind.rawValue, reason: loss.cause?.rawValue ?? "", subject: loss.subject,
        accepted: loss.isAccepted == true ? "true" : "")
    }.map { key, losses in
      .init(
        Double(losses.reduce(0) { $0 + ($1.count ?? 0) }),
        [("step", key.step), ("kind", key.kind), ("reason", key.reason), ("subject", key.subject)]
          + (key.accepted.isEmpty ? [] : [("accepted", key.accepted)]))
    }
  }
}
