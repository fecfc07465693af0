import GodwitModel

extension StepLint {
  /// Pairs each dropped item of a step with an added one that looks like the same thing under a new name.
  struct Renames {
    private let lint: StepLint
    /// The new names that are paired already. A new name explains only one old name.
    private var taken: Set<String> = []

    init(_ lint: StepLint) { self.lint = lint }

    mutating func entity(_ gone: EntityDescription) -> LintFinding? {
      let (old, new) = (lint.old, lint.new)
      if let found = lint.misread(gone.name) { return found }
      let names = Set(old.propertyNames(of: gone.name))
      let candidates = new.entities.filter { entity in
        guard lint.pairing.oldName(of: entity.name) == nil, !entity.isAbstract else { return false }
        let other = Set(new.propertyNames(of: entity.name))
        let shared = names.intersection(other).count
        // Most of their properties are the same.
        return !names.isEmpty && shared * 3 >= 2 * max(names.count, other.count)
      }
      // The same content under a name of its own is a rename too.
      let same = candidates.filter { Set(new.propertyNames(of: $0.name)) == names }.map(\.name)
      guard let found = closest(to: gone.name, candidates.map(\.name), prefix: "", accepting: Set(same)) else {
        return nil
      }
      let first = gone.renamingIdentifier ?? gone.name
      return lint.finding(
        .probableRename, gone.name, at: lint.newIndex.place(of: found),
        "\(lint.title) drops the entity \(gone.name) and adds \(found), which holds nearly the same, without a renaming identifier: the objects are lost",
        try:
          "set the Renaming ID of \(found) to '\(first)' (`elementID=\"\(first)\"`); accept the finding if they are not the same",
        related: lint.former(lint.oldIndex.place(of: gone.name)))
    }

    mutating func property(_ gone: ModelPairing.Property, of entity: EntityDescription) -> LintFinding? {
      let (name, kind) = (gone.name, gone.kind)
      if let found = lint.misread(name, of: entity.name) { return found }
      let first = lint.old.canonicalName(of: name, in: entity.name)
      guard let now = lint.pairing.newName(of: entity.name) else { return nil }
      let added = ModelPairing.Property.all(of: now, in: lint.new).filter { property in
        guard lint.pairing.origin(of: property, in: now, from: entity.name) == nil else { return false }
        switch (gone, property) {
        case (.attribute(let was), .attribute(let attribute)):
          return !attribute.isTransient && !attribute.isDerived && attribute.type == was.type
        case (.relationship(let was), .relationship(let relationship)):
          return lint.new.isStored(relationship) && relationship.isToMany == was.isToMany
            && relationship.destinationEntityName == lint.pairing.newName(of: was.destinationEntityName)
        default: return false
        }
      }
      guard let found = closest(to: name, added.map(\.name), prefix: now + ".") else { return nil }
      let content = if case .attribute = gone { "the values" } else { "the links" }
      return lint.finding(
        .probableRename, "\(now).\(found)", oldName: "\(entity.name).\(name)",
        at: lint.newIndex.place(of: found, in: now, of: lint.new),
        "\(lint.title) drops \(entity.name).\(name) and adds \(now).\(found) of the same type (\(kind)) without a renaming identifier: \(content) are lost",
        try:
          "set the Renaming ID of \(now).\(found) to '\(first)' (`elementID=\"\(first)\"`); accept the finding if they are not the same",
        related: lint.former(lint.oldIndex.place(of: name, in: entity.name, of: lint.old)))
    }

    /// The most similar of the names, if one is similar at all, which is then taken.
    ///
    /// - Parameter accepted: Names that need not be similar.
    private mutating func closest(
      to name: String, _ candidates: [String], prefix: String, accepting accepted: Set<String> = []
    ) -> String? {
      let free = candidates.filter { !taken.contains(prefix + $0) }
      let likeness = free.map { other in
        (name: other, value: max(NameLikeness.value(name, other), accepted.contains(other) ? 0.1 : 0))
      }.filter { $0.value > 0 }
      guard let best = likeness.max(by: { ($0.value, $1.name) < ($1.value, $0.name) }) else { return nil }
      taken.insert(prefix + best.name)
      return best.name
    }
  }
}

// MARK: Identifiers

extension StepLint {
  /// The finding on what takes the name of something lost as renaming identifier, although that has one of its own.
  fileprivate func misread(_ name: String, of entity: String? = nil) -> LintFinding? {
    pairing.contradictions.first { found in
      guard case .namesRenamed(name, _) = found.doubt else { return false }
      return found.property == nil ? entity == nil : pairing.oldName(of: found.entity) == entity
    }.map(finding)
  }

  /// Where names and renaming identifiers say different things.
  func contradictions() -> [LintFinding] {
    pairing.contradictions.map(finding)
      + pairing.entities.compactMap(\.new).flatMap { entity in
        pairing.exchanged(in: entity).sorted { Text($0.key) < Text($1.key) }.map { name, was in
          finding(
            .renameUnseen, "\(entity.name).\(name)", at: newIndex.place(of: name, in: entity.name, of: new),
            "\(title): \(entity.name).\(name) takes what '\(was)' had, and the version hash of \(entity.name) is equal: Core Data may copy the entity as it is",
            try: "give \(entity.name) a hash modifier in '\(new.name)' (`versionHashModifier`)")
        }
      }
  }

  private func finding(_ found: ModelPairing.Contradiction) -> LintFinding {
    let path = found.path
    let place =
      found.property.map { newIndex.place(of: $0, in: found.entity, of: new) } ?? newIndex.place(of: found.entity)
    func setting(_ first: String) -> String {
      "set the Renaming ID of \(path) in '\(new.name)' to '\(first)', its first name (`elementID=\"\(first)\"`)"
    }
    switch found.doubt {
    case .keptByName(let was, let now):
      let name = found.property ?? found.entity
      let ids = "'\(was)' in '\(old.name)' and '\(now ?? name)' in '\(new.name)'"
      return finding(
        .renameUnmatched, path, at: place,
        "\(title): \(path) has the same name and another canonical name, \(ids): Core Data may drop what it holds, and Godwit keeps it",
        try: was == name
          ? "remove the Renaming ID of \(path) in '\(new.name)', or add a mapping model for the step" : setting(was))
    case .namesRenamed(let name, let identifier):
      return finding(
        .renameUnmatched, path,
        oldName: found.property.map { _ in "\(pairing.oldName(of: found.entity) ?? found.entity).\(name)" } ?? name,
        at: place,
        "\(title): \(path) has the Renaming ID '\(name)', and '\(name)' has the Renaming ID '\(identifier)': Core Data matches neither, and \(path) is empty",
        try: setting(identifier))
    case .reused(let other):
      return finding(
        .renameUnmatched, path, at: place,
        "\(title) adds \(path), and '\(other)' has the same canonical name: Core Data may give either what it held, and Godwit leaves \(path) empty",
        try: "give \(path) another name, or a Renaming ID that no version has had; keep the Renaming ID of '\(other)'")
    case .unseen(let identifier):
      return finding(
        .renameUnseen, path, at: place,
        "\(title): \(path) has the Renaming ID '\(identifier)', and the version hashes are equal: Core Data migrates nothing, and what \(path) holds stays under its name",
        try: "give \(found.entity) a hash modifier in '\(new.name)' (`versionHashModifier`)")
    }
  }
}

/// The similarity of two names, from 0 (none) to 1.
package enum NameLikeness {
  package static func value(_ a: String, _ b: String) -> Double {
    let (x, y) = (words(a), words(b))
    if x.joined() == y.joined() { return 1 }
    // A slip in one word: `adress` and `address`.
    let differing = zip(x, y).filter { $0 != $1 }
    if x.count == y.count, differing.count == 1, isSlip(differing[0].0, differing[0].1) { return 0.9 }
    let shared = Set(x).intersection(y)
    // `name` and `fullName`; but not `firstName` and `lastName`.
    let isPart = !shared.isEmpty && shared.count == min(Set(x).count, Set(y).count)
    guard isPart || shared.contains(where: { $0.count > 2 && !common.contains($0) }) else { return 0 }
    return Double(shared.count) / Double(max(x.count, y.count)) * 0.8
  }

  /// Whether two words differ in one letter, in long words in two.
  private static func isSlip(_ a: String, _ b: String) -> Bool {
    let (x, y) = (Array(a), Array(b))
    let length = min(x.count, y.count)
    guard length > 3, length < 100 else { return false }
    var row = Array(0...y.count)
    for (i, letter) in x.enumerated() {
      var next = [i + 1]
      for (j, other) in y.enumerated() {
        next.append(min(row[j + 1] + 1, next[j] + 1, row[j] + (letter == other ? 0 : 1)))
      }
      row = next
    }
    return row[y.count] <= (length > 7 ? 2 : 1)
  }

  /// Words that many properties of one entity share, and that say little.
  private static let common: Set<String> = [
    "count", "data", "date", "has", "identifier", "is", "name", "number", "the", "time", "title", "type", "url", "was",
  ]

  /// `creationDate` as `creation` and `date`, `URLString` as `url` and `string`.
  private static func words(_ name: String) -> [String] {
    var words: [String] = []
    var current = ""
    let letters = Array(name)
    for (place, letter) in letters.enumerated() {
      guard letter.isLetter || letter.isNumber else {
        if !current.isEmpty { words.append(current) }
        current = ""
        continue
      }
      let startsWord =
        letter.isUppercase
        && (place > 0 && !letters[place - 1].isUppercase
          || place + 1 < letters.count && letters[place + 1].isLowercase)
      if startsWord, !current.isEmpty {
        words.append(current)
        current = ""
      }
      current += letter.lowercased()
    }
    if !current.isEmpty { words.append(current) }
    return words
  }
}
