package import GodwitModel

/// Everything that a migration will do, decided before it writes. It can be printed, compared, and attached to a bug
/// report.
public struct MigrationPlan: Sendable {
  /// How an entity mapping runs.
  package enum Lane: String, Sendable, Codable {
    /// Set at a time inside SQLite.
    case sql
    /// With some expression evaluated in Swift, row at a time.
    case object
  }

  /// One entity mapping of a pass.
  package struct Mapping: Sendable, Codable, Hashable {
    /// The mapping's name.
    package var name: String
    /// Empty for a mapping of kind add.
    package var source: String
    /// The name of the destination entity; empty for a mapping of kind remove.
    package var destination: String
    /// The filter's text; nil when the mapping takes every object.
    package var filter: String?
    /// How the mapping runs.
    package var lane: Lane
    /// Why it is in the object lane; empty in the sql lane.
    package var reasons: [String]
    /// Source objects it takes.
    package var rows: Int64
    /// Chunks of the create stage.
    package var chunks: Int
    /// `kept`, `+1000` or `dense from 1`.
    package var keys: String
    /// `computed` or `spill file`.
    package var association: String
    /// How each mapped relationship is set.
    package var relationships: [String: String]
    /// The class of the mapping's policy; nil without one.
    package var policy: String?
    /// The destination attributes of `unique-by`; nil without them.
    package var uniqueBy: [String]?

    package init(
      name: String, source: String, destination: String, filter: String? = nil, lane: Lane, reasons: [String],
      rows: Int64, chunks: Int, keys: String, association: String, relationships: [String: String],
      policy: String? = nil, uniqueBy: [String]? = nil
    ) {
      self.name = name
      self.source = source
      self.destination = destination
      self.filter = filter
      self.lane = lane
      self.reasons = reasons
      self.rows = rows
      self.chunks = chunks
      self.keys = keys
      self.association = association
      self.relationships = relationships
      self.policy = policy
      self.uniqueBy = uniqueBy
    }
  }

  /// A partial mapping model: mappings that are migrated together, after those that they look up.
  package struct Pass: Sendable, Codable, Hashable {
    /// From 1, within the step.
    package var number: Int
    /// The mappings of the pass, in mapping order.
    package var mappings: [Mapping]

    package init(number: Int, mappings: [Mapping]) {
      self.number = number
      self.mappings = mappings
    }
  }

  /// How a step of a job in place runs.
  package enum Strategy: String, Sendable, Codable, Hashable {
    /// By changing definitions alone: no row is read or written.
    case definitions
    /// By SQL on a copy of the store: rows change inside SQLite.
    case sql
    /// Object by object, as a job with a destination of its own.
    case executor
  }

  /// One hop from a model version to another.
  package struct Step: Sendable, Codable, Hashable, Numbered {
    package typealias NumberKind = NumberedStep

    /// The name of the version before the step.
    package var sourceModel: String
    /// The name of the version after the step.
    package var destinationModel: String
    /// The passes, in the order in which they run.
    package var passes: [Pass]
    /// Source objects that no mapping takes, by entity.
    package var dropped: [Dropped]
    /// Where the mappings came from; nil when the job names them.
    package var origin: String?
    /// The versions that the step goes through, its own included, where several inferred hops became one.
    package var hops: [String]?
    /// Why the step was not fused with the inferred step before it.
    package var reasonApart: String?
    /// The hooks that run before and after the step, by identity.
    package var hooks: [String] = []
    /// Why rows are not counted; nil where they are.
    package var rowsNote: String?
    /// The way of a job in place: `in place by definition alone…`, `in place by SQL, loading no rows`, or `through the
    /// executor: …` with the reason.
    package var way: String?
    /// The same as a code.
    package var strategy: Strategy?
    /// The work of a step by SQL or by definition alone that takes time in proportion to rows.
    package var costs: [String]?

    private enum CodingKeys: String, CodingKey {
      case sourceModel, destinationModel, passes, dropped, origin, hops, reasonApart, hooks, rowsNote, way, costs
      case strategy = "wayCode"
    }

    package init(
      sourceModel: String, destinationModel: String, passes: [Pass], dropped: [Dropped], origin: String? = nil,
      hops: [String]? = nil, reasonApart: String? = nil
    ) {
      self.sourceModel = sourceModel
      self.destinationModel = destinationModel
      self.passes = passes
      self.dropped = dropped
      self.origin = origin
      self.hops = hops
      self.reasonApart = reasonApart
    }
  }

  /// Source objects of one entity that no mapping takes.
  package struct Dropped: Sendable, Codable, Hashable {
    /// The source entity's name.
    package var entity: String
    /// How many objects.
    package var rows: Int64
    /// `no mapping`, `remove mapping`, or `filtered out`.
    package var reason: String

    package init(entity: String, rows: Int64, reason: String) {
      self.entity = entity
      self.rows = rows
      self.reason = reason
    }

    /// The reason as a code.
    package var cause: LossReport.Cause {
      switch reason {
      case "remove mapping": .removeMapping
      case "filtered out": .filteredOut
      default: .noMapping
      }
    }
  }

  /// The sample behind the estimates of a plan.
  package struct Sample: Sendable, Codable, Hashable {
    /// Keys that were looked at, in all tables that were counted.
    package var keys: Int64
    /// All keys between the lowest and the highest of these tables.
    package var ofKeys: Int64

    package init(keys: Int64, ofKeys: Int64) { (self.keys, self.ofKeys) = (keys, ofKeys) }
  }

  /// Chunks and rows of one stage.
  package struct StageCount: Sendable, Codable, Hashable {
    /// The stage.
    package var stage: ChunkPhase
    /// Chunks of the stage.
    package var chunks: Int
    /// Rows that the plan expects the stage to read.
    package var rows: Int64

    package init(stage: ChunkPhase, chunks: Int, rows: Int64) {
      self.stage = stage
      self.chunks = chunks
      self.rows = rows
    }
  }

  /// The job's name.
  package var job: String
  /// The path of the source.
  package var source: String
  /// The path of the destination.
  package var destination: String
  /// Where the source model came from; nil when it is one of those given.
  package var sourceModelOrigin: String?
  /// The steps, in the order in which they run.
  package var steps: [Step]
  /// Chunks and rows of each stage, over all steps, in the order of execution.
  package var stages: [StageCount]
  /// Estimated peak of disk space that the run needs beside the source.
  package var disk: DiskNeed
  /// All of it, in bytes.
  public var diskBytes: Int64 { disk.totalBytes }
  /// The free bytes beside the destination; nil when the file system does not say.
  public var freeBytes: Int64?
  /// The folder where SQLite sorts data that does not fit in memory.
  package var temporaryFolder: String?
  /// Objects for which the filter of a mapping cannot be computed.
  package struct Uncomputable: Sendable, Hashable {
    /// The mapping, by its place among the mappings of the step.
    package var mapping: MappingID
    /// In ascending order.
    package var keys: [Int64]
    /// The error of the first one.
    package var message: String

    package init(mapping: MappingID, keys: [Int64], message: String) {
      (self.mapping, self.keys, self.message) = (mapping, keys, message)
    }
  }

  /// The free bytes in `temporaryFolder`; nil when the file system does not say.
  package var temporaryFreeBytes: Int64?
  /// The size of the source, in bytes.
  public var sourceBytes: Int64
  /// Why there is too little free space for a run; nil if there is enough.
  package var shortage: String?
  /// The obstacles to a run at its destination or at the place of its receipt.
  package var destinationObstacles: [RunObstacle] = []
  /// How long a run may take; nil where nobody asked for it.
  public var time: TimeEstimate?
  /// The step that is counted: the first that is not done.
  package var countedStep = StepID.first
  /// Values that the destination cannot hold, in words: the run stops at them.
  package var misfits: [String] = []
  /// The objects for which a filter cannot be computed. The counts are without them.
  package var uncomputable: [Uncomputable] = []
  /// The objects that the run would reject or keep; nil where no row is read, as in a step that is not counted yet.
  package var forecast: RunForecast? {
    didSet {
      codedNotes += KeptInvalid.notes(forecast?.kept ?? [])
      codedNotes += (forecast?.uncounted ?? []).map { MigrationNote(.notLookedAt, "not looked at: \($0)") }
    }
  }
  /// How many rejected objects the run may set aside, and where they go; nil: the first one stops it.
  package var quarantine: String?
  /// Whether a loss stops the run.
  package var refusesLosses = false
  /// Whether the job accepts the loss of all objects that the run sets aside.
  package var acceptsSetAside = false
  /// The limits of the run.
  package var limits = MigrationLimits()
  /// The mappings whose policy nobody registered: `run` refuses the job until they are.
  package var missingPolicies: [PolicyUse] = []
  /// Where `mappings: auto` searched, and how it used each mapping model that it found.
  package var mappingSearch: [String] = []
  /// The lines of ``mappingSearch`` that the owner of the job should act on.
  package var advice: [String] = []
  /// The sample from which all counts of the plan are estimated; nil where every row was counted.
  package var sample: Sample?
  /// The losses of the migration, in the order of steps.
  public var losses = LossReport()
  /// Other facts: tables whose rows are left out, external files, triggers that cannot be made.
  public var notes: [String] { codedNotes.map(\.text) }
  /// The notes with the code of each.
  package var codedNotes: [MigrationNote] = []

  /// In execution order.
  package let chunks: [Chunk]
  package let facts: PlanFacts

  package init(
    job: String, source: String, destination: String, steps: [Step], stages: [StageCount], disk: DiskNeed,
    sourceBytes: Int64, chunks: [Chunk], facts: PlanFacts
  ) {
    self.job = job
    self.source = source
    self.destination = destination
    self.steps = steps
    self.stages = stages
    self.disk = disk
    self.sourceBytes = sourceBytes
    self.chunks = chunks
    self.facts = facts
  }

  /// Rows that all chunks read together; the 100 percent of the progress.
  public var totalRows: Int64 { chunks.reduce(0) { $0 + max(1, $1.rows) } }
}

extension MigrationPlan {
  package static func wayOfSteps(_ count: Int) -> String { "through the executor: the job has \(count) steps" }

  package static let wayOfDefinitions =
    "in place by definition alone: no row is read or written, so the number of rows does not matter"

  /// The parts that no mapping carries over, of all steps.
  package var dropped: [Dropped] { steps.flatMap(\.dropped) }
}

extension MigrationPlan.Sample: CustomStringConvertible {
  /// How far to trust the counts of the plan.
  package var description: String {
    "from a sample, \(keys) of \(ofKeys) keys: counts are estimates, and losses that are rare may be missing"
  }
}

extension MigrationPlan: Equatable {
  /// Whether both plans do the same to the same stores. Free disk space, the time of the plan and its estimate of a run's
  /// time do not count.
  public static func == (a: MigrationPlan, b: MigrationPlan) -> Bool {
    (a.job, a.source, a.destination, a.sourceModelOrigin) == (b.job, b.source, b.destination, b.sourceModelOrigin)
      && (a.steps, a.stages, a.chunks, a.codedNotes) == (b.steps, b.stages, b.chunks, b.codedNotes)
      && a.losses == b.losses
      && (a.disk, a.sourceBytes, a.limits) == (b.disk, b.sourceBytes, b.limits)
  }
}

extension MigrationPlan: CustomStringConvertible {
  /// The whole plan as `godwit plan --details` prints it, over many lines.
  public var description: String {
    var lines = ["job \(job)"]
    if let sample { lines.append("  estimate     \(sample)") }
    lines += [
      "  source       \(source) (\(ByteCount(bytes: sourceBytes)))", "  destination  \(destination)",
    ]
    if let quarantine { lines.append("  quarantine   \(quarantine)") }
    if let sourceModelOrigin { lines.append("  source model  \(sourceModelOrigin)") }
    lines += mappingSearch.map { "  search       \($0)" }
    for (id, step) in steps.numbered {
      lines.append("")
      lines.append("step \(id.count) of \(steps.count): \(step.sourceModel) to \(step.destinationModel)")
      if let origin = step.origin {
        let hops = step.hops.map { ", \($0.count - 1) hops in one: \($0.joined(separator: " to "))" }
        lines.append("  mappings     \(origin)\(hops ?? "")")
      }
      if let reason = step.reasonApart { lines.append("  apart        from the previous step: \(reason)") }
      lines += step.hooks.map { "  hook         \($0)" }
      if let way = step.way { lines.append("  strategy     \(way)") }
      for cost in step.costs ?? [] { lines.append("  takes time   \(cost)") }
      for pass in step.passes {
        lines.append("  pass \(pass.number) of \(step.passes.count)")
        for mapping in pass.mappings {
          lines.append(
            "    \(mapping.name): \(mapping.source.isEmpty ? "new" : "\(mapping.source) to") \(mapping.destination)")
          if let filter = mapping.filter { lines.append("      filter     \(filter)") }
          lines.append(
            "      lane       \(mapping.lane.rawValue)"
              + (mapping.reasons.isEmpty ? "" : " (\(mapping.reasons.joined(separator: "; ")))"))
          if mapping.lane == .object, id == countedStep, let cost = time?.cost(of: mapping.name) {
            lines.append("      cost       \(cost)")
          }
          lines.append(
            "      rows       "
              + (step.rowsNote ?? "\(mapping.rows) in \(mapping.chunks.counted("chunk"))"))
          lines.append("      keys       \(mapping.keys), association \(mapping.association)")
          for (name, how) in mapping.relationships.sorted(by: { $0.key < $1.key }) {
            lines.append("      \(name): \(how)")
          }
        }
      }
      lines += losses.ofStep(id).map { "  \($0.label.padded(to: 13))\($0)" }
    }
    lines.append("")
    lines += missingPolicies.map { "not registered: \($0)" }
    if !stages.isEmpty { lines.append("stages") }
    for stage in stages {
      lines.append(
        "  \(stage.stage.rawValue.padded(to: 10))\(stage.chunks.counted("chunk")), \(stage.rows.counted("row"))"
      )
    }
    lines += notes.map { "note         \($0)" }
    func free(_ bytes: Int64?) -> String { bytes.map { " (\(ByteCount(bytes: $0)) free)" } ?? "" }
    lines.append("disk needed  \(ByteCount(bytes: disk.destinationBytes)) beside the destination\(free(freeBytes))")
    if disk.temporaryBytes > 0 {
      let folder = temporaryFolder.map { "'\($0)'" } ?? "the temporary folder"
      lines.append(
        "             \(ByteCount(bytes: disk.temporaryBytes)) for sorting in \(folder)\(free(temporaryFreeBytes))")
    }
    if let shortage { lines.append("warning      `godwit run` will end with 74: \(shortage)") }
    lines += destinationObstacles.map {
      "warning      `godwit run` will end with \($0.failure.rawValue): \($0.message)"
    }
    return lines.map(\.onOneLine).joined(separator: "\n")
  }
}

extension String {
  /// The string with spaces after it up to a width.
  package func padded(to width: Int) -> String {
    count >= width ? self : self + String(repeating: " ", count: width - count)
  }
}
