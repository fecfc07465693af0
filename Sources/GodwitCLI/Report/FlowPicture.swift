/// The objects of a step as bands from the entities on the left to those on the right, as wide as there are objects.
///
/// The bands are one SVG that stretches to the width of the page. Names are text of the page, so that they keep their
/// size on a telephone. Small entities are drawn as one where there are many; the table beside the picture has all.
///
/// The left side counts an object once, also if several mappings take it: their bands share its width.
struct FlowPicture {
  /// An entity, the rest of them, or where lost objects go.
  struct Node {
    var name: String
    /// The number beside the name; nil where nothing is counted.
    var count: Double?
    var isLoss = false
    /// From the top, in pixels.
    var top = 0.0
    var height = 0.0
  }

  struct Band {
    var left, right: Int
    var leftTop, leftHeight, rightTop, rightHeight: Double
    var isLoss: Bool
  }

  private enum Key: Hashable {
    case entity(String)
    case others
    case loss(String)
  }

  private struct Sum {
    var taken = 0.0
    var made = 0.0
  }

  private struct Pair: Hashable {
    let left, right: Key
  }

  /// The largest that are drawn on a side, one of them for the rest.
  static let nodesMaximum = 20
  private static let bandPixels = 280.0
  private static let pixelsOfBand = 60.0
  private static let leastBand = 1.5
  private static let leastNode = 24.0
  /// The characters in a line of a label, and the height of a line, at 390 pixels.
  private static let (lineCharacters, linePixels) = (16, 16.0)
  private static let gap = 4.0

  private(set) var left: [Node] = []
  private(set) var right: [Node] = []
  private(set) var bands: [Band] = []
  private(set) var height = 0.0

  init(_ flows: ObjectFlows) {
    let isCounted = flows.note == nil
    var amounts: [[String: Double]] = [[:], [:]]
    for flow in flows.flows {
      let amount = isCounted ? Double(max(flow.taken ?? 0, flow.made ?? 0)) : 1
      amounts[0][flow.source, default: 0] += amount
      if !flow.isLoss { amounts[1][flow.destination, default: 0] += amount }
    }
    let shown = amounts.map(Self.largest)
    func key(_ name: String, _ side: Int) -> Key { shown[side].contains(name) ? .entity(name) : .others }
    var sums: [Pair: Sum] = [:]
    let widths = Self.widths(flows)
    for flow in flows.flows {
      let end = flow.isLoss ? Key.loss(flow.name) : key(flow.destination, 1)
      let taken = isCounted ? Double(flow.taken ?? 0) * (flow.isLoss ? 1 : widths[flow.source] ?? 1) : 1
      let made = isCounted ? Double(flow.made ?? flow.taken ?? 0) : 1
      let pair = Pair(left: key(flow.source, 0), right: end)
      sums[pair, default: Sum()].taken += flow.source.isEmpty ? made : taken
      sums[pair, default: Sum()].made += made
    }
    // Entities of which nothing stays come last, as their bands end below the others.
    let staying = Set(flows.flows.filter { !$0.isLoss }.map { key($0.source, 0) })
    let lefts = Self.ordered(Set(sums.keys.map(\.left)), amounts[0]) { staying.contains($0) ? 0 : 1 }
    let places = Dictionary(uniqueKeysWithValues: lefts.enumerated().map { ($1, Double($0)) })
    // An entity on the right is beside the middle of what it is made of, so that few bands cross.
    var weights: [Key: (sum: Double, weight: Double)] = [:]
    for (pair, sum) in sums {
      let weight = max(sum.made, 1)
      let known = weights[pair.right] ?? (0, 0)
      weights[pair.right] = (known.sum + weight * (places[pair.left] ?? 0), known.weight + weight)
    }
    let rights = Self.ordered(Set(sums.keys.map(\.right)), amounts[1]) { key in
      weights[key].map { $0.sum / $0.weight } ?? 0
    }
    let hidden = amounts.indices.map { amounts[$0].count - shown[$0].count }
    left = lefts.map { key in
      let sum: Double = sums.reduce(0) { $1.key.left == key ? $0 + $1.value.taken : $0 }
      return Self.node(key, isCounted ? sum : nil, hidden[0])
    }
    right = rights.map { key in
      let sum: Double = sums.reduce(0) { $1.key.right == key ? $0 + $1.value.made : $0 }
      return Self.node(key, isCounted ? sum : nil, hidden[1])
    }
    let total = sums.values.reduce((1.0, 1.0)) { ($0.0 + $1.taken, $0.1 + $1.made) }
    let pixels = min(Self.bandPixels, Self.pixelsOfBand * Double(sums.count + 1))
    let scale = pixels / max(total.0, total.1)
    for (row, from) in lefts.enumerated() {
      for (column, to) in rights.enumerated() {
        guard let sum = sums[Pair(left: from, right: to)] else { continue }
        bands.append(
          Band(
            left: row, right: column, leftTop: 0, leftHeight: max(Self.leastBand, sum.taken * scale), rightTop: 0,
            rightHeight: max(Self.leastBand, sum.made * scale), isLoss: right[column].isLoss))
      }
    }
    let ends = (
      Self.stack(&left) { node in bands.filter { $0.left == node }.reduce(0) { $0 + $1.leftHeight } },
      Self.stack(&right) { node in bands.filter { $0.right == node }.reduce(0) { $0 + $1.rightHeight } }
    )
    height = max(ends.0, ends.1)
    placeBands()
  }

  /// The part of a band's width that its entity has room for; nil for all of it.
  private static func widths(_ flows: ObjectFlows) -> [String: Double] {
    let repeats = flows.repeats.filter { $0.value > 0 }
    guard !repeats.isEmpty else { return [:] }
    var taken: [String: Double] = [:]
    for flow in flows.flows where !flow.isLoss { taken[flow.source, default: 0] += Double(flow.taken ?? 0) }
    return repeats.reduce(into: [:]) { widths, entity in
      let sum = taken[entity.key] ?? 0
      if sum > 0 { widths[entity.key] = (sum - entity.value) / sum }
    }
  }

  /// The names that are drawn: all, or the largest.
  private static func largest(_ amounts: [String: Double]) -> Set<String> {
    guard amounts.count > nodesMaximum else { return Set(amounts.keys) }
    let order = amounts.sorted { ($0.value, $1.key) > ($1.value, $0.key) }
    return Set(order.prefix(nodesMaximum - 1).map(\.key))
  }

  private static func node(_ key: Key, _ count: Double?, _ hidden: Int) -> Node {
    switch key {
    case .entity(""): Node(name: "new objects", count: count)
    case .entity(let name): Node(name: name, count: count)
    case .others: Node(name: "\(hidden) smaller ones", count: count)
    case .loss(let reason): Node(name: "lost: \(reason)", count: count, isLoss: true)
    }
  }

  /// By place, then the largest first; the rest and the losses last.
  private static func ordered(_ keys: Set<Key>, _ amounts: [String: Double], _ place: (Key) -> Double) -> [Key] {
    func rank(_ key: Key) -> (Int, Double, Double, String) {
      switch key {
      case .entity(let name): (0, place(key), -(amounts[name] ?? 0), name)
      case .others: (1, 0, 0, "")
      case .loss(let reason): (2, 0, 0, reason)
      }
    }
    return keys.sorted { rank($0) < rank($1) }
  }

  /// - Returns: The height of all.
  private static func stack(_ nodes: inout [Node], _ height: (Int) -> Double) -> Double {
    var top = 0.0
    for index in nodes.indices {
      nodes[index].top = top
      nodes[index].height = max(leastNode, labelPixels(nodes[index]), height(index))
      top += nodes[index].height + gap
    }
    return max(leastNode, top - gap)
  }

  /// The room that the whole label needs where the page is narrow.
  private static func labelPixels(_ node: Node) -> Double {
    let number = node.count.map { ReportText.short($0).count + 1 } ?? 0
    let width = max(6, lineCharacters - number)
    return Double((min(node.name.count, 400) + width - 1) / width) * linePixels
  }

  /// Puts the bands of each node one under the other, in its middle.
  private mutating func placeBands() {
    var lefts = left.indices.map { node in
      left[node].top + (left[node].height - bands.filter { $0.left == node }.reduce(0) { $0 + $1.leftHeight }) / 2
    }
    var rights = right.indices.map { node in
      right[node].top
        + (right[node].height - bands.filter { $0.right == node }.reduce(0) { $0 + $1.rightHeight }) / 2
    }
    for index in bands.indices {
      bands[index].leftTop = lefts[bands[index].left]
      lefts[bands[index].left] += bands[index].leftHeight
      bands[index].rightTop = rights[bands[index].right]
      rights[bands[index].right] += bands[index].rightHeight
    }
  }

  // MARK: Drawing

  /// - Parameter label: The content of the picture, for people who do not see it.
  func markup(label: String) -> Markup {
    let size = ReportText.place(height)
    let paths = bands.map { band -> Markup in
      func place(_ value: Double) -> String { ReportText.place(value) }
      let (a, b) = (place(band.leftTop), place(band.leftTop + band.leftHeight))
      let (c, d) = (place(band.rightTop), place(band.rightTop + band.rightHeight))
      return .element(
        "path",
        [
          "class": band.isLoss ? "band lost" : "band",
          "d": "M0,\(a)C50,\(a) 50,\(c) 100,\(c)V\(d)C50,\(d) 50,\(b) 0,\(b)Z",
        ])
    }
    let drawing = Markup.element(
      "svg",
      [
        "viewBox": "0 0 100 \(size)", "preserveAspectRatio": "none", "style": "height:\(size)px",
        "aria-hidden": "true",
      ], paths)
    let sides: [Markup] = [Self.labels(left, size, "side"), drawing, Self.labels(right, size, "side right")]
    return .element("div", ["class": "flow", "role": "img", "aria-label": label], sides) + .line
  }

  private static func labels(_ nodes: [Node], _ height: String, _ style: String) -> Markup {
    let items = nodes.map { node -> Markup in
      var parts: [Markup] = [.element("span", ["class": "label"], .name(node.name))]
      if let count = node.count {
        parts.append(.element("span", ["class": "count"], Markup(text: ReportText.short(count))))
      }
      return .element(
        "div",
        [
          "class": node.isLoss ? "node lost" : "node",
          "style": "top:\(ReportText.place(node.top))px;height:\(ReportText.place(node.height))px",
        ], parts)
    }
    return .element("div", ["class": style, "style": "height:\(height)px"], items)
  }

  static let style = """
    .flow { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); margin: 0.5rem 0; }
    .flow svg { display: block; width: 100%; }
    .band { fill: var(--flow); stroke: var(--card); stroke-width: 0.5px; vector-effect: non-scaling-stroke; }
    .band.lost { fill: var(--loss); }
    .side { position: relative; }
    .node { position: absolute; left: 0; right: 0; display: flex; align-items: center; gap: 0.4rem; padding: 0 0.4rem;
      border-right: 4px solid var(--flow); font-size: 0.8125rem; line-height: 1.2; justify-content: flex-end; }
    .right .node { border-right: 0; border-left: 4px solid var(--flow); justify-content: flex-start; }
    .node.lost { border-color: var(--loss); color: var(--removed); }
    .label { min-width: 0; overflow-wrap: anywhere; }
    .count { flex: none; color: var(--soft); }
    @media (max-width: 30rem) {
      .flow { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr) minmax(0, 3fr); }
      .node { font-size: 0.75rem; gap: 0.25rem; padding: 0 0.25rem; }
    }
    """
}
