package import GodwitModel

/// A plan in a few figures: what `godwit plan` prints first.
package struct PlanSummary: Sendable, Codable, Hashable {
  /// The knowledge of the losses of a step.
  package enum StepState: String, Sendable, Codable, Hashable {
    /// The step is counted, and something is lost.
    case loses
    /// The step is counted, and nothing is lost that counting shows.
    case keeps
    /// The step is counted when the step before is done. Its mappings leave something out, if there is any.
    case mayLose = "may lose"
    /// The step is counted when the step before is done.
    case notCounted = "not counted"
  }

  /// The versions from the source to the destination, those that a step passes included.
  package var path: [String]
  /// One for each step.
  package var steps: [StepState]
  /// The steps, from 1, in which Core Data's default policy runs in place of an unregistered one. The work of that
  /// policy is not counted.
  package var stepsWithoutPolicy: [Int]
  /// The step that the counts are of, from 1: the first that is not done.
  package var countedStep: Int
  /// Objects that the counted step reads.
  package var objectsRead: Int64
  /// Objects that the counted step makes: see ``writtenIsAtMost`` and ``writtenByPolicies``.
  package var objectsWritten: Int64
  /// Whether mappings with `unique-by` make one object of several, so that fewer are made.
  package var writtenIsAtMost: Bool
  /// Whether policies decide how many objects are made. The count assumes one from each source object.
  package var writtenByPolicies: Bool
  /// Objects that are not carried over, as far as they are counted.
  package var objectsLost: Int64
  /// Values that are not carried over, as far as they are counted, including rounded ones.
  package var valuesLost: Int64
  /// Rows of tables that no model names. They are not carried over.
  package var rowsLost: Int64
  /// Links that are not carried over, as far as they are counted.
  package var linksLost: Int64
  /// Why a run would stop, each with its exit status.
  package var obstacles: [String]
  /// One sentence, for example `2 of 5 steps lose data`.
  package var verdict: String

  init(_ plan: MigrationPlan) {
    path = plan.steps.reduce(into: []) { path, step in
      let versions = step.hops ?? [step.sourceModel, step.destinationModel]
      path += path.isEmpty ? versions[...] : versions.dropFirst()
    }
    let counted = plan.countedStep
    countedStep = counted.count
    steps = plan.steps.ids.map { step in
      let losses = plan.losses.ofStep(step)
      if losses.contains(where: { $0.isLoss && $0.kind != .policy }) { return .loses }
      if step <= counted { return .keeps }
      return losses.contains { $0.count == nil && $0.kind != .policy } ? .mayLose : .notCounted
    }
    stepsWithoutPolicy = plan.steps.ids.filter { step in plan.losses.ofStep(step).contains { $0.kind == .policy } }.map(
      \.count)
    objectsRead = plan.facts.entities.reduce(0) { $0 + $1.rows }
    let mappings =
      plan.steps.has(counted) ? plan.steps[counted].passes.flatMap(\.mappings) : []
    objectsWritten = mappings.reduce(0) { $0 + $1.rows }
    writtenIsAtMost = mappings.contains { $0.uniqueBy != nil && $0.rows > 0 }
    writtenByPolicies = mappings.contains { $0.policy != nil }
    func sum(_ kinds: LossReport.Kind...) -> Int64 {
      plan.losses.losses.reduce(0) { $0 + (kinds.contains($1.kind) ? $1.count ?? 0 : 0) }
    }
    (objectsLost, valuesLost, linksLost) = (sum(.objects), sum(.values, .nils, .rounded), sum(.links, .ambiguousToOne))
    rowsLost = sum(.rows)
    obstacles = plan.obstacles.map(\.text)
    let stop = obstacles.first.map { [$0 + plan.furtherStops] } ?? plan.setAside.map { [plan.settingAside($0)] } ?? []
    verdict = (stop + plan.clauses(of: steps, withoutPolicy: stepsWithoutPolicy.count)).joined(separator: "; ")
  }
}

extension MigrationPlan {
  /// The obstacles to a run, the first one first.
  package var obstacles: [RunObstacle] {
    var found = destinationObstacles
    var policies: [String] = []
    for use in missingPolicies where !policies.contains(use.policy) { policies.append(use.policy) }
    if !policies.isEmpty {
      let names = policies.map { "'\($0)'" }.joined(separator: ", ")
      found.append(.init(.policyMissing, .configuration, "no policy is registered as \(names)"))
    }
    if mustLoseNothing {
      found.append(.init(.losses, .dataWrong, "the job must lose nothing (on-loss: fail)"))
    }
    if let shortage { found.append(.init(.diskSpace, .inputOutput, shortage)) }
    return found + (forecast?.obstacles ?? misfits.map { RunObstacle(.valuesDoNotFit, .dataWrong, $0) })
  }

  /// Whether `on-loss: fail` stops a run of the plan.
  package var mustLoseNothing: Bool {
    refusesLosses
      && (codedNotes.contains { $0.code == .mappingUnsearched } || !losses.refusable.isEmpty
        || (setAside != nil && !acceptsSetAside))
  }

  /// How many objects the run sets aside; nil if it sets none aside, or stops.
  package var setAside: Int64? { forecast.flatMap { $0.isBeyondLimit || $0.leavesNothing ? nil : $0.setAside } }

  /// The error of a plan whose run would stop; nil for a run that would not.
  package var stopError: GodwitError? {
    obstacles.first.map { stop in
      let remedy =
        switch stop.failure {
        case .inputOutput: "free disk space, or name a destination on another disk"
        case .dataWrong where stop.code == .objectsRejected:
          "`godwit audit` lists the objects: repair the source or change the mapping; `on-invalid` says what becomes of them"
        case .dataWrong: stop.remedy ?? "change the source or the mapping"
        default: stop.remedy ?? "see what `godwit run` suggests"
        }
      return GodwitError(
        stop.failure, "a run of job '\(job)' would stop: \(stop.message)", remedy: remedy, safe: "nothing was written")
    }
  }

  fileprivate func settingAside(_ count: Int64) -> String {
    let reason = forecast?.rejections.first.map { ", \($0.text)" } ?? ""
    let further = (forecast?.rejections.count ?? 1) - 1
    let rest = further > 0 ? " (and \(further) more)" : ""
    return "\(count.counted("object")) \(count == 1 ? "is" : "are") set aside\(reason)\(rest); "
      + "the objects and losses of this plan still count \(count == 1 ? "it" : "them")"
  }

  fileprivate var furtherStops: String {
    let count = obstacles.count
    return count > 1 ? " (and \(count - 1) more)" : ""
  }

  /// One line: `OK`, `LOSES`, or `SETS ASIDE` or `STOPS` with the exit status of the run, then why.
  package var verdict: String {
    let summary = summary
    var clauses = self.clauses(of: summary.steps, withoutPolicy: summary.stepsWithoutPolicy.count)
    if let stop = obstacles.first {
      return (["STOPS (\(stop.failure.rawValue)): \(stop.message)\(furtherStops)"] + clauses).joined(separator: "; ")
    }
    if let setAside { return (["SETS ASIDE (3): \(settingAside(setAside))"] + clauses).joined(separator: "; ") }
    if !summary.steps.contains(.loses), !summary.stepsWithoutPolicy.isEmpty, clauses.count > 1 {
      clauses.swapAt(0, 1)
      clauses[1] = clauses[1].replacing("no loss", with: "no other loss")
    }
    return (losses.refusable.isEmpty ? "OK: " : "LOSES: ") + clauses.joined(separator: "; ")
  }

  fileprivate func clauses(of steps: [PlanSummary.StepState], withoutPolicy: Int) -> [String] {
    let losing = steps.count { $0 == .loses }
    let mayLose = steps.count { $0 == .mayLose }
    let unknown = steps.count { $0 == .notCounted }
    // The losses of the job are known to be meant.
    let meant = losses.refusable.isEmpty && !losses.accepted.isEmpty ? " that the job accepts to lose" : ""
    func number(_ count: Int, _ one: String, _ many: String) -> String { "\(count) \(count == 1 ? one : many)" }
    var parts: [String] = []
    if steps.count == 1 {
      parts.append(losing == 1 ? "the step loses data" + meant : "no loss was found")
    } else if losing > 0 {
      parts.append("\(losing) of \(steps.count) steps \(losing == 1 ? "loses" : "lose") data" + meant)
    } else {
      parts.append(mayLose + unknown == 0 ? "no loss was found in \(steps.count) steps" : "no loss was found so far")
    }
    let policies = Set(self.steps.flatMap(\.passes).flatMap(\.mappings).compactMap(\.policy)).count
    if policies > 0 {
      parts.append(policies == 1 ? "a policy decides what its objects keep" : "policies decide what their objects keep")
    }
    if withoutPolicy > 0 {
      parts.append(
        steps.count == 1
          ? "it runs without a policy" : number(withoutPolicy, "step runs", "steps run") + " without a policy")
    }
    let later = "is counted when the step before is done"
    if mayLose > 0 {
      parts.append(
        (losing > 0 ? "\(mayLose) more may" : number(mayLose, "step may lose data", "steps may lose data"))
          + ", which \(later)")
    }
    if unknown > 0 {
      parts.append(
        unknown == 1 ? "1 step \(later)" : "\(unknown) steps are counted when the steps before are done")
    }
    if sample != nil { parts.append("an estimate from a sample") }
    return parts
  }
}

extension MigrationPlan {
  /// The plan in a few figures.
  package var summary: PlanSummary { PlanSummary(self) }

  /// The plan in about ten lines, as `godwit plan` prints it.
  package var overview: String {
    let summary = summary
    var lines = ["job \(job)"]
    func line(_ label: String, _ text: String) { lines.append("  " + label.padded(to: 13) + text) }
    if let sample { line("estimate", "\(sample)") }
    line("path", Self.path(summary.path) + " (\(mappingText))")
    line("source", "\(source) (\(ByteCount(bytes: sourceBytes)))")
    line("destination", destination)
    if let quarantine { line("quarantine", quarantine) }
    line("objects", objectText(summary))
    let listed = losses.losses.filter { $0.kind != .linksToNothing }
    let shown = listed.enumerated().sorted { Self.weight($0.element, $0.offset) > Self.weight($1.element, $1.offset) }
      .prefix(listed.count > Self.shownLosses ? Self.shownLosses - 1 : Self.shownLosses).map(\.element)
    for loss in shown {
      let step = steps.count > 1 ? "step \(loss.step): " : ""
      line(loss.label, step + "\(loss)")
    }
    if listed.count > shown.count { line("", "and \(listed.count - shown.count) more, see --details") }
    let told = notes + advice
    for note in told.prefix(told.count > Self.shownNotes ? Self.shownNotes - 1 : Self.shownNotes) {
      line("note", note)
    }
    if told.count > Self.shownNotes { line("", "and \(told.count - Self.shownNotes + 1) more, see --details") }
    if let time { line("time", "\(time)") }
    let free = freeBytes.map { ", \(ByteCount(bytes: $0)) free" } ?? ""
    let sorting =
      disk.temporaryBytes > 0 ? ", and \(ByteCount(bytes: disk.temporaryBytes)) for sorting" : ""
    line("disk", "\(ByteCount(bytes: disk.destinationBytes)) beside the destination\(free)\(sorting)")
    line("verdict", verdict)
    return lines.map(\.onOneLine).joined(separator: "\n")
  }

  private static let shownLosses = 5
  private static let shownNotes = 3

  /// Counted losses before those that are not counted, objects before values and links, and larger numbers first.
  private static func weight(_ loss: LossReport.Loss, _ place: Int) -> (Int, Int, Int64, Int) {
    let kind = loss.kind == .objects || loss.kind == .policy ? 1 : 0
    return (loss.isLoss ? 1 : 0, kind, loss.count ?? 0, -place)
  }

  private static func path(_ versions: [String]) -> String {
    guard versions.count > 6 else { return versions.joined(separator: " to ") }
    return (versions.prefix(3) + ["…"] + versions.suffix(2)).joined(separator: " to ")
  }

  /// How many steps there are, and what serves them.
  private var mappingText: String {
    let inferred = steps.count { $0.origin == MigrationStep.inferredOrigin }
    let count = steps.count.counted("step")
    switch (inferred, steps.count - inferred) {
    case (0, 1): return "\(count), \(steps[0].origin ?? "a mapping model that the job names")"
    case (0, _): return "\(count), each with a mapping model"
    case (_, 0): return "\(count), inferred"
    case (_, let explicit): return "\(count), \(explicit) with a mapping model, \(inferred) inferred"
    }
  }

  private func objectText(_ summary: PlanSummary) -> String {
    var written = "\(summary.objectsWritten) out"
    if summary.writtenIsAtMost { written = "at most " + written }
    if summary.writtenByPolicies { written += " if the policies make one from each" }
    let unordered = self.losses.losses.reduce(Int64(0)) { $0 + ($1.kind == .order ? $1.count ?? 0 : 0) }
    let lost =
      [
        (summary.objectsLost, "object"), (summary.valuesLost, "value"), (summary.rowsLost, "row"),
        (summary.linksLost, "link"),
      ]
      .filter { $0.0 > 0 }.map { $0.0.counted($0.1) }
      + (unordered > 0 ? ["the order of \(unordered.counted("link"))"] : [])
    let nothing = summary.writtenByPolicies ? "no loss was counted, and policies decide the rest" : "nothing lost"
    let losses = lost.isEmpty ? nothing : "lost: " + lost.joined(separator: ", ")
    let part = steps.count > 1 ? "step \(summary.countedStep): " : ""
    let about = sample == nil ? "" : "about "
    return "\(part)\(about)\(summary.objectsRead) in, \(written); \(losses)"
  }
}
