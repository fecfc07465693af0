import Foundation
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitXcode

/// A mapping model near the models, Xcode's or in YAML.
final class LintedMapping: Sendable {
  enum Content: Sendable {
    case xcode(XcodeMappingModel)
    case text(MappingModel)
    case unreadable(GodwitError)
  }

  /// The file, and as findings show it.
  let file, path: String
  let content: Content
  /// The models that an unreadable file names; nil for a readable file.
  let outline: MappingOutline?
  /// Whether the only models around it are those that are linted.
  private let isAlone: Bool

  init(_ file: String, shown path: String, isAlone: Bool, in files: MappingFiles) {
    self.file = file
    self.path = path
    self.isAlone = isAlone
    var outline: MappingOutline?
    do {
      switch try files.mapping(file) {
      case .text(let model): content = .text(model)
      case .xcode(let model, _): content = .xcode(model)
      }
    } catch {
      outline = files.outline(file)
      content = .unreadable(
        error as? GodwitError ?? GodwitError(.missingInput, "cannot read mapping model '\(path)': \(error)"))
    }
    self.outline = outline
  }

  /// Whether a file that cannot be read may be for versions of a model, as the search of a job takes it.
  ///
  /// - Parameter versions: Oldest first.
  func mayBeMissed(by bundle: LintedBundle, _ versions: [ManagedObjectModel]) -> Bool {
    outline.map { $0.concerns(versions) ?? (isBeside(bundle) || isAlone) } ?? false
  }

  /// The versions that it names.
  var names: (source: String, destination: String)? {
    let names =
      switch content {
      case .xcode(let model): (model.sourceModelName, model.destinationModelName)
      case .text(let model): (model.sourceModelName, model.destinationModelName)
      case .unreadable: (String?.none, String?.none)
      }
    guard let source = names.0, let destination = names.1 else { return nil }
    return (source, destination)
  }

  /// The file with the elements that findings point at.
  var place: LintFinding.Location {
    XcodeFileKind.identify(file) == .mappingModel && !file.hasSuffix(".xml")
      ? .init(file: path + "/xcmapping.xml", line: 1) : .init(file: path, line: isCompiled ? nil : 1)
  }

  var isCompiled: Bool { XcodeFileKind.identify(file) == .compiledMappingModel }

  /// Whether it is beside a model: names count there.
  func isBeside(_ bundle: LintedBundle) -> Bool {
    URL(filePath: file).standardizedFileURL.deletingLastPathComponent().path
      == MappingSearch.folder(ofModel: bundle.bundle.path)
  }

  /// Whether it was made for versions with these very hashes.
  func fitsByHashes(_ source: ManagedObjectModel, _ destination: ManagedObjectModel) -> Bool {
    if case .xcode(let model) = content { model.fit(from: source, to: destination) == .hashes } else { false }
  }

  func isNamed(_ source: ManagedObjectModel, _ destination: ManagedObjectModel) -> Bool {
    names.map { $0 == (source.name, destination.name) } ?? false
  }

  /// As the search for a path uses it: by hashes, and by names if it is beside the model.
  func found(for bundle: LintedBundle, among models: [ManagedObjectModel]) -> FoundMapping? {
    switch content {
    case .unreadable(let error):
      // A step that needs it is still reported as missing.
      return FoundMapping(
        origin: path, fit: { _, _ in .differs("it cannot be read: \(error.message)") }, load: { _, _ in throw error })
    case .text(let mapping):
      guard isBeside(bundle) || usesEntities(of: mapping, models) else { return nil }
      return FoundMapping(mapping, origin: path, among: models)
    case .xcode(let model):
      let countsNames = isBeside(bundle)
      var found = FoundMapping(
        origin: path,
        fit: { source, destination in
          switch model.fit(from: source, to: destination) {
          case .hashes: return .fits
          case .names where countsNames: return .fits
          case .names: return .differs("it is stale, or for other models of these names")
          case .none(let reason): return .differs(reason)
          }
        }, load: { try model.mappingModel(from: $0, to: $1) })
      found.mayStart = { model.mayStart(from: $0) }
      found.mayEnd = { model.mayEnd(at: $0) }
      return found
    }
  }

  /// Whether the versions that a mapping file names have the entities that it names.
  private func usesEntities(of mapping: MappingModel, _ models: [ManagedObjectModel]) -> Bool {
    guard let names else { return false }
    guard let source = models.first(where: { $0.name == names.source }),
      let destination = models.first(where: { $0.name == names.destination })
    else { return false }
    return mapping.entityMappings.allSatisfy { entity in
      (entity.sourceEntityName.map { source.entity($0) != nil } ?? true)
        && (entity.destinationEntityName.map { destination.entity($0) != nil } ?? true)
    }
  }
}
