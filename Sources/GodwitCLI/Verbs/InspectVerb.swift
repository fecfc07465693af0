import ArgumentParser
import GodwitModel

struct InspectVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Show the kind and content of a file: store, model, mapping model, manifest, ledger or spill file.",
    discussion: """
      Several files, a pattern in quotes, a folder or a manifest of many stores give
      one table, or one JSON array.
      """)

  @Argument(
    help: ArgumentHelp("A file, a folder with one model in it, or several of them.", valueName: "PATH"),
    completion: .file())
  var paths: [String]

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Models to search for the one that fits the store.", valueName: "MODEL"), completion: .file())
  var models: [String] = []

  @Option(help: ArgumentHelp("Use only the entities of this configuration in each MODEL.", valueName: "NAME"))
  var configuration: String?

  @Flag(help: "Show types, NULL counts, minima, maxima and sizes of a store's properties; scans the store.")
  var details = false

  @Flag(help: "Run SQLite's check of all pages and indexes of a store; exit with 65 if it is damaged.")
  var check = false

  @OptionGroup var format: FormatOptions

  func validate() throws {
    if configuration != nil, models.isEmpty { throw ValidationError("expected --models MODEL beside --configuration") }
  }

  static var outputs: [OutputKind] { [.inspect] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let (models, configuration, details, check) = (models, configuration, details, check)
    guard let expanded = try InspectionPaths.expanded(paths) else {
      let inspection = try FileInspection(
        of: paths[0], models: models, configuration: configuration, withDetails: details, checks: check)
      switch format.format {
      case .json:
        let failure = inspection.problem.map { JoinedRecord(FailureRecord($0)) } ?? JoinedRecord()
        try session.print(json: JoinedRecord(inspection, failure), as: .inspect)
      case .text: session.output.write("\(inspection)\n")
      }
      if let problem = inspection.problem { throw problem }
      return 0
    }
    let table = try InspectionTable(of: expanded.paths) { path in
      try FileInspection(
        of: path, models: models.isEmpty ? expanded.models[path] ?? [] : models, configuration: configuration,
        withDetails: details, checks: check)
    }
    switch format.format {
    case .json: try session.print(rows: table.rows)
    case .text where details:
      session.output.write(table.rows.compactMap(\.inspection).map { "\($0)\n" }.joined(separator: "\n"))
    case .text:
      session.output.write(table.text)
      for inspection in table.rows.compactMap(\.inspection) where inspection.store != nil {
        if let detail = inspection.detail { session.warn(detail) }
      }
    }
    if let problem = table.problem { throw problem }
    return 0
  }
}
