import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitXcode

/// The findings about one model.
struct BundleLint {
  let bundle: LintedBundle
  let mappings: [LintedMapping]
  /// The versions of the lock file.
  let locked: [String: ModelLock.Version]
  private(set) var findings: [LintFinding] = []
  /// The paths of mapping models that are for versions of this model.
  var usedMappings: Set<String> = []
  /// Results of comparisons of versions.
  let cache = InferenceCache(followsIntent: true)
  /// Called for each version that is checked.
  var advance: () -> Void = {}
  /// How each version is migrated: the steps, or the reason why no path exists.
  var ways: [String: Result<[MigrationStep], GodwitError>] = [:]

  mutating func add(_ finding: LintFinding) {
    var finding = finding
    // A shipped release cannot be mended, but a mapping model serves the next release too.
    if let step = finding.step, !finding.rule.isAboutMappingModels, locked[step.from] != nil, locked[step.to] != nil {
      finding.state = .shipped
      finding.severity = .note
    }
    guard !findings.contains(where: { $0.key == finding.key && $0.location == finding.location }) else { return }
    findings.append(finding)
  }

  mutating func add(
    _ rule: LintRule, severity: LintRule.Severity? = nil, _ subject: String, step: LintFinding.Step? = nil,
    at location: LintFinding.Location, _ message: String, try remedy: String? = nil,
    related: [LintFinding.Related] = []
  ) {
    add(
      LintFinding(
        rule, severity: severity, subject: subject, step: step, bundle: bundle.path, at: location, message,
        try: remedy, related: related))
  }

  /// A version as an argument of the command.
  func argument(_ version: String) -> String { "'\(bundle.path)#\(version)'" }

  var target: ManagedObjectModel? { bundle.target.flatMap(bundle.model) }

  // MARK: Versions

  mutating func checkVersions() {
    for version in bundle.versions {
      if case .success(let model) = bundle.result(version) { checkWords(of: model, version) }
      guard case .failure(let error) = bundle.result(version) else { continue }
      let place = error.location.map { LintFinding.Location(file: bundle.file(of: version), line: $0.line) }
      add(
        .versionUnreadable, version, at: place ?? .init(file: bundle.file(of: version)),
        "version '\(version)' cannot be read: \(error.message)", try: error.remedy)
    }
    checkCurrentVersion()
    checkOrder()
  }

  /// Reports words that Xcode's compiler passes over. A version that was shipped cannot be mended.
  private mutating func checkWords(of model: ManagedObjectModel, _ version: String) {
    let severity: LintRule.Severity = locked[version] == nil ? .warning : .note
    for remark in model.remarks {
      guard let word = remark.ignoredWord else { continue }
      add(
        .wordIgnored, severity: severity, "\(version):\(word)",
        at: .init(file: bundle.file(of: version), line: remark.location?.line), remark.text)
    }
  }

  private mutating func checkCurrentVersion() {
    let file = LintFinding.Location(file: bundle.path + "/.xccurrentversion")
    let list = bundle.versions.map { "'\($0)'" }.joined(separator: ", ")
    if let named = bundle.bundle.currentVersion, !bundle.versions.contains(named) {
      add(
        .currentVersionUnknown, severity: .error, named, at: file,
        "the current version '\(named)' does not exist: the versions are \(list)")
    } else if bundle.bundle.isCurrentVersionDamaged {
      var reason = "the file that names the current version cannot be read"
      do { _ = try bundle.bundle.currentModel() } catch { reason = (error as? GodwitError)?.message ?? reason }
      add(.currentVersionUnknown, severity: .error, "", at: file, reason)
    } else if bundle.target == nil {
      add(
        .currentVersionUnknown, "", at: .init(file: bundle.path),
        "nothing says which version is the current one: the versions are \(list)",
        try: "set the current version in Xcode's file inspector, or give \(argument(bundle.versions.last ?? "Version"))"
      )
    }
  }

  private mutating func checkOrder() {
    guard !bundle.isOrderGiven, let target = bundle.target else { return }
    let order = bundle.versions.map { "\"\($0)\"" }.joined(separator: ", ")
    let place = bundle.index(target).start
    if let newest = bundle.unreleased.last {
      add(
        .versionOrderUnclear, newest, at: place,
        "the current version is '\(target)', and '\(newest)' sorts after it: lint does not check the steps from it",
        try:
          "set the current version in Xcode; if '\(newest)' is older, run with `--write-lock` and give the model `\"versionOrder\": [\(order)]` in the lock file, oldest first"
      )
      return
    }
    let others = bundle.versions.filter { $0 != target }
    guard let first = others.first,
      let other = others.first(where: { LintedBundle.stem($0) != LintedBundle.stem(first) })
    else { return }
    add(
      .versionOrderUnclear, "", at: place,
      "the names do not say which version is older, '\(first)' or '\(other)': taken as "
        + bundle.versions.map { "'\($0)'" }.joined(separator: ", "),
      try:
        "run with `--write-lock`, and give the model `\"versionOrder\": [\(order)]` in the lock file, oldest first; a job takes `version-order`"
    )
  }

  // MARK: The lock file

  mutating func checkLock(places: LockPlaces, key: String, isLocking: Bool) {
    for version in locked.keys.sorted(by: ModelBundle.precedes) where !bundle.versions.contains(version) {
      add(
        .shippedVersionGone, version, at: places.place(of: key, version),
        "version '\(version)' was shipped and is gone: its stores have no path, or only one that the model inside them gives",
        try: "restore '\(version)' from version control; if it was never released, remove its block from the lock file")
    }
    for version in bundle.versions {
      guard let model = bundle.model(version) else { continue }
      guard let recorded = locked[version] else {
        guard !isLocking else { continue }
        add(
          .versionNotLocked, version, at: bundle.index(version).start, "version '\(version)' is not in the lock file")
        continue
      }
      checkEdits(version, model, recorded, places.place(of: key, version))
    }
  }

  private mutating func checkEdits(
    _ version: String, _ model: ManagedObjectModel, _ recorded: ModelLock.Version, _ place: LintFinding.Location
  ) {
    let own = model.versionHashes.mapValues(\.base64)
    let remedy =
      "undo the edit and make the change in a new version; if '\(version)' was never released, remove its block from the lock file and run with `--write-lock`"
    let index = bundle.index(version)
    let explanation = HashExplanation(
      model: model, storeHashes: recorded.entities.compactMapValues { VersionHash(base64: $0) },
      other: "the shipped version")
    let names = Set(own.keys).union(recorded.entities.keys).sorted(by: ManagedObjectModel.precedes)
    for entity in names where own[entity] != recorded.entities[entity] {
      let text: String
      var location = index.place(of: entity)
      switch (own[entity], recorded.entities[entity]) {
      case (nil, _): text = "the entity '\(entity)' was removed"
      case (_, nil): text = "the entity '\(entity)' was added"
      default:
        let reason = explanation.reason(forEntity: entity)
        text = "the version hash of '\(entity)' differs" + (reason.map { " (\($0))" } ?? "")
        if let property = reason.flatMap({ Self.property(in: $0, of: entity) }) {
          location = index.place(of: property, in: entity, of: model)
        }
      }
      add(
        .shippedVersionEdited, "\(version):\(entity)", at: location,
        "version '\(version)' was shipped and then edited: \(text)", try: remedy,
        related: [.init(location: place, text: "the version as it was shipped")])
    }
  }

  /// The property in `Entity.property: …`.
  static func property(in text: String, of entity: String) -> String? {
    guard let colon = text.range(of: ": ") else { return nil }
    let path = text[..<colon.lowerBound].split(separator: ".", maxSplits: 1)
    return path.count == 2 ? String(path[1]) : nil
  }

  // MARK: The layout

  mutating func checkLayout() {
    guard let target else { return }
    let index = bundle.index(target.name)
    let schema = StoreSchema(model: target)
    let remedy = "give jobs a store of '\(target.name)' that Core Data made, or the name: `layout: {from: STORE}`"
    func place(_ text: String) -> LintFinding.Location {
      for word in text.split(whereSeparator: { " ,:".contains($0) }) {
        let parts = word.split(separator: ".", maxSplits: 1).map(String.init)
        if parts.count == 2, target.entity(parts[0]) != nil {
          return index.place(of: parts[1], in: parts[0], of: target)
        }
      }
      return index.start
    }
    for shared in schema.sharedNames {
      add(
        .layoutAmbiguous, severity: .error, shared.entity,
        at: target.entity(shared.entity) == nil ? index.start : index.place(of: shared.entity),
        "\(shared.description): how Core Data tells the two apart is not known, and Godwit makes no store of '\(target.name)'",
        try: "rename an entity; with its former name as renaming identifier it keeps its objects")
    }
    for guess in schema.guesses {
      add(
        .layoutAmbiguous, severity: guess.isLikely ? .note : .warning, guess.subject, at: place(guess.subject),
        guess.description, try: remedy)
    }
    for order in schema.unknownOrders {
      add(
        .layoutAmbiguous, severity: .note, order, at: place(order),
        "how Core Data stores the order of \(order), an ordered to-many without an inverse, is not known", try: remedy)
    }
    for index in schema.omittedIndexes {
      add(
        .layoutAmbiguous, severity: .note, index, at: place(index),
        "a store that Godwit makes lacks an index: \(index)",
        try: "nothing for the data; Core Data may be slower until it makes the index again")
    }
  }
}
