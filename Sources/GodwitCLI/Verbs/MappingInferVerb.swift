import ArgumentParser
import GodwitInference
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
        try session.print(json: Refused(error: error, refusals: inference.refusals), as: .error)
      }
      throw error
    }
    return 0
  }

  /// The error with its reasons one by one.
  private struct Refused: Encodable {
    let error: GodwitError
    let refusals: [MappingInference.Refusal]
    private enum CodingKeys: String, CodingKey { case refusals, refusalCodes }

    func encode(to encoder: any Encoder) throws {
      try FailureRecord(error).encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(refusals.map(\.description), forKey: .refusals)
      try container.encode(refusals.map(\.code), forKey: .refusalCodes)
    }
  }
}
