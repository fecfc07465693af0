import GodwitModel
import Yams

/// Keys of an earlier version, each read as the key that took its place.
///
/// The next version drops them: this file goes then, with its two callers in `ManifestOverride` and `JobManifest`.
struct OldKeys {
  static let names = ["in-place", "keep-old", "on-existing", "append", "allow-empty", "layout-from", "history"]
  /// Those that `destination` has taken the place of.
  static let ofDestination = ["in-place", "keep-old", "on-existing", "append"]

  /// `on-existing` had two words.
  private enum OnExisting: String, CaseIterable { case fail, replace }

  /// `history` had one that worked.
  private enum History: String, CaseIterable { case drop }

  /// The key or the setting that took the place of an old key.
  private static let successors = [
    "in-place": "destination.existing=in-place", "keep-old": "destination.keep-old",
    "on-existing": "destination.existing",
    "append": "destination.existing=append", "allow-empty": "on-loss=allow-empty", "layout-from": "layout.from",
  ]

  let reader: YAMLReader

  /// Advice on an option that sets an old key; nil for another one.
  static func note(on override: ManifestOverride) -> String? {
    guard names.contains(override.key) else { return nil }
    let advice = successors[override.key].map { "write `--set \($0)`" } ?? "remove it"
    return "\(override.option): \(advice): '\(override.key)' is a key of an earlier version"
  }

  /// Sets what an old key says.
  ///
  /// - Parameters:
  ///   - value: nil removes the key: then what it may have set is removed.
  ///   - top: The top level of a manifest, with no old keys in it.
  /// - Throws: 78 for a value that the key does not take.
  func set(_ key: String, to value: Node?, in top: inout Node.Mapping) throws {
    func flag() throws -> Bool { try value.map { try reader.flag($0, key: key) } ?? false }
    switch key {
    case "in-place", "append": set(key, at: ["destination", "existing"], if: try flag(), like: value, in: &top)
    case "allow-empty": set(key, at: ["on-loss"], if: try flag(), like: value, in: &top)
    case "on-existing":
      let word: OnExisting = try value.map { try reader.choice($0, key: key) } ?? .fail
      set("replace", at: ["destination", "existing"], if: word == .replace, like: value, in: &top)
    case "keep-old": top.set(value, at: ["destination", "keep-old"])
    case "layout-from": top.set(value, at: ["layout", "from"])
    default:
      let _: History? = try value.map { try reader.choice($0, key: key) }
    }
  }

  /// Sets a word, or removes it where it stands. A job that must lose nothing must not lose everything either.
  private func set(_ word: String, at path: [String], if isSet: Bool, like value: Node?, in top: inout Node.Mapping) {
    let now = top.node(at: path)?.scalar?.string
    if isSet, word != "allow-empty" || now != "fail" {
      top.set(.scalar(Node.Scalar(word, .implicit, .plain, value?.mark)), at: path)
    } else if now == word {
      top.set(nil, at: path)
    }
  }
}

extension YAMLFile {
  /// The manifest with the keys of this version in place of those of an earlier one, and a note on what to write.
  ///
  /// - Throws: 78 for an old key beside the one that took its place, and for two that contradict each other.
  func replacingOldKeys() throws -> YAMLFile {
    let reader = YAMLReader(file: self)
    guard case .mapping(let all) = root else { return self }
    let entries = try reader.entries(root, key: "")
    let old = entries.filter { OldKeys.names.contains($0.key) }
    guard !old.isEmpty else { return self }
    var top = all
    for entry in old { top.set(nil, at: [entry.key]) }
    let written = top
    for entry in old {
      if let now = successor(of: entry.key, in: written) {
        throw reader.error(
          "expected either '\(now)' or '\(entry.key)', found both", at: entry.location,
          remedy: "remove '\(entry.key)': it is a key of an earlier version, and '\(now)' says the same")
      }
      let before = top.node(at: ["destination", "existing"])?.scalar?.string
      try OldKeys(reader: reader).set(entry.key, to: entry.value, in: &top)
      let now = top.node(at: ["destination", "existing"])?.scalar?.string
      guard before == nil || before == now else {
        throw reader.error(
          "expected one of 'in-place', 'on-existing' and 'append' to say what happens at the destination, found two",
          at: entry.location, remedy: "remove one of the two")
      }
    }
    var file = self
    file.root = .mapping(top)
    file.notes += notes(old, from: written, to: top)
    return file
  }

  /// The key that stands in a manifest and says the same as an old one.
  private func successor(of key: String, in top: Node.Mapping) -> String? {
    switch key {
    case _ where OldKeys.ofDestination.contains(key):
      if case .mapping? = top.node(at: ["destination"]) { "destination" } else { nil }
    case "layout-from": top.node(at: ["layout"]) == nil ? nil : "layout"
    default: nil
    }
  }

  /// One line for the keys that became one.
  private func notes(_ old: [YAMLReader.Entry], from before: Node.Mapping, to now: Node.Mapping) -> [String] {
    let groups = [
      ("destination", OldKeys.ofDestination), ("on-loss", ["allow-empty"]), ("layout", ["layout-from"]),
      ("", ["history"]),
    ]
    return groups.compactMap { key, names in
      let found = old.filter { names.contains($0.key) }
      guard let first = found.first else { return nil }
      let list = found.map { "'\($0.key)'" }.joined(separator: " and ")
      let node = now.node(at: [key])
      let advice = node == nil || node == before.node(at: [key]) ? "" : " and write `\(key): \(text(of: node ?? ""))`"
      return
        "\(first.location.text): remove \(list)\(advice): \(found.count == 1 ? "it is a key" : "they are keys") of an earlier version"
    }
  }

  /// A value on one line.
  private func text(of node: Node) -> String {
    switch node {
    case .scalar(let scalar) where node.bool != nil: scalar.string
    case .scalar(let scalar): YAMLText.scalar(scalar.string)
    case .mapping(let map):
      "{" + map.map { "\($0.key.scalar?.string ?? ""): \(text(of: $0.value))" }.joined(separator: ", ") + "}"
    default: "…"
    }
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
