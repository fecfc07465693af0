import GodwitJob
import GodwitModel
import GodwitStore

/// The plans of many stores, most of which are counted from stores of the same size and version.
///
/// The first stores of a size and a version are planned one by one. If all of these have the same counts, the other
/// stores of that size and version get these counts, and their results say so. A store with a log, with a destination
/// or with unfinished work is always planned by itself.
struct PlanSamples {
  private struct Kind: Hashable {
    let bytes: Int64
    let version: String
  }

  private struct Sample {
    let result: StoreResult
    var count = 1
    var isUniform = true

    func isLike(_ other: StoreResult) -> Bool {
      result.outcome == other.outcome && result.status == other.status && result.objects == other.objects
        && result.losses == other.losses && result.accepted == other.accepted
        && result.quarantined == other.quarantined
    }
  }

  /// The number of stores of a kind that are planned before others get their counts.
  private let least: Int
  /// Stores of further kinds are planned one by one.
  private static let kindsMaximum = 1000
  private var samples: [Kind: Sample] = [:]
  private var counted = 0

  init(least: Int = 200) { self.least = least }

  /// The result of a store.
  ///
  /// - Parameters:
  ///   - own: The result as far as it is known without a plan.
  ///   - plan: Plans the store.
  mutating func result(
    of job: MigrationJob, like own: StoreResult, plan: () throws -> StoreResult
  ) throws -> StoreResult {
    guard let kind = try kind(of: job) else { return try plan() }
    if let sample = samples[kind], sample.isUniform, sample.count >= least {
      counted += 1
      var result = own
      (result.outcome, result.status, result.isSampled) = (sample.result.outcome, sample.result.status, true)
      result.objects = sample.result.objects
      (result.losses, result.accepted) = (sample.result.losses, sample.result.accepted)
      result.quarantined = sample.result.quarantined
      return result
    }
    let made: StoreResult
    do { made = try plan() } catch {
      // Another store of the kind may fail too.
      samples[kind, default: Sample(result: own)].isUniform = false
      throw error
    }
    guard var sample = samples[kind] else {
      if samples.count < Self.kindsMaximum { samples[kind] = Sample(result: made) }
      return made
    }
    sample.count += 1
    sample.isUniform = sample.isUniform && sample.isLike(made)
    samples[kind] = sample
    return made
  }

  /// nil for a store that is planned by itself.
  private func kind(of job: MigrationJob) throws -> Kind? {
    for path in [job.sourcePath + "-wal", job.sourcePath + "-journal"] where FileStatus(named: path) != nil {
      return nil
    }
    guard try !WorkFolder.exists(forDestination: job.destinationPath), let file = FileStatus(following: job.sourcePath)
    else { return nil }
    if !job.isInPlace, try WorkFolder.exists(job.destinationPath) { return nil }
    return Kind(bytes: file.size, version: job.sourceModel.versionHashesDigest)
  }

  /// nil where each store was planned.
  var text: String? {
    counted == 0 ? nil : "\(counted) of them counted from stores of the same size and version"
  }
}
