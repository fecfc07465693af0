import Foundation
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore

/// The identity of a job that a plan belongs to: digests of everything that decides the result, and its destination.
struct PlanIdentity: Codable, Equatable {
  struct Model: Codable, Equatable {
    var name: String
    /// One digest of the version hashes of all entities.
    var versionHashes: String
  }

  /// The content of the source. Only a plan that is written to a file has it, since all of the source is read for it.
  struct Source: Codable, Equatable {
    /// The digest of every byte that counts.
    var digest: String
    /// Sizes, times and first bytes of the files: while they are the same the content is not read again.
    var stamp: StoreFiles.Stamp
    /// When the store was last changed, RFC 3339; nil in a plan of an earlier version.
    var modified: String?

    /// Reads all of the source.
    init(of job: MigrationJob) throws {
      let files = try job.sourceFiles()
      // Before the content: a change while it is read is noticed by whoever compares.
      stamp = try files.stamp()
      digest = try files.contentDigest()
      let epoch = Date(timeIntervalSince1970: Double(stamp.store.seconds)).timeIntervalSinceReferenceDate
      modified = DateText.text(epoch + Double(stamp.store.nanoseconds) / 1e9)
    }

    /// The source as it is now: read again if its files are not as they were.
    func now(of job: MigrationJob) throws -> Source {
      try job.sourceFiles().stamp() == stamp ? self : Source(of: job)
    }
  }

  /// The versions of the path, in order.
  var models: [Model]
  /// Digests of the two models with what no version hash covers, of all mappings, and of the manifest's keys and policy
  /// versions that decide content.
  var sourceModel, destinationModel, mappings, manifest: String
  /// Relative to the folder of the manifest, so that a whole tree may be moved.
  var destination: String
  /// The treatment of a store that is there; nil in a plan of an earlier version.
  var existing: String?
  /// The treatment of objects that validation rejects; nil in a plan of an earlier version.
  var onInvalid: String?
  /// Whether the manifest refuses a run that loses something; nil in a plan of an earlier version.
  var refusesLosses: Bool?
  /// The losses that the manifest accepts, as it names them; nil without any, and in a plan of an earlier version.
  var acceptedLosses: [String]?
  var source: Source?

  /// - Parameter job: As its manager has it.
  init(_ job: MigrationJob, manifestPath: String) {
    models = ([job.steps[0].sourceModel] + job.steps.map(\.destinationModel)).map {
      Model(name: $0.name, versionHashes: $0.versionHashesDigest)
    }
    let fingerprint = JobFingerprint(job)
    (sourceModel, destinationModel) = (fingerprint.sourceModel, fingerprint.destinationModel)
    (mappings, manifest) = (fingerprint.mappings, fingerprint.manifest)
    destination = Self.relative(job.destinationPath, toFolderOf: manifestPath)
    existing = job.existingDestination.description
    onInvalid = job.quarantine.map { "quarantine, \($0)" } ?? (job.keepsInvalid ? "keep" : "fail")
    refusesLosses = job.failsOnLoss
    if !job.acceptedLosses.isEmpty { acceptedLosses = job.acceptedLosses.map(\.text) }
  }

  /// The differences, in words. The source of this identity is read again if its files have changed.
  ///
  /// - Parameter job: The job of `now`.
  func differences(from now: PlanIdentity, job: MigrationJob) throws -> [String] {
    var found: [String] = []
    func compare<T: Equatable>(_ what: String, _ old: T, _ new: T) {
      if old != new { found.append("\(what): '\(old)' in the plan, now '\(new)'") }
    }
    if models.map(\.name) != now.models.map(\.name) {
      compare("the path", Self.path(models), Self.path(now.models))
    } else {
      for (old, new) in zip(models, now.models) where old != new {
        found.append("the version hashes of the model '\(new.name)'")
      }
    }
    if found.isEmpty {
      let digests = [
        (
          "the model '\(models.first?.name ?? "")', in something that no version hash covers", sourceModel,
          now.sourceModel
        ),
        (
          "the model '\(models.last?.name ?? "")', in something that no version hash covers", destinationModel,
          now.destinationModel
        ), ("the mapping", mappings, now.mappings),
        ("keys of the manifest or versions of policies that decide the result", manifest, now.manifest),
      ]
      found += digests.filter { $0.1 != $0.2 }.map(\.0)
    }
    compare("the destination", destination, now.destination)
    compare("'existing' of the destination", existing ?? "not known", now.existing ?? "")
    if let onInvalid, let new = now.onInvalid { compare("'on-invalid'", onInvalid, new) }
    // To be stricter than the plan changes no result.
    if refusesLosses == true, now.refusesLosses == false {
      found.append("'on-loss': 'fail' in the plan, now 'report'")
    }
    if refusesLosses == true, now.refusesLosses == true {
      let more = (now.acceptedLosses ?? []).filter { !(acceptedLosses ?? []).contains($0) }
      if !more.isEmpty {
        found.append("'accept-losses': now \(more.map { "'\($0)'" }.joined(separator: ", ")) too, not in the plan")
      }
    }
    if let source, try source.now(of: job).digest != source.digest {
      found.append("the content of the source '\(job.sourceName)'")
    }
    return found
  }

  private static func path(_ models: [Model]) -> String { models.map(\.name).joined(separator: " to ") }

  /// The path as seen from the folder of a file; `<stdin>` and a bare name are in the current folder.
  static func relative(_ path: String, toFolderOf file: String) -> String {
    let goal = URL(filePath: path).standardizedFileURL.pathComponents
    let folder = URL(filePath: file).standardizedFileURL.deletingLastPathComponent().pathComponents
    let common = zip(goal, folder).prefix { $0 == $1 }.count
    let parts = Array(repeating: "..", count: folder.count - common) + goal.dropFirst(common)
    return parts.isEmpty ? "." : parts.joined(separator: "/")
  }
}

/// The manifest that a plan was made from, so that `godwit run --plan FILE` needs nothing else.
struct PlanManifest: Codable, Equatable {
  struct Override: Codable, Equatable {
    var key, value, option: String
  }

  /// Absolute; `-` for standard input.
  var path: String
  /// The folder that relative paths of overrides count from.
  var workingFolder: String
  var overrides: [Override]

  init(path: String, overrides: [ManifestOverride]) {
    self.path = path == "-" ? path : URL(filePath: path).standardizedFileURL.path
    workingFolder = FileManager.default.currentDirectoryPath
    self.overrides = overrides.map { Override(key: $0.key, value: $0.value, option: $0.option) }
  }

  /// The manifest and overrides for a run that names only the plan.
  ///
  /// - Throws: 64 where only the user can give it again; 66 where it is gone.
  func reopened(for plan: String) throws -> (path: String, overrides: [ManifestOverride]) {
    guard path != "-" else {
      throw GodwitError(
        .usage, "cannot run the plan '\(plan)' without its manifest: it came from standard input",
        remedy: "pipe the manifest again: `godwit run - --plan \(plan)`")
    }
    guard overrides.isEmpty || workingFolder == FileManager.default.currentDirectoryPath else {
      throw GodwitError(
        .usage,
        "cannot run the plan '\(plan)' here: it was made in '\(workingFolder)' with \(overrides.map { "'\($0.option)'" }.joined(separator: ", "))",
        remedy: "run it in that folder, or name the manifest and the options again")
    }
    guard FileManager.default.fileExists(atPath: path) else {
      throw GodwitError(
        .missingInput, "cannot run the plan '\(plan)': its manifest '\(path)' does not exist",
        remedy: "name the manifest: `godwit run JOB.yaml --plan \(plan)`")
    }
    return (path, overrides.map { ManifestOverride(key: $0.key, value: $0.value, option: $0.option) })
  }
}
