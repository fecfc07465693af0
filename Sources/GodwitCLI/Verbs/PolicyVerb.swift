import ArgumentParser
import GodwitJob
import GodwitManifest

/// The verbs about migration policies.
struct PolicyVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy", abstract: "Draft the Swift policies that a job names.",
    subcommands: [PolicyStubVerb.self])
}

struct PolicyStubVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "stub",
    abstract: "Print Swift source that compiles, with one policy type for each class that the job's mappings name.",
    discussion: """
      The file is an executable that registers the policies. Comments name each mapping's entities and attributes, and \
      mark the attributes that nothing else sets.
      """)

  @OptionGroup var job: JobOptions

  @Option(name: .shortAndLong, help: ArgumentHelp("Write to a new Swift file.", valueName: "FILE"), completion: .file())
  var output: String?

  mutating func run(in session: CommandSession) throws -> Int32 {
    let migration = try job.loader(in: session).job()
    let stub = PolicyStub(migration)
    guard !stub.isEmpty else {
      session.diagnostics.write("godwit: no mapping of job '\(migration.name)' names a policy\n")
      return 0
    }
    guard let output else {
      session.output.write(data: stub.text)
      return 0
    }
    let file = try ExportFile(path: output)
    do { try file.write(stub.text) } catch {
      file.discard()
      throw error
    }
    try file.finish()
    session.output.write("\(output): \(Set(migration.policyUses.map(\.policy)).count) policies\n")
    return 0
  }
}
