/// Which of how many steps.
struct StepPosition: Sendable, Hashable {
  /// From 0.
  var index = 0
  var count = 1
  /// The digest of the whole job, which the last step writes into the store; nil for a job of one step.
  var jobDigest: String?

  var isFirst: Bool { index == 0 }
  var isLast: Bool { index == count - 1 }

  /// For example `step 2 of 4`.
  var site: String { "step \(index + 1) of \(count)" }
}
