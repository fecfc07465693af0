import ArgumentParser
import Godwit
import GodwitManifest

struct DiscardVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "discard",
    abstract: "Remove an unfinished destination with its ledger, spill files and external files, without asking.",
    discussion: "Leaves a finished destination and the source unchanged.")

  @OptionGroup var job: JobOptions
  @OptionGroup var overrides: OverrideOptions

  static var isForOutput: Bool { false }

  mutating func run(in session: CommandSession) throws -> Int32 {
    // Models and mappings are not read: a job whose mapping is broken can be discarded too.
    let loader = try job.loader(in: session, overrides: overrides.values())
    let destination = loader.destination()
    let isRemoved = try MigrationManager.discard(destination: destination, isInPlace: loader.isInPlace)
    session.output.write(
      isRemoved
        ? "removed '\(destination).godwit': the unfinished store, its ledger and spill files\n"
        : "nothing to discard: '\(destination).godwit' does not exist\n")
    return 0
  }
}
