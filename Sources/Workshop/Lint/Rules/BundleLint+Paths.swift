import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel

/// The way from every version to the current one, and the steps on it.
extension BundleLint {
  mutating func checkPaths() {
    guard let target else { return }
    let models = bundle.readable
    let found = foundMappings(among: models)
    var finder = MigrationPathFinder(models: models, mappings: found)
    finder.cache = cache
    let hashes = target.versionHashes
    let earlier = models.filter { $0.name != target.name && $0.versionHashes != hashes }
    for model in earlier {
      advance()
      do { ways[model.name] = .success(try finder.path(from: model, to: target)) } catch let error as GodwitError {
        ways[model.name] = .failure(error)
      } catch {}
    }
    reportMissingPaths(earlier, to: target)
    reportSeveralSteps(earlier, to: target)
    for model in earlier { checkStep(from: model, among: models, to: target) }
    reportBrokenRenames(earlier, among: models)
    reportEqualHashes(among: models)
  }

  /// Versions that Core Data takes for one.
  private mutating func reportEqualHashes(among models: [ManagedObjectModel]) {
    for (place, model) in models.enumerated() {
      guard let same = models[..<place].last(where: { $0.versionHashes == model.versionHashes }) else { continue }
      add(
        .equalHashes, model.name, step: .init(from: same.name, to: model.name), at: bundle.index(model.name).start,
        "'\(same.name)' and '\(model.name)' have equal version hashes: Core Data takes them for one version, migrates nothing between them, and refuses a staged migration over both",
        try:
          "give an entity of '\(model.name)' a hash modifier (`versionHashModifier`); if no store needs the version, delete it"
      )
      // Godwit copies the objects, and holds them to the rules of the later version.
      let step = StepLint(from: same, to: model, in: bundle)
      for finding in step.brokenPatterns() + step.contradictions() + step.rules() { add(finding) }
    }
  }

  /// A mapping model beside the model takes precedence over one elsewhere, as in a job.
  private func foundMappings(among models: [ManagedObjectModel]) -> [FoundMapping] {
    let beside = mappings.filter { $0.isBeside(bundle) }.compactMap { $0.found(for: bundle, among: models) }
    let elsewhere = mappings.filter { !$0.isBeside(bundle) }.compactMap { mapping -> FoundMapping? in
      guard var found = mapping.found(for: bundle, among: models) else { return nil }
      let fit = found.fit
      found.fit = { source, destination in
        let own = fit(source, destination)
        guard own == .fits, beside.contains(where: { $0.fit(source, destination) == .fits }) else { return own }
        return .differs("another one beside the models serves the step")
      }
      return found
    }
    return beside + elsewhere
  }

  // MARK: Paths

  private mutating func reportMissingPaths(_ models: [ManagedObjectModel], to target: ManagedObjectModel) {
    // Versions that are stopped by the same thing are one finding.
    var groups: [(error: GodwitError, models: [ManagedObjectModel])] = []
    for model in models {
      guard case .failure(let error)? = ways[model.name] else { continue }
      guard error.code == .noPath else {
        reportUnusable(error, from: model, to: target)
        continue
      }
      let reason = Self.firstReason(error)
      if let place = groups.firstIndex(where: { Self.firstReason($0.error) == reason }) {
        groups[place].models.append(model)
        groups[place].error = error
      } else {
        groups.append((error, [model]))
      }
    }
    for (error, models) in groups {
      guard let newest = models.last else { continue }
      let others = models.dropLast().map { "'\($0.name)'" }
      let also =
        others.isEmpty
        ? ""
        : ", nor from " + others.suffix(3).joined(separator: ", ")
          + (others.count > 3 ? " and \(others.count - 3) more" : "")
      let cause = (error.cause ?? "").split(separator: "\n").first.map { ": \($0)" } ?? ""
      add(
        .noPath, newest.name, at: bundle.index(newest.name).start,
        "no path leads from '\(newest.name)' to '\(target.name)'\(also)\(cause)",
        try:
          "write a mapping model for the step that is missing: `godwit mapping new \(argument(newest.name)) \(argument(target.name)) -o FILE` drafts one"
      )
    }
  }

  private static func firstReason(_ error: GodwitError) -> String {
    // The first lines name the versions; the refusals are the same for all.
    let lines = (error.cause ?? "").split(separator: "\n").map(String.init)
    let reasons = lines.filter { $0.contains("cannot be inferred: ") }.compactMap {
      $0.components(separatedBy: "inferred: ").last
    }
    return reasons.last ?? lines.last ?? ""
  }

  private mutating func reportUnusable(
    _ error: GodwitError, from model: ManagedObjectModel, to target: ManagedObjectModel
  ) {
    let place = error.location.map { LintFinding.Location(file: shown($0.file), line: $0.line) }
    let start = bundle.index(model.name).start
    if error.topic == .conflictingMappings {
      add(.mappingModelsConflict, model.name, at: place ?? start, error.message)
    } else {
      add(
        .mappingModelUnusable, "\(model.name)→\(target.name)", at: place ?? start,
        "the path from '\(model.name)' to '\(target.name)' needs a mapping model that cannot be used: \(error.message)",
        try: error.remedy)
    }
  }

  /// A file as the mapping models show it.
  func shown(_ file: String) -> String {
    for mapping in mappings where file.hasPrefix(mapping.file) {
      return mapping.path + file.dropFirst(mapping.file.count)
    }
    return file
  }

  // MARK: Steps

  private mutating func checkStep(
    from model: ManagedObjectModel, among models: [ManagedObjectModel], to target: ManagedObjectModel
  ) {
    guard let place = models.firstIndex(where: { $0.name == model.name }) else { return }
    let hashes = model.versionHashes
    let next = models[(place + 1)...].first { $0.versionHashes != hashes } ?? target
    switch ways[model.name] {
    case .success(let steps)?:
      guard let step = steps.first else { return }
      if step.isInferred {
        checkInferred(from: model, to: next, endingAt: step.destinationModel)
      } else {
        checkMapped(step)
      }
    case .failure(let error)?:
      guard error.code == .noPath else { return }
      let lint = StepLint(from: model, to: next, in: bundle)
      for finding in lint.refusals() + lint.losses() + lint.cloudKit() { add(finding) }
    case nil: return
    }
  }

  /// - Parameter end: Where the inferred step leads, which may be farther than the next version.
  private mutating func checkInferred(
    from model: ManagedObjectModel, to next: ManagedObjectModel, endingAt end: ManagedObjectModel
  ) {
    let lint = StepLint(from: model, to: next, in: bundle)
    var (losses, changes) = (lint.losses(), lint.changes())
    var (rules, renames) = (lint.rules(), lint.contradictions())
    var stop = lint.stop()
    var patterns = lint.brokenPatterns()
    if end.name != next.name {
      let whole = StepLint(from: model, to: end, in: bundle)
      // A property that a later version has again is not lost on the way there.
      if !losses.isEmpty || !changes.isEmpty {
        let lost = Set((whole.losses() + (changes.isEmpty ? [] : whole.changes())).map(\.oldName))
        losses = losses.filter { lost.contains($0.oldName) }
        changes = changes.filter { lost.contains($0.oldName) }
      }
      if !rules.isEmpty {
        let lasting = Set(whole.rules().map(\.subject))
        rules = rules.filter { lasting.contains($0.subject) }
      }
      let told = Set(renames.map(\.subject))
      renames += whole.contradictions().filter { !told.contains($0.subject) }
      if stop != nil { stop = whole.stop() }
      if !patterns.isEmpty {
        let lasting = Set(whole.brokenPatterns().map(\.subject))
        patterns = patterns.filter { lasting.contains($0.subject) }
      }
    }
    // They come first: they say more about an attribute than that its rule is new.
    for finding in patterns + losses + changes + rules + renames + [stop].compactMap(\.self) + lint.cloudKit() {
      add(finding)
    }
    // The costs of older steps are known by now.
    if next.name == target?.name, let finding = lint.rowsInPlace() { add(finding) }
  }

  private mutating func checkMapped(_ step: MigrationStep) {
    let origin = step.origin ?? ""
    let paths = origin.components(separatedBy: ", ")
    let used = mappings.filter { paths.contains($0.path) }
    usedMappings.formUnion(used.map(\.path))
    let place = used.first?.place
    let (source, destination) = (step.sourceModel, step.destinationModel)
    let pair = LintFinding.Step(from: source.name, to: destination.name)
    let resolved: ResolvedMapping
    do {
      resolved = try Self.resolved(step)
    } catch {
      let known = error as? GodwitError
      let location = known?.location.map { LintFinding.Location(file: shown($0.file), line: $0.line) }
      add(
        .mappingModelUnusable, origin, step: pair, at: location ?? place ?? bundle.index(destination.name).start,
        "the mapping model '\(origin)' cannot be used: \(known?.message ?? "\(error)")", try: known?.remedy)
      return
    }
    var told: Set<String> = []
    for mapping in step.mappingModels.flatMap(\.entityMappings) {
      guard let policy = mapping.policyName, told.insert(policy).inserted else { continue }
      let location = mapping.location.map { LintFinding.Location(file: shown($0.file), line: $0.line) }
      add(
        .needsPolicy, policy, step: pair, at: location ?? place ?? bundle.index(destination.name).start,
        "'\(source.name)' to '\(destination.name)' needs the policy '\(policy)', which mapping '\(mapping.name)' names")
    }
    let lint = StepLint(from: source, to: destination, in: bundle)
    let patterns = lint.brokenPatterns(in: step.mappingModels)
    for finding in patterns + lint.losses(in: step.mappingModels, resolved, place) + lint.cloudKit() { add(finding) }
  }

  // MARK: Renames over several versions

  private mutating func reportBrokenRenames(_ earlier: [ManagedObjectModel], among models: [ManagedObjectModel]) {
    var told: Set<String> = []
    for model in earlier.reversed() {
      guard case .success(let steps)? = ways[model.name], let step = steps.first, step.isInferred,
        let start = models.firstIndex(where: { $0.name == model.name }),
        let end = models.firstIndex(where: { $0.name == step.destinationModel.name }), end - start > 1
      else { continue }
      let differences = InferredLoss.differences(through: Array(models[start...end]), cache: cache)
      for difference in differences where told.insert(difference.name).inserted {
        add(brokenRename(difference, from: model, to: step.destinationModel))
      }
    }
  }
  private func brokenRename(
    _ difference: InferredLoss.Difference, from model: ManagedObjectModel, to end: ManagedObjectModel
  ) -> LintFinding {
    let parts = difference.name.split(separator: ".", maxSplits: 1).map(String.init)
    let index = bundle.index(model.name)
    let place = parts.count == 2 ? index.place(of: parts[1], in: parts[0], of: model) : index.place(of: parts[0])
    let first =
      parts.count == 2
      ? model.canonicalName(of: parts[1], in: parts[0]) : model.entity(parts[0])?.renamingIdentifier ?? parts[0]
    let change = difference.direct.map { "makes \(difference.name) \($0)" } ?? "loses \(difference.name)"
    return LintFinding(
      .renameChainBroken, subject: difference.name, step: .init(from: model.name, to: end.name), bundle: bundle.path,
      at: place,
      "'\(model.name)' to '\(end.name)' in one step \(change), which the versions between keep as \(difference.through)",
      try:
        "set the Renaming ID of \(difference.through) in '\(end.name)' to '\(first)', its first name (`elementID=\"\(first)\"`); or migrate through the versions between (`stages` in a job), or add a mapping model from '\(model.name)' to '\(end.name)'"
    )
  }
}
