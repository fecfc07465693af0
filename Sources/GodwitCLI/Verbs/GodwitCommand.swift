import ArgumentParser
import Foundation
public import GodwitJob
import GodwitModel
import GodwitStore

/// The whole command line, for an executable that adds policies.
///
/// ```swift
/// import GodwitCLI
///
/// @main struct Migrate {
///   static func main() { GodwitCommand.main(policies: ["SplitFullName": { SplitFullName() }]) }
/// }
/// ```
public enum GodwitCommand {
  /// The version of Godwit, as `godwit --version` prints it.
  public static let version = "0.3.0"

  /// The verbs, in the order of the help.
  public static var verbs: [String] { RootCommand.verbs.map { $0.configuration.commandName ?? "" } }

  /// Runs one command and ends the process with its exit status.
  ///
  /// Ignores SIGPIPE and SIGXFSZ for the whole process: a closed pipe never ends a migration, and a file that reaches
  /// its size limit is an error like a full disk.
  ///
  /// - Parameters:
  ///   - policies: The policies that mappings may name under `policy`.
  ///   - arguments: The command line after the command's name.
  public static func main(
    policies: PolicyRegistry = [:], arguments: [String] = Array(CommandLine.arguments.dropFirst())
  ) -> Never {
    signal(SIGPIPE, SIG_IGN)
    // A write beyond `ulimit -f` then fails with an error.
    signal(SIGXFSZ, SIG_IGN)
    occupyStandardStreams()
    StoreConnection.forgoMemoryStatistics()
    let session = CommandSession(output: .standardOutput, diagnostics: .standardError, policies: policies)
    if let error = missingArguments(CommandLine.arguments, given: arguments) { exit(report(error, in: session)) }
    let status = run(arguments: arguments, in: session)
    exit(status)
  }

  /// The error of a command whose words nobody knows: Swift reads them from `/proc`. nil where they are known.
  ///
  /// - Parameters:
  ///   - all: The words of the process, its name first.
  ///   - given: The words to run.
  static func missingArguments(_ all: [String], given: [String]) -> GodwitError? {
    guard all.isEmpty, given.isEmpty else { return nil }
    return GodwitError(
      .missingInput, "cannot read the words of the command: '/proc/self/cmdline' cannot be read",
      remedy: "mount /proc: `mount -t proc proc /proc`, in a container or chroot too", safe: "nothing was done")
  }

  /// Gives standard streams that are closed a descriptor that cannot be written: the next file that is opened would get
  /// theirs, and messages would be written into it.
  private static func occupyStandardStreams() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_RDONLY)
    }
  }

  /// Runs one command: parses, carries out, prints errors.
  ///
  /// - Returns: the exit status of the contract's table.
  package static func run(arguments: [String], in session: CommandSession) -> Int32 {
    // Before anything is parsed, so that a wrong option is told in the same format.
    if arguments.first == "run", has("--log-format", "json", arguments) {
      session.diagnostics.logSettings = .init()
    }
    do {
      try refuseUnknownVerb(arguments)
      try refuseUnknownHelp(arguments)
      var command = try RootCommand.parseAsRoot(arguments)
      guard var verb = command as? any Verb else { return try runGroup(&command, in: session) }
      // A thread takes the signals: without one a run could not stop at a checkpoint.
      guard WorkerThread.start({}) else { throw WorkerThread.refusal(to: "work") }
      let status = try verb.run(in: session)
      return try session.checked(status, isForOutput: type(of: verb).isForOutput)
    } catch {
      let status = report(error, in: session)
      if status != 0 { reportJSON(failure(of: error), to: arguments, in: session) }
      return status
    }
  }

  /// Any error as one of ours: a wrong option, or a bug.
  private static func failure(of error: any Error) -> GodwitError {
    if let error = error as? GodwitError { return error }
    guard RootCommand.exitCode(for: error) == .validationFailure else { return unexpected(error) }
    return GodwitError(
      .usage, RootCommand.message(for: error), remedy: "see `godwit help` and the verb for its options")
  }

  /// A failure that nobody expected: a bug.
  static func unexpected(_ error: any Error) -> GodwitError {
    GodwitError(.internalBug, "unexpected failure: \(error)", remedy: "report it with the command line")
  }

  /// ArgumentParser would call it an unexpected argument, and not say which verb was meant.
  private static func refuseUnknownVerb(_ arguments: [String]) throws {
    guard let first = arguments.first, !first.hasPrefix("-"), !(verbs + ["help"]).contains(first) else { return }
    throw GodwitError(
      .usage, "unknown verb '\(first)'" + Spelling.suggestion(for: first, among: verbs),
      remedy: "see `godwit --help` for the verbs")
  }

  /// `help nosuch` is wrong usage: ArgumentParser would print the help of the whole command, with status 0.
  private static func refuseUnknownHelp(_ arguments: [String]) throws {
    guard arguments.first == "help" else { return }
    var group: any ParsableCommand.Type = RootCommand.self
    for word in arguments.dropFirst() where !word.hasPrefix("-") {
      let verbs = group.configuration.subcommands
      guard let next = verbs.first(where: { $0.configuration.commandName == word }) else {
        let names = verbs.compactMap { $0.configuration.commandName }
        throw GodwitError(
          .usage, "there is no help for '\(word)'" + Spelling.suggestion(for: word, among: names),
          remedy: "see `godwit --help` for the verbs")
      }
      group = next
    }
  }

  /// Whether an option has a value, in either of the forms that it may take.
  private static func has(_ option: String, _ value: String, _ arguments: [String]) -> Bool {
    arguments.contains("\(option)=\(value)") || zip(arguments, arguments.dropFirst()).contains { $0 == (option, value) }
  }

  /// Reports a failure as JSON if the arguments asked for JSON.
  private static func reportJSON(_ error: GodwitError, to arguments: [String], in session: CommandSession) {
    // A verb that has printed its document has reported its findings in it.
    guard !session.output.isUsed else { return }
    if arguments.first == "run", has("--progress", "json", arguments) {
      guard !arguments.contains("--quiet"), !arguments.contains("-q") else { return }
      let printer = ProgressPrinter(mode: .json, stream: session.output)
      try? printer.begin()
      try? printer.end(failedWith: error)
    } else if has("--format", "json", arguments) {
      guard let text = try? JSONText.document(FailureRecord(error)) else { return }
      session.output.write(text + "\n")
    }
  }

  /// A group without a verb is wrong usage; `help` answers with its text as an error.
  private static func runGroup(_ command: inout any ParsableCommand, in session: CommandSession) throws -> Int32 {
    let type = type(of: command)
    guard !type.configuration.subcommands.isEmpty else {
      try command.run()
      return 0
    }
    session.diagnostics.write("godwit: expected a verb, found none\n" + RootCommand.helpMessage(for: type) + "\n")
    return GodwitError.Code.usage.rawValue
  }

  /// Prints an error where it belongs and gives its exit status.
  static func report(_ error: any Error, in session: CommandSession) -> Int32 {
    // The parser's own texts: a help or version that was asked for, and wrong usage with the usage of the verb.
    let code = error is GodwitError ? nil : RootCommand.exitCode(for: error)
    if code == .success {
      session.output.write(RootCommand.fullMessage(for: error) + "\n")
      return (try? session.checked(0)) ?? GodwitError.Code.inputOutput.rawValue
    }
    let failure = failure(of: error)
    if code == .validationFailure, session.diagnostics.logSettings == nil {
      let (lead, text) = ("Error: ", RootCommand.fullMessage(for: error))
      session.diagnostics.write("godwit: " + (text.hasPrefix(lead) ? String(text.dropFirst(lead.count)) : text) + "\n")
    } else {
      session.write(failure)
    }
    return failure.code.rawValue
  }
}
