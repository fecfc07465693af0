import ArgumentParser
import Godwit
import GodwitManifest

struct StatusVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show what is durable and what remains.")

  @OptionGroup var job: JobOptions
  @OptionGroup var overrides: OverrideOptions
  @OptionGroup var format: FormatOptions

  static var outputs: [OutputKind] { [.status, .stores] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let loader = try job.loader(in: session, overrides: overrides.values())
    if loader.isForManyStores {
      return try StoreSurvey(session: session, loader: loader, verb: "status", isJSON: format.format == .json).status()
    }
    let status = try MigrationManager(loader.job()).status()
    switch format.format {
    case .json: try session.print(json: status, as: .status)
    case .text: session.output.write("\(status)\n")
    }
    return 0
  }
}
