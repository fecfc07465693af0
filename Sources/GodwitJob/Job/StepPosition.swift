package import GodwitModel

/// Which of how many steps.
package struct StepPosition: Sendable, Hashable {
  package var step = StepID.first
  package var count = 1
  /// The digest of the whole job, which the last step writes into the store; nil for a job of one step.
  package var jobDigest: String?
  /// Whether the whole job migrates in place, of a step that is a job of its own.
  package var isInPlace = false
  /// Whether a step of the whole job calls `now()`.
  package var callsNow = false

  package init(step: StepID = .first, count: Int = 1, isInPlace: Bool = false) {
    self.step = step
    self.count = count
    self.isInPlace = isInPlace
  }

  package var isFirst: Bool { step == .first }
  package var isLast: Bool { step.count == count }

  /// For example `step 2 of 4`.
  package var context: String { "step \(step.count) of \(count)" }
}
