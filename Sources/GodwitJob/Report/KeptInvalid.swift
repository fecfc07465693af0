import GodwitModel

/// Objects that break a rule of the destination model and stay, because they broke a rule of their own model too.
package struct KeptInvalid: Sendable, Codable, Hashable {
  /// The destination entity.
  package var entity: String
  /// Its attribute or relationship.
  package var property: String
  /// How many objects.
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

  /// Notes of plan and summary.
  package static func notes(_ counts: [KeptInvalid]) -> [MigrationNote] {
    counts.map { kept in
      MigrationNote(
        .invalidKept,
        "\(kept.objects.counted("object")) of \(kept.entity) break\(kept.objects == 1 ? "s" : "") a rule of '\(kept.property)', as before the migration: kept"
      )
    }
  }
}
