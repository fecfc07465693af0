import Foundation
import GodwitCLI
import TestSupport
import Testing

/// The completions of shells after `godwit`: the scripts come from `--generate-completion-script`.
struct CompletionTests {
  /// An argument or option as `--experimental-dump-help` prints it.
  private struct Argument: Decodable {
    let kind: String
    let valueName: String?
    let shouldDisplay: Bool
    let completionKind: [String: [String: [String]]]?
  }

  private struct Command: Decodable {
    let commandName: String
    let arguments: [Argument]?
    let subcommands: [Command]?

    /// Arguments and options with their verb, of this command and all below it.
    func all(below path: String = "") -> [(verb: String, argument: Argument)] {
      let name = path + commandName
      return (arguments ?? []).filter { $0.kind != "flag" && $0.shouldDisplay }.map { (name, $0) }
        + (subcommands ?? []).filter { $0.commandName != "help" }.flatMap { $0.all(below: name + " ") }
    }
  }

  private static func arguments() throws -> [(verb: String, argument: Argument)] {
    struct Dump: Decodable { let command: Command }
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    #expect(GodwitCommand.run(arguments: ["--experimental-dump-help"], in: session) == 0)
    return try JSONDecoder().decode(Dump.self, from: Data(session.output.text.utf8)).command.all()
  }

  /// The placeholders of the help that stand for a path.
  private static let files: Set = [
    "JOB.yaml", "PATH", "MODEL", "MODELS", "STORE", "OUT", "FILE", "SOURCE", "DESTINATION", "COPY",
    "X.xcdatamodeld",
    "OLD.json",
  ]
  /// Those that no shell can complete.
  private static let words: Set = [
    "VERSION", "N", "S", "E", "PREDICATE", "NAME", "KEY=VALUE", "TABLE", "TEXT", "time", "percent", "URI", "I/N",
  ]

  @Test func `every argument and option that takes a path completes file names`() throws {
    var count = 0
    for (verb, argument) in try Self.arguments() where !Self.words.contains(argument.valueName ?? "") {
      let offered = argument.completionKind?.keys.first
      let name = try #require(argument.valueName)
      if Self.files.contains(name) {
        count += 1
        #expect(offered == "file", "\(verb) \(name)")
      } else if name == "DIR" {
        #expect(offered == "directory", "\(verb) \(name)")
      } else {
        // A new placeholder belongs in one of the two sets above.
        #expect(offered == "list", "\(verb) \(name)")
      }
    }
    #expect(count > 40)
  }

  @Test func `bash completes verbs, manifests, stores and folders`() throws {
    let folder = try TemporaryFolder()
    for name in ["job.yaml", "notes.txt", "old.sqlite"] {
      try Data().write(to: URL(filePath: folder.file(name)))
    }
    try FileManager.default.createDirectory(atPath: folder.file("App.xcdatamodeld"), withIntermediateDirectories: true)
    func completions(_ words: String...) throws -> Set<String> {
      let line = (["godwit"] + words).joined(separator: " ")
      let script = """
        exec bash --norc -c 'source <("$GODWIT" --generate-completion-script bash)
        COMP_WORDS=(\(line) "$0"); COMP_CWORD=\(words.count + 1); COMP_LINE="\(line) "; COMP_POINT=${#COMP_LINE}
        COMP_TYPE=9; COMP_KEY=9
        _godwit godwit "" "\(words.last ?? "godwit")" 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"' ''
        """
      let result = try ShellCommand.run(script, in: folder.path)
      return Set(result.output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
    }
    #expect(try completions().isSuperset(of: GodwitCommand.verbs))
    #expect(try completions("run").contains("job.yaml"))
    #expect(try !completions("run").contains("notes.txt"))
    #expect(try completions("inspect").isSuperset(of: ["old.sqlite", "App.xcdatamodeld", "notes.txt"]))
    #expect(try completions("test", "App.xcdatamodeld", "--stores") == ["App.xcdatamodeld"])
    #expect(try completions("plan", "job.yaml", "--format").isSuperset(of: ["text", "json", "dot", "mermaid"]))
  }
}
