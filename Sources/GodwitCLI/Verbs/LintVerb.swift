import ArgumentParser
import Foundation
import GodwitLint
import GodwitModel

struct LintVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "lint",
    abstract: "Find what will break for users: edited versions, missing paths, losses, stale mapping models.",
    discussion: """
      Needs no store. Each finding has a code, a severity, a file and line, and a remedy. The lock file holds the shipped \
      versions and the accepted findings. Without --lock it is models.lock.json in the current folder, if that exists. \
      Exit status: 0 no error; 4 an error, or with --strict a warning; 64 wrong usage; 66 MODELS or the lock file is \
      missing or cannot be read; 73 the lock file cannot be written; 78 its content is wrong.
      """)

  /// How a report is printed.
  enum Format: String, ExpressibleByArgument, CaseIterable {
    case text, json, sarif, github
  }

  @Argument(
    help: ArgumentHelp(
      "A .xcdatamodeld, .momd, .xcdatamodel or .mom, or a folder of models. PATH#Version Name checks up to that version.",
      valueName: "MODELS"), completion: .file())
  var models: [String]

  @Option(
    help: ArgumentHelp("The lock file, with shipped versions and accepted findings.", valueName: "FILE"),
    completion: .file())
  var lock: String?

  @Flag(
    name: .customLong("write-lock"),
    help: "Add the versions that the lock file lacks. Recorded versions stay unchanged.")
  var writesLock = false

  @Option(
    help: ArgumentHelp(
      "Print text, JSON, SARIF 2.1.0 or GitHub's workflow commands.", valueName: "text|json|sarif|github"))
  var format: Format = .text

  @Flag(help: "Exit with 4 for warnings too.")
  var strict = false

  @Flag(
    name: .customLong("all"), help: "Also list accepted findings, and findings about steps between shipped versions.")
  var showsAll = false

  static var outputs: [OutputKind] { [.lint] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let path = lock ?? ModelLock.standardName
    let linter = try Linter(models, lock: path, mayLockBeMissing: lock == nil || writesLock)
    let stream = session.diagnostics
    let isShown = stream.isTerminal && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    let report = linter.report(isLocking: writesLock) { checked, count in
      if isShown { stream.write(control: "\r\(checked) of \(count) versions compared") }
    }
    if isShown { stream.write(control: "\r\u{1B}[K") }
    switch format {
    case .text: session.output.write(report.text(showsAll: showsAll))
    case .json: session.output.write(try report.json() + "\n")
    case .sarif: session.output.write(try report.sarif(version: GodwitCommand.version, showsAll: showsAll) + "\n")
    case .github: session.output.write(report.github())
    }
    if writesLock {
      let (extended, added) = linter.extendedLock()
      if added > 0 || report.lock == nil { try extended.write(to: path) }
      session.diagnostics.write(
        added == 0
          ? "\(path.onOneLine): no version added\n" : "\(path.onOneLine): \(added.counted("version")) added\n")
    } else if report.lock == nil, format == .text {
      session.output.write(report.lockHint)
    }
    return report.fails(isStrict: strict) ? 4 : 0
  }
}
