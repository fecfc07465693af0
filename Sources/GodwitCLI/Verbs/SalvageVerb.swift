import ArgumentParser
import GodwitModel
import GodwitSalvage

struct SalvageVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "salvage", abstract: "Make a whole store from what can be read of a damaged one.",
    discussion: """
      Reads the pages of the store without SQLite, and writes a copy of the same version. The store is never written. \
      The report lists what is lost, and what was inferred. Exit status: 0 if nothing was lost, 3 if something was.
      """)

  @Argument(help: ArgumentHelp("The damaged store.", valueName: "STORE"), completion: .file()) var store: String
  @Option(
    name: .shortAndLong, help: ArgumentHelp("The copy to create; it must not exist yet.", valueName: "COPY"),
    completion: .file())
  var output: String
  @Option(
    help: ArgumentHelp(
      "The store's model, a bundle or one version; by default the model inside the store, else that of its receipt.",
      valueName: "MODEL"),
    completion: .file())
  var model: String?
  @OptionGroup var format: FormatOptions

  /// The exit status of a copy that lacks something.
  static let lossStatus: Int32 = 3

  static var isForOutput: Bool { false }

  static var outputs: [OutputKind] { [.salvage] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let report = try Salvage(store: store, copy: output, models: model.map { [$0] } ?? []).run()
    switch format.format {
    case .json: try session.print(json: report, as: .salvage)
    case .text: session.output.write("\(report)\n")
    }
    return report.isWhole ? 0 : Self.lossStatus
  }
}
