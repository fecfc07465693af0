import GodwitJob
import GodwitModel

/// The changes from one plan to another.
struct PlanDifference: Codable {
  struct Change: Codable, Hashable {
    enum Kind: String, Codable {
      case path, step, mapping, property, loss, count, digest, setting
    }

    enum What: String, Codable {
      case added, removed, changed
    }

    var kind: Kind
    /// From 1: of the newer plan, or of the older one for what was removed. Left out where no step is meant.
    var step: Int?
    /// A mapping, `Mapping.property`, the subject of a loss, or a count.
    var subject: String
    var change: What
    /// The part of it that changed, for example `filter`.
    var field: String?
    var old, new: String?
    /// Whether the same job could have both plans: sizes of chunks and disks change, and the result does not.
    var isOfResult: Bool
  }

  var schemaVersion = 1
  var type = "plan-diff"
  /// Which plan is the older one: its file.
  var old: String
  var isEqual: Bool
  private(set) var changes: [Change] = []

  init(from old: PlanRecord, to new: PlanRecord, file: String) {
    self.old = file
    isEqual = true
    compareWhole(old, new)
    let (before, after) = (old.steps ?? [], new.steps ?? [])
    let places = Dictionary(
      before.numbered.map { (Self.key($1), $0) }, uniquingKeysWith: { first, _ in first })
    var met: Set<StepID> = []
    for (id, step) in after.numbered {
      guard let earlier = places[Self.key(step)] else {
        add(.step, id, Self.name(step), .added)
        continue
      }
      met.insert(earlier)
      compare(before[earlier], step, id: id)
      compareProperties(old, earlier, new, id)
      compareLosses(old, earlier, new, id)
    }
    for (id, step) in before.numbered where !met.contains(id) { add(.step, id, Self.name(step), .removed) }
    compareCounts(old, new)
    isEqual = changes.isEmpty
  }

  private static func key(_ step: MigrationPlan.Step) -> [String] { [step.sourceModel, step.destinationModel] }
  private static func name(_ step: MigrationPlan.Step) -> String { "\(step.sourceModel) to \(step.destinationModel)" }

  private mutating func add(
    _ kind: Change.Kind, _ step: StepID?, _ subject: String, _ change: Change.What, field: String? = nil,
    old: String? = nil, new: String? = nil, isOfResult: Bool = true
  ) {
    changes.append(
      Change(
        kind: kind, step: step?.count, subject: subject, change: change, field: field, old: old, new: new,
        isOfResult: isOfResult))
  }

  private mutating func compare(
    _ kind: Change.Kind, _ step: StepID?, _ subject: String, _ field: String?, _ old: String?, _ new: String?,
    isOfResult: Bool = true
  ) {
    guard old != new else { return }
    let change: Change.What = old == nil ? .added : new == nil ? .removed : .changed
    add(kind, step, subject, change, field: field, old: old, new: new, isOfResult: isOfResult)
  }

  // MARK: The job

  private mutating func compareWhole(_ old: PlanRecord, _ new: PlanRecord) {
    let needed = (old.isMigrationNeeded, new.isMigrationNeeded)
    compare(.setting, nil, "a migration is needed", nil, needed.0 ? "yes" : "no", needed.1 ? "yes" : "no")
    compare(.path, nil, "path", nil, Self.path(old), Self.path(new))
    // The whole tree may have moved.
    let (was, now) = (old.identity?.destination, new.identity?.destination)
    let hasMoved = was != nil && was == now
    compare(.setting, nil, "destination", nil, old.destination, new.destination, isOfResult: !hasMoved)
    compare(.setting, nil, "source", nil, old.source, new.source, isOfResult: false)
    guard let before = old.identity, let after = new.identity else { return }
    for model in after.models {
      guard let was = before.models.first(where: { $0.name == model.name }) else { continue }
      compare(.digest, nil, "version hashes of '\(model.name)'", nil, was.versionHashes, model.versionHashes)
    }
    compare(.digest, nil, "source model", nil, before.sourceModel, after.sourceModel)
    compare(.digest, nil, "destination model", nil, before.destinationModel, after.destinationModel)
    compare(.digest, nil, "mappings", nil, before.mappings, after.mappings)
    compare(.digest, nil, "manifest", nil, before.manifest, after.manifest)
    if let was = before.source, let now = after.source {
      compare(.digest, nil, "content of the source", nil, was.digest, now.digest)
    }
    // A plan of an earlier version does not have these.
    if let was = before.existing, let now = after.existing { compare(.setting, nil, "existing", nil, was, now) }
    if let was = before.onInvalid, let now = after.onInvalid { compare(.setting, nil, "on-invalid", nil, was, now) }
    if let was = before.refusesLosses, let now = after.refusesLosses {
      func rule(_ fails: Bool) -> String { fails ? "fail" : "report" }
      compare(.setting, nil, "on-loss", nil, rule(was), rule(now), isOfResult: was)
    }
    let (accepted, accepts) = (before.acceptedLosses ?? [], after.acceptedLosses ?? [])
    compare(
      .setting, nil, "accept-losses", nil, Self.list(accepted), Self.list(accepts),
      isOfResult: before.refusesLosses == true && !Set(accepted).isSuperset(of: accepts))
  }

  private static func path(_ record: PlanRecord) -> String? {
    guard let steps = record.steps, let first = steps.first else { return nil }
    return ([first.sourceModel] + steps.map(\.destinationModel)).joined(separator: " to ")
  }

  private mutating func compareCounts(_ old: PlanRecord, _ new: PlanRecord) {
    func count(_ subject: String, _ old: Int64?, _ new: Int64?, isOfResult: Bool = true) {
      // A plan of an earlier version lacks some.
      guard let old, let new else { return }
      compare(.count, nil, subject, nil, "\(old)", "\(new)", isOfResult: isOfResult)
    }
    count("objects in", old.summary?.objectsRead, new.summary?.objectsRead)
    count("objects out", old.summary?.objectsWritten, new.summary?.objectsWritten)
    count("chunks", old.chunks.map(Int64.init), new.chunks.map(Int64.init), isOfResult: false)
    count("bytes of the source", old.sourceBytes, new.sourceBytes, isOfResult: false)
    count("bytes of disk needed", old.diskBytes, new.diskBytes, isOfResult: false)
  }

  // MARK: A step

  private mutating func compare(_ old: MigrationPlan.Step, _ new: MigrationPlan.Step, id: StepID) {
    let name = Self.name(new)
    compare(.step, id, name, "mappings from", old.origin, new.origin)
    compare(.step, id, name, "hops", old.hops?.joined(separator: " to "), new.hops?.joined(separator: " to "))
    compare(.step, id, name, "strategy", old.way, new.way, isOfResult: false)
    compare(.step, id, name, "hooks", Self.list(old.hooks), Self.list(new.hooks))
    let (before, after) = (old.passes.flatMap(\.mappings), new.passes.flatMap(\.mappings))
    func named(_ mappings: [MigrationPlan.Mapping]) -> [String: MigrationPlan.Mapping] {
      Dictionary(mappings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
    let (known, left) = (named(before), named(after))
    for mapping in after {
      guard let was = known[mapping.name] else {
        add(.mapping, id, mapping.name, .added, new: "\(mapping.source) to \(mapping.destination)")
        continue
      }
      func field(_ label: String, _ value: (MigrationPlan.Mapping) -> String?, isOfResult: Bool = true) {
        compare(.mapping, id, mapping.name, label, value(was), value(mapping), isOfResult: isOfResult)
      }
      field("source entity", { $0.source })
      field("destination entity", { $0.destination })
      field("filter", { $0.filter })
      field("policy", { $0.policy })
      field("unique-by", { $0.uniqueBy.flatMap(Self.list) })
      field("rows", { "\($0.rows)" })
      field("keys", { $0.keys })
      field("lane", { $0.lane.rawValue }, isOfResult: false)
      field("association", { $0.association }, isOfResult: false)
      let names = Set(was.relationships.keys).union(mapping.relationships.keys).sorted { Text($0) < Text($1) }
      for name in names { field("relationship \(name)", { $0.relationships[name] }, isOfResult: false) }
    }
    for mapping in before where left[mapping.name] == nil {
      add(.mapping, id, mapping.name, .removed, old: "\(mapping.source) to \(mapping.destination)")
    }
  }

  private static func list(_ texts: [String]) -> String? { texts.isEmpty ? nil : texts.joined(separator: ", ") }

  private mutating func compareProperties(_ old: PlanRecord, _ earlier: StepID, _ new: PlanRecord, _ id: StepID) {
    guard let before = old.expressions, let after = new.expressions else { return }
    let known = Dictionary(
      before.filter { $0.step == earlier.count }.map { ($0.mapping, $0) }, uniquingKeysWith: { first, _ in first })
    for mapping in after where mapping.step == id.count {
      guard let was = known[mapping.mapping] else { continue }
      compare(.mapping, id, mapping.mapping, "kind", was.kind, mapping.kind)
      for name in Set(was.properties.keys).union(mapping.properties.keys).sorted(by: { Text($0) < Text($1) }) {
        compare(
          .property, id, "\(mapping.mapping).\(name)", nil, was.properties[name], mapping.properties[name])
      }
    }
  }

  private mutating func compareLosses(_ old: PlanRecord, _ earlier: StepID, _ new: PlanRecord, _ id: StepID) {
    struct Key: Hashable {
      var kind: LossReport.Kind
      var subject, reason: String
    }
    func losses(_ record: PlanRecord, _ step: StepID) -> [(Key, Int64?)] {
      (record.losses ?? []).filter { $0.step == step.count }
        .map { (Key(kind: $0.kind, subject: $0.subject, reason: $0.reason), $0.count) }
    }
    func text(_ count: Int64??) -> String? { count.map { $0.map { "\($0)" } ?? "not counted" } }
    let (before, after) = (losses(old, earlier), losses(new, id))
    let known = Dictionary(before, uniquingKeysWith: { first, _ in first })
    let found = Dictionary(after, uniquingKeysWith: { first, _ in first })
    var seen: Set<Key> = []
    for key in (after + before).map(\.0) where seen.insert(key).inserted {
      let (was, now) = (known[key], found[key])
      compare(.loss, id, "\(key.kind.rawValue) of \(key.subject)", key.reason, text(was), text(now))
    }
  }
}

extension PlanDifference.Change: CustomStringConvertible {
  var description: String {
    let place = step.map { "step \($0): " } ?? ""
    let label = kind == .property || kind == .loss ? "\(kind.rawValue) " : kind == .mapping ? "mapping " : ""
    let name = field.map { kind == .loss ? "\(subject) (\($0))" : "\(subject), \($0)" } ?? subject
    func quoted(_ text: String?) -> String { text.map { "'\($0)'" } ?? "none" }
    switch change {
    case .added: return "\(place)\(label)\(name): added" + (new.map { ", '\($0)'" } ?? "")
    case .removed: return "\(place)\(label)\(name): removed" + (old.map { ", it was '\($0)'" } ?? "")
    case .changed:
      if kind == .digest { return "\(place)\(name): changed" }
      return "\(place)\(label)\(name): \(quoted(old)) to \(quoted(new))"
    }
  }
}

extension PlanDifference: CustomStringConvertible {
  var description: String {
    guard !isEqual else { return "nothing changed since the plan '\(old)'" }
    let head = "\(changes.count.counted("change")) since the plan '\(old)'"
    return ([head] + changes.map { "  \($0)".onOneLine }).joined(separator: "\n")
  }
}
