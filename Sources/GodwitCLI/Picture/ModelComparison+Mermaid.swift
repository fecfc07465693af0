import GodwitModel

extension ModelComparison {
  /// The changed entities of both versions as a flowchart of Mermaid: the earlier version left, the later one right.
  var mermaid: String {
    var lines = ["flowchart LR"]
    func side(_ id: String, _ title: String, _ boxes: [String]) {
      lines.append("  subgraph \(id)[\(MermaidText.quoted([title]))]")
      lines += boxes.map { "    " + $0 }
      lines.append("  end")
    }
    func box(_ id: String, _ texts: [String], _ mark: MappingPicture.Mark) -> String {
      "\(id)(\(MermaidText.quoted(texts))):::\(mark.rawValue)"
    }
    var before: [String] = []
    var after: [String] = []
    var arrows: [String] = []
    for (index, entity) in entities.enumerated() {
      let removed = entity.properties.filter { $0.kind == .removed }.map { "\u{2212} \($0.name)" }
      let changed = entity.changes + entity.properties.filter { $0.kind != .removed }.map(Self.text)
      switch entity.kind {
      case .added: after.append(box("b\(index)", [entity.name, "added"], .added))
      case .removed: before.append(box("a\(index)", [entity.name, "removed"], .dropped))
      case .renamed, .changed:
        let mark: MappingPicture.Mark = entity.kind == .renamed ? .renamed : .kept
        before.append(box("a\(index)", [entity.oldName ?? entity.name] + removed, mark))
        after.append(box("b\(index)", [entity.name] + changed, mark))
        arrows.append(entity.kind == .renamed ? "a\(index) -->|\"renamed\"| b\(index)" : "a\(index) --> b\(index)")
      }
    }
    if entities.isEmpty {
      before.append(box("a0", ["no entity or property changed"], .kept))
      after.append(box("b0", ["no entity or property changed"], .kept))
    }
    side("earlier", from, before)
    side("later", to, after)
    return (lines + arrows.map { "  " + $0 } + MermaidText.classes).joined(separator: "\n") + "\n"
  }

  private static func text(_ property: Property) -> String {
    let changes = property.changes.joined(separator: "; ")
    switch property.kind {
    case .added: return "+ \(property.name) (\(changes))"
    case .removed: return "\u{2212} \(property.name)"
    case .renamed:
      return "\(property.name) \u{2190} \(property.oldName ?? "")" + (changes.isEmpty ? "" : " (\(changes))")
    case .changed: return "\(property.name): \(changes)"
    }
  }
}
