package import GodwitJob
import GodwitModel

/// The environment of a verb besides its arguments, including registrations of the caller for all verbs.
package struct CommandSession: Sendable {
  /// Data and progress.
  package var output: TextStream
  /// Errors, warnings, logging.
  package var diagnostics: TextStream
  /// The policies that mappings may name.
  package var policies: PolicyRegistry

  package init(output: TextStream, diagnostics: TextStream, policies: PolicyRegistry = [:]) {
    self.output = output
    self.diagnostics = diagnostics
    self.policies = policies
    output.join(diagnostics)
  }

  /// The status, or an error if essential output could not be written.
  ///
  /// - Parameter isForOutput: Whether the output is what the command was for. Otherwise what was done stands, and the
  ///   failure is said on standard error.
  func checked(_ status: Int32, isForOutput: Bool = true) throws -> Int32 {
    guard let cause = output.failure else { return status }
    guard isForOutput else {
      warn("cannot write to standard output: \(cause); the exit status (\(status)) is the job's")
      return status
    }
    guard status == 0 || status == 2 else { return status }
    throw GodwitError(
      .inputOutput, "cannot write to standard output", cause: cause, remedy: "check where the output goes")
  }
}
