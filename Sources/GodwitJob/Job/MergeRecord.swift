import GodwitModel
package import GodwitStore

/// The parts of a merged store, and how its keys are numbered: `merged.json` beside it.
package struct MergeRecord: Codable, Sendable, Hashable {
  /// The keys of a root entity's objects in one part.
  package struct Keys: Codable, Sendable, Hashable {
    /// The lowest and the highest key in the part.
    package var first, last: Int64
    /// The number that was added to each.
    package var offset: Int64

    package init(first: Int64, last: Int64, offset: Int64) {
      (self.first, self.last, self.offset) = (first, last, offset)
    }
  }

  /// One of the stores.
  package struct Part: Codable, Sendable, Hashable {
    /// The path as the manifest gives it.
    package var path: String
    package var uuid: String
    package var objects: Int64
    /// By root entity; one without objects is left out.
    package var keys: [String: Keys]
    /// The content that was left out.
    package var notes: [MigrationNote]

    package init(path: String, uuid: String, objects: Int64, keys: [String: Keys], notes: [MigrationNote]) {
      (self.path, self.uuid, self.objects, self.keys, self.notes) = (path, uuid, objects, keys, notes)
    }
  }

  private static let version = 1

  private var version = Self.version
  package var parts: [Part]
  /// The state of the parts together when they were read.
  package var stamp: StoreFiles.Stamp
  /// The digest of the content of the parts.
  package var digest: String?
  /// The merged store as it was made.
  package var made: StoreFiles.Stamp

  package init(parts: [Part], stamp: StoreFiles.Stamp, made: StoreFiles.Stamp) {
    (self.parts, self.stamp, self.made) = (parts, stamp, made)
  }

  /// The part that an object of the merged store comes from, and its key there.
  package func origin(of root: String, key: Int64) -> (part: Part, key: Int64)? {
    for part in parts {
      guard let keys = part.keys[root], keys.first + keys.offset <= key, key <= keys.last + keys.offset else {
        continue
      }
      return (part, key - keys.offset)
    }
    return nil
  }

  /// Notes for plan and summary.
  package var notes: [MigrationNote] {
    let list = parts.map { "\($0.objects.counted("object")) of '\($0.path)'" }.joined(separator: ", ")
    var notes = [MigrationNote(.merged, "the source is \(parts.count) stores, merged in this order: \(list)")]
    for part in parts.dropFirst() {
      let raised = part.keys.filter { $0.value.offset != 0 }.sorted { $0.key < $1.key }
      guard !raised.isEmpty else { continue }
      let named = raised.prefix(Self.limitNamed).map { "\($0.key) by \($0.value.offset)" }.joined(separator: ", ")
      let more = raised.count > Self.limitNamed ? " and \(raised.count - Self.limitNamed) more" : ""
      notes.append(MigrationNote(.merged, "keys of '\(part.path)' are raised in the source: \(named)\(more)"))
    }
    for (place, part) in parts.enumerated() {
      guard let first = parts[..<place].first(where: { $0.uuid == part.uuid }) else { continue }
      notes.append(
        MigrationNote(
          .merged,
          "'\(part.path)' is a copy of '\(first.path)': both have the identifier \(part.uuid), and what both have comes twice unless `unique-by` meets it"
        ))
    }
    return notes + parts.flatMap(\.notes)
  }

  private static let limitNamed = 5
}
