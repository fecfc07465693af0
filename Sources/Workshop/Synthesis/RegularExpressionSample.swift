import Foundation

/// Writes texts that a simple regular expression matches.
///
/// It knows literals, escapes, classes, groups, alternatives, quantifiers and anchors. Each text is checked with the
/// real engine, so an expression that it misreads counts as one that it cannot satisfy.
struct RegularExpressionSample: Sendable {
  private indirect enum Node: Sendable {
    case characters([Character])
    case sequence([Node])
    case choice([Node])
    case repeated(Node, Int, Int)
  }

  private let node: Node?
  /// nil when the engine refuses the pattern.
  private let expression: NSRegularExpression?

  init(_ pattern: String) {
    expression = try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z")
    var parser = Parser(rest: Array(pattern))
    let node = parser.choice(depth: 0)
    self.node = parser.failed || parser.place < parser.rest.count ? nil : node
  }

  /// A text that matches as a whole and whose UTF-16 length is in range; nil when none was found.
  func text(_ bits: UInt64, lengths: ClosedRange<Int>) -> String? {
    guard let expression else { return nil }
    func fits(_ text: String) -> Bool {
      let range = NSRange(location: 0, length: text.utf16.count)
      return lengths.contains(range.length) && expression.firstMatch(in: text, range: range) != nil
    }
    var bits = bits
    if let node {
      for attempt in 0..<24 {
        var text = ""
        // Later attempts repeat more, for a minimum length that the shortest text misses.
        Self.write(node, &text, &bits, generosity: attempt % 12)
        if fits(text) { return text }
      }
    }
    return ["a", "A", "1", "abc", "ABC", "123", "a@b.cc", "https://example.org/", ""].first(where: fits)
  }

  private static func write(_ node: Node, _ text: inout String, _ bits: inout UInt64, generosity: Int) {
    // Nested quantifiers multiply; no sample needs to be long.
    guard text.utf16.count < 4096 else { return }
    switch node {
    case .characters(let set):
      bits = SynthesisNoise.next(bits)
      if !set.isEmpty { text.append(set[bits.reduced(below: set.count)]) }
    case .sequence(let nodes): for node in nodes { write(node, &text, &bits, generosity: generosity) }
    case .choice(let nodes):
      bits = SynthesisNoise.next(bits)
      if !nodes.isEmpty { write(nodes[bits.reduced(below: nodes.count)], &text, &bits, generosity: generosity) }
    case .repeated(let node, let low, let high):
      bits = SynthesisNoise.next(bits)
      let most = min(high, low + 2 + generosity * generosity)
      let count = low + bits.reduced(below: most - low + 1)
      for _ in 0..<max(0, min(count, 4096)) { write(node, &text, &bits, generosity: generosity) }
    }
  }

  private struct Parser {
    var rest: [Character]
    var place = 0
    var failed = false

    private static let digits = Array("0123456789")
    private static let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

    private var next: Character? { place < rest.count ? rest[place] : nil }

    private mutating func take() -> Character? {
      guard place < rest.count else { return nil }
      place += 1
      return rest[place - 1]
    }

    mutating func choice(depth: Int) -> Node {
      guard depth < 32 else {
        failed = true
        return .sequence([])
      }
      var branches = [sequence(depth: depth)]
      while next == "|", !failed {
        place += 1
        branches.append(sequence(depth: depth))
      }
      return branches.count == 1 ? branches[0] : .choice(branches)
    }

    private mutating func sequence(depth: Int) -> Node {
      var nodes: [Node] = []
      while let character = next, character != "|", character != ")", !failed {
        place += 1
        let atom: Node
        switch character {
        case "^", "$": continue
        case "(":
          if next == "?" {
            guard place + 1 < rest.count, rest[place + 1] == ":" else {
              failed = true
              return .sequence([])
            }
            place += 2
          }
          atom = choice(depth: depth + 1)
          if take() != ")" { failed = true }
        case "[": atom = .characters(set())
        case ".": atom = .characters(Self.letters)
        case "\\": atom = .characters(escape())
        case "*", "+", "?", "{":
          failed = true
          return .sequence([])
        default: atom = .characters([character])
        }
        nodes.append(quantified(atom))
      }
      return .sequence(nodes)
    }

    private mutating func quantified(_ node: Node) -> Node {
      var result = node
      switch next {
      case "*": result = .repeated(node, 0, 256)
      case "+": result = .repeated(node, 1, 256)
      case "?": result = .repeated(node, 0, 1)
      case "{":
        guard let end = rest[place...].firstIndex(of: "}") else {
          failed = true
          return node
        }
        let parts = String(rest[(place + 1)..<end]).split(separator: ",", omittingEmptySubsequences: false)
        guard let low = parts.first.flatMap({ Int($0) }), low >= 0, low <= 4096 else {
          failed = true
          return node
        }
        let high = parts.count == 1 ? low : (parts.last.flatMap { Int($0) } ?? low + 256)
        result = .repeated(node, low, max(low, min(high, 4096)))
        place = end
      default: return node
      }
      place += 1
      // Reluctant and possessive forms match the same texts, or are refused by the check.
      if next == "?" || next == "+" { place += 1 }
      return result
    }

    private mutating func escape() -> [Character] {
      guard let character = take() else {
        failed = true
        return []
      }
      switch character {
      case "d": return Self.digits
      case "w": return Self.letters + Self.digits
      case "s": return [" "]
      case "D": return Self.letters
      case "S": return Self.letters
      case "W": return [" ", "-"]
      case "n": return ["\n"]
      case "t": return ["\t"]
      case "b", "B", "p", "P", "u", "x", "A", "z", "Z", "k", "0"..."9":
        failed = true
        return []
      default: return [character]
      }
    }

    private mutating func set() -> [Character] {
      var found: [Character] = []
      var isNegated = false
      if next == "^" {
        isNegated = true
        place += 1
      }
      var isFirst = true
      while let character = take() {
        if character == "]", !isFirst {
          guard isNegated else { return found }
          return (Self.letters + Self.digits).filter { !found.contains($0) }
        }
        isFirst = false
        if character == "[" || character == "&" { failed = true }
        var low = [character]
        if character == "\\" { low = escape() }
        if next == "-", place + 1 < rest.count, rest[place + 1] != "]", low.count == 1,
          let from = low[0].unicodeScalars.first?.value, let to = rest[place + 1].unicodeScalars.first?.value,
          to >= from, to - from < 1024
        {
          place += 2
          low = (from...to).compactMap { Unicode.Scalar($0).map { Character($0) } }
        }
        found += low
      }
      failed = true
      return found
    }
  }
}
