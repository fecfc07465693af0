import GodwitJob
import GodwitModel

/// The report of a verification under construction, and what the later parts must know of the earlier ones' findings.
final class Findings {
  private(set) var report = VerificationReport()
  /// Root entities whose tables have other objects than the mappings lead to.
  var unsound: Set<String> = []
  /// Entities of the destination that have objects which no mapping without a policy explains.
  var policyEntities: Set<String> = []

  func find(
    _ kind: VerificationReport.Finding.Kind, _ entity: String, key: Int64? = nil, property: String? = nil,
    _ message: String
  ) {
    report.add(.init(kind, entity: entity, key: key, property: property, message: message))
  }

  /// A finding that concerns no entity of the destination.
  func find(
    _ kind: VerificationReport.Finding.Kind, key: Int64? = nil, property: String? = nil, _ message: String
  ) {
    report.add(.init(kind, key: key, property: property, message: message))
  }

  /// Counts things that were checked, or that could not be.
  func count(_ name: String, _ count: Int64) { report.count(name, count) }

  /// Takes back what was found and counted since an earlier state of the report.
  func takeBack(to earlier: VerificationReport) { report = earlier }

  /// Puts findings before those that are there.
  func prepend(_ first: [VerificationReport.Finding]) { report.prepend(first) }

  /// Restores the findings of an earlier verification in place of those so far.
  func resume(_ start: VerificationCheckpoint) {
    report = start.report
    (unsound, policyEntities) = (start.unsound, start.policyEntities)
  }
}
