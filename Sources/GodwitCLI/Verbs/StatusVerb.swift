import ArgumentParser
import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel

struct StatusVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show what is durable and what remains.",
    discussion: """
      Writes nothing, and works beside a running job. --check prints one line for a monitor such as Nagios or Icinga and \
      exits with 0 (OK), 1 (WARNING), 2 (CRITICAL) or 3 (UNKNOWN); for many stores, the worst of them.
      """)

  @OptionGroup var job: JobOptions
  @OptionGroup var overrides: OverrideOptions
  @OptionGroup var format: FormatOptions

  @Flag(help: "Print one line for a monitor, and exit with its status.")
  var check = false

  @Option(
    name: .customLong("max-age"),
    help: ArgumentHelp(
      "With --check: CRITICAL if the last success is longer ago than a time such as 26h.", valueName: "time"),
    transform: TimeBox.parse)
  var maximumAge: TimeBox?

  static var outputs: [OutputKind] { [.status, .stores, .results] }

  func validate() throws {
    if maximumAge != nil, !check { throw ValidationError("--max-age goes with --check") }
  }

  mutating func run(in session: CommandSession) throws -> Int32 {
    do {
      let loader = try job.loader(in: session, overrides: overrides.values())
      if loader.isForManyStores {
        if !check, let folder = try ResultsFolder.used(by: loader.manifest) {
          let record = try StoresRecord(loader, folder)
          switch format.format {
          case .json: try session.print(json: record, as: .results)
          case .text: session.output.write(record.text)
          }
          return 0
        }
        let survey = StoreSurvey(
          session: session, loader: loader, verb: "status", isJSON: format.format == .json)
        return try check ? survey.check(maximumAge: maximumAge, now: Date()) : survey.status()
      }
      let manager = MigrationManager(try loader.job())
      // A monitor asks often: all of a large source is not read for it.
      let status = try manager.status(comparesSource: !check)
      let check = check ? StatusCheck(status, maximumAge: maximumAge, now: Date()) : nil
      switch (format.format, check) {
      case (.json, _): try session.print(json: StatusRecord(status, check: check), as: .status)
      case (.text, let check?): session.output.write("\(check.line)\n")
      case (.text, nil): session.output.write("\(status)\n")
      }
      return check?.level.rawValue ?? 0
    } catch let error as GodwitError where check {
      switch format.format {
      case .json: session.output.write(try JSONText.document(FailureRecord(error)) + "\n")
      case .text: session.output.write("\(StatusCheck(unknown: error.line).line)\n")
      }
      return StatusCheck.Level.unknown.rawValue
    }
  }
}
