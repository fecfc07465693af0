import ArgumentParser
import Foundation
import Godwit
import GodwitModel

/// The verbs about stores of rejected objects.
struct QuarantineVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quarantine", abstract: "Bring the objects that a run set aside back into its source.",
    subcommands: [QuarantineApplyVerb.self])
}

struct QuarantineApplyVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "apply", abstract: "Write the edited objects of a quarantine into a copy of the source.",
    discussion: """
      Takes values, links, deletions and external files. Migrate the copy as any other store, for example with \
      `existing: replace` under `destination`. Edits that cannot be applied are an error, and then no copy is written.
      """)

  @Argument(help: ArgumentHelp("The edited quarantine.", valueName: "FILE"), completion: .file()) var quarantine: String
  @Argument(help: ArgumentHelp("The store that the run has read.", valueName: "SOURCE"), completion: .file())
  var source: String
  @Option(
    name: .shortAndLong, help: ArgumentHelp("The copy to create; it must not exist yet.", valueName: "COPY"),
    completion: .file())
  var output: String

  static var isForOutput: Bool { false }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let edits = try QuarantineEdits.apply(
      URL(filePath: quarantine), to: URL(filePath: source), writing: URL(filePath: output))
    session.output.write(
      "\(output): \(edits.edited.counted("object")) edited, \(edits.unchanged) not edited, \(edits.deleted) deleted\n"
    )
    for reason in edits.leftOut {
      session.warn("the copy lacks an index of the source, which the application has to make again: \(reason)")
    }
    return 0
  }
}
