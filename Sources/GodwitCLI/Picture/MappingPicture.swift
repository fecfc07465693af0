import GodwitJob
import GodwitModel

/// The mappings of a job as boxes and arrows: entities of each version in columns, a box for each entity mapping between.
///
/// All information is text. Colours only repeat it, for print and for readers who do not see them.
struct MappingPicture {
  /// The change of a thing, for its colour.
  enum Mark: String, CaseIterable {
    case kept, added, dropped, renamed, policy
  }

  /// A box with lines of text.
  struct Box {
    /// Unique, of letters and digits.
    var id: String
    /// The first is the name.
    var lines: [String]
    var mark: Mark
  }

  /// The entities of a version.
  struct Column {
    var id: String
    var title: String
    var boxes: [Box]
  }

  struct Arrow {
    var from, to: String
    /// Objects that go this way; empty where they are not counted.
    var text: String
  }

  var title: String
  private(set) var columns: [Column] = []
  /// One for each entity mapping.
  private(set) var mappings: [Box] = []
  /// The work of each entity mapping beside carrying over, by step and name.
  private(set) var work: [StepID: [String: [String]]] = [:]
  private(set) var arrows: [Arrow] = []
  /// The place of each entity's box, by column and name.
  private var places: [Int: [String: Int]] = [:]

  /// - Parameter plan: The plan of the same job, with the same steps; nil without counts.
  init(_ job: MigrationJob, plan: MigrationPlan?) {
    title = job.name
    for (id, step) in job.steps.numbered {
      let planned = plan.flatMap { $0.steps.has(id) ? $0.steps[id] : nil }
      add(StepPicture(step, planned: planned), id: id)
    }
  }

  private mutating func add(_ step: StepPicture, id: StepID) {
    let (before, after) = (id.number, id.next.number)
    if id == .first { columns.append(.init(id: "v0", title: step.step.sourceModel.name, boxes: [])) }
    let passed = step.step.passedVersions
    columns.append(
      .init(
        id: "v\(after)",
        title: step.step.destinationModel.name
          + (passed.isEmpty ? "" : " (through \(passed.joined(separator: ", ")))"),
        boxes: []))
    var sources: [String: String] = [:]
    for entity in step.sources { sources[entity.name] = place(entity, in: before) }
    var destinations: [String: String] = [:]
    for entity in step.destinations { destinations[entity.name] = place(entity, in: after) }
    for (index, mapping) in step.mappings.enumerated() {
      let box = "m\(id)x\(index)"
      if let name = mapping.lines.first { work[id, default: [:]][name] = Array(mapping.lines.dropFirst()) }
      mappings.append(.init(id: box, lines: mapping.lines, mark: mapping.mark))
      if let source = mapping.source.flatMap({ sources[$0] }) {
        arrows.append(.init(from: source, to: box, text: mapping.rows))
      }
      if let destination = mapping.destination.flatMap({ destinations[$0] }) {
        arrows.append(.init(from: box, to: destination, text: ""))
      }
    }
  }

  /// The box of an entity, which may be there as the destination of the step before.
  private mutating func place(_ entity: StepPicture.Entity, in column: Int) -> String {
    if let known = places[column]?[entity.name] {
      columns[column].boxes[known].lines += entity.lines
      if columns[column].boxes[known].mark == .kept { columns[column].boxes[known].mark = entity.mark }
      return columns[column].boxes[known].id
    }
    places[column, default: [:]][entity.name] = columns[column].boxes.count
    let id = "v\(column)e\(columns[column].boxes.count)"
    columns[column].boxes.append(.init(id: id, lines: [entity.name] + entity.lines, mark: entity.mark))
    return id
  }
}

/// The effect of a step on entities and properties.
private struct StepPicture {
  struct Entity {
    var name: String
    var lines: [String] = []
    var mark = MappingPicture.Mark.kept
  }

  struct Mapping {
    var source, destination: String?
    var lines: [String]
    var mark: MappingPicture.Mark
    var rows: String
  }

  let step: MigrationStep
  private(set) var sources: [Entity] = []
  private(set) var destinations: [Entity] = []
  private(set) var mappings: [Mapping] = []
  private let pairing: ModelPairing
  private let bySource, byDestination: [String?: [EntityMapping]]
  /// The names that mappings read, by the entity that they take; and those of longer paths, which may lead anywhere.
  private var read: [String: Set<String>] = [:]
  private var readAlong: Set<String> = []
  private var readAnywhere: Set<String> = []
  /// The relationships that some mapping sets.
  private let set: Set<String>

  init(_ step: MigrationStep, planned: MigrationPlan.Step?) {
    self.step = step
    pairing = ModelPairing(from: step.sourceModel, to: step.destinationModel)
    let all = step.mappingModels.flatMap(\.entityMappings)
    bySource = Dictionary(grouping: all, by: \.sourceEntityName)
    byDestination = Dictionary(grouping: all, by: \.destinationEntityName)
    set = Set(all.flatMap(\.relationshipMappings).map(\.name))
    for mapping in all {
      let paths = Self.paths(of: mapping)
      let names = paths.flatMap(\.self) + copied(by: mapping)
      readAlong.formUnion(paths.filter { $0.count > 1 }.flatMap(\.self))
      readAnywhere.formUnion(names)
      if let source = mapping.sourceEntityName { read[source, default: []].formUnion(names) }
    }
    let known = Dictionary(
      (planned?.passes ?? []).flatMap(\.mappings).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    mappings = all.map { mapping in picture(of: mapping, known[mapping.name], note: planned?.rowsNote) }
    sources = step.sourceModel.entities.compactMap(source)
    destinations = step.destinationModel.entities.compactMap(destination)
  }

  // MARK: Entities

  private func source(_ entity: EntityDescription) -> Entity? {
    let own = bySource[entity.name] ?? []
    guard !own.contains(where: { $0.kind != .remove }) else {
      let lines = own.contains { $0.policyName != nil } ? [] : dropped(of: entity.name)
      return Entity(name: entity.name, lines: lines)
    }
    // An abstract entity has no objects of its own.
    guard !entity.isAbstract else { return nil }
    return Entity(
      name: entity.name, lines: [own.isEmpty ? "dropped: no mapping" : "dropped: remove mapping"], mark: .dropped)
  }

  private func destination(_ entity: EntityDescription) -> Entity? {
    let own = (byDestination[entity.name] ?? []).filter { $0.kind != .remove }
    if own.isEmpty {
      return entity.isAbstract ? nil : Entity(name: entity.name, lines: ["added: without objects"], mark: .added)
    }
    let isNew = pairing.oldName(of: entity.name) == nil
    return Entity(name: entity.name, lines: isNew ? ["added"] : [], mark: isNew ? .added : .kept)
  }

  /// Properties of a source entity that no expression of the step names.
  private func dropped(of entity: String) -> [String] {
    let own = read[entity] ?? []
    let model = step.sourceModel
    let attributes = model.attributes(of: entity).filter { !$0.isTransient && !$0.isDerived }.map(\.name)
      .filter { !own.contains($0) && !readAlong.contains($0) }
    let links = model.relationships(of: entity).filter { model.isStored($0) && !$0.isUnnamedInverse.value }
      .filter { relationship in
        !own.contains(relationship.name) && !readAlong.contains(relationship.name)
          // It is taken from either end.
          && relationship.inverseName.map { readAnywhere.contains($0) } != true
      }.map(\.name)
    return (attributes + links).sorted { Text($0) < Text($1) }.map { "\u{2212} \($0)" }
  }

  // MARK: Names that expressions read

  /// The properties that a `copy` takes over implicitly.
  private func copied(by mapping: EntityMapping) -> [String] {
    guard mapping.kind == .copy, let destination = mapping.destinationEntityName else { return [] }
    let explicit = Set(mapping.attributeMappings.map(\.name) + mapping.relationshipMappings.map(\.name))
    let model = step.destinationModel
    return (model.attributes(of: destination).map(\.name) + model.relationships(of: destination).map(\.name))
      .filter { !explicit.contains($0) }
  }

  private static func paths(of mapping: EntityMapping) -> [[String]] {
    var found: [[String]] = []
    func note(_ expression: ValueExpression) {
      _ = expression.contains { part in
        if case .keyPath(let base, let segments) = part.node {
          // The names behind `$element` are behind the relationship whose links become objects.
          let isElement = base?.node == .variable("element")
          found.append((isElement ? mapping.forEach.map { [$0] } ?? [] : []) + segments)
        }
        return false
      }
    }
    if let relationship = mapping.forEach { found.append([relationship]) }
    for entry in mapping.attributeMappings { note(entry.value) }
    for entry in mapping.relationshipMappings {
      switch entry.value {
      case .mapping(_, let path): found.append(path)
      case .sourceRelationship(let name): found.append([name])
      case .expression(let value): note(value)
      }
    }
    return found
  }

  // MARK: Mappings

  private func picture(of mapping: EntityMapping, _ planned: MigrationPlan.Mapping?, note: String?) -> Mapping {
    var lines = [mapping.name]
    var mark = MappingPicture.Mark.kept
    if let source = mapping.sourceEntityName, let destination = mapping.destinationEntityName, source != destination {
      if pairing.newName(of: source) == destination {
        lines.append("renamed from \(source)")
        mark = .renamed
      } else {
        lines.append("\(source) becomes \(destination)")
      }
    }
    if mapping.kind == .remove {
      lines.append("remove")
      mark = .dropped
    }
    if mapping.kind == .add { mark = .added }
    if let relationship = mapping.forEach { lines.append("one for each link of \(relationship)") }
    if let filter = mapping.filter { lines.append("filter: \(Self.short(filter.source.text))") }
    if !mapping.uniqueBy.isEmpty { lines.append("one for each \(mapping.uniqueBy.joined(separator: ", "))") }
    if let policy = mapping.policyName {
      lines.append("policy: \(policy)")
      mark = .policy
    }
    if mapping.kind != .remove {
      let properties = self.properties(of: mapping)
      lines += properties.lines
      if properties.hasRename, mark == .kept { mark = .renamed }
    }
    var rows = ""
    if let planned, note == nil, mapping.kind != .add {
      rows = planned.rows.counted("object")
    }
    return Mapping(
      source: mapping.sourceEntityName, destination: mapping.destinationEntityName, lines: lines, mark: mark, rows: rows
    )
  }

  /// `+ new`, `now ← before` and `now = expression`; what keeps its name and value is left out.
  private func properties(of mapping: EntityMapping) -> (lines: [String], hasRename: Bool) {
    guard let destination = mapping.destinationEntityName else { return ([], false) }
    var lines: [String] = []
    var hasRename = false
    func add(_ name: String, _ origin: Origin) {
      switch origin {
      case .same: break
      case .unmapped: lines.append("\(name): the default")
      case .new: lines.append("+ \(name)")
      case .renamed(let before):
        lines.append("\(name) \u{2190} \(before)")
        hasRename = true
      case .computed(let text): lines.append("\(name) = \(Self.short(text))")
      }
    }
    let isCopy = mapping.kind == .copy
    let model = step.destinationModel
    for attribute in model.attributes(of: destination) where !attribute.isTransient {
      if let entry = mapping.attributeMappings.first(where: { $0.name == attribute.name }) {
        add(attribute.name, Self.origin(of: attribute.name, entry.value))
      } else if attribute.isDerived {
        continue
      } else if mapping.policyName == nil {
        let before = mapping.sourceEntityName.flatMap { step.sourceModel.attribute(attribute.name, of: $0) }
        add(attribute.name, before == nil ? .new : isCopy ? .same : .unmapped)
      }
    }
    for relationship in model.relationships(of: destination) where !relationship.isUnnamedInverse.value {
      let name = relationship.name
      guard let entry = mapping.relationshipMappings.first(where: { $0.name == name }) else {
        let before = mapping.sourceEntityName.flatMap { step.sourceModel.relationship(name, of: $0) }
        // One side of an inverse is enough.
        if before == nil, mapping.policyName == nil, !isSet(relationship) { add(name, .new) }
        continue
      }
      switch entry.value {
      case .sourceRelationship(let before): add(name, before == name ? .same : .renamed(before))
      case .mapping(let other, let path):
        switch path.count {
        case 0: add(name, .computed("what \(other) made of it"))
        case 1: add(name, path[0] == name ? .same : .renamed(path[0]))
        default: add(name, .computed(path.joined(separator: ".")))
        }
      case .expression(let value): add(name, Self.origin(of: name, value))
      }
    }
    return (lines, hasRename)
  }

  /// Whether a mapping sets the inverse.
  private func isSet(_ relationship: RelationshipDescription) -> Bool {
    relationship.inverseName.map(set.contains) ?? false
  }

  private enum Origin {
    case same, new, unmapped
    case renamed(String)
    case computed(String)
  }

  private static func origin(of name: String, _ value: ValueExpression) -> Origin {
    switch value.node {
    case .keyPath(let base, let segments) where segments.count == 1:
      switch base?.node {
      case nil, .evaluatedObject, .variable("source"): return segments[0] == name ? .same : .renamed(segments[0])
      default: return .computed(value.source.text)
      }
    // The lookup that Xcode writes for a relationship names it in its last argument.
    case .call(_, let selector, let arguments) where selector.hasPrefix("destinationInstancesFor"):
      if let last = arguments.last { return origin(of: name, last) }
      return .computed(value.source.text)
    default: return .computed(value.source.text)
    }
  }

  private static func short(_ text: String) -> String {
    let line = text.onOneLine
    return line.count > 60 ? String(line.prefix(57)) + "…" : line
  }
}
