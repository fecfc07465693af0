import ArgumentParser
import Godwit
import GodwitManifest
import GodwitModel
import GodwitVerifier

struct VerifyVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Prove the destination against the source; exit with 4 if something differs.")

  @OptionGroup var job: JobOptions
  @OptionGroup var overrides: OverrideOptions
  @OptionGroup var format: FormatOptions

  mutating func run(in session: CommandSession) throws -> Int32 {
    let report = try Verifier(job: try job.loader(in: session, overrides: overrides.values()).job(for: .verification))
      .run()
    switch format.format {
    case .json: try session.print(json: report)
    case .text: session.output.write("\(report)\n")
    }
    return report.isClean ? 0 : GodwitError.Code.findings.rawValue
  }
}
