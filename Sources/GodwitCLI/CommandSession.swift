import Godwit
import GodwitModel

/// What a verb works with besides its arguments. What a caller registers for all verbs belongs here.
struct CommandSession: Sendable {
  /// Data and progress.
  var output: TextStream
  /// Errors, warnings, logging.
  var diagnostics: TextStream
  /// What mappings may name.
  var policies: PolicyRegistry = [:]

  /// The status, unless output that nobody may miss could not be written.
  func checked(_ status: Int32) throws -> Int32 {
    guard status == 0 || status == 2, let cause = output.failure else { return status }
    throw GodwitError(
      .inputOutput, "cannot write to standard output", cause: cause, remedy: "check where the output goes")
  }
}
