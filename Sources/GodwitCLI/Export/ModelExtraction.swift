import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode

/// The models that stores carried, written as Xcode's files.
struct ModelExtraction {
  /// A store with the model inside it.
  struct Source {
    let store: String
    let cached: CachedModel
    /// Whether the model is of the version of the store's objects.
    let fits: Bool
  }

  /// A version that was written.
  struct Version {
    let name: String
    let model: ManagedObjectModel
    /// The stores that carried it, in the order in which they are given.
    let stores: [String]
    /// Whether it is of the version of the objects in all of them.
    let fits: Bool
    /// The parts of the model that the files lack, and those that other stores of the version have, one sentence each.
    fileprivate(set) var omissions: [String]
  }

  /// In natural order of their names.
  private(set) var versions: [Version]
  /// The name of the current version.
  let current: String

  /// Writes the files, reads them back and compares the version hashes. Stores with equal version hashes give one version:
  /// the model of the last of them.
  ///
  /// The current version is the newest by version identifiers, if each version has one of its own. Otherwise it is the
  /// version of the last store.
  ///
  /// - Parameters:
  ///   - name: The name of the only version; nil for the models' own, else the name of the output, with a number where
  ///     there are several.
  ///   - path: A new `.xcdatamodeld`, or an `.xcdatamodel` for one version. The files get the permissions that all stores
  ///     have.
  /// - Throws: `.cannotCreate` (73) when something is at the path; `.dataWrong` (65) when the version hashes of what
  ///   was written differ. Then nothing is at the path.
  init(_ sources: [Source], version name: String?, to path: String) throws {
    let url = URL(filePath: path)
    let stem = url.deletingPathExtension().lastPathComponent
    let isBundle = url.pathExtension == "xcdatamodeld"
    let groups = sources.grouped { $0.cached.model.versionHashes }.map(\.elements)
    let own = groups.map { $0.last?.cached.model.versionIdentifiers.first(where: Self.isFileName) }
    // A disk of a Mac does not tell upper from lower case.
    let isNumbered = Set(own.compactMap { $0?.lowercased() }).count < groups.count
    versions = zip(groups.indices, groups).compactMap { place, group in
      guard let last = group.last else { return nil }
      let numbered = groups.count > 1 ? "\(stem) \(place + 1)" : stem
      let found = isBundle ? name ?? (isNumbered && groups.count > 1 ? nil : own[place]) ?? numbered : stem
      let others = group.dropLast().filter { $0.cached.model != last.cached.model }.flatMap { other in
        Self.differences(between: other.cached.model, and: last.cached.model).map { "\($0) in '\(other.store)'" }
      }
      return Version(
        name: found, model: last.cached.model, stores: group.map(\.store), fits: group.allSatisfy(\.fits),
        omissions: last.cached.omissions + others)
    }
    let lastStore = versions.first { $0.stores.contains(sources.last?.store ?? "") }?.name ?? stem
    versions.sort { ModelBundle.precedes($0.name, $1.name) }
    current = isNumbered ? lastStore : versions.last?.name ?? stem
    try write(to: path, isBundle: isBundle, like: sources.map(\.store))
  }

  private mutating func write(to path: String, isBundle: Bool, like stores: [String]) throws {
    guard let store = stores.first else { return }
    let folder = try NewFolder(path: path, like: store)
    do {
      func write(_ text: String, to name: String) throws {
        try ExportFile.write(text, to: OutputFile("\(folder.temporary)/\(name)", "a model", like: stores))
      }
      for version in versions {
        guard isBundle else {
          try write(version.model.xcodeContents, to: "contents")
          continue
        }
        let inner = "\(version.name).xcdatamodel"
        let made = try NewFolder(path: "\(folder.temporary)/\(inner)", like: store)
        try made.finish()
        try write(version.model.xcodeContents, to: "\(inner)/contents")
      }
      if isBundle { try write(try Self.currentVersion("\(current).xcdatamodel"), to: ".xccurrentversion") }
      let bundle = try ModelBundle(contentsOf: folder.temporary)
      for place in versions.indices {
        let version = versions[place]
        let read = try isBundle ? bundle.model(named: version.name) : bundle.currentModel()
        try Self.compareHashes(of: version.model, with: read, store: version.stores.last ?? store)
        versions[place].omissions += Self.differences(between: version.model, and: read)
      }
      try folder.finish()
    } catch {
      folder.discard()
      throw error
    }
  }

  /// Whether a version's name can be that of a folder.
  static func isFileName(_ name: String) -> Bool {
    !name.isEmpty && !name.hasPrefix(".") && name.utf8.count <= 200
      && name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "/" && $0 != "#" && $0.value != 0x7F }
  }

  private static func currentVersion(_ name: String) throws -> String {
    let list = ["_XCCurrentVersionName": name]
    let data = try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
    return String(decoding: data, as: UTF8.self)
  }

  static func compareHashes(of model: ManagedObjectModel, with read: ManagedObjectModel, store: String) throws {
    let (expected, found) = (model.versionHashes, read.versionHashes)
    let names = Set(expected.keys).union(found.keys).sorted { Text($0) < Text($1) }
    let wrong = names.filter { expected[$0] != found[$0] }
    guard let first = wrong.first else { return }
    let rest = wrong.count > 1 ? " and of \(wrong.count - 1) more" : ""
    let details = differences(between: model, and: read)
    throw GodwitError(
      .dataWrong,
      "cannot write the model inside '\(store)' as Xcode's files: the version hash of entity '\(first)'\(rest) would be another one",
      cause: details.isEmpty ? nil : details.prefix(10).asLines,
      remedy: "use the store without --model, so that the model inside it is used",
      safe: "nothing was written")
  }

  // MARK: Omissions of the files

  /// The parts of a model that are lost when it is read back from Xcode's files, one sentence each.
  static func differences(between model: ManagedObjectModel, and read: ManagedObjectModel) -> [String] {
    var found: [String] = []
    let identifiers = model.versionIdentifiers.dropFirst()
    if !identifiers.isEmpty {
      found.append("version identifiers after the first: " + identifiers.map { "'\($0)'" }.joined(separator: ", "))
    }
    for entity in model.entities {
      guard let other = read.entity(entity.name) else { continue }
      let lists = ["attributes", "relationships", "fetchedProperties"]
      found += fields(of: entity, and: other, at: "'\(entity.name)'", skipping: lists)
      found += pairs(entity.attributes, other.attributes, \.name, in: entity.name)
      found += pairs(entity.relationships, other.relationships, \.name, in: entity.name)
      found += pairs(entity.fetchedProperties, other.fetchedProperties, \.name, in: entity.name)
    }
    if model.configurations.mapValues(Set.init) != read.configurations.mapValues(Set.init) {
      found.append("the members of configurations")
    }
    if Set(model.fetchRequestTemplates) != Set(read.fetchRequestTemplates) { found.append("parts of fetch requests") }
    return found
  }

  private static func pairs<Property: Hashable>(
    _ properties: [Property], _ read: [Property], _ name: KeyPath<Property, String>, in owner: String
  ) -> [String] {
    properties.flatMap { property in
      guard let other = read.first(where: { $0[keyPath: name] == property[keyPath: name] }) else {
        return ["'\(owner).\(property[keyPath: name])'"]
      }
      return fields(of: property, and: other, at: "'\(owner).\(property[keyPath: name])'")
    }
  }

  /// The fields in which two values differ.
  private static func fields<Value: Hashable>(
    of value: Value, and other: Value, at place: String, skipping: [String] = []
  ) -> [String] {
    guard value != other else { return [] }
    return zip(Mirror(reflecting: value).children, Mirror(reflecting: other).children).compactMap { field, read in
      guard let label = field.label, !skipping.contains(label),
        let a = field.value as? AnyHashable, let b = read.value as? AnyHashable, a != b
      else { return nil }
      return "the \(words(label)) of \(place)"
    }
  }

  /// `defaultValue` as `default value`.
  private static func words(_ label: String) -> String {
    label.reduce(into: "") { text, character in
      text += character.isUppercase ? " " + character.lowercased() : String(character)
    }
  }
}
