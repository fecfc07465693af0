import GodwitModel

/// Objects that break rules of the destination model about a property, and stay: see ``MigrationJob/keepsInvalid``.
package struct KeptInvalid: Sendable, Codable, Hashable {
  /// The destination entity.
  package var entity: String
  /// Its attribute or relationship.
  package var property: String
  /// How many objects, each counted once however many of these rules it breaks.
  package var objects: Int64

  package init(entity: String, property: String, objects: Int64) {
    (self.entity, self.property, self.objects) = (entity, property, objects)
  }

  /// The sums of equal entities and properties, in the order of names.
  package static func sums(_ counts: [KeptInvalid]) -> [KeptInvalid] {
    var sums: [[String]: Int64] = [:]
    for count in counts { sums[[count.entity, count.property], default: 0] += count.objects }
    return sums.map { KeptInvalid(entity: $0.key[0], property: $0.key[1], objects: $0.value) }
      .sorted { ($0.entity, $0.property) < ($1.entity, $1.property) }
  }

  /// The counts of a job of several steps. An object that several steps keep counts once.
  package static func overall(_ steps: [[KeptInvalid]]) -> [KeptInvalid] {
    var largest: [[String]: KeptInvalid] = [:]
    for kept in steps.joined() where kept.objects > largest[[kept.entity, kept.property]]?.objects ?? 0 {
      largest[[kept.entity, kept.property]] = kept
    }
    return sums(Array(largest.values))
  }

  /// Notes of plan and summary.
  package static func notes(_ counts: [KeptInvalid]) -> [MigrationNote] {
    counts.map { kept in
      MigrationNote(
        .invalidKept,
        "\(kept.objects.counted("object")) of \(kept.entity) break\(kept.objects == 1 ? "s" : "") a rule of '\(kept.property)': kept"
      )
    }
  }
}
