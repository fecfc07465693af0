import Yams

/// How deep and how large a document is once its aliases are followed.
///
/// The parser follows aliases while it reads, and a few lines of nested ones stand for more values
/// than memory holds. So the document is first read with aliases and anchors disarmed: `&name` as
/// the tag `!name`, `*name` as the plain text `xname`. The tree then has the same shape and places.
struct YAMLLimits {
  static let depthMax = 64
  static let valuesMax = 1_000_000

  struct Extent {
    var values = 1
    var depth = 1
  }

  private let lines: YAMLLines
  private var anchors: [String: Extent] = [:]

  /// `lines` are those of the text as written.
  init(lines: YAMLLines) {
    self.lines = lines
  }

  /// The text with the aliases disarmed; nil when it can have none, for want of an anchor.
  static func disarmed(_ bytes: [UInt8]) -> String? {
    guard bytes.contains(UInt8(ascii: "&")) else { return nil }
    let other = bytes.map { byte in
      byte == UInt8(ascii: "&") ? UInt8(ascii: "!") : byte == UInt8(ascii: "*") ? UInt8(ascii: "x") : byte
    }
    return String(decoding: other, as: UTF8.self)
  }

  /// The extent of a node of the disarmed tree, in document order; counting stops at the limits.
  mutating func extent(of node: Node) -> Extent {
    var extent = Extent()
    let byte = node.mark.flatMap { lines.byte(line: $0.line, column: $0.column) }
    let children: [Node]
    switch node {
    case .scalar(let scalar):
      if byte == UInt8(ascii: "*") {
        return anchors[String(scalar.string.dropFirst())] ?? extent
      }
      children = []
    case .sequence(let sequence): children = Array(sequence)
    case .mapping(let mapping): children = mapping.flatMap { [$0.key, $0.value] }
    case .alias: children = []
    }
    for child in children {
      let part = self.extent(of: child)
      extent.values = min(extent.values + part.values, Self.valuesMax + 1)
      extent.depth = min(max(extent.depth, part.depth + 1), Self.depthMax + 1)
    }
    if byte == UInt8(ascii: "&") {
      anchors[String(node.tag.description.dropFirst())] = extent
    }
    return extent
  }
}
