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

  static var outputs: [OutputKind] { [.verify] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let report = try Verifier(job: try job.loader(in: session, overrides: overrides.values()).job(for: .verification))
      .run()
    switch format.format {
    case .json: try session.print(json: Record(report: report), as: .verify)
    case .text: session.output.write("\(report)\n")
    }
    return report.isClean ? 0 : GodwitError.Code.findings.rawValue
  }

  /// The report with its verdict.
  private struct Record: Encodable {
    let report: VerificationReport
    private enum CodingKeys: String, CodingKey { case isClean }

    func encode(to encoder: any Encoder) throws {
      try report.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(report.isClean, forKey: .isClean)
    }
  }
}
