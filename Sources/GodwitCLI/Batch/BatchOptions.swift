import ArgumentParser
import GodwitManifest

/// The options of `run` for a manifest whose source is a pattern.
struct BatchOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "With a pattern as source: how many stores to migrate at the same time, 1 to 64. They share the memory.",
      valueName: "N"))
  var jobs: Int?

  @Option(
    help: ArgumentHelp(
      "With a pattern as source: append a JSON line to a file for each store when it ends.", valueName: "FILE"),
    completion: .file())
  var results: String?

  func validate() throws {
    let range = JobLoader.jobsAtOnce
    guard jobs.map(range.contains) ?? true else {
      throw ValidationError("--jobs takes a number from \(range.lowerBound) to \(range.upperBound)")
    }
  }

  /// Refuses the options for a manifest of one store.
  func refuseForOneStore() throws {
    guard jobs != nil || results != nil else { return }
    throw ValidationError(
      "--jobs and --results are for many stores: expected a pattern such as 'stores/*.sqlite' as 'source' of the manifest"
    )
  }
}
