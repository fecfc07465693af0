import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitVerifier

/// A verb that looks at each of the stores of a manifest whose source is a pattern, and writes none of them.
struct StoreSurvey {
  let session: CommandSession
  let loader: JobLoader
  let verb: String
  let isJSON: Bool
  var isQuiet = false
  /// Called before anything is printed: a bar may be open.
  var close: () -> Void = {}

  /// Looks at all stores, and prints one table or one document.
  ///
  /// - Parameters:
  ///   - isOver: Whether to come to no further store.
  ///   - ending: The words after the table; nil for none.
  ///   - look: Applies the verb to one store, given its part of the whole. An error becomes the row of that store.
  /// - Returns: The worst status (`StoreTable.worstFirst`).
  func run(
    until isOver: () -> Bool = { false }, ending: () -> String? = { nil },
    _ look: (ManifestStore, ClosedRange<Double>) throws -> StoreResult
  ) throws -> Int32 {
    var unreadable: [StoreResult] = []
    let stores = try loader.stores(
      unreadable: { path, error in
        unreadable.append(StoreResult(unreadable: path, error))
        if !isJSON { session.write(error) }
      }, note: { if !isQuiet { session.warn($0) } })
    let looked = stores.enumerated().map { index, store in
      guard !isOver() else { return StoreResult.notRun(store) }
      let start = ContinuousClock.now
      var result: StoreResult
      let part = Double(index) / Double(stores.count)...Double(index + 1) / Double(stores.count)
      do { result = try look(store, part) } catch {
        let known = GodwitCommand.known(error)
        result = StoreResult(StorePlace(store), failed: known, seconds: 0)
        // The table has the message alone.
        if !isJSON, result.outcome == .failed {
          close()
          session.write(known.naming(store: result.store))
        }
      }
      result.seconds = Clock.seconds(since: start)
      return result
    }
    let table = StoreTable(sorting: looked + unreadable)
    let status = table.status
    guard !isQuiet || status != 0 else { return status }
    close()
    if isJSON {
      try session.print(json: StoresDocument(verb: verb, status: status, stores: table.results), as: .stores)
    } else {
      session.output.write(table.text + table.counts + (ending().map { "; " + $0 } ?? "") + "\n")
    }
    return status
  }

  // MARK: Verbs

  /// `godwit status`.
  func status() throws -> Int32 {
    try run { store, _ in StoreResult(StorePlace(store), try MigrationManager(store.loader.job()).status()) }
  }

  /// `godwit status --check`: the worst of all stores.
  func check(maximumAge: TimeBox?, now: Date) throws -> Int32 {
    var results: [StoreResult] = []
    var checks: [(store: String, check: StatusCheck)] = []
    func note(_ path: String, _ result: StoreResult, _ check: StatusCheck) {
      var result = result
      result.check = StatusRecord.Check(check)
      if isJSON { results.append(result) }
      checks.append((path, check))
    }
    let known = try ResultsFolder.used(by: loader.manifest).map { try KnownStores(loader, $0) }
    let stores = try loader.stores(unreadable: { path, error in
      note(path, StoreResult(unreadable: path, error), StatusCheck(unknown: error.line))
    })
    for store in stores {
      let result: StoreResult
      let check: StatusCheck
      // A store with a result that still holds is not opened.
      do {
        if let result = known?.result(of: store) {
          let check =
            try result.isFailed
            ? StatusCheck(result)
            : StatusCheck(
              result.status(ofJob: loader.manifest.job, destination: store.destination), maximumAge: maximumAge,
              now: now)
          var row = StoreResult(StorePlace(store), result)
          if result.isDone { row.percent = 100 }
          note(store.path, row, check)
          continue
        }
        // A monitor asks often: all of a large source is not read for it.
        let status = try MigrationManager(store.loader.job()).status(comparesSource: false)
        result = StoreResult(StorePlace(store), status)
        check = StatusCheck(status, maximumAge: maximumAge, now: now)
      } catch {
        let known = GodwitCommand.known(error)
        result = StoreResult(StorePlace(store), failed: known, seconds: 0)
        check = StatusCheck(unknown: known.line)
      }
      note(store.path, result, check)
    }
    let whole = StatusCheck(job: loader.manifest.job, of: checks, maximumAge: maximumAge)
    if isJSON {
      let document = StoresDocument(
        verb: verb, status: whole.level.rawValue, check: StatusRecord.Check(whole), stores: results)
      try session.print(json: document, as: .stores)
    } else {
      session.output.write("\(whole.line)\n")
    }
    return whole.level.rawValue
  }

  /// `godwit why JOB.yaml`: the way of each store, and whether it needs one.
  func why() throws -> Int32 {
    try run { store, _ in
      let job = try store.loader.job()
      let fits = job.sourceModel.isCompatible(with: job.destinationModel.versionHashes)
      var result = StoreResult(StorePlace(store), fits ? .fits : .migrationNeeded, status: fits ? 0 : 2)
      Self.tellWay(of: job, in: &result)
      return result
    }
  }

  private static func tellWay(of job: MigrationJob, in result: inout StoreResult) {
    (result.sourceModel, result.destinationModel) = (job.sourceModel.name, job.destinationModel.name)
    result.steps = job.steps.count
    let notes = job.inputNotes
    if !notes.isEmpty { (result.notes, result.noteCodes) = (notes.map(\.text), notes.map(\.code)) }
  }

  /// `godwit plan`.
  ///
  /// - Parameters:
  ///   - isDetailed: Whether a store that needs a migration has the status 2.
  ///   - samples: Whether stores may get the counts of other ones.
  func plan(isDetailed: Bool, samples isSampled: Bool, fits: (MigrationJob) -> Bool) throws -> Int32 {
    var samples = isSampled ? PlanSamples() : PlanSamples(least: .max)
    func look(_ store: ManifestStore, _ part: ClosedRange<Double>) throws -> StoreResult {
      let job = try store.loader.job()
      let manager = MigrationManager(job)
      var result = StoreResult(StorePlace(store), .alreadyFinished)
      Self.tellWay(of: manager.job, in: &result)
      guard try !manager.isFinished() else {
        let setAside = try manager.setAsideBefore()
        if setAside > 0 { (result.status, result.quarantined) = (RunVerb.quarantinedStatus, setAside) }
        return result
      }
      return try samples.result(of: job, like: result) {
        let plan: MigrationPlan
        do { plan = try manager.plan() } catch { throw job.tellingHints(error) }
        if let error = job.error(stopping: plan) { throw error }
        let isNeeded = !fits(job)
        result.outcome = isNeeded ? .planned : .fits
        result.status = plan.setAside != nil ? RunVerb.quarantinedStatus : isDetailed && isNeeded ? 2 : 0
        result.quarantined = plan.setAside
        result.objects = plan.summary.objectsWritten
        result.losses = plan.losses.refusable.count
        result.accepted = plan.losses.accepted.isEmpty ? nil : plan.losses.accepted.count
        return result
      }
    }
    return try run(ending: { samples.text }, look)
  }

  /// `godwit verify`.
  ///
  /// - Parameter signals: Stops the verification that is under way, and comes to no further store.
  func verify(
    samplePercent: Double?, maximumSeconds: Double?, _ printer: ProgressPrinter, _ control: MigrationControl
  ) throws -> Int32 {
    let end = maximumSeconds.map { Date(timeIntervalSinceNow: $0) }
    func left() -> Double? { end.map { max(0, $0.timeIntervalSinceNow) } }
    func isOver() -> Bool { control.reason != nil || left() == 0 }
    return try run(until: isOver) { store, part in
      printer.begin(part: part)
      let report = try Verifying(printer: printer, control: control)
        .report(of: store.loader.job(for: .verification), maximumSeconds: left(), samplePercent: samplePercent)
      var result = StoreResult(StorePlace(store), report.isClean ? .proved : .differs)
      result.status = report.isClean ? 0 : GodwitError.Code.findings.rawValue
      result.findings = report.totalFindings
      if !report.isClean, !isJSON {
        close()
        session.output.write("\(store.path.onOneLine): \(report.overview)\n")
      }
      return result
    }
  }
}
