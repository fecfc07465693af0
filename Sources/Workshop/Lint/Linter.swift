import Foundation
import GodwitModel
import GodwitXcode

/// Finds from models and mapping models alone what will fail in the field.
///
/// No store is opened. Every finding has a code, a place and a remedy.
package struct Linter {
  let sources: ModelSources
  /// The lock file before any additions.
  let lock: ModelLock?
  let lockPath: String?
  private let workingFolder: String

  /// Reads models, mapping models and the lock file.
  ///
  /// - Parameters:
  ///   - paths: Models, or folders that hold models.
  ///   - lock: The lock file; nil for none.
  ///   - mayLockBeMissing: Whether the lock file may be missing.
  ///   - workingFolder: The folder that relative paths start from, in arguments and in findings.
  /// - Throws: code `.missingInput`, `.permission` or `.configuration` for a file that cannot be read at all.
  package init(
    _ paths: [String], lock path: String?, mayLockBeMissing: Bool = false,
    workingFolder: String = FileManager.default.currentDirectoryPath
  ) throws {
    self.workingFolder = URL(filePath: workingFolder).standardizedFileURL.path
    sources = try ModelSources(paths, workingFolder: self.workingFolder)
    lockPath = path
    guard let path, !mayLockBeMissing || FileManager.default.fileExists(atPath: path) else {
      lock = nil
      return
    }
    lock = try ModelLock(contentsOf: path)
    for bundle in sources.bundles {
      guard let entry = lock?.bundles[lockKey(of: bundle)] else { continue }
      bundle.adopt(order: entry.versionOrder, released: Set(entry.versions.keys))
    }
  }

  /// The key of a model in the lock file: its path, relative to the folder of the lock file.
  func lockKey(of bundle: LintedBundle) -> String { lockKey(ofPath: bundle.bundle.path) }

  private func lockKey(ofPath path: String) -> String {
    RelativePath.path(from: lockFolder, to: RelativePath.absolute(path, in: workingFolder))
  }

  private var lockFolder: String {
    URL(filePath: RelativePath.absolute(lockPath ?? ModelLock.standardName, in: workingFolder))
      .deletingLastPathComponent().standardizedFileURL.path
  }

  private var lockPlaces: LockPlaces? {
    lockPath.map { LockPlaces(file: RelativePath.shown($0, from: workingFolder), path: $0) }
  }

  /// Looks for everything.
  ///
  /// - Parameters:
  ///   - isLocking: Whether versions are to be recorded, so that none of them has to be reported as missing.
  ///   - advance: Hears how many versions of how many are checked.
  package func report(isLocking: Bool = false, advance: @escaping (Int, Int) -> Void = { _, _ in }) -> LintReport {
    var findings: [LintFinding] = []
    for (path, problem) in sources.broken {
      findings.append(
        LintFinding(
          .versionUnreadable, subject: path, bundle: path, at: .init(file: path), problem.message,
          try: problem.remedy))
    }
    var usedMappings: Set<String> = []
    let versions = sources.bundles.reduce(0) { $0 + $1.versions.count }
    var checked = 0
    for bundle in sources.bundles {
      let entry = lock?.bundles[lockKey(of: bundle)]
      var lint = BundleLint(bundle: bundle, mappings: sources.mappings, locked: entry?.versions ?? [:])
      lint.advance = {
        checked += 1
        advance(min(checked, versions), versions)
      }
      lint.checkVersions()
      if lock != nil, let lockPlaces {
        lint.checkLock(places: lockPlaces, key: lockKey(of: bundle), isLocking: isLocking)
      }
      lint.checkPaths()
      lint.checkMappingModels()
      lint.checkLayout()
      lint.checkCloudKit()
      usedMappings.formUnion(lint.usedMappings)
      findings += matched(lint.findings, of: bundle, entry)
    }
    for mapping in sources.mappings where !usedMappings.contains(mapping.path) && sources.isInFolder(mapping.file) {
      findings += BundleLint.unmatched(mapping)
    }
    findings += missingBundles()
    return LintReport(
      findings: findings, bundles: sources.bundles.count, versions: versions,
      lock: lock == nil ? nil : lockPlaces?.file)
  }

  /// The findings with their state in the lock file, and the entries that accept nothing.
  private func matched(
    _ findings: [LintFinding], of bundle: LintedBundle, _ entry: ModelLock.Bundle?
  ) -> [LintFinding] {
    var open = Dictionary(grouping: findings.indices) { findings[$0].key }
    var findings = findings
    for text in entry?.accepted ?? [] {
      let key = text.replacing(" -> ", with: "→").replacing("->", with: "→")
      if let places = open.removeValue(forKey: key) {
        for place in places { findings[place].state = .accepted }
      } else if let lockPlaces {
        let unknown = "'\(text)' is accepted, and no such finding occurs"
        findings.append(
          LintFinding(
            .acceptedNotFound, subject: text, bundle: bundle.path,
            at: lockPlaces.place(of: lockKey(of: bundle), text),
            unknown + Spelling.suggestion(for: key, among: open.keys.sorted())))
      }
    }
    return findings
  }

  /// Models of the lock file that should be there, in a folder that was searched, and are not.
  private func missingBundles() -> [LintFinding] {
    guard let lock, let lockPlaces else { return [] }
    let present = Set(sources.bundles.map(lockKey(of:)))
    return lock.bundles.keys.sorted().compactMap { key in
      let path = RelativePath.absolute(key, in: lockFolder)
      guard !present.contains(key), sources.isInFolder(path), lock.bundles[key]?.versions.isEmpty == false else {
        return nil
      }
      return LintFinding(
        .shippedVersionGone, subject: key, bundle: nil, at: lockPlaces.place(of: key),
        "the model '\(key)' of the lock file is gone, with every version of it",
        try: "restore it from version control; if it moved, change its path in the lock file")
    }
  }

  /// The lock file with the versions that are not in it yet.
  ///
  /// - Returns: The file's content, and how many versions were added.
  package func extendedLock() -> (lock: ModelLock, added: Int) {
    var extended = lock ?? ModelLock()
    var added = 0
    for bundle in sources.bundles { added += extended.add(bundle, as: lockKey(of: bundle)).count }
    return (extended, added)
  }
}
