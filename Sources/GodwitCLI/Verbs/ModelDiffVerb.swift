import ArgumentParser
import GodwitInference

struct ModelDiffVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Show what changed between two models, and whether their hashes differ.")

  @Argument(help: ArgumentHelp("The earlier model.", valueName: "MODEL")) var from: String
  @Argument(help: ArgumentHelp("The later model.", valueName: "MODEL")) var to: String
  @OptionGroup var format: FormatOptions

  mutating func run(in session: CommandSession) throws -> Int32 {
    let difference = ModelComparison(from: try ModelVerb.read(from), to: try ModelVerb.read(to))
    switch format.format {
    case .json: try session.print(json: difference)
    case .text: session.output.write("\(difference)\n")
    }
    return 0
  }
}
