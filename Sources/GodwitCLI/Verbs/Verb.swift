import ArgumentParser
import Foundation
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import Logging

/// A command that runs: a verb, or a verb of a group.
protocol Verb: ParsableCommand {
  /// - Returns: the exit status; errors are thrown.
  mutating func run(in session: CommandSession) throws -> Int32

  /// Whether the verb's purpose is its output. A verb that makes a file has done its work even if its output cannot be
  /// written.
  static var isForOutput: Bool { get }

  /// The kinds of JSON that the verb prints, apart from an error.
  static var outputs: [OutputKind] { get }
}

extension Verb {
  static var isForOutput: Bool { true }
  static var outputs: [OutputKind] { [] }
}

/// How a reading verb prints what it found.
enum OutputFormat: String, ExpressibleByArgument, CaseIterable {
  case text, json
}

struct FormatOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Print text or JSON.", valueName: "text|json"))
  var format: OutputFormat = .text
}

extension CompletionKind {
  /// A shell offers YAML files and folders. Stores and models have no such filter: a store's name may end in anything,
  /// and a model may be a file or a folder.
  static var manifest: CompletionKind { .file(extensions: ["yaml", "yml"]) }
}

struct LogOptions: ParsableArguments {
  @Flag(name: .shortAndLong, help: "Log each action to standard error.")
  var verbose = false
}

/// How a verb that may work for hours shows what it does, and when it stops.
struct LongOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "How to show progress: run on standard output, verify on standard error.", valueName: "auto|bar|plain|json"))
  var progress: ProgressMode = .auto

  @Flag(name: .shortAndLong, help: "Print nothing unless something is wrong.")
  var quiet = false

  @Option(
    name: .customLong("max-duration"),
    help: ArgumentHelp(
      "Stop with status 75 after a time such as 3h, 90m, 45s or 1h30m; the same command goes on.", valueName: "time"),
    transform: TimeBox.parse)
  var maximumDuration: TimeBox?

  var maximumSeconds: Double? { maximumDuration.map { Double($0.seconds) } }
}

/// The manifest, and whether reading it is logged.
struct JobOptions: ParsableArguments {
  @Argument(help: ArgumentHelp("The job manifest; - for standard input.", valueName: "JOB.yaml"), completion: .manifest)
  var manifest: String

  @OptionGroup var log: LogOptions

  func loader(in session: CommandSession, overrides: [ManifestOverride] = []) throws -> JobLoader {
    try session.loader(ofManifest: manifest, overrides: overrides, log)
  }
}

extension CommandSession {
  func loader(
    ofManifest path: String, overrides: [ManifestOverride], _ log: LogOptions? = nil, isQuiet: Bool = false
  ) throws -> JobLoader {
    var logger = Logger(label: "godwit") { [diagnostics] _ in DiagnosticsLogHandler(stream: diagnostics) }
    logger.logLevel = log?.verbose == true ? .debug : isQuiet ? .error : .warning
    return try JobLoader(
      manifestPath: path, overrides: overrides, logger: logger, policies: policies,
      hookOutput: { [diagnostics] in diagnostics.write($0) })
  }
}

/// Keys of the manifest that the command line sets.
struct OverrideOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Set the manifest's source; relative to the current folder.", valueName: "PATH"),
    completion: .file())
  var source: String?

  @Option(
    help: ArgumentHelp(
      "Set the path of the manifest's destination, for a job in place too; relative to the current folder.",
      valueName: "PATH"),
    completion: .file())
  var destination: String?

  @Option(
    help: ArgumentHelp(
      "Set any key of the manifest to a YAML value, such as on-loss=fail or destination.existing=replace. An empty value removes the key. May be repeated; a later option wins.",
      valueName: "KEY=VALUE"))
  var set: [String] = []

  func values() throws -> [ManifestOverride] {
    [("source", source), ("destination", destination)].compactMap { key, path in
      path.map { ManifestOverride(key: key, text: $0, option: "--\(key)") }
    } + (try set.map(ManifestOverride.init(parsing:)))
  }
}

extension CommandSession {
  /// Warns of hashes that rely on a rule that no published hash confirms.
  func warnOfUnconfirmedHashRules(_ rules: [String]) {
    for rule in rules {
      warn("the hash relies on an unconfirmed rule: \(rule)")
    }
  }

  /// Warns of what is missing or passed over beside a store that is read.
  func warnOfLogs(besideStoreAt path: String) throws {
    if let line = try MissingLog.line(ofStoreAt: path) { warn(line) }
  }

  /// The same of the source of a job, for a verb that prints no notes.
  func warnOfLogs(besideSourceOf job: MigrationJob) throws {
    for path in job.sourcePaths { try warnOfLogs(besideStoreAt: path) }
  }

  /// Warns of a receipt that was not written, where nobody sees the notes of a summary.
  func warnOfMissingReceipt(_ notes: [MigrationNote], of store: String? = nil) {
    for note in notes where note.code == .receiptMissing {
      warn((store.map { "'\($0.onOneLine)': " } ?? "") + note.text)
    }
  }

  /// Warns, in one line for each version, of what reading the models of a job replaced or left out.
  func warnOfReplacedValues(in job: MigrationJob) {
    var seen: Set<String> = []
    for model in job.steps.flatMap({ [$0.sourceModel, $0.destinationModel] }) {
      // A note of the plan says it of the model that the store carries.
      if job.sourceModelOrigin != nil, model.name == job.sourceModel.name { continue }
      guard let first = model.remarks.first, seen.insert(model.name).inserted else { continue }
      let count = model.remarks.count
      let rest = count > 1 ? "; \(count - 1) more like it (see `godwit inspect`)" : ""
      warn("model '\(model.name)': \(first)\(rest)")
    }
  }

  /// Prints one JSON document with sorted keys.
  func print(json value: some Encodable, as kind: OutputKind) throws {
    output.write(try JSONText.document(OutputDocument(kind, value)) + "\n")
  }
}

extension CommandSession {
  /// Prints an array of documents, each of which says what it is.
  func print(rows: [some Encodable]) throws { output.write(try JSONText.document(rows) + "\n") }
}

/// Several values whose keys stand in one JSON object.
struct JoinedRecord: Encodable {
  let parts: [any Encodable]

  init(_ parts: any Encodable...) { self.parts = parts }

  func encode(to encoder: any Encoder) throws {
    for part in parts { try part.encode(to: encoder) }
  }
}

enum JSONText {
  static func document(_ value: some Encodable) throws -> String {
    try encode(value, [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
  }

  /// A line that says first what it is: `{"type":"version",…}`.
  static func line(ofType type: String, _ value: some Encodable) throws -> String {
    "{\"type\":\"\(type)\"," + (try encode(value, [.sortedKeys, .withoutEscapingSlashes])).dropFirst()
  }

  private static func encode(_ value: some Encodable, _ form: JSONEncoder.OutputFormatting) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = form
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(DateText.text(date.timeIntervalSinceReferenceDate))
    }
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}
