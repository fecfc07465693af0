import GodwitManifest
import GodwitModel
import GodwitXcode

/// Whether mapping models are those of the versions as they are.
extension BundleLint {
  mutating func checkMappingModels() {
    let models = bundle.versions.compactMap(bundle.model)
    for mapping in mappings {
      if case .unreadable = mapping.content {
        guard mapping.mayBeMissed(by: bundle, models) else { continue }
        usedMappings.insert(mapping.path)
        for var finding in Self.unmatched(mapping) {
          finding.bundle = bundle.path
          add(finding)
        }
        continue
      }
      // A mapping model from a version to itself serves no step: its destination was edited after it was saved.
      let pairs = models.lazy.flatMap { source in
        models.lazy.filter { $0.name != source.name }.map { (source, $0) }
      }
      if pairs.contains(where: { mapping.fitsByHashes($0, $1) }) {
        usedMappings.insert(mapping.path)
        continue
      }
      let (source, destination) = (
        models.first { $0.name == mapping.names?.source }, models.first { $0.name == mapping.names?.destination }
      )
      guard let source, let destination else {
        checkCompiled(mapping, models)
        continue
      }
      // Another model may have versions of the same names.
      guard mapping.isBeside(bundle) || isOnlyOne(mapping, source, destination) else { continue }
      usedMappings.insert(mapping.path)
      checkNamed(mapping, source, destination)
    }
  }

  private func isOnlyOne(
    _ mapping: LintedMapping, _ source: ManagedObjectModel, _ destination: ManagedObjectModel
  ) -> Bool {
    guard case .xcode(let model) = mapping.content else { return true }
    // If half of the entities match, it is a stale mapping model and not one of another model.
    func share(_ hashes: [String: VersionHash], _ model: ManagedObjectModel) -> Bool {
      let shared = Set(hashes.keys).intersection(model.entityNames).count
      return shared * 2 >= max(hashes.count, model.entities.count)
    }
    return share(model.sourceEntityHashes, source) && share(model.destinationEntityHashes, destination)
  }

  private mutating func checkNamed(
    _ mapping: LintedMapping, _ source: ManagedObjectModel, _ destination: ManagedObjectModel
  ) {
    guard case .xcode(let model) = mapping.content else { return }
    let step = LintFinding.Step(from: source.name, to: destination.name)
    guard !model.sourceEntityHashes.isEmpty, !model.destinationEntityHashes.isEmpty else {
      add(
        .mappingModelStale, severity: .note, mapping.path, step: step, at: mapping.place,
        "cannot check whether the mapping model is stale: "
          + (model.embeddedModelProblem?.message ?? "it holds no models"))
      return
    }
    guard let difference = model.difference(from: source, to: destination) else { return }
    var detail = ""
    for (embedded, actual) in [(model.embeddedSourceModel, source), (model.embeddedDestinationModel, destination)] {
      guard detail.isEmpty, let embedded, !embedded.isCompatible(with: actual.versionHashes),
        let change = ModelChange.changes(from: embedded, to: actual).first(where: \.isPartOfHash)
      else { continue }
      detail = " (since it was saved: \(change.path) \(change.change))"
    }
    add(
      .mappingModelStale, mapping.path, step: step, at: mapping.place,
      "the mapping model from '\(source.name)' to '\(destination.name)' is stale: \(difference)\(detail)")
  }

  /// A compiled mapping model names no versions. One matching side shows its model.
  private mutating func checkCompiled(_ mapping: LintedMapping, _ models: [ManagedObjectModel]) {
    guard case .xcode(let model) = mapping.content, mapping.isCompiled,
      !model.sourceEntityHashes.isEmpty, !model.destinationEntityHashes.isEmpty
    else { return }
    let source = models.last { model.mayStart(from: $0) }
    let destination = models.last { model.mayEnd(at: $0) }
    guard let known = source ?? destination else { return }
    usedMappings.insert(mapping.path)
    let side = source == nil ? "destination" : "source"
    let other = source == nil ? "source" : "destination"
    add(
      .mappingModelStale, mapping.path, at: mapping.place,
      "the compiled mapping model is stale: its \(side) is '\(known.name)', and no version is its \(other)",
      try: "compile it again from a refreshed .xcmappingmodel")
  }

  // MARK: Mapping models of no model

  static func unmatched(_ mapping: LintedMapping) -> [LintFinding] {
    if case .unreadable(let error) = mapping.content {
      guard mapping.outline?.isForeign != true else { return [] }
      let place = error.location.map { LintFinding.Location(file: mapping.place.file, line: $0.line) }
      return [
        LintFinding(
          .mappingModelUnusable, subject: mapping.path, bundle: nil, at: place ?? mapping.place,
          "the mapping model cannot be read: \(error.message)", try: error.remedy)
      ]
    }
    let text: String
    if let names = mapping.names {
      text =
        "the mapping model is for '\(names.source)' and '\(names.destination)', and no model here has both as they were"
    } else if mapping.isCompiled {
      text = "the compiled mapping model matches no version of the models"
    } else {
      return []
    }
    return [
      LintFinding(.mappingModelUnmatched, subject: mapping.path, bundle: nil, at: mapping.place, text)
    ]
  }
}
