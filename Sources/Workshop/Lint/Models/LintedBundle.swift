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
  /// The version that `PATH#Version` names.
  private let named: String?
  /// Oldest first.
  private(set) var versions: [String] = []
  /// Whether the lock file says the order.
  private(set) var isOrderGiven = false
  /// Versions named like the current one whose number is higher: not released yet, as it seems.
  private(set) var unreleased: [String] = []
  private var results: [String: Result<ManagedObjectModel, GodwitError>] = [:]
  private var indexes: [String: ElementIndex] = [:]

  /// - Throws: code `.missingInput` or `.permission`, as `ModelBundle`; also if no version has that name.
  init(_ reference: ModelReference, path: (String) -> String) throws {
    bundle = try ModelBundle(contentsOf: reference.path)
    self.path = path(bundle.path)
    named = reference.version
    if let named, !bundle.versions.contains(named) { _ = try bundle.model(named: named) }
    let present = Set(bundle.versions)
    target = reference.version ?? bundle.currentVersion.flatMap { present.contains($0) ? $0 : nil }
    versions = Self.ordered(try ModelVersions(references: [bundle.path]).namesOldestFirst(leadingTo: named), to: target)
    guard let target else { return }
    unreleased = versions.filter {
      $0 != target && Self.stem($0) == Self.stem(target) && ModelBundle.precedes(target, $0)
    }
  }

  /// The order that jobs use, except that the versions named like the current one come last: an application that
  /// renames its model continues under the new name.
  private static func ordered(_ names: [String], to target: String?) -> [String] {
    guard let target else { return names }
    let stem = stem(target)
    return names.filter { self.stem($0) != stem } + names.filter { self.stem($0) == stem }
  }

  /// A name without the numbers at its end, which is the same for all names of a line of versions.
  static func stem(_ name: String) -> String {
    name.replacing(/([\s._-]*v?\d+([._-]\d+)*)+\s*$/.ignoresCase(), with: "").lowercased()
  }

  /// Applies the lock file: its order, if it has one, and the released versions.
  ///
  /// - Parameter names: The versions, oldest first. Versions that are not among them are younger.
  func adopt(order names: [String]?, released: Set<String>) {
    unreleased.removeAll(where: released.contains)
    guard let names, !names.isEmpty else { return }
    isOrderGiven = true
    unreleased = []
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

  /// The file that holds a version, as findings show it.
  func file(of version: String) -> String { path + inner(version) }

  /// The way from the model to the file of a version; empty where the model is that file.
  private func inner(_ version: String) -> String {
    var inner = ""
    switch XcodeFileKind.identify(bundle.path) {
    case .modelBundle?: inner = "/\(version).xcdatamodel"
    case .compiledModelBundle?: return "/\(version).mom"
    case .compiledModel?: return ""
    default: if bundle.path.hasSuffix("/contents") { return "" }
    }
    let isElements = XcodeFileKind.identify(bundle.path + inner) == .archivedModel
    return inner + (isElements ? "/elements" : "/contents")
  }

  func index(_ version: String) -> ElementIndex {
    if let known = indexes[version] { return known }
    let real = bundle.path + inner(version)
    let bytes = real.hasSuffix("/contents") ? (try? Data(contentsOf: URL(filePath: real))).map(Array.init) : nil
    let index = ElementIndex(file: file(of: version), bytes: bytes)
    indexes[version] = index
    return index
  }

  /// The released versions up to the target that can be read, oldest first.
  var readable: [ManagedObjectModel] {
    let last = target.flatMap { versions.firstIndex(of: $0) } ?? versions.count - 1
    return versions[...last].filter { !unreleased.contains($0) }.compactMap(model)
  }
}
