import GodwitJob
import GodwitModel
import GodwitStore

/// How many objects the relationships of a mapping's objects will lead to.
///
/// A link is carried over if the source has it and a mapping that the relationship looks up takes the other object.
/// This count is exact while the other end of the relationship says the same. Only the run can count if the other end
/// may say something else, if links may displace each other, or if a policy or an earlier job is involved.
extension SourceAudit {
  enum Reach {
    /// The number of objects for a source row `s`, as SQL.
    case count(String)
    /// The reason why the number is unknown.
    case unknown(String)
  }

  /// A relationship of the destination with what the mappings say about it.
  private struct Subject {
    var relationship: RelationshipDescription
    var mapping: ResolvedEntityMapping
    var own: ResolvedEntityMapping.RelationshipSource
    var link: InversePair
    var end: InversePair.End
    /// The assignments to the other end.
    var others: [InversePair.Assignment]
  }

  func relationshipParts(
    _ mapping: ResolvedEntityMapping, _ program: StepProgram, _ association: AssociationLowering
  ) throws -> [Part] {
    var parts: [Part] = []
    for relationship in resolved.destinationModel.relationships(of: mapping.destination.name)
    where !relationship.isTransient {
      let (name, entity) = (relationship.name, mapping.destination.name)
      let storage = attached.destinationSchema.storage(of: name, in: entity)
      guard let rule = program.validation.countRule(relationship, storage: storage) else { continue }
      var condition: String
      switch try reach(of: relationship, mapping, program, association) {
      case .unknown(let why):
        let what = "how many objects '\(entity).\(name)' leads to in mapping '\(mapping.name)'"
        skip("\(what): \(why)")
        if !job.keepsAllInvalid { uncounted.append("\(what) (a rule limits them): \(why)") }
        continue
      case .count(let sql):
        condition =
          relationship.isToMany
          ? program.validation.limitRule(relationship, count: sql)?.condition ?? "0" : "(\(sql)) IS NOT TRUE"
      }
      func add(_ condition: String, _ check: (_ condition: String) -> Check) {
        let column = "godwit_r\(parts.count)"
        parts.append(
          Part(property: name, column: column, sql: "(\(condition))", checks: [check("t.\(quoted(column))")]))
      }
      var excuse: String?
      if job.keepsAllInvalid {
        excuse = "1"
      } else if job.keepsInvalid {
        var patterns: [ValidationPattern] = []
        var rule = rule
        rule.property = name
        excuse = program.keptInvalid.excuses(of: mapping, patterns: &patterns).first { $0.excuses(rule) }?.condition
      }
      if let excuse {
        if isForecast { add("(\(condition)) AND (\(excuse))") { keptCheck(mapping, name, $0) } }
        condition = "(\(condition)) AND (\(excuse)) IS NOT TRUE"
      }
      add(condition) {
        Check(
          kind: .invalid, model: resolved.destinationModel.name, entity: mapping.source.name, property: name,
          mapping: mapping.name, message: rule.message, condition: $0, key: "t.Z_PK")
      }
    }
    return parts
  }

  func reach(
    of relationship: RelationshipDescription, _ mapping: ResolvedEntityMapping, _ program: StepProgram,
    _ association: AssociationLowering
  ) throws -> Reach {
    if mayBeSetByPolicy(relationship, of: mapping.destination.name) { return .unknown("a policy may set it") }
    let declaring =
      resolved.destinationModel.declaringEntity(of: relationship.name, in: mapping.destination.name)?.name
      ?? mapping.destination.name
    func ownEnd(of link: InversePair) -> InversePair.End? {
      if Self.isSide(link.side(.first), declaring, relationship.name) { return .first }
      return Self.isSide(link.side(.second), declaring, relationship.name) ? .second : nil
    }
    guard let link = program.links.first(where: { ownEnd(of: $0) != nil }), let end = ownEnd(of: link),
      !link.assignments.isEmpty
    else { return .count("0") }
    guard !link.isOwnInverse else { return .unknown("it is its own inverse") }
    let others = link.assignments.filter { $0.end != end }
    guard let own = mapping.relationships.first(where: { $0.relationship.name == relationship.name }),
      !own.lookups.isEmpty
    else {
      return try others.isEmpty
        ? .count("0")
        : claims(of: others, relationship, mapping, program, association) ?? .unknown("only its inverse is mapped")
    }
    guard own.lookups.allSatisfy({ program.mappings[$0].earlier == nil }) else {
      return .unknown("it may lead to objects of an earlier job")
    }
    guard !own.lookups.contains(where: program.isPolicy) else { return .unknown("a policy makes what it leads to") }
    guard own.lookups.allSatisfy({ filterFailures[$0]?.isComplete != false }) else {
      return .unknown("a filter cannot be computed for too many of the objects that it leads to")
    }
    let subject = Subject(
      relationship: relationship, mapping: mapping, own: own, link: link, end: end, others: others)
    return try relationship.isToMany ? toMany(subject, program, association) : toOne(subject, program, association)
  }

  private static func isSide(_ side: InversePair.Side?, _ entity: String, _ name: String) -> Bool {
    side?.entityName == entity && side?.relationship.name == name
  }

  /// Whether a policy makes objects at either end. A policy that sets links between objects of other entities is listed
  /// with the objects it makes.
  private func mayBeSetByPolicy(_ relationship: RelationshipDescription, of entity: String) -> Bool {
    let model = resolved.destinationModel
    return resolved.policies.contains { policy in
      guard let made = policy.mapping.destinationEntityName else { return true }
      return [entity, relationship.destinationEntityName].contains {
        model.isKind(made, of: $0) || model.isKind($0, of: made)
      }
    }
  }

  /// Whether no object goes through two of the mappings, whatever the rows.
  private func areOfDifferentEntities(_ indices: Set<MappingID>, _ program: StepProgram) -> Bool {
    Set(indices.map { program.mappings[$0].source.name }).count == indices.count
  }

  // MARK: To-one

  private func toOne(
    _ subject: Subject, _ program: StepProgram, _ association: AssociationLowering
  ) throws -> Reach {
    let (own, link) = (subject.own, subject.link)
    let found = try found(own, of: subject.mapping, program, association)
    if case .oneToOne = link.storage {
      var ways = [found]
      for other in subject.others {
        guard let claimed = try claimed(other, of: subject.mapping, program, association) else {
          return .unknown("its inverse is mapped in another way")
        }
        ways.append(claimed)
      }
      if !isOneToOne(subject, program) {
        skip(
          "whether one object displaces another from '\(subject.mapping.destination.name).\(subject.relationship.name)' in mapping '\(subject.mapping.name)'"
        )
      }
      return .count("(" + ways.map { "(\($0))" }.joinedEvenly(by: " OR ") + ")")
    }
    let saysTheSame =
      subject.others.isEmpty || link.strategy == .atCreation && link.carriedEnd == subject.end
      || link.inlineEnd == subject.end
    return saysTheSame ? .count("(\(found))") : .unknown("its inverse is mapped in another way")
  }

  /// The condition that a to-one of the row `s` leads to an object that a lookup finds. It takes the first of several.
  private func found(
    _ own: ResolvedEntityMapping.RelationshipSource, of mapping: ResolvedEntityMapping, _ program: StepProgram,
    _ association: AssociationLowering
  ) throws -> String {
    guard !own.path.isEmpty else {
      return own.lookups.map { "(\(taken($0, alias: "s", association)))" }.joinedEvenly(by: " OR ")
    }
    let chain = try program.chain(own.path, in: mapping, association)
    let found = try own.lookups.map { try takes($0, "Z_PK", chain.key, association) }.joinedEvenly(by: " OR ")
    return chain.scalar(chain.isToMany ? "MAX(\(found))" : found)
  }

  /// How many objects lead to the row `s` through a relationship's inverse, where the mappings set the inverse alone and
  /// copy links; nil elsewhere.
  private func claims(
    of others: [InversePair.Assignment], _ relationship: RelationshipDescription, _ mapping: ResolvedEntityMapping,
    _ program: StepProgram, _ association: AssociationLowering
  ) throws -> Reach? {
    guard areOfDifferentEntities(Set(others.map(\.mapping)), program), mapping.mapping.uniqueBy.isEmpty else {
      return nil
    }
    var counts: [String] = []
    for other in others {
      let holder = program.mappings[other.mapping]
      let source = holder.relationships[other.part]
      guard holder.earlier == nil, !program.isPolicy(holder.index), !program.isUnique(holder.index),
        filterFailures[holder.index]?.isComplete != false, source.path.count == 1,
        source.relationship.isToMany != relationship.isToMany,
        areOfDifferentEntities(Set(source.lookups), program)
      else { return nil }
      guard source.lookups.contains(mapping.index) else { continue }
      let hop = source.path[0].relationship
      let alias = association.builder.alias("a")
      let isTaken = "(\(taken(holder.index, alias: alias, association)))"
      let leads: String
      switch schema.storage(of: hop.name, in: holder.source.name) {
      case .foreignKey(_, let column, _, _) where !hop.isToMany: leads = "\(alias).\(quoted(column)) = s.Z_PK"
      case .inverse(let table, let column, _, _)
      where relationship.isToMany == false && schema.table(of: mapping.source.name)?.name == table:
        leads = "\(alias).Z_PK = s.\(quoted(column))"
      default: return nil
      }
      counts.append(
        "(SELECT COUNT(*) FROM \(try association.table(holder.index)) AS \(alias) WHERE \(leads) AND \(isTaken))")
    }
    let sum = counts.isEmpty ? "0" : counts.joinedEvenly(by: " + ")
    return .count(relationship.isToMany ? sum : "(\(sum)) > 0")
  }

  /// The condition that a mapping takes a row whose column has a value.
  private func takes(
    _ index: MappingID, _ column: String, _ value: String, _ association: AssociationLowering
  ) throws -> String {
    let alias = association.builder.alias("a")
    return
      "EXISTS (SELECT 1 FROM \(try association.table(index)) AS \(alias) WHERE \(alias).\(column) = \(value) AND (\(taken(index, alias: alias, association))))"
  }

  /// The condition that the inverse of a one-to-one leads to the row `s`; nil where that is not a plain copy of links.
  private func claimed(
    _ assignment: InversePair.Assignment, of mapping: ResolvedEntityMapping, _ program: StepProgram,
    _ association: AssociationLowering
  ) throws -> String? {
    let holder = program.mappings[assignment.mapping]
    guard holder.earlier == nil, !program.isPolicy(holder.index) else { return nil }
    let other = holder.relationships[assignment.part]
    guard other.lookups.contains(mapping.index) else { return "0" }
    guard let hop = other.path.first else { return taken(holder.index, alias: "s", association) }
    guard other.path.count == 1, !hop.relationship.isToMany,
      case .foreignKey(_, let column, _, _) = schema.storage(of: hop.relationship.name, in: holder.source.name)
    else { return nil }
    return try takes(holder.index, quoted(column), "s.Z_PK", association)
  }

  /// Whether no two objects can lead to the same one, so that none displaces another.
  private func isOneToOne(_ subject: Subject, _ program: StepProgram) -> Bool {
    let makers = Set(subject.link.assignments.filter { $0.end == subject.end }.map(\.mapping))
    guard areOfDifferentEntities(makers, program), areOfDifferentEntities(Set(subject.own.lookups), program) else {
      return false
    }
    guard let hop = subject.own.path.first else { return true }
    guard let inverse = model.inverse(of: hop.relationship), !inverse.isToMany else { return false }
    return !report.findings.contains { finding in
      finding.kind == .halfLink && (finding.property == hop.relationship.name || finding.property == inverse.name)
    }
  }

  // MARK: To-many

  private func toMany(
    _ subject: Subject, _ program: StepProgram, _ association: AssociationLowering
  ) throws -> Reach {
    let (own, link) = (subject.own, subject.link)
    let makers = Set(link.assignments.filter { $0.end == subject.end }.map(\.mapping))
    guard areOfDifferentEntities(makers, program), areOfDifferentEntities(Set(own.lookups), program) else {
      return .unknown("several mappings may take one object")
    }
    guard !own.lookups.contains(where: program.isUnique) else {
      return .unknown("it leads to objects that are made of several (unique-by)")
    }
    let holdsKeys: Bool
    if case .join = link.storage { holdsKeys = false } else { holdsKeys = true }
    let saysTheSame =
      subject.others.isEmpty || holdsKeys && (link.strategy == .atCreation || link.inlineEnd != nil)
      || !holdsKeys && link.strategy == .pairs
    guard saysTheSame else { return .unknown("its inverse is mapped in another way") }
    guard let hop = own.path.first else {
      return .count(own.lookups.map { "((\(taken($0, alias: "s", association))) IS TRUE)" }.joinedEvenly(by: " + "))
    }
    guard own.path.count == 1 else { return .unknown("it follows several relationships") }
    guard !program.isUnique(subject.mapping.index) else { return .unknown("several objects become one (unique-by)") }
    let storage = schema.storage(of: hop.relationship.name, in: subject.mapping.source.name)
    switch storage {
    case .inverse(let table, let column, _, _):
      let alias = association.builder.alias("a")
      let isTaken = own.lookups.map { "(\(taken($0, alias: alias, association)))" }.joinedEvenly(by: " OR ")
      return .count(
        "(SELECT COUNT(*) FROM source.\(quoted(table)) AS \(alias) WHERE \(alias).\(quoted(column)) = s.Z_PK AND (\(isTaken)))"
      )
    // An object of a many-to-many can have several owners, of whom a key holds one.
    case .join, .foreignKey:
      guard !holdsKeys else { return .unknown("objects that have several owners in the source keep one") }
      return try joined(storage, own, association)
    case .none: return .unknown("the source does not store it")
    }
  }

  private func joined(
    _ storage: StoreSchema.RelationshipStorage, _ own: ResolvedEntityMapping.RelationshipSource,
    _ association: AssociationLowering
  ) throws -> Reach {
    if case .foreignKey(_, let column, _, _) = storage {
      return .count(
        try own.lookups.map { "(\(try takes($0, "Z_PK", "s.\(quoted(column))", association)))" }
          .joinedEvenly(by: " + "))
    }
    guard case .join(let join, let subject, let object, _) = storage, !join.isReflexive, let first = own.lookups.first
    else { return .unknown("its source is its own inverse") }
    let (link, alias) = (association.builder.alias("j"), association.builder.alias("a"))
    let isTaken = own.lookups.map { "(\(taken($0, alias: alias, association)))" }.joinedEvenly(by: " OR ")
    return .count(
      "(SELECT COUNT(DISTINCT \(link).\(quoted(object))) FROM source.\(quoted(join.name)) AS \(link) CROSS JOIN \(try association.table(first)) AS \(alias) ON \(alias).Z_PK = \(link).\(quoted(object)) WHERE \(link).\(quoted(subject)) = s.Z_PK AND (\(isTaken)))"
    )
  }
}
