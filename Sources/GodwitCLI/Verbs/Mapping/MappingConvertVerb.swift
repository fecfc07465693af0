import ArgumentParser
import GodwitXcode

struct MappingConvertVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "convert", abstract: "Print a .xcmappingmodel or .cdm as an equivalent mapping file.",
    discussion: """
      A .xcmappingmodel omits what Xcode's compiler fills in from the two models. Give the models with --source and \
      --destination. Without them, Godwit uses the models inside the file, as of the last time Xcode refreshed it.
      """)

  @Argument(
    help: ArgumentHelp("A .xcmappingmodel, the xcmapping.xml in it, or a .cdm.", valueName: "FILE"), completion: .file()
  )
  var file: String

  @Option(help: ArgumentHelp("The source model of the mapping model.", valueName: "MODEL"), completion: .file())
  var source: String?
  @Option(help: ArgumentHelp("The destination model of the mapping model.", valueName: "MODEL"), completion: .file())
  var destination: String?
  @OptionGroup var output: MappingOutput

  func validate() throws {
    guard (source == nil) == (destination == nil) else {
      throw ValidationError("expected --source and --destination together, found one of them")
    }
  }

  static var outputs: [OutputKind] { [.mappingResult] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let found = try XcodeMappingModel(contentsOf: file)
    guard let source, let destination else {
      try output.write(try found.mappingModel(), remarks: [], in: session)
      return 0
    }
    let models = (try ModelVerb.read(source), try ModelVerb.read(destination))
    try output.write(try found.mappingModel(from: models.0, to: models.1), remarks: [], in: session)
    return 0
  }
}
