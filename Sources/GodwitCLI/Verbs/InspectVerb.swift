import ArgumentParser

struct InspectVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Tell what a file is (store, model, mapping model, manifest, ledger, spill file) and what is in it.")

  @Argument(help: ArgumentHelp("A file, or a folder with one model in it.", valueName: "PATH")) var path: String

  @Option(
    parsing: .upToNextOption,
    help: ArgumentHelp("Models among which the one that fits a store is looked for.", valueName: "MODEL"))
  var models: [String] = []

  @OptionGroup var format: FormatOptions

  mutating func run(in session: CommandSession) throws -> Int32 {
    let inspection = try FileInspection(of: path, models: models)
    switch format.format {
    case .json: try session.print(json: inspection)
    case .text: session.output.write("\(inspection)\n")
    }
    if let problem = inspection.problem { throw problem }
    return 0
  }
}
