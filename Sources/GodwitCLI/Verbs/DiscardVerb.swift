import ArgumentParser
import Godwit
import GodwitManifest
import GodwitStore

struct DiscardVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "discard",
    abstract: "Remove an unfinished destination with its ledger, spill files and external files, without asking.",
    discussion: "Leaves a finished destination and the source unchanged.")

  @OptionGroup var job: JobOptions
  @OptionGroup var overrides: OverrideOptions
  @OptionGroup var format: FormatOptions

  static var isForOutput: Bool { false }

  static var outputs: [OutputKind] { [.discard] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    // Models and mappings are not read: a job whose mapping is broken can be discarded too.
    let loader = try job.loader(in: session, overrides: overrides.values())
    try loader.refuseManyStores()
    let destination = loader.destination()
    let folder = WorkFolder.path(forDestination: destination)
    let isRemoved = try MigrationManager.discard(destination: destination, isInPlace: loader.isInPlace)
    switch format.format {
    case .json:
      let record = Record(job: loader.manifest.job, path: folder, isRemoved: isRemoved)
      try session.print(json: record, as: .discard)
    case .text:
      session.output.write(
        isRemoved
          ? "removed '\(folder)': the unfinished store, its ledger and spill files\n"
          : "nothing to discard: '\(folder)' does not exist\n")
    }
    return 0
  }

  private struct Record: Encodable {
    let job: String
    /// The work folder.
    let path: String
    /// Whether there was one.
    let isRemoved: Bool
  }
}
