import ArgumentParser
import Godwit
import GodwitManifest

struct StatusVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show what is durable and what remains.")

  @OptionGroup var job: JobOptions
  @OptionGroup var overrides: OverrideOptions
  @OptionGroup var format: FormatOptions

  static var outputs: [OutputKind] { [.status] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let status = try MigrationManager(job.loader(in: session, overrides: overrides.values()).job()).status()
    switch format.format {
    case .json: try session.print(json: status, as: .status)
    case .text: session.output.write("\(status)\n")
    }
    return 0
  }
}
