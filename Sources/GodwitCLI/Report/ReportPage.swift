import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel

/// The page of a job: what was asked, the path, the objects, what ran when, losses, findings and the receipt.
struct ReportPage {
  let content: ReportContent

  init(_ content: ReportContent) { self.content = content }

  var html: String {
    let sections: [(String, [Markup])] = [
      ("What was asked", asked), ("The path", path), ("The objects", objects), ("What ran when", runs),
      ("Progress", progress), ("Losses", losses), ("Findings", findings), ("The receipt", receipt),
    ]
    var body: [Markup] = head
    for (title, parts) in sections where !parts.isEmpty {
      body.append(
        .element("section", [:], [.line, .element("h2", [:], Markup(text: title)), .line] + parts) + .line)
    }
    return HTMLPage.document(
      title: "Job \(content.job.name)", kind: ReportVerb.kind, style: Self.style,
      [.element("main", [:], [.line] + body)])
  }

  // MARK: The head

  private var status: MigrationStatus { content.record.status }

  private var head: [Markup] {
    let mark =
      switch status.state {
      case .finished: "added"
      case .unfinished, .outdated: "changed"
      case .notStarted: "renamed"
      case .foreign: "removed"
      }
    var state = status.state.rawValue
    if status.state == .unfinished { state += ", \(ProgressLine.percent(status.percent))" }
    return [
      .element(
        "h1", [:], "Job ", .name(content.job.name), " ",
        .element("span", ["class": "badge \(mark)"], Markup(text: state))), .line,
      ReportTiles(content).markup,
      ReportText.paragraph(lead),
      ReportText.paragraph("Written at \(content.made.ISO8601Format()).", soft: true),
    ]
  }

  /// The changes since the destination was made.
  private var changes: String { status.changes.map(\.words).joined(separator: ", ") }

  private var lead: String {
    switch status.state {
    case .notStarted:
      return "The job has not run yet." + (content.plan == nil ? "" : " The page shows the plan.")
    case .foreign where status.changes.isEmpty:
      return "The destination exists, and this job did not make it from this source with these models and mappings. "
        + "A run ends with status 73."
    case .foreign: return "The job made the destination, and \(changes) changed since. A run ends with status 73."
    case .finished: return "The destination is finished." + (status.findings.map { " But \($0)." } ?? "")
    case .outdated:
      let next = content.obstacles.isEmpty ? "The next run replaces it." : "The next run stops: see the findings."
      return "The destination is finished, and \(changes) changed since it was made. \(next)"
    case .unfinished:
      var text = "\(ProgressLine.percent(status.percent)) of the job is durable"
      if let step = status.step, let steps = status.steps { text += ", step \(step) of \(steps)" }
      if status.run?.state == .running { return text + ". A run is under way." }
      let end =
        switch content.record.history?.runs.last?.outcome {
        case .stopped: "The last run stopped at a checkpoint."
        case .failed: "The last run failed."
        case .finished: "The destination is complete, and not in its place yet."
        case nil: "The last run was killed."
        }
      return text + ". \(end) The same command \(status.run?.startsAgain == true ? "starts again" : "resumes")."
    }
  }

  // MARK: The request

  private var asked: [Markup] {
    let job = content.job
    var rows: [(String, Markup)] = [("Manifest", .name(content.manifest.file)), ("Source", .name(job.sourceName))]
    if job.isInPlace {
      rows.append(("Destination", "in place"))
    } else {
      rows.append(("Destination", .name(job.destinationPath)))
    }
    rows.append(("Models", content.manifest.models.map { Markup.name($0.raw) }.joined(", ")))
    rows.append(("From", .name(steps.first?.sourceModel ?? job.sourceModel.name)))
    rows.append(("To", .name(steps.last?.destinationModel ?? job.destinationModel.name)))
    if let origin = job.sourceModelOrigin { rows.append(("Source model", Markup(text: origin))) }
    if let plan = content.plan {
      rows.append(("Source size", Markup(text: "\(ByteCount(bytes: plan.sourceBytes))")))
      if let time = plan.time { rows.append(("Time", Markup(text: "\(time)"))) }
      rows.append(("Disk needed", Markup(text: "\(ByteCount(bytes: plan.diskBytes))")))
      rows.append(("Verdict", Markup(text: plan.verdict)))
    }
    rows.append(("Memory budget", Markup(text: "\(job.memory)")))
    if let chunk = job.chunkRows { rows.append(("Rows in a chunk", Markup(text: ReportText.number(Int64(chunk))))) }
    rows.append(("A loss", Markup(text: job.failsOnLoss ? "is an error" : "is reported")))
    var parts = [Self.list(rows)]
    if let failure = content.planFailure { parts.append(ReportText.paragraph("There is no plan: \(failure)")) }
    if let text = content.manifestText {
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { Markup(text: String($0)) }
      parts.append(
        ReportText.hidden("The manifest", .element("pre", ["tabindex": "0"], lines.joined(.line))))
    }
    return parts
  }

  private static func list(_ rows: [(String, Markup)]) -> Markup {
    let items = rows.flatMap { name, value -> [Markup] in
      [.element("dt", [:], Markup(text: name)), .element("dd", [:], value), .line]
    }
    return .element("dl", [:], items) + .line
  }

  // MARK: The path

  /// A step by its models, as the receipt or the job has it.
  private struct Step {
    var sourceModel, destinationModel: String
    var remarks: [String] = []
  }

  private var steps: [Step] {
    let job = content.job
    // After a job in place the source has the last version, and its own steps are no longer known.
    if let receipt = content.record.receipt, let first = receipt.steps.first,
      receipt.steps.count != job.steps.count || first.sourceModel != job.sourceModel.name
    {
      return receipt.steps.map { Step(sourceModel: $0.sourceModel, destinationModel: $0.destinationModel) }
    }
    return job.steps.numbered.map { id, step in
      var remarks = [step.origin ?? "a mapping model that the job names"]
      if !step.passedVersions.isEmpty { remarks.append("through \(step.passedVersions.joined(separator: ", "))") }
      if let reason = step.reasonApart { remarks.append("apart from the step before: \(reason)") }
      if let hook = step.willMigrate { remarks.append("before: \(hook.identity)") }
      if let hook = step.didMigrate { remarks.append("after: \(hook.identity)") }
      if let planned = content.plan?.steps, planned.has(id) {
        if let way = planned[id].way { remarks.append(way) }
        remarks.append(planned[id].passes.count.counted("pass", "passes"))
      }
      return Step(
        sourceModel: step.sourceModel.name, destinationModel: step.destinationModel.name, remarks: remarks)
    }
  }

  private var path: [Markup] {
    let items = steps.map { step -> Markup in
      var parts: [Markup] = [
        .name(step.sourceModel), " \u{2192} ", .name(step.destinationModel),
      ]
      if !step.remarks.isEmpty {
        parts.append(.element("ul", ["class": "soft"], step.remarks.map { .element("li", [:], Markup(text: $0)) }))
      }
      return .element("li", [:], parts) + .line
    }
    return [.element("ol", [:], items) + .line]
  }

  // MARK: Objects

  private var objects: [Markup] {
    let flows = content.flows
    guard !flows.isEmpty else {
      return [ReportText.paragraph("The objects are not shown: the job has no receipt of its steps.")]
    }
    let details = MappingPicture(content.job, plan: content.plan).work
    return flows.flatMap { step -> [Markup] in
      var parts: [Markup] = []
      if flows.count > 1 {
        parts.append(
          .element(
            "h3", [:], Markup(text: "Step \(step.step.count): "), .name(step.sourceModel), " \u{2192} ",
            .name(step.destinationModel)))
      }
      if let note = step.note { parts.append(ReportText.paragraph("Rows are not counted: \(note).", soft: true)) }
      guard !step.flows.isEmpty else { return parts + [ReportText.paragraph("It carries over no objects.")] }
      if step.isUnchanged {
        let objects = step.flows.reduce(Int64(0)) { $0 &+ ($1.taken ?? 0) }
        let count = step.note == nil ? ": \(ReportText.number(objects)) object\(objects == 1 ? "" : "s")" : ""
        let keep = step.flows.count == 1 ? "1 entity keeps its name" : "\(step.flows.count) entities keep their names"
        let lacks = content.losses.contains { $0.step == step.step.count && $0.kind != .linksToNothing }
        let but = lacks ? " They lose values or links: see the losses." : ""
        parts.append(ReportText.paragraph("\(keep) and all objects\(count).\(but)"))
        return parts + [ReportText.hidden("Table of mappings", table(step, details))]
      }
      let lost = step.flows.count { $0.isLoss }
      let label =
        "Objects from \(step.sourceModel) to \(step.destinationModel): \((step.flows.count - lost).counted("mapping")), "
        + "\(lost.counted("loss", "losses")); the table has the figures"
      parts.append(FlowPicture(step).markup(label: label))
      if step.repeats.values.contains(where: { $0 > 0 }) {
        parts.append(
          ReportText.paragraph(
            "Several mappings take some of the objects. The picture counts each object once.", soft: true))
      }
      parts.append(ReportText.hidden("Table of mappings", table(step, details)))
      return parts
    }
  }

  private func table(_ step: ObjectFlows, _ details: [StepID: [String: [String]]]) -> Markup {
    func count(_ value: Int64?) -> Markup { Markup(text: value.map(ReportText.number) ?? "") }
    let rows = step.flows.map { flow -> [Markup] in
      let lines = flow.isLoss ? [] : details[step.step]?[flow.name] ?? []
      return [
        flow.source.isEmpty ? "new objects" : .name(flow.source),
        flow.isLoss
          ? .element("span", ["class": "badge removed"], Markup(text: "lost: \(flow.name)")) : .name(flow.destination),
        flow.isLoss ? Markup() : .name(flow.name), count(flow.taken), count(flow.made),
        lines.map { Markup(text: $0) }.joined(.element("br")),
      ]
    }
    return ReportText.table(
      "Mappings of step \(step.step.count)", ["From", "To", "Mapping", "Taken", "Made", "What it does"],
      numbers: [3, 4],
      prose: 5,
      rows)
  }

  // MARK: Runs

  private var runs: [Markup] {
    guard let history = content.record.history, !history.entries.isEmpty else {
      switch status.state {
      case .foreign where !status.changes.isEmpty:
        return [ReportText.paragraph("The runs before the change are not shown.")]
      case .notStarted, .foreign: return [ReportText.paragraph("The job has not run yet.")]
      case .unfinished:
        return [ReportText.paragraph("No history yet: a run notes it after some seconds, and when it stops.")]
      case .finished, .outdated:
        return [
          ReportText.paragraph(
            "The history of the runs is not known. It is kept in the receipt, and there is none with a history.")
        ]
      }
    }
    let picture = RunPicture(history)
    func title(_ text: String) -> Markup { .element("h3", [:], Markup(text: text)) + .line }
    var parts: [Markup] = [picture.runs]
    if history.earlierRuns > 0 {
      parts.append(
        ReportText.paragraph(
          "\(history.earlierRuns.counted("earlier run is", "earlier runs are")) not shown.", soft: true))
    }
    parts += [title("Timeline"), picture.timeline, ReportText.hidden("Table of stages", picture.stages)]
    parts += [title("Throughput"), picture.throughput]
    if let cut = picture.cutText { parts.append(ReportText.paragraph(cut, soft: true)) }
    parts += [
      title("Resident memory"), picture.memory,
      ReportText.paragraph("\(picture.memoryText). \(picture.memoryLegend)", soft: true),
      ReportText.hidden("Table over time", picture.entries),
    ]
    return parts
  }

  private var progress: [Markup] {
    guard status.state == .unfinished, !status.lines.isEmpty else { return [] }
    let rows = status.lines.map { line -> [Markup] in
      [
        Markup(text: line.stage), .name(line.name), Markup(text: "\(line.done)/\(line.chunks)"),
        Markup(text: "\(ReportText.number(line.rowsDone))/\(ReportText.number(line.rows))"),
      ]
    }
    return [ReportText.table("What is durable", ["Stage", "What", "Chunks", "Rows"], numbers: [2, 3], rows)]
  }

  // MARK: Losses, findings and the receipt

  private var losses: [Markup] {
    let losses = content.losses
    guard !losses.isEmpty else {
      let isKnown = content.record.receipt != nil || content.plan != nil
      return [ReportText.paragraph(isKnown ? "No loss was found." : "Losses are not known.")]
    }
    let rows = losses.map { loss -> [Markup] in
      [
        Markup(text: "\(loss.step)"),
        .element(
          "span", ["class": "badge \(loss.isLoss && loss.isAccepted != true ? "removed" : "changed")"],
          Markup(text: loss.label)),
        .name(loss.subject), Markup(text: loss.count.map(ReportText.number) ?? "not counted"),
        Markup(text: loss.reason + (loss.isAccepted == true ? "; accepted" : "")),
      ]
    }
    return [
      ReportText.table("Losses", ["Step", "What", "Of", "How many", "Why"], numbers: [3], prose: 4, rows)
    ]
  }

  private var findings: [Markup] {
    var parts: [Markup] = []
    if !content.obstacles.isEmpty {
      let items = content.obstacles.map { Markup.element("li", ["class": "bad"], Markup(text: $0)) }
      parts.append(.element("ul", [:], items) + .line)
    }
    let notes = (content.plan?.notes ?? []) + (content.plan?.advice ?? [])
    if !notes.isEmpty {
      parts.append(.element("ul", [:], notes.map { .element("li", [:], Markup(text: $0)) }) + .line)
    }
    for file in content.found {
      let verdict = file.isClean ? "nothing" : file.total.counted("finding")
      parts.append(
        .element(
          "p", [:], .element("span", ["class": "badge \(file.isClean ? "added" : "removed")"], Markup(text: file.type)),
          Markup(text: " found \(verdict) ("), .name(file.path), Markup(text: ").")) + .line)
      guard !file.findings.isEmpty else { continue }
      let rows = file.findings.map { finding -> [Markup] in
        [
          Markup(text: finding.kind), .name(finding.place),
          Markup(text: finding.count.map(ReportText.number) ?? ""), Markup(text: finding.message),
        ]
      }
      parts.append(
        ReportText.table(
          "Findings of \(file.type)", ["Kind", "Where", "How many", "What"], numbers: [2], prose: 3, rows))
    }
    if content.found.isEmpty {
      parts.append(
        .element(
          "p", ["class": "soft"], "This page has no proof of the destination. Add what ",
          .element("code", [:], "godwit verify JOB.yaml --format json"), " printed, with ",
          .element("code", [:], "--findings FILE"), ".") + .line)
    }
    return parts
  }

  private var receipt: [Markup] {
    guard status.state == .finished else { return [] }
    guard let receipt = content.record.receipt, let path = content.record.receiptPath else {
      return [ReportText.paragraph("There is no receipt of this job.")]
    }
    var rows: [(String, Markup)] = [("File", .name(path))]
    if let began = receipt.began { rows.append(("Began", Markup(text: began))) }
    rows.append(("Finished", Markup(text: receipt.finished)))
    if let seconds = receipt.seconds { rows.append(("The last run took", Markup(text: ReportText.time(seconds)))) }
    if let peak = receipt.peakBytes { rows.append(("Peak of memory", Markup(text: "\(ByteCount(bytes: peak))"))) }
    rows.append(("Size", Markup(text: "\(ByteCount(bytes: receipt.destination.bytes))")))
    func digest(_ text: String?) -> Markup { .element("code", [:], Markup(text: text ?? "unknown")) }
    rows += [
      ("Store", digest(receipt.destination.uuid)), ("Job", digest(receipt.job.digest)),
      ("Source", digest(receipt.source.digest)), ("Godwit", Markup(text: receipt.godwit)),
    ]
    let entities = receipt.entities.map { entity -> [Markup] in
      [.name(entity.name), Markup(text: ReportText.number(entity.objects)), digest(entity.checksum)]
    }
    let links = receipt.relationships.map { link -> [Markup] in
      [.name("\(link.entity).\(link.name)"), Markup(text: ReportText.number(link.links)), digest(link.checksum)]
    }
    return [
      Self.list(rows),
      ReportText.hidden(
        "Objects and links",
        ReportText.table("Entities", ["Entity", "Objects", "Checksum"], numbers: [1], entities)
          + ReportText.table("Relationships", ["Relationship", "Links", "Checksum"], numbers: [1], links)),
    ]
  }

  // MARK: Style

  static let style = """
    h3 { font-size: 1rem; margin: 1rem 0 0.25rem; overflow-wrap: anywhere; }
    p { margin: 0 0 0.5rem; overflow-wrap: anywhere; }
    .soft { color: var(--soft); font-size: 0.875rem; }
    .bad { color: var(--removed); }
    ul, ol { margin: 0 0 0.5rem; padding-left: 1.5rem; overflow-wrap: anywhere; }
    dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.25rem 1rem; margin: 0 0 0.5rem; }
    dt { color: var(--soft); }
    dd { margin: 0; overflow-wrap: anywhere; }
    code, pre { font: 0.8125rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
    pre { overflow-x: auto; margin: 0.5rem 0; }
    summary { cursor: pointer; padding: 0.5rem 0; }
    details, .wide { margin: 0 0 0.5rem; }
    .wide { overflow-x: auto; }
    .wide table { font-size: 0.875rem; }
    .wide th, .wide td { overflow-wrap: break-word; min-width: 3rem; }
    .wide .prose { min-width: 12rem; }
    .number { text-align: right; white-space: nowrap; }
    @media (max-width: 30rem) {
      main { padding: 1rem 0.5rem; }
      section { padding: 0.75rem; }
      dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
      dd { margin-bottom: 0.5rem; }
      .records thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
      .records table, .records tbody, .records tr, .records tbody th, .records td { display: block; }
      .records tr { border-top: 1px solid var(--line); padding: 0.5rem 0; }
      .records tbody th, .records td, .records .prose {
        border-top: 0; padding: 0; min-width: 0; text-align: left; white-space: normal; overflow-wrap: anywhere;
      }
      .records td::before { content: attr(data-head) ": "; color: var(--soft); }
    }
    \(ReportTiles.style)
    \(FlowPicture.style)
    \(RunPicture.style)
    """
}
