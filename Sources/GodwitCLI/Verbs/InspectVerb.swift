import ArgumentParser

struct InspectVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Show what a file is (store, model, mapping model, manifest, ledger, spill file) and what it contains.")

  @Argument(help: ArgumentHelp("A file, or a folder with one model in it.", valueName: "PATH")) var path: String

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Models to search for the one that fits the store.", valueName: "MODEL"))
  var models: [String] = []

  @Option(help: ArgumentHelp("Use only the entities of this configuration in each MODEL.", valueName: "NAME"))
  var configuration: String?

  @OptionGroup var format: FormatOptions

  func validate() throws {
    if configuration != nil, models.isEmpty { throw ValidationError("expected --models MODEL beside --configuration") }
  }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let inspection = try FileInspection(of: path, models: models, configuration: configuration)
    switch format.format {
    case .json: try session.print(json: inspection)
    case .text: session.output.write("\(inspection)\n")
    }
    if let problem = inspection.problem { throw problem }
    return 0
  }
}
