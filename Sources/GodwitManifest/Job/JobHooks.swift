import Foundation
import GodwitModel

/// The commands of `on-success` and `on-failure`, which `godwit run` calls when a run is over.
///
/// They run as those of `stages` do: by `/bin/sh`, in the manifest's folder, and what they print goes to standard error.
/// They also get the summary of the run on standard input.
package struct JobHooks: Sendable {
  /// The keys of the manifest.
  package enum Key: String, Sendable {
    case success = "on-success"
    case failure = "on-failure"
  }

  private let commands: [Key: [Located<String>]]
  private let folder: String
  private let output: @Sendable (String) -> Void

  init(_ manifest: JobManifest, output: @escaping @Sendable (String) -> Void) {
    commands = [.success: manifest.onSuccess, .failure: manifest.onFailure]
    folder = URL(filePath: manifest.file).deletingLastPathComponent().path
    self.output = output
  }

  /// Whether the manifest has commands under a key.
  package func has(_ key: Key) -> Bool { commands[key]?.isEmpty == false }

  /// Runs the commands of a key in their order, until one fails.
  ///
  /// - Parameters:
  ///   - summary: The text on their standard input.
  ///   - variables: Added to their environment.
  /// - Throws: `.inputOutput` (74) when one cannot be started, or does not end with 0.
  package func run(_ key: Key, summary: String, variables: [String: String]) throws {
    let environment = ProcessInfo.processInfo.environment.merging(variables) { _, new in new }
    for command in commands[key] ?? [] {
      let process = HookProcess(
        command: command.value, folder: folder, environment: environment, output: output, input: Array(summary.utf8))
      try process.run { cause in
        GodwitError(
          .inputOutput, "the \(key.rawValue) command '\(command.value)' failed", location: command.location,
          cause: cause, remedy: "fix the cause and run the same command")
      }
    }
  }
}

extension JobLoader {
  /// The commands to call when a run of the job is over.
  package var hooks: JobHooks { JobHooks(manifest, output: hookOutput) }
}
