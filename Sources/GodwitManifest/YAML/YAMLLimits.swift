import Yams

/// How deep and how large a document is once its aliases are followed.
///
/// The parser follows aliases while it reads, and a few lines of nested ones stand for more values
/// than memory holds. So the document is first read with its aliases disarmed: `*name` as a plain
/// text with another character in place of the star. The tree then has the same places, and at
/// least the shape it has with each alias as one value.
struct YAMLLimits {
  static let depthMax = 64
  static let valuesMax = 1_000_000

  /// Stands for the star of an alias. A private character, so that the keys of a map stay different; only a
  /// quoted `"*name"` beside the alias itself does not, and is refused as a duplicate key.
  private static let star: Unicode.Scalar = "\u{E000}"

  struct Extent {
    var values = 1
    var depth = 1
  }

  private var anchors: [String: Extent] = [:]

  /// The text with the aliases disarmed; nil when it can have none.
  static func disarmed(_ text: String) -> String? {
    guard text.utf8.contains(UInt8(ascii: "&")), text.utf8.contains(UInt8(ascii: "*")) else { return nil }
    var other = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { other.append(scalar == "*" ? star : scalar) }
    return String(other)
  }

  /// A disarmed text as it was written, for messages.
  static func armed(_ text: String) -> String { text.replacing(String(star), with: "*") }

  /// The extent of a node of the disarmed tree, in document order; counting stops at the limits.
  ///
  /// The parser must be alive: a node does not keep its anchor.
  mutating func extent(of node: Node) -> Extent {
    var extent = Extent()
    switch node {
    case .scalar(let scalar):
      if scalar.style == .plain { extent = aliased(in: scalar.string) }
    case .sequence(let sequence):
      for child in sequence { add(child, to: &extent) }
    case .mapping(let mapping):
      for (key, value) in mapping {
        add(key, to: &extent)
        add(value, to: &extent)
      }
    case .alias: break
    }
    if let anchor = node.anchor { anchors[anchor.rawValue] = extent }
    return extent
  }

  private mutating func add(_ child: Node, to extent: inout Extent) {
    Self.add(self.extent(of: child), to: &extent)
  }

  private static func add(_ part: Extent, to extent: inout Extent) {
    extent.values = min(extent.values + part.values, valuesMax + 1)
    extent.depth = min(max(extent.depth, part.depth + 1), depthMax + 1)
  }

  /// The extent of the aliases in a plain text.
  ///
  /// There can be several: within brackets `*a:*b` is a key and a value, and one text once disarmed.
  private func aliased(in text: String) -> Extent {
    var extent = Extent()
    let parts = text.unicodeScalars.split(separator: Self.star, omittingEmptySubsequences: false)
    for part in parts.dropFirst() {
      let name = part.prefix(while: Self.isNamePart)
      guard let anchor = anchors[String(name)] else { continue }
      // An alias alone adds no level.
      if parts.count == 2, parts.first?.isEmpty == true, name.endIndex == part.endIndex { return anchor }
      Self.add(anchor, to: &extent)
    }
    return extent
  }

  /// The characters that the parser takes into the name of an alias.
  private static func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_", "-": true
    default: false
    }
  }
}
