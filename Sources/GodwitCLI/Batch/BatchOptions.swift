import ArgumentParser
import GodwitManifest

/// The options of `run` for a manifest of many stores.
struct BatchOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "With a pattern as source: how many stores to migrate at the same time, 1 to 64. They share the memory.",
      valueName: "N"))
  var jobs: Int?

  @Option(
    help: ArgumentHelp(
      "With many stores: work off those whose path hashes to I of N, and record them in the results folder.",
      valueName: "I/N"),
    transform: Self.shard)
  var shard: StoreShard?

  @Flag(help: "With a results folder: take again the stores that have failed.")
  var retry = false

  private static func shard(_ text: String) throws -> StoreShard {
    guard let shard = StoreShard(text) else {
      throw ValidationError(
        "--shard takes I/N, such as 3/10, with I from 1 to N and N at most \(StoreShard.countMaximum)")
    }
    return shard
  }

  func validate() throws {
    let range = JobLoader.jobsAtOnce
    guard jobs.map(range.contains) ?? true else {
      throw ValidationError("--jobs takes a number from \(range.lowerBound) to \(range.upperBound)")
    }
  }

  /// Refuses the options for a manifest of one store.
  func refuseForOneStore() throws {
    guard jobs != nil || shard != nil || retry else { return }
    throw ValidationError(
      "--jobs, --shard and --retry are for many stores: expected a pattern such as 'stores/*.sqlite' as 'source' of the manifest"
    )
  }
}
