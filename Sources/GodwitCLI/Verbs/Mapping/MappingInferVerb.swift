import ArgumentParser
import GodwitModel

struct MappingInferVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "infer", abstract: "Print the mapping model that Core Data would infer, with a reason for every line.",
    discussion: "If none can be inferred, prints every reason and exits with 69.")

  @Argument(help: MappingVerb.source, completion: .file()) var source: String
  @Argument(help: MappingVerb.destination, completion: .file()) var destination: String
  @OptionGroup var output: MappingOutput

  static var outputs: [OutputKind] { [.mappingResult] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let inference = MappingInference(from: try ModelVerb.read(source), to: try ModelVerb.read(destination))
    do {
      try output.write(try inference.mappingModel(), remarks: inference.remarks, in: session)
    } catch let error as GodwitError where error.code == .noPath {
      if output.format.format == .json {
        let refusals = inference.refusals
        try session.print(
          json: JoinedRecord(
            FailureRecord(error), ["refusals": refusals.map(\.description)], ["refusalCodes": refusals.map(\.code)]),
          as: .error)
      }
      throw error
    }
    return 0
  }
}
