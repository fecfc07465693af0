import GodwitModel
import GodwitVerifier
import Testing

extension Verifier {
  /// The report of a verification in place, which must be that of one that reads every object as a whole and replays
  /// every relationship.
  func runBothWays(sourceLocation: SourceLocation = #_sourceLocation) throws -> VerificationReport {
    let report = try run()
    var thorough = self
    thorough.usesShortcuts = false
    let other = try thorough.run()
    func lines(_ report: VerificationReport) -> [String] { report.findings.map(\.description).sorted() }
    // If there are more findings than are kept, others may be kept.
    if report.totalFindings <= VerificationReport.findingLimit {
      #expect(lines(report) == lines(other), sourceLocation: sourceLocation)
    }
    #expect(report.totalFindings == other.totalFindings, sourceLocation: sourceLocation)
    #expect(report.checks == other.checks, sourceLocation: sourceLocation)
    return report
  }
}
