import ArgumentParser
import GodwitModel

struct ModelDiffVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Show what changed between two models, and whether their hashes differ.",
    discussion: "--format html prints one page without scripts: `godwit model diff A B --format html > diff.html`.")

  /// How the changes are printed.
  enum Format: String, ExpressibleByArgument, CaseIterable {
    case text, json, mermaid, html
  }

  @Argument(help: ArgumentHelp("The earlier model.", valueName: "MODEL"), completion: .file()) var from: String
  @Argument(help: ArgumentHelp("The later model.", valueName: "MODEL"), completion: .file()) var to: String
  @Option(
    help: ArgumentHelp(
      "Print text, JSON, a flowchart for Mermaid, or a page of HTML.", valueName: "text|json|mermaid|html"))
  var format: Format = .text

  static var outputs: [OutputKind] { [.modelDiff] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let difference = ModelComparison(from: try ModelVerb.read(from), to: try ModelVerb.read(to))
    switch format {
    case .json: try session.print(json: difference, as: .modelDiff)
    case .text: session.output.write("\(difference)\n")
    case .mermaid: session.output.write(data: difference.mermaid)
    case .html: session.output.write(data: difference.html)
    }
    return 0
  }
}
