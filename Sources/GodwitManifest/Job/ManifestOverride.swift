import GodwitModel
import Yams

/// A key that replaces one of the manifest, as `--set memory=128MiB` does.
///
/// A relative path in it counts from the current folder. A list or a map is set as a whole: `version-order=[V1, V2]`.
public struct ManifestOverride: Sendable, Hashable {
  /// The key, with a dot between the keys of nested maps: `chunks.rows`.
  public var key: String
  /// The value as YAML. An empty value or `null` removes the key, so that its default applies.
  public var value: String
  /// Its name in messages: `--set chunks.rows`.
  public var option: String

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
  public init(key: String, text: String, option: String) {
    self.init(key: key, value: YAMLText.scalar(text), option: option)
  }

  /// `KEY=VALUE`.
  ///
  /// - Parameter text: The key, `=`, and the value as YAML.
  /// - Throws: `.usage` (64) when it has no `=` or a part of the key is empty.
  public init(parsing text: String) throws {
    guard let mark = text.firstIndex(of: "=") else {
      throw GodwitError(
        .usage, "cannot set '\(text)': expected KEY=VALUE, found no '='",
        remedy: "write the key as in a manifest, for example `--set memory=128MiB` or `--set chunks.rows=1000`")
    }
    self.init(key: String(text[..<mark]), value: String(text[text.index(after: mark)...]))
    guard !path.contains(where: { $0.allSatisfy(\.isWhitespace) }) else {
      throw GodwitError(
        .usage, "cannot set '\(text)': expected KEY=VALUE, found an empty key",
        remedy: "write the key as in a manifest, for example `--set memory=128MiB` or `--set chunks.rows=1000`")
    }
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
  /// A `destination` takes the place of the file's `in-place`, and the other way round: a job has one of the two.
  ///
  /// - Throws: 78 when a value is no YAML, or a key leads into a list.
  func setting(_ overrides: [ManifestOverride], what: String) throws -> YAMLFile {
    guard !overrides.isEmpty, case .mapping(var top) = root else { return self }
    let keys = Set(overrides.map(\.key))
    var file = self
    for override in overrides {
      func node(_ text: String) throws -> Node? {
        let line = file.addOption(override.option, text: text)
        return try Self.node(text, firstLine: line, option: override.option, what: what)
      }
      let value = try node(override.value)
      let names = try override.path.compactMap { try node(YAMLText.scalar($0)) }
      // Beside a destination, or `in-place: false`, the file's `keep-old` is about the destination.
      let inPlace = top.first { $0.key.scalar?.string == "in-place" }?.value
      let isInPlace = inPlace != nil && inPlace?.bool != false
      let others = override.key == "destination" ? ["in-place"] + (isInPlace ? ["keep-old"] : []) : ["destination"]
      if value != nil, override.key == "destination" || override.key == "in-place" && value?.bool == true {
        for other in others where !keys.contains(other) { top = Self.removing(other, from: top) }
      }
      top = try Self.setting(value, at: names[...], in: top, override)
    }
    file.root = .mapping(top)
    return file
  }

  private static func removing(_ key: String, from map: Node.Mapping) -> Node.Mapping {
    Node.Mapping(map.filter { $0.key.scalar?.string != key }.map { ($0.key, $0.value) }, map.tag, map.style, map.mark)
  }

  private static func setting(
    _ value: Node?, at path: ArraySlice<Node>, in map: Node.Mapping, _ override: ManifestOverride
  ) throws -> Node.Mapping {
    guard let key = path.first, let name = key.scalar?.string else { return map }
    var pairs = map.map { ($0.key, $0.value) }
    let place = pairs.firstIndex { $0.0.scalar?.string == name }
    var new = value
    if path.count > 1 {
      var inner = Node.Mapping([], .implicit, .any, key.mark)
      switch place.map({ pairs[$0].1 }) {
      case .mapping(let found)?: inner = found
      case .sequence?:
        throw GodwitError(
          .configuration, "cannot set '\(override.key)': '\(name)' is a list, which is set as a whole",
          location: .init(file: override.option, line: 0, column: 0),
          remedy: "write `--set '\(name)=[…]'`, or change the manifest")
      case .scalar?, .alias?, nil:
        if value == nil { return map }
      }
      new = .mapping(try setting(value, at: path.dropFirst(), in: inner, override))
    }
    switch (place, new) {
    case (let place?, let new?): pairs[place] = (key, new)
    case (let place?, nil): pairs.remove(at: place)
    case (nil, let new?): pairs.append((key, new))
    case (nil, nil): break
    }
    return Node.Mapping(pairs, map.tag, map.style, map.mark)
  }

  /// A value from an option. Its nodes carry lines after those of the file, by which their option is found again.
  private static func node(_ text: String, firstLine: Int, option: String, what: String) throws -> Node? {
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
