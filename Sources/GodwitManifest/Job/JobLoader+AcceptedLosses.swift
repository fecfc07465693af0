import GodwitJob
import GodwitModel

/// `accept-losses`: the losses that are meant.
extension JobLoader {
  var acceptedLosses: [MigrationJob.AcceptedLoss] {
    manifest.acceptLosses.map { text in
      var entry = MigrationJob.AcceptedLoss(text.value)
      entry.location = text.location
      return entry
    }
  }

  /// For a store of many: the ways that stores of other versions take. A loss of theirs may be named too.
  func readOtherWays(into job: inout MigrationJob) throws {
    guard !manifest.acceptLosses.isEmpty, let inputs else { return }
    job.possibleLosses = inputs.possibleLosses
    job.otherWays = try inputs.otherWays {
      let (versions, listed) = (try modelVersions(), try inputs.listed(listedMappings))
      return versions.readable(named: versions.names.withoutRepeats())
        .filter { !$0.isCompatible(with: job.destinationModel.versionHashes) }
        // A version from which no path leads has no store among those that are migrated.
        .compactMap { try? steps(listed, from: $0, to: job.destinationModel, among: versions).steps }
    }
  }
}
