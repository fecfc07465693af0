import ArgumentParser
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore

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
  @OptionGroup var format: FormatOptions

  static var outputs: [OutputKind] { [.policyStub] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let migration = try job.loader(in: session).job()
    let stub = PolicyStub(migration)
    let uses = migration.policyUses
    let file = stub.isEmpty ? nil : output
    if stub.isEmpty {
      session.diagnostics.write("godwit: no mapping of job '\(migration.name)' names a policy\n")
    } else if let file {
      try ExportFile.write(stub.text, to: OutputFile(file, "policies"))
    }
    let swift = stub.isEmpty || file != nil ? nil : stub.text
    switch (format.format, file) {
    case (.json, _):
      try session.print(json: Record(job: migration.name, file: file, uses: uses, swift: swift), as: .policyStub)
    case (.text, let file?): session.output.write("\(file.onOneLine): \(Set(uses.map(\.policy)).count) policies\n")
    case (.text, nil): if let swift { session.output.write(data: swift) }
    }
    return 0
  }

  private struct Record: Encodable {
    let job: String
    /// The Swift file, if it was written.
    let file: String?
    /// The mappings that name a policy.
    let uses: [PolicyUse]
    /// The Swift source, unless it was written.
    let swift: String?
  }
}
