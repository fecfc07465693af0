import GodwitJob
import GodwitModel
import GodwitVerifier
import Testing

extension Verifier {
  /// The report of a verification in place. It must be that of one that reads every object as a whole and replays every
  /// relationship, and that of one that proves ranges of six rows on two threads.
  func runBothWays(sourceLocation: SourceLocation = #_sourceLocation) throws -> VerificationReport {
    let report = try run()
    var thorough = self
    thorough.usesShortcuts = false
    let threaded = try EngineTuning.with(\.readers, 2) {
      try EngineTuning.with(\.verifiedRowsPerRange, 6) { try run() }
    }
    for other in [try thorough.run(), threaded] {
      Self.expectSame(report, other, sourceLocation)
    }
    return report
  }

  private static func expectSame(
    _ report: VerificationReport, _ other: VerificationReport, _ sourceLocation: SourceLocation
  ) {
    func lines(_ report: VerificationReport) -> [String] { report.findings.map(\.description).sorted() }
    // If there are more findings than are kept, others may be kept.
    if report.totalFindings <= VerificationReport.findingLimit {
      #expect(lines(report) == lines(other), sourceLocation: sourceLocation)
    }
    #expect(report.totalFindings == other.totalFindings, sourceLocation: sourceLocation)
    #expect(report.checks == other.checks, sourceLocation: sourceLocation)
  }
}
