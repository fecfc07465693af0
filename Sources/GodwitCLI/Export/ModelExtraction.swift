import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode

/// A model that a store carried, written as Xcode's files.
struct ModelExtraction {
  /// The name of the version.
  let version: String
  /// The parts of the model that the files lack, one sentence each.
  let omissions: [String]

  /// Writes the files, reads them back and compares the version hashes.
  ///
  /// - Parameters:
  ///   - version: The name of the version; nil for the model's own.
  ///   - path: A new `.xcdatamodeld` or `.xcdatamodel`.
  ///   - store: The store, whose permissions the files get.
  /// - Throws: `.cannotCreate` (73) when something is at the path; `.dataWrong` (65) when the version hashes of what
  ///   was written differ. Then nothing is at the path.
  init(_ cached: CachedModel, version given: String?, to path: String, like store: String) throws {
    let url = URL(filePath: path)
    let stem = url.deletingPathExtension().lastPathComponent
    let isBundle = url.pathExtension == "xcdatamodeld"
    let own = cached.model.versionIdentifiers.first(where: Self.isFileName)
    version = isBundle ? given ?? own ?? stem : stem
    let folder = try NewFolder(path: path, like: store)
    do {
      func write(_ text: String, to name: String) throws {
        try ExportFile.write(text, to: OutputFile("\(folder.temporary)/\(name)", "a model", like: [store]))
      }
      if isBundle {
        let inner = "\(version).xcdatamodel"
        let made = try NewFolder(path: "\(folder.temporary)/\(inner)", like: store)
        try made.finish()
        try write(cached.model.xcodeContents, to: "\(inner)/contents")
        try write(try Self.currentVersion(inner), to: ".xccurrentversion")
      } else {
        try write(cached.model.xcodeContents, to: "contents")
      }
      let read = try ModelBundle(contentsOf: folder.temporary).currentModel()
      try Self.compareHashes(of: cached.model, with: read, store: store)
      omissions = cached.omissions + Self.differences(between: cached.model, and: read)
      try folder.finish()
    } catch {
      folder.discard()
      throw error
    }
  }

  /// Whether a version's name can be that of a folder.
  static func isFileName(_ name: String) -> Bool {
    !name.isEmpty && !name.hasPrefix(".") && name.utf8.count <= 200
      && name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "/" && $0.value != 0x7F }
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
      cause: details.isEmpty ? nil : details.prefix(10).joined(separator: "\n"),
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
