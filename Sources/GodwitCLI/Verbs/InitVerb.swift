import ArgumentParser
import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore

struct InitVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Write a commented job manifest for a store: its version, the path, mapping models, policies, losses.",
    discussion: """
      Finds the version of the store by its hashes and the path to the current version, and counts what would be lost. \
      Writes nothing but the manifest. If the store has the current version, the job copies it. If a run first needs \
      policies or a decision, the manifest says so. Exit status: 0 the manifest is written; 64 several models in the \
      folder fit the store; 69 no model fits, or no path leads to the version; 73 the file exists.

      godwit init app.sqlite App.xcdatamodeld -o - | godwit run -
      """)

  @Argument(help: ArgumentHelp("The store to migrate.", valueName: "STORE"), completion: .file()) var store: String
  @Argument(
    help: ArgumentHelp(
      "The .xcdatamodeld or .momd of the application, or the folder of its project.",
      valueName: "MODELS"), completion: .file())
  var models: String

  @Option(
    help: ArgumentHelp("The version to migrate to; by default the current version of the bundle.", valueName: "VERSION")
  )
  var to: String?
  @Option(help: ArgumentHelp("The version of the store, for a store that does not identify it.", valueName: "VERSION"))
  var from: String?
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The manifest to write; - for standard output.", valueName: "FILE"), completion: .file())
  var output = "job.yaml"
  @Flag(help: "Replace the manifest if it exists.")
  var force = false
  @OptionGroup var format: FormatOptions

  static var outputs: [OutputKind] { [.`init`] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let file = output == "-" ? nil : output
    let isEarlier: (([UInt8]) -> Bool)? = force ? { Self.isManifest($0) } : nil
    let manifest = file.map { OutputFile($0, "a job manifest", isEarlier: isEarlier) }
    if let file, !force { try refuseExisting(file) }
    try manifest?.check()
    var request = DraftRequest(store: store, models: models) { try MigrationManager($0).plan() }
    (request.destinationModel, request.sourceModel, request.file) = (to, from, file)
    request.policies = session.policies
    let draft = try request.draft()
    if let manifest { try ExportFile.write(draft.text, to: manifest) }
    switch (format.format, file) {
    case (.json, _): try session.print(json: Record(draft, file: file), as: .`init`)
    case (.text, let file?): session.output.write(summary(draft, file: file))
    case (.text, nil): session.output.write(data: draft.text)
    }
    return 0
  }

  /// Whether a file begins like a job manifest: comments, then keys, `godwit` among them.
  private static func isManifest(_ head: [UInt8]) -> Bool {
    head.isEmpty
      || String(decoding: head, as: UTF8.self).split(whereSeparator: \.isNewline).contains {
        $0.hasPrefix("godwit:") && $0.dropFirst(7).drop { $0 == " " }.first?.isNumber == true
      }
  }

  /// The choices, and the losses.
  private struct Record: Encodable {
    struct Step: Encodable {
      let source, destination, mappings: String
      let isInferred: Bool
    }
    struct Part: Encodable {
      let path, version: String
      let entities: [String]
    }
    struct Stage: Encodable { let step, reason: String }
    struct Policy: Encodable {
      let policy: String
      let mappings: [String]
    }

    /// nil where the text goes to standard output.
    let file: String?
    let manifest, source, destination: String
    let models: [String]
    /// The models that form one; nil for a single model.
    let mergeModels: [Part]?
    let sourceModel, sourceModelOrigin, destinationModel: String
    let isMigrationNeeded: Bool
    let versions, versionOrder: [String]
    let configuration: String?
    let steps: [Step]
    let stages: [Stage]
    let mappingSearch, unusedMappings: [String]
    let missingPolicies: [Policy]
    let losses: [LossReport.Loss]
    let notes: [String]
    let noteCodes: [MigrationNote.Code]
    let problem, problemCode: String?
    let problemStatus: Int32?
    let remedy: String?

    init(_ draft: ManifestDraft, file: String?) {
      self.file = file
      manifest = draft.text
      (source, destination, models) = (draft.source, draft.destination, draft.models)
      mergeModels =
        draft.parts.isEmpty
        ? nil : draft.parts.map { Part(path: $0.path, version: $0.version, entities: $0.entities) }
      (sourceModel, sourceModelOrigin) = (draft.sourceModel, draft.sourceModelOrigin)
      (destinationModel, isMigrationNeeded) = (draft.destinationModel, !draft.isCurrent)
      (versions, versionOrder, configuration) = (draft.versions, draft.versionOrder, draft.configuration)
      steps = draft.steps.map {
        Step(source: $0.source, destination: $0.destination, mappings: $0.way, isInferred: $0.isInferred)
      }
      stages = draft.stages.map { Stage(step: $0.step, reason: $0.reason) }
      (mappingSearch, unusedMappings) = (draft.mappingSearch, draft.unusedMappings)
      missingPolicies = draft.policies.map { Policy(policy: $0.name, mappings: $0.mappings) }
      losses = draft.losses
      (notes, noteCodes) = (draft.inputNotes.map(\.text), draft.inputNotes.map(\.code))
      (problem, problemCode) = (draft.problem, draft.problemCode?.name)
      (problemStatus, remedy) = (draft.problemCode?.rawValue, draft.remedy)
    }
  }

  private func refuseExisting(_ file: String) throws {
    guard FileStatus(named: file) != nil else { return }
    throw GodwitError(
      .cannotCreate, "cannot create '\(file)': the file exists",
      remedy: "name another file with -o, or replace this one with --force")
  }

  private func summary(_ draft: ManifestDraft, file: String) -> String {
    var lines = ["wrote \(file)"]
    func line(_ label: String, _ text: String) {
      lines.append("  " + label.padding(toLength: 13, withPad: " ", startingAt: 0) + text)
    }
    line("source", "\(draft.source), version '\(draft.sourceModel)'")
    for (index, part) in draft.parts.enumerated() { line(index == 0 ? "merges" : "", part.line) }
    for spare in draft.spareParts { line("note", "\(spare) fits too, and adds no entity") }
    if let doubt = draft.doubt { line("note", doubt) }
    line("destination", "\(draft.destination), version '\(draft.destinationModel)'")
    if draft.isCurrent {
      line("note", "no migration is needed: the store has this version, and the job copies it")
    } else {
      for (index, step) in draft.steps.enumerated() { line(index == 0 ? "path" : "", step.line) }
    }
    for note in draft.inputNotes { line("note", note.text) }
    for loss in draft.losses { line(loss.label, draft.text(of: loss)) }
    for policy in draft.policies { line("policy", "\(policy.name) is not registered, so a run stops with 78") }
    if let problem = draft.problem { line("stops", problem) }
    if let remedy = draft.remedy { line("", "try: \(remedy)") }
    line(
      "next",
      !draft.policies.isEmpty
        ? "godwit policy stub \(file) -o Policies.swift drafts them in Swift"
        : draft.problem == nil
          ? "godwit run \(file), then godwit verify \(file)" : "change \(file), then godwit plan \(file)")
    return lines.map(\.onOneLine).joined(separator: "\n") + "\n"
  }
}
