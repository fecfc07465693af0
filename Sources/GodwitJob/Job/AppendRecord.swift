package import GodwitModel
package import GodwitStore

/// The record of an appending job in its destination's metadata, under `GodwitAssociations`: its keys, and how they
/// derive from the source's. Later jobs find its objects by it, and the verifier recognises them.
///
/// Pairs of keys are not recorded, because a finished store has no table of ours: associations of a mapping with
/// `unique-by` or dense numbers are known to its own job alone.
package struct AppendRecord: Hashable, Sendable {
  package static let key = "GodwitAssociations"

  /// The keys of one hierarchy: those given out before the job, and up to which the job gave them out.
  package struct Keys: Hashable, Sendable {
    /// nil when the job made the store.
    package var after: Int64?
    package var through: Int64

    package init(after: Int64? = nil, through: Int64) {
      self.after = after
      self.through = through
    }
  }

  /// The objects of a mapping with `unique-by` that the destination had already.
  package struct Met: Hashable, Sendable {
    /// Objects of the destination that new ones are the same as.
    package var objects: Int64
    /// Those of them whose values or links the job changed.
    package var changed: Int64
    /// Values and links of new objects that `order-by` does not prefer to the old ones, and that differ from them.
    package var unlike: Int64
    /// Objects that come before the new ones by `order-by`.
    package var kept: Int64

    package init(objects: Int64, changed: Int64, unlike: Int64, kept: Int64) {
      (self.objects, self.changed, self.unlike, self.kept) = (objects, changed, unlike, kept)
    }
  }

  package struct Mapping: Hashable, Sendable {
    package var name: String
    package var source: String
    package var destination: String
    package var filter: String?
    package var uniqueBy: [String]
    package var keys: PlanFacts.Keys
    /// nil where the destination had none of its objects.
    package var met: Met?

    package init(
      name: String, source: String, destination: String, filter: String? = nil, uniqueBy: [String],
      keys: PlanFacts.Keys, met: Met? = nil
    ) {
      self.name = name
      self.source = source
      self.destination = destination
      self.filter = filter
      self.uniqueBy = uniqueBy
      self.keys = keys
      self.met = met
    }
  }

  /// The digest under which `GodwitJobs` names the job.
  package var job: String
  /// `Z_UUID` of the source.
  package var sourceUUID: String
  /// The digest of the source's content.
  package var source: String
  /// By root entity of the destination.
  package var keys: [String: Keys]
  /// In mapping order.
  package var mappings: [Mapping]

  /// Whether the job found a destination to append to.
  package var foundStore: Bool { keys.values.contains { $0.after != nil } }

  /// Whether the job changed objects that were there before it.
  package var changesObjects: Bool { mappings.contains { ($0.met?.changed ?? 0) > 0 } }

  // MARK: Property list

  /// The records of a store, oldest first.
  ///
  /// - Throws: `.dataWrong` (65) when they cannot be read.
  package static func all(in metadata: StoreMetadata, path: String) throws -> [AppendRecord] {
    guard let value = metadata.values[key] else { return [] }
    let records = value.array?.map(AppendRecord.init(propertyList:))
    guard let records, !records.contains(nil) else {
      throw GodwitError(
        .dataWrong, "cannot read the metadata of '\(path)': key '\(key)' does not hold what Godwit writes",
        remedy: GodwitError.damageRemedy)
    }
    return records.compactMap { $0 }
  }

  package var propertyList: PropertyListValue {
    .dictionary([
      "job": .string(job), "uuid": .string(sourceUUID), "source": .string(source),
      "keys": .dictionary(
        keys.mapValues { keys in
          var entry: [String: PropertyListValue] = ["through": .integer(keys.through)]
          entry["after"] = keys.after.map { .integer($0) }
          return .dictionary(entry)
        }), "mappings": .array(mappings.map(\.propertyList)),
    ])
  }

  private init?(propertyList: PropertyListValue) {
    guard let values = propertyList.dictionary, let job = values["job"]?.string,
      let uuid = values["uuid"]?.string, let source = values["source"]?.string,
      let ranges = values["keys"]?.dictionary, let list = values["mappings"]?.array
    else { return nil }
    keys = [:]
    for (entity, range) in ranges {
      guard let through = range.dictionary?["through"]?.integer else { return nil }
      let after = range.dictionary?["after"]?.integer
      // The next key must exist.
      guard after != .max else { return nil }
      keys[entity.string] = Keys(after: after, through: through)
    }
    mappings = list.compactMap(Mapping.init(propertyList:))
    guard mappings.count == list.count else { return nil }
    (self.job, sourceUUID, self.source) = (job, uuid, source)
  }

  package init(job: String, sourceUUID: String, source: String, keys: [String: Keys], mappings: [Mapping]) {
    self.job = job
    self.sourceUUID = sourceUUID
    self.source = source
    self.keys = keys
    self.mappings = mappings
  }
}

extension AppendRecord.Mapping {
  var propertyList: PropertyListValue {
    var values: [String: PropertyListValue] = [
      "name": .string(name), "source": .string(source), "destination": .string(destination),
    ]
    values["filter"] = filter.map { .string($0) }
    if !uniqueBy.isEmpty { values["unique-by"] = .array(uniqueBy.map { .string($0) }) }
    if let met {
      values["met"] = .dictionary([
        "objects": .integer(met.objects), "changed": .integer(met.changed), "unlike": .integer(met.unlike),
        "kept": .integer(met.kept),
      ])
    }
    switch keys {
    case .offset(let offset): values["offset"] = .integer(offset)
    case .dense(let first): values["first"] = .integer(first)
    }
    return .dictionary(values)
  }

  init?(propertyList: PropertyListValue) {
    guard let values = propertyList.dictionary, let name = values["name"]?.string,
      let source = values["source"]?.string, let destination = values["destination"]?.string
    else { return nil }
    switch (values["offset"]?.integer, values["first"]?.integer) {
    case (let offset?, nil): keys = .offset(offset)
    case (nil, let first?): keys = .dense(first: first)
    default: return nil
    }
    (self.name, self.source, self.destination) = (name, source, destination)
    filter = values["filter"]?.string
    uniqueBy = values["unique-by"]?.array?.compactMap(\.string) ?? []
    if let known = values["met"]?.dictionary {
      guard let objects = known["objects"]?.integer, let changed = known["changed"]?.integer,
        let unlike = known["unlike"]?.integer, let kept = known["kept"]?.integer
      else { return nil }
      met = AppendRecord.Met(objects: objects, changed: changed, unlike: unlike, kept: kept)
    }
  }
}
