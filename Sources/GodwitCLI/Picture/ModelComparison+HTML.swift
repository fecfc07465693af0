import GodwitModel

extension ModelComparison {
  /// The changes as one page of HTML with its own style: no script, nothing to load, light and dark.
  var html: String {
    let counts = [Kind.added, .removed, .renamed, .changed].compactMap { kind -> String? in
      let count = entities.count { $0.kind == kind }
      return count == 0 ? nil : "\(count) \(kind.rawValue)"
    }
    let verdict =
      hashesDiffer
      ? "The version hashes differ: a store has to be migrated."
      : "The version hashes are equal: no migration is needed."
    var body: [Markup] = [
      .element(
        "h1", [:], Markup(text: from), " ", .element("span", ["class": "to"], "to"), " ", Markup(text: to)),
      .line, .element("p", ["class": "verdict\(hashesDiffer ? " differs" : "")"], Markup(text: verdict)), .line,
    ]
    if entities.isEmpty {
      body.append(.element("p", [:], "No entity or property changed."))
    } else {
      body.append(
        .element("p", ["class": "counts"], Markup(text: "Entities: " + counts.joined(separator: ", "))))
      body += entities.map(Self.section)
    }
    return HTMLPage.document(
      title: "\(from) to \(to)", kind: "model-diff", style: Self.style,
      [.element("main", [:], body)])
  }

  private static func old(_ name: String?) -> Markup {
    name.map { " " + .element("span", ["class": "old"], Markup(text: "was \($0)")) } ?? Markup()
  }

  private static func section(_ entity: Entity) -> Markup {
    var parts: [Markup] = [
      .line, .element("h2", [:], Markup(text: entity.name), old(entity.oldName), " ", badge(entity.kind)), .line,
    ]
    if entity.hashesDiffer == false {
      parts.append(
        .element("p", ["class": "note"], "The version hash of the entity is the same in both versions."))
    }
    if !entity.changes.isEmpty {
      parts.append(.element("ul", [:], entity.changes.map { .element("li", [:], Markup(text: $0)) }))
    }
    if !entity.properties.isEmpty {
      let heads = ["Property", "Change", "Details"].map {
        Markup.element("th", ["scope": "col"], Markup(text: $0))
      }
      let rows = entity.properties.map { property -> Markup in
        let changes = property.changes.map { Markup(text: $0) }.joined(.element("br"))
        return .element(
          "tr", [:], .element("th", ["scope": "row"], Markup(text: property.name), old(property.oldName)),
          .element("td", [:], badge(property.kind)), .element("td", [:], changes))
      }
      parts.append(
        .element("table", [:], .element("thead", [:], .element("tr", [:], heads)), .element("tbody", [:], rows)))
    }
    return .line + .element("section", [:], parts)
  }

  private static func badge(_ kind: Kind) -> Markup {
    let sign =
      switch kind {
      case .added: "+"
      case .removed: "\u{2212}"
      case .renamed: "\u{2192}"
      case .changed: "\u{2248}"
      }
    return .element("span", ["class": "badge \(kind.rawValue)"], Markup(text: "\(sign) \(kind.rawValue)"))
  }

  private static let style = """
    .to, .old, .counts, .note { color: var(--soft); font-weight: normal; }
    .old { font-size: 0.875rem; }
    .verdict { border-left: 4px solid var(--added); padding: 0.25rem 0.75rem; background: var(--card); }
    .verdict.differs { border-color: var(--changed); }
    ul { margin: 0 0 0.5rem; padding-left: 1.25rem; }
    tbody th { font-family: ui-monospace, monospace; font-size: 0.9rem; }
    """
}
