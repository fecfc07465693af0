import GodwitModel

/// The objects that a run would reject or keep, counted before it begins.
package struct RunForecast: Sendable, Hashable {
  /// A reason why a run rejects objects.
  package struct Rejection: Sendable, Hashable {
    package var code: RunObstacle.Code
    /// The objects and the reason.
    package var text: String
    /// The entity of the source.
    package var entity: String

    /// - Parameters:
    ///   - finding: A finding of an audit.
    ///   - isSetAside: Whether the job sets objects aside, those with a missing file too.
    package init(_ finding: AuditReport.Finding, isSetAside: Bool) {
      code =
        switch finding.kind {
        case .duplicate: .duplicates
        case .unwritable: .valuesDoNotFit
        case .missingFile: isSetAside ? .objectsRejected : .missingFile
        default: .objectsRejected
        }
      entity = finding.entity
      let property = finding.kind == .expression ? finding.property.map { " of '\($0)'" } ?? "" : ""
      text =
        "\(finding.isLowerBound ? "at least " : "")\(finding.count.counted("object")) of \(finding.entity): "
        + (property.isEmpty ? finding.message : finding.message.replacing("the value ", with: "the value\(property) "))
    }
  }

  /// In the order of the checks.
  package var rejections: [Rejection]
  /// The objects that stay although they break rules.
  package var kept: [KeptInvalid]
  /// The required relationships of which only the run can say how many objects they lead to, with the reason.
  package var uncounted: [String] = []
  /// How many objects the run sets aside; nil if it sets none aside.
  package var setAside: Int64?
  /// Whether these are more than the job allows.
  package var isBeyondLimit = false
  /// Whether these are all objects, and the job does not allow an empty destination.
  package var leavesNothing = false

  package init(rejections: [Rejection], kept: [KeptInvalid]) { (self.rejections, self.kept) = (rejections, kept) }

  /// The entities of the objects that the run sets aside.
  package var setAsideEntities: Set<String> {
    Set(rejections.filter { $0.code == .objectsRejected }.map(\.entity))
  }

  /// What stops the run.
  var obstacles: [RunObstacle] {
    var found: [RunObstacle] = []
    if let setAside, isBeyondLimit {
      let count = "at least \(setAside.counted("object")) \(setAside == 1 ? "is" : "are")"
      found.append(RunObstacle(.objectsRejected, .dataWrong, "\(count) rejected, which is more than the job allows"))
    }
    if let setAside, leavesNothing, !isBeyondLimit {
      found.append(
        RunObstacle(.objectsRejected, .dataWrong, "all \(setAside.counted("object")) are rejected, which leaves none"))
    }
    return found
      + rejections.compactMap { rejection in
        guard setAside == nil || isBeyondLimit || rejection.code != .objectsRejected else { return nil }
        return RunObstacle(rejection.code, .dataWrong, rejection.text)
      }
  }
}
