import ArgumentParser
import GodwitJob
import GodwitManifest
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
    let record = Record(job: migration.name, file: output, uses: migration.policyUses, swift: stub.text)
    guard !stub.isEmpty else {
      session.diagnostics.write("godwit: no mapping of job '\(migration.name)' names a policy\n")
      if format.format == .json { try session.print(json: record.without(.file, .swift), as: .policyStub) }
      return 0
    }
    guard let output else {
      switch format.format {
      case .json: try session.print(json: record, as: .policyStub)
      case .text: session.output.write(data: stub.text)
      }
      return 0
    }
    try ExportFile.write(stub.text, to: OutputFile(output, "policies"))
    switch format.format {
    case .json: try session.print(json: record.without(.swift), as: .policyStub)
    case .text:
      session.output.write("\(output): \(Set(migration.policyUses.map(\.policy)).count) policies\n")
    }
    return 0
  }

  private struct Record: Encodable {
    enum Part { case file, swift }

    let job: String
    /// The Swift file, if it was written.
    var file: String?
    /// The mappings that name a policy.
    let uses: [PolicyUse]
    /// The Swift source, unless it was written.
    var swift: String?

    func without(_ parts: Part...) -> Record {
      var record = self
      if parts.contains(.file) { record.file = nil }
      if parts.contains(.swift) { record.swift = nil }
      return record
    }
  }
}
