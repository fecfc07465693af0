import GodwitModel
import Yams

/// A key that replaces one of the manifest, as `--set memory=128MiB` does.
///
/// A relative path in it counts from the current folder. A list or a map is set as a whole: `version-order=[V1, V2]`.
public struct ManifestOverride: Sendable, Hashable {
  /// The key, with a dot between the keys of nested maps: `chunks.rows`.
  package var key: String
  /// The value as YAML. An empty value or `null` removes the key, so that its default applies.
  package var value: String
  /// Its name in messages: `--set chunks.rows`.
  package var option: String

  /// A key and its value as YAML.
  ///
  /// - Parameters:
  ///   - key: The key, with a dot between the keys of nested maps.
  ///   - value: The value as YAML.
  ///   - option: Its name in messages; nil for `--set KEY`.
  public init(key: String, value: String, option: String? = nil) {
    (self.key, self.value) = (key, value)
    self.option = option ?? "--set \(key)"
  }

  /// A key whose value is a literal text, such as a path, not YAML.
  ///
  /// - Parameters:
  ///   - key: The key, with a dot between the keys of nested maps.
  ///   - text: The value itself.
  ///   - option: Its name in messages.
  package init(key: String, text: String, option: String) {
    self.init(key: key, value: YAMLText.scalar(text), option: option)
  }

  /// `KEY=VALUE`.
  ///
  /// - Parameter text: The key, `=`, and the value as YAML.
  /// - Throws: `.usage` (64) when it has no `=` or a part of the key is empty.
  package init(parsing text: String) throws {
    func wrong(_ found: String) -> GodwitError {
      GodwitError(
        .usage, "cannot set '\(text)': expected KEY=VALUE, found \(found)",
        remedy: "write the key as in a manifest, for example `--set memory=128MiB` or `--set chunks.rows=1000`")
    }
    guard let mark = text.firstIndex(of: "=") else { throw wrong("no '='") }
    self.init(key: String(text[..<mark]), value: String(text[text.index(after: mark)...]))
    guard !path.contains(where: { $0.allSatisfy(\.isWhitespace) }) else { throw wrong("an empty key") }
  }

  /// The keys from the outermost to the innermost. The mapping names in `chunks.by` may have dots of their own.
  var path: [String] {
    let parts = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.starts(with: ["chunks", "by"]), parts.count > 3 else { return parts }
    return ["chunks", "by", parts[2...].joined(separator: ".")]
  }
}

extension YAMLFile {
  /// The file with keys set from outside. Messages name such a key by its option.
  ///
  /// A path as `destination` sets the path and leaves what happens there in force, unless the file's job is in place. A
  /// job that is set in place loses the file's path.
  ///
  /// - Throws: 78 when a value is not YAML, or a key leads into a list.
  func setting(_ overrides: [ManifestOverride]) throws -> YAMLFile {
    var file = self
    guard !overrides.isEmpty, case .mapping(var top) = file.root else { return self }
    let (place, existing) = (["destination", "path"], ["destination", "existing"])
    let settings = try overrides.map { override in
      let line = file.addOption(override.option, text: override.value)
      let value = try node(override.value, firstLine: line, option: override.option)
      let isPath = override.key == "destination" && value?.scalar != nil
      return (override: override, path: isPath ? place : override.path, value: value)
    }
    let setsPath = settings.contains { $0.path == place && $0.value != nil }
    let setsInPlace = settings.contains { $0.path == existing && $0.value?.scalar?.string == "in-place" }
    if setsPath, !setsInPlace, top.node(at: existing)?.scalar?.string == "in-place" {
      top.set(nil, at: ["destination"])
    }
    if setsInPlace, !setsPath { top.set(nil, at: place) }
    for (override, path, value) in settings {
      for count in 1..<max(path.count, 1) {
        guard case .sequence? = top.node(at: Array(path[..<count])) else { continue }
        throw GodwitError(
          .configuration, "cannot set '\(override.key)': '\(path[count - 1])' is a list, which is set as a whole",
          location: .init(file: override.option, line: 0, column: 0),
          remedy: "write `--set '\(path[count - 1])=[…]'`, or change the manifest")
      }
      top.set(value, at: path)
    }
    file.root = .mapping(top)
    return file
  }

  /// A value from an option. Its nodes carry lines after those of the file, by which their option is found again.
  private func node(_ text: String, firstLine: Int, option: String) throws -> Node? {
    guard text.contains(where: { !$0.isWhitespace }) else { return nil }
    let bytes = [UInt8](repeating: UInt8(ascii: "\n"), count: firstLine - 1) + Array(text.utf8)
    let root: Node
    do { root = try YAMLFile(bytes: bytes, path: option, what: what).root } catch var error as GodwitError {
      error.location = .init(file: option, line: 0, column: 0)
      if error.topic == .emptyFile { return nil }
      error.remedy = "give a YAML value, in quotes for the shell: --set 'version-order=[App 1, App 2]'"
      throw error
    }
    if case .scalar(let scalar) = root, YAMLReader.isNull(scalar) { return nil }
    return root
  }
}

extension Node.Mapping {
  /// The value below some keys. A path alone is the `path` of its map.
  func node(at path: [String]) -> Node? {
    guard let key = path.first, let value = first(where: { $0.key.scalar?.string == key })?.value else { return nil }
    guard path.count > 1 else { return value }
    return if case .mapping(let inner) = value { inner.node(at: Array(path.dropFirst())) } else { nil }
  }

  /// Sets or removes the value below some keys, and makes the maps that are missing. The path alone that `destination`
  /// may be becomes the `path` of its map.
  mutating func set(_ value: Node?, at path: [String]) {
    guard let key = path.first else { return }
    var pairs = map { ($0.key, $0.value) }
    let place = pairs.firstIndex { $0.0.scalar?.string == key }
    var new = value
    if path.count > 1 {
      var inner = Node.Mapping([], .implicit, .any, value?.mark)
      switch place.map({ pairs[$0].1 }) {
      case .mapping(let map)?: inner = map
      case let node? where key == "destination":
        inner = Node.Mapping(
          [(.scalar(Node.Scalar("path", .implicit, .plain, node.mark)), node)], .implicit, .any, node.mark)
      case _?, nil: if value == nil { return }
      }
      inner.set(value, at: Array(path.dropFirst()))
      new = .mapping(inner)
    }
    let mark = value?.mark ?? place.flatMap { pairs[$0].0.mark }
    let name = Node.scalar(Node.Scalar(key, .implicit, .plain, mark))
    switch (place, new) {
    case (let place?, let new?): pairs[place] = (name, new)
    case (let place?, nil): pairs.remove(at: place)
    case (nil, let new?): pairs.append((name, new))
    case (nil, nil): return
    }
    self = Node.Mapping(pairs, tag, style, self.mark)
  }
}
