import Foundation
import Testing

/// One way to break a job, and how the command must answer.
struct BadInput: Sendable, CustomTestStringConvertible {
  /// The user who runs the command: permissions do not hold for root.
  enum User: Sendable { case anybody, nobody }

  var name: String
  var arguments: [String]
  var status: Int32
  /// Texts that the message must contain: above all the place.
  var fragments: [String]
  var user = User.anybody
  /// Whether chunks were due: the work folder stays then, and `discard` removes it.
  var leavesWork = false
  var spoil: @Sendable (BreakableJob) throws -> Void

  var testDescription: String { name }

  init(
    _ name: String, _ arguments: [String], _ status: Int32, _ fragments: [String],
    user: User = .anybody, leavesWork: Bool = false, spoil: @escaping @Sendable (BreakableJob) throws -> Void
  ) {
    self.name = name
    self.arguments = arguments
    self.status = status
    self.fragments = fragments
    self.user = user
    self.leavesWork = leavesWork
    self.spoil = spoil
  }

  /// A job that is broken for `run`.
  init(
    _ name: String, _ status: Int32, _ fragments: [String], user: User = .anybody, leavesWork: Bool = false,
    spoil: @escaping @Sendable (BreakableJob) throws -> Void
  ) {
    self.init(name, ["run", "job.yaml"], status, fragments, user: user, leavesWork: leavesWork, spoil: spoil)
  }
}
