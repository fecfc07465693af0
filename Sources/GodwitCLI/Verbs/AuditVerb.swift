import ArgumentParser
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel

struct AuditVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "audit",
    abstract: "Find rows that a run would stop at or carry along broken; exit with 4 if there are any.",
    discussion: """
      Looks at the source by the rules of both versions, before the job runs: values of the wrong type, rows of unknown \
      entities, links that lead nowhere or one way only, missing external files, duplicates under uniqueness constraints, \
      and objects that validation would reject. Writes nothing.
      """)

  @OptionGroup var job: JobOptions
  @OptionGroup var overrides: OverrideOptions

  @Flag(help: "Print the values concerned too, and the shapes of encoded values. They are data of users.")
  var values = false

  @Option(help: ArgumentHelp("How many objects of each finding to name.", valueName: "N"))
  var samples = 5

  @OptionGroup var format: FormatOptions

  static var outputs: [OutputKind] { [.audit] }

  func validate() throws {
    guard (0...1000).contains(samples) else { throw ValidationError("--samples takes a number from 0 to 1000") }
  }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let migration = try job.loader(in: session, overrides: overrides.values()).job()
    try session.warnOfLogs(besideSourceOf: migration)
    let report = try MigrationManager(migration).audit(samples: samples, showingValues: values)
    switch format.format {
    case .json: try session.print(json: JoinedRecord(report, ["isClean": report.isClean]), as: .audit)
    case .text: session.output.write("\(report)\n")
    }
    return report.isClean ? 0 : GodwitError.Code.findings.rawValue
  }
}
