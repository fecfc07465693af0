/// Which names of two versions belong together.
///
/// Core Data compares renaming identifiers. An element without one has its name as identifier, its *canonical name*. So
/// the identifier of a renamed element is the name that it had first. Where identifiers decide nothing, an element
/// keeps what has its name: an identifier that was forgotten or added later loses no values.
struct NamePairing {
  /// An entity, property or element of a composite attribute, and its identifier.
  struct Entry {
    let name: String
    /// Nil if it is the name.
    let identifier: String?

    init(_ name: String, _ identifier: String?) {
      (self.name, self.identifier) = (name, identifier == name ? nil : identifier)
    }

    var canonical: String { identifier ?? name }
  }

  private(set) var oldNames: [String: String] = [:]
  private(set) var newNames: [String: String] = [:]
  /// Where names and identifiers contradict each other, by the later name.
  private(set) var doubts: [String: RenamingDoubt] = [:]

  /// - Parameter isSettled: Whether the version hashes say that the names are what they were.
  init(_ old: [Entry], _ new: [Entry], isSettled: Bool) {
    let old = old.sorted { Text($0.name) < Text($1.name) }
    var rest = new.sorted { Text($0.name) < Text($1.name) }
    let byName = Dictionary(old.map { ($0.name, $0) }) { first, _ in first }
    let byIdentifier = Dictionary(grouping: old.filter { $0.identifier != nil }) { $0.canonical }
    func pair(_ find: (Entry) -> String?) {
      rest.removeAll { entry in
        guard let name = find(entry), newNames[name] == nil else { return false }
        (newNames[name], oldNames[entry.name]) = (entry.name, name)
        return true
      }
    }
    func identified(_ identifier: String) -> String? {
      byIdentifier[identifier]?.first { newNames[$0.name] == nil }?.name
    }
    if isSettled { pair { byName[$0.name]?.name } }
    pair { entry in entry.identifier.flatMap { byName[entry.name]?.identifier == $0 ? entry.name : nil } }
    pair { entry in entry.identifier.flatMap(identified) }
    pair { entry in entry.identifier.flatMap { byName[$0] }.flatMap { $0.identifier == nil ? $0.name : nil } }
    // A name that is used again takes nothing from what a rename has claimed.
    pair { entry in entry.identifier == nil ? byName[entry.name]?.name : nil }
    pair { entry in entry.identifier == nil ? identified(entry.name) : nil }
    pair { byName[$0.name]?.name }
    for entry in new { doubts[entry.name] = doubt(entry, byName, isSettled) }
  }

  private func doubt(_ entry: Entry, _ old: [String: Entry], _ isSettled: Bool) -> RenamingDoubt? {
    if let was = oldNames[entry.name].flatMap({ old[$0] }) {
      guard was.canonical != entry.canonical else { return nil }
      if isSettled, was.name == entry.name {
        // An identifier that is new and names an element which the version has, too: the names are exchanged.
        return entry.identifier.flatMap { old[$0] != nil ? .unseen(identifier: $0) : nil }
      }
      return .keptByName(was: was.canonical, now: entry.identifier)
    }
    if let identifier = entry.identifier, let was = old[identifier], let own = was.identifier, own != identifier {
      return .namesRenamed(was.name, identifier: own)
    }
    let taken = old.values.filter { $0.canonical == entry.canonical }.compactMap { newNames[$0.name] }
    return taken.min { Text($0) < Text($1) }.map { .reused(by: $0) }
  }

  /// Pairs names that nothing else has paired.
  mutating func add(_ old: String, _ new: String) {
    guard newNames[old] == nil, oldNames[new] == nil else { return }
    (newNames[old], oldNames[new], doubts[new]) = (new, old, nil)
  }

  /// Takes the pairs of the elements of two composite attributes, under their paths.
  mutating func adopt(_ elements: NamePairing, _ oldPath: String, _ newPath: String) {
    for (new, old) in elements.oldNames { add("\(oldPath).\(old)", "\(newPath).\(new)") }
    for (name, doubt) in elements.doubts { doubts["\(newPath).\(name)"] = doubt }
  }
}

extension ManagedObjectModel {
  /// The name by which other versions find a property: its renaming identifier, else its name.
  package func canonicalName(of property: String, in entity: String) -> String {
    attribute(property, of: entity)?.renamingIdentifier ?? relationship(property, of: entity)?.renamingIdentifier
      ?? property
  }
}

/// A contradiction between names and renaming identifiers, and what was decided.
package enum RenamingDoubt: Sendable, Hashable {
  /// The element keeps what had its name, although the identifiers differ.
  case keptByName(was: String, now: String?)
  /// The identifier is the name of an element that has an identifier of its own. The element is new.
  case namesRenamed(String, identifier: String)
  /// Another element has the same canonical name and keeps the data. The element is new.
  case reused(by: String)
  /// The version hashes are equal, so Core Data does not see the identifier.
  case unseen(identifier: String)

  /// What was decided and why, after the name of the element.
  package var decision: String {
    switch self {
    case .keptByName: "is \(remark)"
    case .namesRenamed, .reused: "is new; \(remark)"
    case .unseen: "keeps its place; \(remark)"
    }
  }

  /// What was decided and why, as the end of a remark.
  package var remark: String {
    switch self {
    case .keptByName(let was, let now):
      "kept by its name: Core Data compares the renaming identifiers, '\(was)' before and \(now.map { "'\($0)'" } ?? "none") now"
    case .namesRenamed(let name, let identifier):
      "its renaming identifier '\(name)' matches nothing, since '\(name)' has the identifier '\(identifier)'"
    case .reused(let other): "it takes nothing from '\(other)', which has the same canonical name"
    case .unseen(let identifier):
      "its renaming identifier '\(identifier)' has no effect: the version hashes are equal"
    }
  }
}
