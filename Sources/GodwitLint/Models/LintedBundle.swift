import Foundation
import GodwitManifest
import GodwitModel
import GodwitXcode

/// A model with its versions, each read once.
final class LintedBundle {
  let bundle: ModelBundle
  /// The path as findings show it.
  let path: String
  /// The version that migrations lead to; nil when nothing says.
  let target: String?
  /// What `PATH#Version` asks for.
  private let named: String?
  /// Oldest first.
  private(set) var versions: [String] = []
  /// Whether the lock file says the order.
  private(set) var isOrderGiven = false
  private var results: [String: Result<ManagedObjectModel, GodwitError>] = [:]
  private var indexes: [String: ElementIndex] = [:]

  /// - Throws: code `.missingInput` or `.permission`, as `ModelBundle`; also when there is no version of that name.
  init(_ reference: ModelReference, path: (String) -> String) throws {
    bundle = try ModelBundle(contentsOf: reference.path)
    self.path = path(bundle.path)
    named = reference.version
    if let named, !bundle.versions.contains(named) { _ = try bundle.model(named: named) }
    let present = Set(bundle.versions)
    target = reference.version ?? bundle.currentVersion.flatMap { present.contains($0) ? $0 : nil }
    versions = try ModelVersions(references: [bundle.path]).namesOldestFirst(leadingTo: named)
  }

  /// Takes over the order that the lock file gives; versions that it does not list are younger.
  func order(by names: [String]) {
    guard !names.isEmpty else { return }
    isOrderGiven = true
    let known = names.filter(versions.contains)
    versions = known + versions.filter { !known.contains($0) }
  }

  func result(_ version: String) -> Result<ManagedObjectModel, GodwitError> {
    if let known = results[version] { return known }
    let result: Result<ManagedObjectModel, GodwitError>
    do { result = .success(try bundle.model(named: version)) } catch {
      result = .failure(
        error as? GodwitError ?? GodwitError(.missingInput, "cannot read version '\(version)': \(error)"))
    }
    results[version] = result
    return result
  }

  /// Nil where the version cannot be read.
  func model(_ version: String) -> ManagedObjectModel? { try? result(version).get() }

  /// The file that holds a version.
  func file(of version: String) -> String {
    var file = path
    switch XcodeFileKind.identify(bundle.path) {
    case .modelBundle?: file += "/\(version).xcdatamodel"
    case .compiledModelBundle?: return file + "/\(version).mom"
    case .compiledModel?: return file
    default: break
    }
    let isElements = XcodeFileKind.identify(file) == .archivedModel
    return file.hasSuffix("/contents") ? file : file + (isElements ? "/elements" : "/contents")
  }

  func index(_ version: String) -> ElementIndex {
    if let known = indexes[version] { return known }
    let file = file(of: version)
    let bytes = file.hasSuffix("/contents") ? (try? Data(contentsOf: URL(filePath: file))).map(Array.init) : nil
    let index = ElementIndex(file: file, bytes: bytes)
    indexes[version] = index
    return index
  }

  /// The versions up to the target that can be read, oldest first; each with hashes that differ from those of the one before.
  var readable: [ManagedObjectModel] {
    let last = target.flatMap { versions.firstIndex(of: $0) } ?? versions.count - 1
    return versions[...last].compactMap(model)
  }
}
