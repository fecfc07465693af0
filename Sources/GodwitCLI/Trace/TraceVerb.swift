import ArgumentParser
import Godwit
import GodwitManifest

struct TraceVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "trace", abstract: "Show what an object was made of, or what became of it.",
    discussion: """
      Prints values of objects. Keys are computed again from the plan of the job, so that both stores have to be there. \
      Writes to neither.
      """)

  enum Side: String, ExpressibleByArgument, CaseIterable {
    case source, destination
  }

  @OptionGroup var job: JobOptions

  @Argument(help: ArgumentHelp("An object, x-coredata://STORE/Entity/p1 or Entity/p1.", valueName: "URI"))
  var uri: String

  @Option(
    help: ArgumentHelp(
      "Where Entity/p1 is looked for; by default in the destination, then in the source.",
      valueName: "source|destination"))
  var side: Side?

  @OptionGroup var overrides: OverrideOptions
  @OptionGroup var format: FormatOptions

  static var outputs: [OutputKind] { [.trace] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let manager = MigrationManager(try job.loader(in: session, overrides: overrides.values()).job())
    let trace = try manager.trace(uri, in: side.flatMap { ObjectTrace.Side(rawValue: $0.rawValue) })
    switch format.format {
    case .json: try session.print(json: TraceRecord(trace), as: .trace)
    case .text: session.output.write(TraceText(trace).text)
    }
    return 0
  }
}
