package import GodwitJob
import GodwitModel
import GodwitStore

/// The objects that a run would stop at, set aside or keep, for its plan. The checks are those of an audit.
extension SourceAudit {
  /// - Parameters:
  ///   - computable: The objects that the job takes, without those whose filter cannot be computed.
  ///   - others: The objects that it does not take.
  ///   - before: The objects that a resumed run has set aside in earlier rounds, which are not among the others; nil for a
  ///     run that begins.
  package func forecast(taken computable: Int64, others: Int64, before: Int64? = nil) throws -> RunForecast {
    var rejections: [RunForecast.Rejection] = []
    var known = 0
    var taken = computable
    repeat {
      known = rejectedCount
      // An object that is set aside may leave another one without the object that it requires.
      (report, filterFailures, valueFailures, kept, uncounted) = (AuditReport(), [:], [:], [], [])
      try auditMappings()
      taken = computable + (before ?? uncomputableCount)
      rejections.removeAll { $0.code != .objectsRejected }
      rejections += report.findings.map { .init($0, isSetAside: job.quarantine != nil) }
    } while job.quarantine.map { rejectedCount > known && Int64(rejectedCount) <= $0.limit(of: taken) } == true
    var forecast = RunForecast(rejections: rejections, kept: KeptInvalid.sums(kept))
    forecast.uncounted = uncounted
    guard let quarantine = job.quarantine, rejectedCount > 0 else { return forecast }
    forecast.setAside = Int64(rejectedCount)
    forecast.isBeyondLimit = Int64(rejectedCount) > quarantine.limit(of: taken)
    // A source from which nothing is left is empty, and an empty one may be migrated.
    forecast.leavesNothing =
      others > 0 && Int64(rejectedCount) >= taken && job.onLoss != .allowEmpty
      && resolved.policies.allSatisfy { $0.index != nil }
    return forecast
  }

  /// An object counts once, however many mappings have a filter that fails for it.
  private var uncomputableCount: Int64 {
    Dictionary(grouping: filterFailures) { resolved.entityMappings[$0.key].source.name }.values
      .reduce(0) { $0 + Int64(Set($1.flatMap(\.value.keys)).count) }
  }

  private var rejectedCount: Int { rejected.values.reduce(0) { $0 + $1.count } }

  /// The objects that the run sets aside, by the table of the source; none where it stops instead.
  fileprivate func setAsideKeys(_ plan: MigrationPlan) -> [String: Set<Int64>] {
    guard let forecast = plan.forecast, forecast.setAside ?? 0 > 0, !forecast.isBeyondLimit else { return [:] }
    return plan.uncomputable.reduce(into: rejected) { keys, found in
      guard let table = schema.table(of: resolved.entityMappings[found.mapping].source.name) else { return }
      keys[table.name, default: []].formUnion(found.keys)
    }
  }

  /// Notes the objects that break a rule, for a job that sets them aside.
  func reject(_ check: Check, on rows: Rows) throws {
    guard let quarantine = job.quarantine, check.kind != .duplicate, check.kind != .unwritable else { return }
    // More do not matter: the run ends.
    let enough = max(0, min(quarantine.limit(of: .max), .max - 1)) + 1
    let broken = "SELECT \(check.key) \(rows.from(nil, "(\(check.condition))")) LIMIT \(enough)"
    let keys = Self.keys(try rows.read(broken, attached.functions, nil))
    guard !keys.isEmpty else { return }
    rejected[rows.table, default: []].formUnion(try setAside(keys, of: check.kind, on: rows, limit: enough))
  }

  /// The objects that are set aside for those that break a rule.
  ///
  /// Their keys are a list: the statement that found them is as deep as SQLite's parser takes it, and no part of another.
  private func setAside(
    _ broken: Set<Int64>, of kind: AuditReport.Kind, on rows: Rows, limit: Int64
  ) throws -> Set<Int64> {
    guard let merged = rows.merged else { return broken }
    let list = broken.sorted().map(String.init).joined(separator: ", ")
    func read(_ sql: String) throws -> [[SQLValue]] {
      try rows.read("WITH g AS MATERIALIZED (\(merged)) \(sql) LIMIT \(limit)", attached.functions, nil)
    }
    // An object whose value cannot be made is set aside alone, and the next object takes its place.
    if kind == .missingFile {
      let first = try read("SELECT k, f FROM g WHERE k IN (\(list))")
      return broken.subtracting(Self.keys(first)).union(Self.keys(first, column: 1))
    }
    // An object that is made of several is set aside with all of them.
    return broken.union(Self.keys(try read("SELECT k FROM g WHERE f IN (SELECT f FROM g WHERE k IN (\(list)))")))
  }

  private static func keys(_ rows: [[SQLValue]], column: Int = 0) -> Set<Int64> {
    Set(rows.compactMap { if case .integer(let key) = $0[column] { key } else { nil } })
  }

  /// A condition on a row that is false for objects that are set aside.
  func leavingOutRejected(from condition: String, of mapping: ResolvedEntityMapping, _ alias: String) -> String {
    guard let table = schema.table(of: mapping.source.name) else { return condition }
    return Self.leavingOut(rejected[table.name, default: []], from: condition, alias)
  }

  static func leavingOut(_ keys: Set<Int64>, from condition: String, _ alias: String) -> String {
    guard !keys.isEmpty else { return condition }
    let list = keys.sorted().map(String.init).joined(separator: ", ")
    return "(CASE WHEN \(alias).Z_PK IN (\(list)) THEN 0 ELSE (\(condition)) END)"
  }

  func addDuplicates(_ count: Int64, of entity: String, _ properties: [String], isPartial: Bool) {
    let list = properties.joined(separator: ", ")
    add(
      AuditReport.Finding(
        .duplicate, model: resolved.destinationModel.name, entity: entity, property: list, count: count,
        isLowerBound: isPartial, message: "equal values of \(list), which must be unique", samples: []))
  }
}

extension SourceFiles {
  /// Adds what the run would reject or keep. A change of definitions alone reads no row.
  ///
  /// - Parameter folder: The work folder of a run that the plan resumes, whose later rounds count without the objects of
  ///   the rounds before; nil for a run that begins.
  package func addForecast(to plan: inout MigrationPlan, of job: MigrationJob, resuming folder: String? = nil) throws {
    guard let attached, plan.steps.first?.strategy != .definitions else { return }
    let before = try folder.flatMap { job.quarantine == nil ? nil : try RejectionRecord.countBefore(readingIn: $0) }
    let audit = try SourceAudit(
      attached, job: job, samples: 0, showsValues: false, isForecast: true,
      uncomputable: before == nil ? plan.uncomputable : nil)
    let (rows, taken) = plan.facts.entities.reduce((0, 0)) { ($0.0 + $1.rows, $0.1 + $1.taken) }
    let forecast = try audit.forecast(taken: taken, others: rows - taken, before: before)
    plan.forecast = forecast
    try plan.leaveOutLinksToNothing(of: audit.setAsideKeys(plan), audit.planner)
    // The run checks every store. In a large one a plan looks for damage only if it found wrong values, which may be rows
    // of another table's page.
    let isWrong = !forecast.rejections.isEmpty && !audit.planner.scan.isSample
    if isWrong || attached.bytes <= SourceCheck.smallBytes,
      let damage = try SourceCheck(job, files, .resumable)?.damage(patience: 20)
    {
      plan.destinationObstacles.append(RunObstacle(.sourceDamaged, damage))
    }
    if let refusal = try attached.refusalOfKeys(plan, job) { plan.destinationObstacles.append(refusal) }
  }
}

extension MigrationPlan {
  /// The run reads the source without objects that it sets aside, and so without their links to nothing.
  fileprivate mutating func leaveOutLinksToNothing(of keys: [String: Set<Int64>], _ planner: Planner) throws {
    func isCounted(_ loss: LossReport.Loss) -> Bool { loss.kind == .linksToNothing && loss.isEstimate != true }
    guard !keys.isEmpty, losses.losses.contains(where: isCounted) else { return }
    let counts = try planner.strays(of: keys)
    losses.losses = losses.losses.compactMap { loss in
      guard isCounted(loss), let count = loss.count else { return loss }
      var rest = loss
      rest.count = count - (counts[loss.subject] ?? 0)
      return rest.count == 0 ? nil : rest
    }
  }
}

extension AttachedSource {
  /// Why an atomic destination cannot have the source's keys, where all of them stay.
  fileprivate func refusalOfKeys(_ plan: MigrationPlan, _ job: MigrationJob) throws -> RunObstacle? {
    guard job.position.isLast, job.destinationType.isAtomic,
      plan.facts.mappings.allSatisfy({ $0.keys == .offset(0) }),
      resolved.entityMappings.allSatisfy({ $0.filter == nil }), keepsHierarchies
    else { return nil }
    do {
      _ = try AtomicStoreKeys(connection, schema: sourceSchema, type: job.destinationType, path: job.destinationPath)
      return nil
    } catch let error as GodwitError where error.code == .dataWrong && error.topic == nil {
      return RunObstacle(.keys, error)
    }
  }

  /// Whether the mappings take every entity, and take one table to one table.
  private var keepsHierarchies: Bool {
    let (source, destination) = (resolved.sourceModel, resolved.destinationModel)
    let taken = Set(resolved.entityMappings.map(\.source.name))
    guard source.entities.allSatisfy({ $0.isAbstract || taken.contains($0.name) }) else { return false }
    var (ends, taker): ([String: String], [String: String]) = ([:], [:])
    return resolved.entityMappings.allSatisfy { mapping in
      guard let from = source.root(of: mapping.source.name)?.name,
        let to = destination.root(of: mapping.destination.name)?.name
      else { return false }
      let isSame = ends[from, default: to] == to && taker[to, default: from] == from
      (ends[from], taker[to]) = (to, from)
      return isSame
    }
  }
}
