/// The steps of a job, in the order of their versions.
@usableFromInline
package enum NumberedStep {}

/// The number of a step, from 0. Messages, folders, plans and receipts say its `count`, which begins with 1.
package typealias StepID = ListNumber<NumberedStep>

extension StepID {
  package static let first = StepID(0)

  /// The step that messages and files call by `count`.
  package init(count: Int) { self.init(count - 1) }

  /// Its place from 1.
  package var count: Int { number + 1 }
  package var next: StepID { StepID(number + 1) }
}
