import GodwitModel
package import GodwitStore
import GodwitXcode

/// The digests that make it the same job. Order is the order of comparison.
package struct JobFingerprint: Codable, Equatable {
  /// The digest of the source's content; empty where it is not known.
  package var source: String
  package var sourceModel: String
  package var destinationModel: String
  package var mappings: String
  /// The manifest keys that decide content.
  package var manifest: String
  /// The hooks, which count in `mappings`: a message can name the one that changed. Nil in earlier work.
  package var hooks: [String]?

  /// All digests but the source's, which costs a reading of the whole store.
  package init(_ job: MigrationJob) {
    source = ""
    sourceModel = Self.digest(of: job.sourceModel)
    destinationModel = Self.digest(of: job.destinationModel)
    mappings = Digest.hex(job.mappingText)
    // Chunk sizes and budgets decide nothing. Nor does appending: a job that made a store must not add all of it once
    // more when the key comes later.
    manifest = Digest.hex(
      "history drop\nappend false\ntype \(job.destinationType.rawValue.lowercased())"
        + (job.dropsMirroring ? "\ncloudkit drop" : "") + job.layoutText + job.policyText)
    hooks = job.hookTexts
  }

  /// The name for the part `mappings` in a message if it differs from the same job before: the first hook that changed,
  /// was added or left out, or else the mapping.
  func nameOfMappings(since known: JobFingerprint) -> String {
    guard let before = known.hooks, let now = hooks, before != now else { return "the mapping" }
    let changed = zip(before, now).first { $0 != $1 }?.1 ?? (now.count > before.count ? now.last : before.last)
    return changed.map { "the hook \($0)" } ?? "the mapping"
  }

  /// The settings behind the digest `manifest`, key by key, so that a message can name the key: short values as they
  /// are, long ones by their digest.
  package static func settings(of job: MigrationJob) -> [String: String] {
    [
      "destination-type": job.destinationType.rawValue.lowercased(), "cloudkit": job.dropsMirroring ? "drop" : "stop",
      "layout-from": Digest.hex(job.layoutText), "policies": Digest.hex(job.policyText),
    ]
  }

  /// The fingerprint with the digest of the whole source content.
  package func withContent(of files: StoreFiles) throws -> JobFingerprint {
    withSource(try files.contentDigest())
  }

  /// The fingerprint with a digest of the source that is known already.
  package func withSource(_ digest: String) -> JobFingerprint {
    var fingerprint = self
    fingerprint.source = digest
    return fingerprint
  }

  /// The parts that changed since the same job before, in the order of comparison.
  package func changes(since known: JobFingerprint) -> [MigrationStatus.Change] {
    let parts: [(MigrationStatus.Change, KeyPath<JobFingerprint, String>)] = [
      (.source, \.source), (.sourceModel, \.sourceModel), (.destinationModel, \.destinationModel),
      (.mappings, \.mappings), (.manifest, \.manifest),
    ]
    return parts.filter { self[keyPath: $1] != known[keyPath: $1] }.map(\.0)
  }

  /// Refuses to go on with work of this fingerprint if the job is another one now, and names what differs.
  ///
  /// - Parameters:
  ///   - now: The fingerprint of the job as it is.
  ///   - source: The digest of its source.
  ///   - stamp: The state of the source's files before; nil if it is not known. It tells which of several stores changed.
  /// - Throws: `.cannotCreate` (73).
  package func refuseChanges(
    in now: JobFingerprint, source digest: String, of job: MigrationJob, since stamp: StoreFiles.Stamp? = nil
  ) throws {
    let now = now.withSource(digest)
    guard let changed = now.changes(since: self).first else { return }
    var subject = changed == .mappings ? now.nameOfMappings(since: self) : changed.words
    if changed == .source, job.merged != nil, let stamp, let files = try? job.sourceFiles() {
      subject += " '\(files.nameOfChange(since: stamp))'"
    }
    // Before the digest of a large source is known, any change of the file's time counts, and cannot be undone.
    let isUndoable = changed != .source || !source.isEmpty
    throw GodwitError(
      .cannotCreate, "cannot resume '\(job.name)': \(subject) changed since the run began",
      remedy: (isUndoable ? "undo the change to resume, or " : "") + "`godwit discard` the job and run again",
      safe: "what is durable is kept in '\(job.workPath)'")
  }

  /// One digest of all, kept in the finished store under `GodwitJobs`.
  package var digest: String {
    Digest.hex("godwit-job-1\n" + [source, sourceModel, destinationModel, mappings, manifest].joined(separator: "\n"))
  }

  /// The digest of a model, and of the hashes that were published for it.
  private static func digest(of model: ManagedObjectModel) -> String {
    let published = model.publishedVersionHashes.sorted { Text($0.key) < Text($1.key) }
    guard !published.isEmpty else { return model.texts.digest { Digest.hex(model.xcodeContents) } }
    return Digest.hex(model.xcodeContents + published.map { "\n\($0.key) \($0.value.base64)" }.joined())
  }
}

extension StoreMetadata.Key {
  /// The same for a store between two steps, which is temporary.
  package static let step = "GodwitStep"
  /// The key under which a finished store says how many objects of the source its run has set aside.
  package static let quarantined = "GodwitQuarantined"
}
