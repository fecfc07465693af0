import ArgumentParser
import GodwitManifest
import GodwitModel

extension RunVerb {
  /// Runs the jobs of a manifest whose source is a pattern.
  func runMany(_ loader: JobLoader, in session: CommandSession) throws -> Int32 {
    guard planFile == nil, metrics == nil else {
      throw ValidationError("--plan and --metrics are for one store: name it with --source FILE --destination FILE")
    }
    return try BatchRun(
      session: session, loader: loader, jobs: batch.jobs ?? 1, resultsPath: batch.results, mode: progress,
      isQuiet: quiet, failsOnLoss: failOnLoss, verifies: verify,
      maximumSeconds: maximumDuration.map { Double($0.seconds) }, isWorker: worker
    ).run()
  }
}
