import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel

/// The result of a command for one of many stores: a row of its table, and a JSON line.
struct StoreResult: Encodable, Sendable {
  /// How it ended.
  enum Outcome: String, Encodable, Sendable {
    // Of a run.
    case finished
    case alreadyFinished = "already finished"
    case stopped
    case failed
    case notRun = "not run"
    // Outcomes of a plan, and of `why`.
    case planned
    case migrationNeeded = "migration needed"
    case fits
    // Of a status.
    case notStarted = "not started"
    case unfinished
    case outdated
    case foreign = "destination exists"
    // Outcomes of a verification.
    case proved
    case differs
  }

  let schemaVersion = OutputKind.version
  /// Left out of a line, which begins with it.
  var type: String? = "store"
  /// When the store ended.
  var time: String
  var store, destination: String
  var outcome: Outcome
  /// The exit status of a job of its own.
  var status: Int32
  var seconds: Double
  /// Objects made, or to be made.
  var objects: Int64?
  /// Kinds of things that are lost and not accepted.
  var losses: Int?
  /// Kinds of things that are lost and accepted; nil for none.
  var accepted: Int?
  /// Objects in quarantine.
  var quarantined: Int64?
  /// Whether the counts of a plan are those of other stores: see `PlanSamples`.
  var isSampled: Bool?
  /// Notes of a run, and the code of each.
  var notes: [String]?
  var noteCodes: [MigrationNote.Code]?
  var percent: Double?
  /// The fate of the last run, in a status; nil for a finished store.
  var run: MigrationStatus.Run.State?
  /// The check of a status with `--check`.
  var check: StatusRecord.Check?
  var findings: Int64?
  var sourceModel, destinationModel: String?
  var steps: Int?
  /// In a file of a results folder: the name that decides the store's shard, that shard, and what the result is of.
  var key, shard, identity, stamp: String?
  /// The fields of a failure, as in other documents.
  var code, reason, reasonCode, message, location, site, cause, remedy, safe: String?

  init(_ store: StorePlace, _ outcome: Outcome, status: Int32 = 0, seconds: Double = 0) {
    time = Clock.stamp
    (self.store, destination) = (store.path, store.destination)
    (self.outcome, self.status, self.seconds) = (outcome, status, seconds)
  }

  /// A store that the command did not come to.
  static func notRun(_ store: ManifestStore) -> StoreResult {
    StoreResult(StorePlace(store), .notRun, status: GodwitError.Code.stopped.rawValue)
  }

  /// A store whose job failed, or was stopped.
  init(_ store: StorePlace, failed error: GodwitError, seconds: Double) {
    self.init(
      store, error.stopReason == nil ? .failed : .stopped, status: error.code.rawValue, seconds: seconds)
    code = error.code.name
    let record = FailureRecord(error)
    (reason, reasonCode) = (record.reason, record.reasonCode)
    (message, location) = (error.message, error.location?.text)
    (site, cause, remedy, safe) = (error.context, error.cause, error.remedy, error.safe)
  }

  /// A store with a result that still holds.
  init(_ store: StorePlace, _ known: KnownResult) {
    self.init(store, known.isFailed ? .failed : .finished, status: known.status, seconds: known.seconds)
    (code, message, remedy, findings) = (known.code, known.message, known.remedy, known.findings)
  }

  /// A place that the pattern leads to and that cannot be looked at: nobody knows which stores are there.
  init(unreadable path: String, _ error: GodwitError) {
    self.init(StorePlace(path: path, destination: ""), failed: error, seconds: 0)
  }

  /// The result of a run.
  init(_ store: StorePlace, _ summary: MigrationSummary, seconds: Double) {
    let outcome: Outcome =
      switch summary.outcome {
      case .finished: .finished
      case .alreadyFinished: .alreadyFinished
      case .stopped: .stopped
      }
    let done = summary.quarantinedObjects > 0 ? RunVerb.quarantinedStatus : 0
    self.init(
      store, outcome, status: outcome == .stopped ? StopSignals.code(of: summary.reason).rawValue : done,
      seconds: seconds)
    if summary.outcome != .alreadyFinished {
      objects = summary.isCounted ? summary.objects : nil
      losses = summary.losses.refusable.count
      accepted = summary.losses.accepted.isEmpty ? nil : summary.losses.accepted.count
    }
    (reason, reasonCode) = (summary.reason, summary.stopReason?.rawValue)
    if summary.quarantinedObjects > 0, outcome != .stopped { quarantined = summary.quarantinedObjects }
    if !summary.codedNotes.isEmpty { (notes, noteCodes) = (summary.notes, summary.codedNotes.map(\.code)) }
  }

  /// How it stands.
  init(_ store: StorePlace, _ status: MigrationStatus) {
    let outcome: Outcome =
      switch status.state {
      case .notStarted: .notStarted
      case .unfinished: .unfinished
      case .finished: .finished
      case .outdated: .outdated
      case .foreign: .foreign
      }
    self.init(store, outcome)
    percent = status.percent
    guard let last = status.run, last.state != .finished else { return }
    (run, reason, reasonCode) = (last.state, last.reason, last.reasonCode)
    (message, remedy) = (last.message, last.remedy)
  }

  /// The result in one line: a failure's message, the notes of a run, or the versions that the models lead through.
  var note: String {
    if let run {
      return [run.rawValue, percent.map { ProgressLine.percent($0) }, message ?? reason].compactMap(\.self)
        .joined(separator: ", ")
    }
    if let message { return (location.map { "\($0): " } ?? "") + message }
    if let reason { return reason }
    if let percent { return ProgressLine.percent(percent) }
    let origin = isSampled == true ? "counted from stores of its size and version" : nil
    let said = [way, origin, findings?.counted("finding"), quarantined.map { $0.counted("object") + " in quarantine" }]
    return (said.compactMap(\.self) + (notes ?? [])).joined(separator: "; ")
  }

  /// Where the models of a plan lead, and how much is lost there.
  private var way: String? {
    guard let sourceModel, let destinationModel else { return nil }
    let way = sourceModel == destinationModel ? sourceModel : "\(sourceModel) to \(destinationModel)"
    return way + (losses.map { $0 == 0 ? "" : ", " + $0.counted("loss", "losses") } ?? "")
      + (accepted.map { ", " + $0.counted("accepted loss", "accepted losses") } ?? "")
  }
}

extension GodwitError {
  /// The error, with the store that it is about unless the message names it.
  func naming(store: String) -> GodwitError {
    guard !message.contains(store) else { return self }
    var error = self
    error.context = ["store '\(store.onOneLine)'", context].compactMap(\.self).joined(separator: ", ")
    return error
  }
}

extension StopSignals {
  /// The code of what stopped for a reason: that of a signal, else `.stopped`.
  static func code(of reason: String?) -> GodwitError.Code {
    switch reason {
    case name(of: SIGINT)?: .interrupted
    case name(of: SIGTERM)?: .terminated
    default: .stopped
    }
  }
}
