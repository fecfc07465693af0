import ArgumentParser
import GodwitManifest
import GodwitModel

extension RunVerb {
  /// Runs the jobs of a manifest whose source is a pattern.
  func runMany(_ loader: JobLoader, in session: CommandSession) throws -> Int32 {
    guard planFile == nil, metrics == nil else {
      throw ValidationError("--plan and --metrics are for one store: name it with --source FILE --destination FILE")
    }
    let hasFolder = loader.manifest.stores != nil || batch.shard != nil
    guard hasFolder || !batch.retry else {
      throw ValidationError("--retry goes with --shard, or with 'stores' in the manifest")
    }
    return try BatchRun(
      session: session, loader: loader, jobs: batch.jobs ?? loader.manifest.stores?.jobs ?? 1,
      shard: hasFolder ? batch.shard ?? .whole : nil, retries: batch.retry, mode: long.progress, isQuiet: quiet,
      verifies: verify, maximumSeconds: long.maximumSeconds, isWorker: worker
    ).run()
  }
}
