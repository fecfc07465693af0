/// The manifest that `godwit init` writes: facts in, text with comments out.
///
/// Paths are written as they are given. `DraftRequest` finds the facts.
package struct ManifestDraft: Sendable {
  /// A policy class that nobody registered, and the mappings that name it.
  package struct Policy: Sendable {
    package var name: String
    package var mappings: [String]
  }

  /// One of the models that form the store's model together.
  package struct Part: Sendable {
    package var path: String
    /// The version that the store has.
    package var version: String
    package var entities: [String]

    package var line: String { "\(path), version '\(version)': \(entities.joined(separator: ", "))" }
  }

  /// A step of the path.
  package struct Step: Sendable {
    package var source, destination: String
    /// The mapping models of the step: their names, or `inferred`.
    package var way: String
    package var isInferred: Bool

    package var line: String { "'\(source)' to '\(destination)': \(way)" }
  }

  /// The name of the manifest in the commands that the comments show.
  package var file = "job.yaml"
  /// The name of the job.
  package var job = "job"
  package var source: String
  package var destination: String
  package var models: [String]
  /// The models that form one; empty for a single model.
  package var mergeModels: [String] = []
  /// The same models with what the store has of each.
  package var parts: [Part] = []
  /// Models that fit the store too, and add no entity to those.
  package var spareParts: [String] = []
  /// The store: its type, size and objects.
  package var store = ""
  /// Why the store may not be whole; nil without a doubt.
  package var doubt: String?
  package var sourceModel = ""
  /// How the version of the store was found.
  package var sourceModelOrigin = ""
  package var destinationModel = ""
  /// Whether the manifest has to name the destination model: it is not the bundle's current version.
  package var namesDestination = false
  /// Whether the store has the version that the job leads to.
  package var isCurrent = false
  /// The versions of the models, oldest first.
  package var versions: [String] = []
  package var assumedModel: String?
  package var configuration: String?
  /// The versions as `version-order` lists them; empty where their names sort.
  package var versionOrder: [String] = []
  package var storeType = StoreType.sqlite
  /// Stores of the same version beside the store.
  package var neighbours: [String] = []
  package var steps: [Step] = []
  /// Why a step has a stage of its own: what would be lost without.
  package var stages: [(step: String, reason: String)] = []
  /// Where mapping models are, as `mapping-search` lists it; empty where no step has one.
  package var mappingSearch: [String] = []
  /// Mapping models that were found and serve no step, each with the reason.
  package var unusedMappings: [String] = []
  package var policies: [Policy] = []
  /// The losses of the migration.
  package var losses: [LossReport.Loss] = []
  /// Remarks that are not losses: links that lead to no object.
  package var notes: [String] = []
  /// How source model and mapping models were found, if the user should check that.
  package var inputNotes: [MigrationNote] = []
  /// The problem that would stop a run, and what to do then.
  package var problem: String?
  /// The kind of failure that the problem is.
  package var problemCode: GodwitError.Code?
  package var remedy: String?
  /// Whether tables of CloudKit mirroring stop the job.
  package var isMirrored = false

  private static let neighboursListed = 5

  /// How many lines of one kind are listed.
  private static let listed = 24

  /// A loss as a plan shows it, without its label.
  package func text(of loss: LossReport.Loss) -> String { (steps.count > 1 ? "step \(loss.step): " : "") + "\(loss)" }

  // MARK: Text

  package var text: String {
    let parts = [head, nameLines, storeLines, modelLines, pathLines, policyLines, lossLines, optionalLines]
    return parts.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
  }

  private var head: [String] {
    [
      "# A job manifest, drafted by `godwit init`. Relative paths count from the folder of this file,",
      "# or from the current folder when it comes from standard input.", "#",
      "#   godwit plan \(file)      shows what it does and what would be lost; writes nothing",
      "#   godwit run \(file)       does it; after a stop the same command resumes",
      "#   godwit verify \(file)    proves the result against the source",
    ]
  }

  private var nameLines: [String] {
    ["godwit: 1"] + Self.comments(["The name of the job in messages, metrics and receipts."])
      + ["job: \(YAMLText.scalar(job))"]
  }

  private var storeLines: [String] {
    let notes = (inputNotes.map(\.text) + (doubt.map { [$0] } ?? [])).map { "Note: \($0)." }
    var lines = Self.comments([store, "Its model is '\(sourceModel)': \(sourceModelOrigin)."] + notes)
    lines.append("source: \(YAMLText.scalar(source))")
    if !neighbours.isEmpty {
      let stores = ([source] + neighbours.prefix(Self.neighboursListed)).map(YAMLText.scalar).joined(separator: ", ")
      let more = neighbours.count > Self.neighboursListed ? ", …" : ""
      lines += Self.comments(["Stores of the same version lie beside it. This makes one of them all:"])
      lines.append("# source: {merge: [\(stores)\(more)]}")
    }
    lines += Self.comments(["The new store. The source stays as it is."])
    lines.append("destination: \(YAMLText.scalar(StorePlaceholders.plainText(destination)))")
    if storeType.isAtomic {
      lines += Self.comments(["The new store is \(storeType.adjective) too. Write `sqlite` here for a SQLite store."])
      lines.append("destination-type: \(storeType.manifestName)")
    }
    return lines
  }

  private var modelLines: [String] {
    var lines: [String] = []
    func key(_ name: String, _ values: [String]) {
      let texts = values.map(YAMLText.scalar)
      lines.append("\(name): " + (texts.count == 1 ? texts[0] : "[\(texts.joined(separator: ", "))]"))
    }
    key("models", models)
    guard mergeModels.isEmpty else {
      lines += Self.comments([
        "The store has the entities of all these models: the application merges them. The job leads to the current",
        "version of each; PATH#Version names another one.",
      ])
      lines += Self.comments(Self.clipped(parts.map { "  " + $0.line }, of: "models"))
      lines += Self.comments(spareParts.map { "  \($0) fits too, and adds no entity." })
      key("merge-models", mergeModels)
      return lines
    }
    if let assumedModel {
      lines += Self.comments(["The store does not say which version it has. You gave this one."])
      key("assume-source-model", [assumedModel])
    }
    if let configuration {
      lines += Self.comments(["No version fits the store as a whole. The entities of this configuration do."])
      key("configuration", [configuration])
    }
    let others = versions.filter { $0 != destinationModel }
    if namesDestination {
      key("destination-model", [destinationModel])
    } else {
      lines += Self.comments(["The job leads to '\(destinationModel)', the current version."])
      if let other = others.last { lines.append("# destination-model: \(Self.plain(YAMLText.scalar(other)))") }
    }
    guard !versionOrder.isEmpty else { return lines }
    lines += Self.comments([
      "The names of the versions do not sort. This is the order, oldest first, as their names, the current",
      "version and the mapping models suggest it. Correct it if it is wrong: a path never goes back.",
    ])
    lines.append("version-order:")
    return lines + versionOrder.map { "  - \(YAMLText.scalar($0))" }
  }

  private var pathLines: [String] {
    var lines =
      isCurrent
      ? ["No migration is needed: the store has this version. The job copies it."]
      : ["The path, and what serves each step:"] + Self.clipped(steps.map { "  " + $0.line }, of: "steps")
    if !unusedMappings.isEmpty {
      lines.append("Mapping models that were found, but that this path does not use:")
      lines += Self.clipped(unusedMappings.map { "  " + $0 }, of: "mapping models")
    }
    lines = Self.comments(lines) + ["mappings: auto"]
    if !mappingSearch.isEmpty {
      lines += Self.comments(["Where the mapping models of these steps are."])
      lines.append("mapping-search:")
      lines += mappingSearch.map { "  - \(YAMLText.scalar($0))" }
    }
    if !stages.isEmpty {
      lines += Self.comments(stages.map(\.reason).withoutRepeats())
      lines.append("stages:")
      lines += stages.map { "  - step: \(YAMLText.scalar($0.step))" }
    }
    return lines
  }

  private var policyLines: [String] {
    guard !policies.isEmpty else { return [] }
    var lines = ["Policies to port. A run stops with 78 until an executable of yours registers them:"]
    lines += Self.clipped(
      policies.map { "  \($0.name), named by \($0.mappings.map { "'\($0)'" }.joined(separator: ", "))" },
      of: "policies")
    lines += [
      "This drafts them in Swift: godwit policy stub \(file) -o Policies.swift",
      "The key below runs Core Data's default policy instead, without the work of the policies.",
    ]
    return Self.comments(lines) + ["# unregistered-policies: default"]
  }

  private var lossLines: [String] {
    var lines: [String] = []
    if let problem {
      lines += ["A run of this job stops: \(problem)"] + (remedy.map { ["What to do: \($0)"] } ?? [])
    } else if losses.isEmpty {
      lines.append(
        steps.count > 1
          ? "The first step loses nothing. Losses of a later step are counted when the step before it has finished."
          : "Counting the source found no loss.")
    } else {
      lines +=
        ["The migration leaves out:"]
        + Self.clipped(losses.map { "  " + $0.label.padded(to: 9) + text(of: $0) }, of: "losses")
    }
    if !notes.isEmpty {
      lines += ["Links that lead nowhere in the store:"] + Self.clipped(notes.map { "  " + $0 }, of: "notes")
    }
    lines.append("With `fail` a loss stops the job (65) before the destination is in place.")
    lines = Self.comments(lines) + ["on-loss: report"] + acceptedLines
    if isMirrored {
      lines += Self.comments(["CloudKit mirrors this store. This key leaves out what belongs to the mirror."])
      lines.append("# cloudkit: drop")
    }
    return lines
  }

  /// The losses that were found, as `accept-losses` names them.
  private var acceptedLines: [String] {
    let names = losses.map(\.subject).withoutRepeats()
    guard problem == nil, !names.isEmpty, names.count <= Self.listed else { return [] }
    let list = names.map { Self.plain(YAMLText.scalar($0)) }.joined(separator: ", ")
    return Self.comments(["The losses above, if they are meant. With `fail` the job then stops for any other."])
      + ["# accept-losses: [\(list)]"]
  }

  private var optionalLines: [String] {
    [
      "# More keys, with their defaults. The page Manifest of the documentation has all of them.",
      "# memory: 64 MiB         # what a run may allocate",
      "# check-source: quick    # SQLite checks the source: quick, full or none",
      "# destination: {existing: in-place}    # the new store takes the place of the source",
    ]
  }

  // MARK: Comments

  private static func comments(_ lines: [String]) -> [String] { lines.filter { !$0.isEmpty }.map(MappingComment.line) }

  private static func plain(_ text: String) -> String { String(MappingComment.line(text).dropFirst(2)) }

  private static func clipped(_ lines: [String], of what: String) -> [String] {
    lines.count <= listed
      ? lines : lines.prefix(listed) + ["  and \(lines.count - listed) more \(what): see `godwit plan`"]
  }
}
