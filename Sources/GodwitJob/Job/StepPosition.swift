/// Which of how many steps.
package struct StepPosition: Sendable, Hashable {
  /// From 0.
  package var index = 0
  package var count = 1
  /// The digest of the whole job, which the last step writes into the store; nil for a job of one step.
  package var jobDigest: String?
  /// Whether the whole job migrates in place, of a step that is a job of its own.
  package var isInPlace = false
  /// Whether a step of the whole job calls `now()`.
  package var callsNow = false

  package init(index: Int = 0, count: Int = 1, isInPlace: Bool = false) {
    self.index = index
    self.count = count
    self.isInPlace = isInPlace
  }

  package var isFirst: Bool { index == 0 }
  package var isLast: Bool { index == count - 1 }

  /// For example `step 2 of 4`.
  package var context: String { "step \(index + 1) of \(count)" }
}
