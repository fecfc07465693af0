import GodwitModel

extension ModelChangeList {
  // MARK: Added and removed

  /// A property that the entity's later version declares (or inherits) and the earlier did not.
  mutating func addAdded(
    _ property: ModelPairing.Property, _ before: EntityDescription, _ after: EntityDescription, change: String? = nil
  ) throws {
    // A property that the subentities declared may have moved up, so only entities without it lack a value.
    var lacking: [String] = []
    var former: ModelPairing.Property?
    for entity in family(before) {
      guard let name = pairing.newName(of: entity) else { continue }
      let heir = pairing.new.isKind(name, of: after.name) ? name : after.name
      if let found = pairing.origin(of: property, in: heir, from: entity) {
        former = found
      } else {
        lacking.append(entity)
      }
    }
    let facts = property.facts
    if let former, former.facts.kind != facts.kind {
      add(
        .kind, after.name, facts.name, "\(former.facts.kind) to \(facts.kind)",
        "declares it elsewhere as \(former.facts.kind)", .mapping)
      return
    }
    let rows = try counts?.rows(of: lacking)
    guard !lacking.isEmpty else {
      add(.moved, after.name, property.name, "moved here", "declares it elsewhere")
      return
    }
    var lead = "\(change ?? "\(facts.noun) added") (\(facts.kind)"
    if case .relationship(let relationship) = property, relationship.isOrdered { lead += ", ordered" }
    func added(
      _ rest: String, _ effort: ModelChange.Effort = .inferable, rows: Int64? = nil, isPartOfHash: Bool = true
    ) {
      add(
        .added, after.name, facts.name, lead + rest, "has no such \(facts.noun)", effort, rows: rows,
        isPartOfHash: isPartOfHash)
    }
    switch property {
    case _ where facts.isTransient: added(", transient)", .nothing, isPartOfHash: false)
    case .attribute(let attribute) where attribute.isDerived: added("), derived from what is there")
    case .attribute(let attribute) where !attribute.defaultValue.isNull:
      added(")" + Self.counted(rows, "takes the default", "take the default"), rows: rows)
    case .attribute(let attribute) where attribute.isOptional: added(", optional)")
    case .attribute:
      let text = Self.counted(rows, "would be null", "would be null")
      added(", required, no default)" + text, Self.effort(against: rows), rows: rows)
    case .relationship(let relationship) where relationship.isOptional: added(", optional)")
    case .relationship(let relationship) where !relationship.requiresObject: added(", required, without a minimum)")
    case .relationship:
      let text = Self.counted(rows, "would lead nowhere", "would lead nowhere")
      added(", required)" + text, Self.effort(against: rows), rows: rows)
    }
  }

  /// A property that the entity's earlier version declares (or inherits) and the later does not.
  mutating func addRemoved(
    _ property: ModelPairing.Property, _ before: EntityDescription, _ after: EntityDescription, change: String? = nil
  ) throws {
    // A property that moved up or down keeps its values in the subentities that still have it.
    let losing = family(before).filter { entity in
      guard let name = pairing.newName(of: entity) else { return false }
      return pairing.successor(of: property, of: entity, in: name) == nil
    }
    guard !losing.isEmpty else {
      if change == nil { add(.moved, after.name, property.name, "moved away", "declares it here") }
      return
    }
    let facts = property.facts
    let lead = "\(change ?? "\(facts.noun) removed") (\(facts.kind))"
    let earlier = "has this \(facts.noun)"
    guard !facts.isTransient else {
      add(.removed, after.name, facts.name, lead + ", transient", earlier, .nothing, isPartOfHash: false)
      return
    }
    let (rows, text): (Int64?, String)
    switch property {
    case .attribute:
      rows = try counts?.rows(of: losing, with: facts.name, isNull: false)
      text = Self.counted(rows, "loses its value", "lose their values")
    case .relationship:
      rows = try counts?.rows(of: losing, leadingOn: facts.name, isEmpty: false)
      text = Self.counted(rows, "loses its links", "lose their links")
    }
    add(.removed, after.name, facts.name, lead + text, earlier, rows: rows)
  }

  // MARK: Attributes

  mutating func addChanges(
    _ was: AttributeDescription, _ now: AttributeDescription, _ before: EntityDescription, _ after: EntityDescription
  ) throws {
    let entity = after.name
    // The hash knows neither name nor flags of a derived attribute. It knows a leaf of a composite by its own name.
    let isInHash = !(was.isDerived && now.isDerived)
    if was.name != now.name {
      add(
        .renamed, entity, now.name, "renamed from \(was.name)", "says '\(was.name)'",
        isPartOfHash: isInHash && !(was.isTransient && now.isTransient) && was.leafName != now.leafName)
    }
    if was.isTransient && now.isTransient { return }
    if was.isTransient != now.isTransient {
      if now.isTransient {
        let rows = try counts?.rows(of: family(before), with: was.name, isNull: false)
        add(
          .transient, entity, now.name,
          "transient no to yes" + Self.counted(rows, "loses its value", "lose their values"),
          "says not transient", rows: rows)
      } else {
        let rows = try counts?.rows(of: family(before))
        let lacksValue = !now.isOptional && now.defaultValue.isNull && !now.isDerived
        add(
          .transient, entity, now.name,
          "transient yes to no"
            + (lacksValue ? ", required, no default" + Self.counted(rows, "would be null", "would be null") : ""),
          "says transient", lacksValue ? Self.effort(against: rows) : .inferable, rows: lacksValue ? rows : nil)
      }
      return
    }
    if was.derivationExpression != now.derivationExpression {
      // For a derived attribute the hash covers only the derivation.
      add(
        .derivation, entity, now.name,
        "derivation \(was.derivationExpression ?? "none") to \(now.derivationExpression ?? "none")",
        was.derivationExpression.map { "says derivation \($0)" } ?? "says no derivation")
    }
    let (oldType, newType) = (PropertyFacts(was).kind, PropertyFacts(now).kind)
    if let change = NumericChange(from: was.type, to: now.type) {
      let text = "type \(oldType) to \(newType)"
      let rows =
        change.mayNotFit ? try counts?.rows(of: family(before), with: was.name, notFitting: change) : nil
      add(
        .type, entity, now.name, text + Self.counted(rows, "does not fit", "do not fit"), "says type \(oldType)",
        change.mayNotFit && !now.isDerived ? Self.effort(against: rows) : .inferable, rows: rows, isPartOfHash: isInHash
      )
    } else if oldType != newType {
      let rows = try counts?.rows(of: family(before), with: was.name, isNull: false)
      add(
        .type, entity, now.name, "type \(oldType) to \(newType)" + Self.counted(rows, "has a value", "have a value"),
        "says type \(oldType)", now.isDerived ? .inferable : .mapping, rows: rows, isPartOfHash: isInHash)
    }
    if was.isOptional != now.isOptional { try addOptionality(was, now, before, after, isInHash) }
    func addFlag(_ kind: ModelChange.Kind, _ label: String, _ flag: KeyPath<AttributeDescription, Bool>) {
      let (old, new) = (was[keyPath: flag], now[keyPath: flag])
      guard old != new else { return }
      add(
        kind, entity, now.name, "\(label) \(Fact.yes(old)) to \(Fact.yes(new))", "says \(old ? "" : "not ")\(label)",
        isPartOfHash: isInHash)
    }
    addFlag(.externalStorage, "external storage", \.allowsExternalBinaryDataStorage)
    addFlag(.keptInHistory, "kept in history", \.preservesValueInHistoryOnDeletion)
    addModifier(entity, now.name, was.versionHashModifier, now.versionHashModifier)
    if oldType == newType || NumericChange(from: was.type, to: now.type) != nil {
      try addLimits(was, now, before, after)
    }
  }

  private mutating func addOptionality(
    _ was: AttributeDescription, _ now: AttributeDescription, _ before: EntityDescription, _ after: EntityDescription,
    _ isInHash: Bool
  ) throws {
    guard !now.isOptional else {
      add(.optionality, after.name, now.name, "required to optional", "says required", isPartOfHash: isInHash)
      return
    }
    let rows = try counts?.rows(of: family(before), with: was.name, isNull: true)
    if now.isDerived || !now.defaultValue.isNull {
      let text =
        rows.map { $0 == 1 ? ", 1 null row takes the default" : ", \($0) null rows take the default" }
        ?? ", null rows take the default"
      add(
        .optionality, after.name, now.name, "optional to required" + (now.isDerived ? "" : text), "says optional",
        rows: rows,
        isPartOfHash: isInHash)
    } else {
      add(
        .optionality, after.name, now.name,
        "optional to required, no default" + Self.counted(rows, "is null", "are null"),
        "says optional", Self.effort(against: rows), rows: rows, isPartOfHash: isInHash)
    }
  }

  /// Validation limits that got tighter: no hash knows them, but validation of a migration does.
  private mutating func addLimits(
    _ was: AttributeDescription, _ now: AttributeDescription, _ before: EntityDescription, _ after: EntityDescription
  ) throws {
    let (old, new) = (Self.limits(was), Self.limits(now))
    var tightened: [String] = []
    for (index, label) in ["minimum", "maximum"].enumerated() {
      let (a, b) = (index == 0 ? (old.low, new.low) : (old.high, new.high))
      guard let b, a.map({ index == 0 ? b.number > $0.number : b.number < $0.number }) ?? true else { continue }
      tightened.append("\(label) \(a?.text ?? "none") to \(b.text)")
    }
    if !tightened.isEmpty {
      let rows = try counts?.rows(of: family(before), breaking: now, storedAs: was.name)
      add(
        .limits, after.name, now.name,
        tightened.joined(separator: ", ") + Self.counted(rows, "breaks it", "break it")
          + ((rows ?? 0) > 0 ? " (not part of the hash)" : ""), "says other limits",
        (rows ?? 0) > 0 ? .mapping : .nothing, rows: rows, isPartOfHash: false)
    }
    if let expression = now.regularExpression, expression != was.regularExpression {
      add(
        .regularExpression, after.name, now.name, "another regular expression", "says other limits", .nothing,
        isPartOfHash: false)
    }
  }

  private typealias Limit = (number: Double, text: String)

  private static func limits(_ attribute: AttributeDescription) -> (low: Limit?, high: Limit?) {
    if attribute.type == .string {
      func limit(_ length: Int?) -> Limit? { length.map { (Double($0), "length \($0)") } }
      // A minimum length of 0 limits nothing.
      return (limit(attribute.minimumLength.flatMap { $0 > 0 ? $0 : nil }), limit(attribute.maximumLength))
    }
    func limit(_ value: AttributeValue?) -> Limit? {
      guard let value else { return nil }
      switch value {
      case .integer(let number): return (Double(number), Fact.value(value))
      case .double(let number), .date(let number): return (number, Fact.value(value))
      case .decimal(let number): return (Double("\(number)") ?? 0, Fact.value(value))
      default: return nil
      }
    }
    return (limit(attribute.minimumValue), limit(attribute.maximumValue))
  }

  // MARK: Relationships

  mutating func addChanges(
    _ was: RelationshipDescription, _ now: RelationshipDescription, _ before: EntityDescription,
    _ after: EntityDescription
  ) throws {
    let entity = after.name
    if was.name != now.name {
      add(
        .renamed, entity, now.name, "renamed from \(was.name)", "says '\(was.name)'",
        isPartOfHash: !(was.isTransient && now.isTransient))
    }
    if was.isTransient && now.isTransient { return }
    if was.isTransient != now.isTransient {
      let rows =
        now.isTransient ? try counts?.rows(of: family(before), leadingOn: was.name, isEmpty: false) : nil
      add(
        .transient, entity, now.name,
        "transient \(Fact.yes(was.isTransient)) to \(Fact.yes(now.isTransient))"
          + Self.counted(rows, "loses its links", "lose their links"),
        was.isTransient ? "says transient" : "says not transient", rows: rows)
      return
    }
    if was.destinationEntityName != now.destinationEntityName { addDestination(was, now, entity) }
    if was.isToMany != now.isToMany {
      if now.isToMany {
        add(.toMany, entity, now.name, "to-one to to-many", "says to-one")
      } else {
        let rows = try counts?.rows(of: family(before), whereCountOf: was.name, isBelow: 0, orAbove: 1)
        add(
          .toMany, entity, now.name, "to-many to to-one" + Self.counted(rows, "leads to several", "lead to several"),
          "says to-many", .mapping, rows: rows)
      }
    }
    if was.isOrdered != now.isOrdered {
      add(
        .order, entity, now.name, was.isOrdered ? "ordered to unordered" : "unordered to ordered",
        was.isOrdered ? "says ordered" : "says unordered")
    }
    if was.isOptional != now.isOptional {
      if now.isOptional {
        add(.optionality, entity, now.name, "required to optional", "says required")
      } else if !now.requiresObject {
        add(.optionality, entity, now.name, "optional to required, without a minimum", "says optional")
      } else {
        let rows = try counts?.rows(of: family(before), leadingOn: was.name, isEmpty: true)
        add(
          .optionality, entity, now.name, "optional to required" + Self.counted(rows, "leads nowhere", "lead nowhere"),
          "says optional", Self.effort(against: rows), rows: rows)
      }
    }
    if was.inverseName != now.inverseName {
      let isRenamed = now.inverseName != nil && renamedInverse(of: was) == now.inverseName
      add(
        .inverse, entity, now.name,
        "inverse \(was.inverseName ?? "none") to \(now.inverseName ?? "none")"
          + (isRenamed ? ", the same renamed" : ""),
        was.inverseName.map { "says inverse \($0)" } ?? "says no inverse")
    }
    try addCounts(was, now, before, after)
    addModifier(entity, now.name, was.versionHashModifier, now.versionHashModifier)
  }

  /// The name of the inverse in the later model; nil when it is gone.
  private func renamedInverse(of relationship: RelationshipDescription) -> String? {
    guard let inverse = pairing.old.inverse(of: relationship) else { return nil }
    let owner = relationship.inverseEntityName ?? relationship.destinationEntityName
    return pairing.newName(of: owner).flatMap { pairing.successor(of: .relationship(inverse), of: owner, in: $0)?.name }
  }

  private mutating func addDestination(
    _ was: RelationshipDescription, _ now: RelationshipDescription, _ entity: String
  ) {
    let earlier = "says destination \(was.destinationEntityName)"
    let text = "destination \(was.destinationEntityName) to \(now.destinationEntityName)"
    let carried = pairing.newName(of: was.destinationEntityName)
    if carried == now.destinationEntityName {
      add(.destination, entity, now.name, text + ", the same renamed", earlier)
    } else if let carried, pairing.new.isKind(carried, of: now.destinationEntityName) {
      add(.destination, entity, now.name, text + ", its ancestor", earlier)
    } else if carried == nil, !now.requiresObject,
      family(of: was.destinationEntityName).allSatisfy({ pairing.newName(of: $0) == nil })
    {
      add(.destination, entity, now.name, text + ", which replaces it: its links drop", earlier)
    } else {
      add(.destination, entity, now.name, text, earlier, .mapping)
    }
  }

  private mutating func addCounts(
    _ was: RelationshipDescription, _ now: RelationshipDescription, _ before: EntityDescription,
    _ after: EntityDescription
  ) throws {
    // A change between to-one and to-many says it already.
    let isSameKind = was.isToMany == now.isToMany
    var parts: [String] = []
    var earlier: [String] = []
    if was.minCount != now.minCount {
      parts.append("minimum count \(was.minCount) to \(now.minCount)")
      earlier.append("minimum count \(was.minCount)")
    }
    if isSameKind, was.maxCount != now.maxCount {
      parts.append("maximum count \(was.maxCount) to \(now.maxCount)")
      earlier.append("maximum count \(was.maxCount)")
    }
    guard !parts.isEmpty else { return }
    let rows =
      now.isToMany && was.isToMany
      ? try counts?.rows(
        of: family(before), whereCountOf: was.name, isBelow: now.minCount, orAbove: now.maxCount,
        mayBeEmpty: !now.requiresObject) : nil
    // A minimum of 1 forbids nothing if the relationship may be empty.
    let isHigher = now.minCount > was.minCount && (now.minCount > 1 || now.requiresObject)
    // Every object that keeps a stricter maximum keeps a looser one.
    let isLower = isSameKind && now.maxCount > 0 && (was.maxCount == 0 || now.maxCount < was.maxCount)
    let isTighter = now.isToMany && (isHigher || isLower)
    add(
      .counts, after.name, now.name,
      parts.joined(separator: ", ") + (isTighter ? Self.counted(rows, "is outside", "are outside") : ""),
      "says " + earlier.joined(separator: " and "), isTighter ? Self.effort(against: rows) : .inferable,
      rows: isTighter ? rows : nil)
  }
}
