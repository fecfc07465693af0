import GodwitEngine
import GodwitJob
import GodwitModel

/// The findings about one step between two versions.
struct StepLint {
  let old, new: ManagedObjectModel
  let bundle: LintedBundle
  let pairing: ModelPairing
  /// The names that an inferred step carries over.
  let carried: [InferredLoss.Name: InferredLoss.Name]
  private let expected = MadeOnce<Expected>()
  /// The places in the files of both versions, which are read when a finding needs them.
  var oldIndex: ElementIndex { bundle.index(old.name) }
  var newIndex: ElementIndex { bundle.index(new.name) }

  init(from old: ManagedObjectModel, to new: ManagedObjectModel, in bundle: LintedBundle) {
    self.old = old
    self.new = new
    self.bundle = bundle
    pairing = ModelPairing(from: old, to: new)
    carried = InferredLoss.carried(from: old, to: new)
  }

  /// `'App 2' to 'App 3'`.
  var title: String { "'\(old.name)' to '\(new.name)'" }
  private var drafting: String {
    "`godwit mapping new '\(bundle.path)#\(old.name)' '\(bundle.path)#\(new.name)' -o FILE` drafts a mapping model"
  }

  func finding(
    _ rule: LintRule, _ subject: String, oldName: String? = nil, at location: LintFinding.Location, _ message: String,
    try remedy: String? = nil, related: [LintFinding.Related] = []
  ) -> LintFinding {
    LintFinding(
      rule, subject: subject, oldName: oldName, step: .init(from: old.name, to: new.name), bundle: bundle.path,
      at: location, message, try: remedy, related: related)
  }

  /// The place of something in the earlier version.
  func former(_ location: LintFinding.Location) -> [LintFinding.Related] {
    [.init(location: location, text: "the earlier version")]
  }

  // MARK: Refusals of inference

  /// The reasons why no mapping model can be inferred.
  func refusals() -> [LintFinding] {
    var findings: [LintFinding] = []
    var told: Set<String> = []
    for refusal in MappingInference.refusals(from: old, to: new) {
      // A property that subentities inherit is refused for each of them.
      let entity = refusal.property.flatMap { new.declaringEntity(of: $0, in: refusal.entity)?.name } ?? refusal.entity
      let subject = refusal.property.map { "\(entity).\($0)" } ?? entity
      guard told.insert(subject + refusal.reason).inserted else { continue }
      findings.append(finding(for: refusal, subject: subject))
    }
    return findings
  }

  private func finding(for refusal: MappingInference.Refusal, subject: String) -> LintFinding {
    let place =
      refusal.property.map { newIndex.place(of: $0, in: refusal.entity, of: new) }
      ?? newIndex.place(of: refusal.entity)
    guard let name = refusal.property else {
      return finding(
        .needsMappingModel, subject, at: place, "\(title) cannot be inferred: entity \(subject): \(refusal.reason)",
        try: drafting)
    }
    let before = pairing.oldName(of: refusal.entity)
    if let attribute = new.attribute(name, of: refusal.entity), !attribute.isOptional, attribute.defaultValue.isNull {
      let origin = before.flatMap { pairing.origin(of: .attribute(attribute), in: refusal.entity, from: $0) }
      let remedy = "give \(subject) a default value in '\(new.name)', or make it optional; \(drafting)"
      switch origin {
      case .attribute(let was)? where !was.isTransient && was.type == attribute.type && was.isOptional:
        return finding(
          .optionalToRequired, subject, at: place,
          "\(title) makes \(subject) required and gives it no default: no value can replace nil", try: remedy)
      case nil:
        return finding(
          .requiredAttributeAdded, subject, at: place,
          "\(title) adds \(subject), which is required and has no default: existing objects would have no value",
          try: remedy)
      default: break
      }
    }
    if let relationship = new.relationship(name, of: refusal.entity), relationship.requiresObject,
      before.flatMap({ pairing.origin(of: .relationship(relationship), in: refusal.entity, from: $0) }) == nil
    {
      return finding(
        .requiredToOneAdded, subject, at: place,
        "\(title) adds the required relationship \(subject): existing objects would have no related object",
        try: "make \(subject) optional in '\(new.name)'; \(drafting)")
    }
    return finding(
      .needsMappingModel, subject, at: place, "\(title) cannot be inferred: \(subject): \(refusal.reason)",
      try: drafting + (refusal.way.map { ", with \($0), or use a policy" } ?? ""))
  }

  // MARK: The inferred step

  /// The effect of the inferred step on stores.
  enum Expected: Sendable {
    case forecast(StepForecast)
    /// The step stops every run.
    case stop(GodwitError)
    /// No mapping can be inferred.
    case none
  }

  /// The forecast of a planner for the inferred step, made when it is first asked for.
  func expectation() -> Expected {
    expected.value {
      guard let mapping = try? MappingInference(from: old, to: new).mappingModel() else { return .none }
      do {
        return .forecast(
          try StepForecast(
            MigrationStep(
              sourceModel: old, destinationModel: new, mappingModels: [mapping], origin: MigrationStep.inferredOrigin)))
      } catch let error as GodwitError { return .stop(error) } catch { return .none }
    }
  }

  /// The finding that an inferred step stops every run; nil for one that does not.
  func stop() -> LintFinding? {
    guard case .stop(let error) = expectation() else { return nil }
    return finding(
      .needsMappingModel, "", at: place(in: error.message.replacing("'", with: " ")),
      "\(title) stops every run: \(error.message)", try: error.remedy)
  }

  // MARK: Findings that depend on the objects

  /// New rules that existing objects may break.
  func rules() -> [LintFinding] {
    var findings = uniqueness()
    let taken = Set(findings.map(\.subject))
    // Core Data's inferred migration validates nothing. A run does, unless the job keeps such objects.
    let unvalidated: [ModelChange.Kind] = [.limits, .regularExpression]
    for change in ModelChange.changes(from: old, to: new)
    where change.effort == .dependsOnRows || unvalidated.contains(change.kind) {
      let subject = change.property.map { "\(change.entity).\($0)" } ?? change.entity
      // A constraint has its own finding.
      guard change.property != nil || !taken.contains(where: { $0.hasPrefix(change.entity + "(") }) else { continue }
      let place =
        change.property.map { newIndex.place(of: $0, in: change.entity, of: new) } ?? newIndex.place(of: change.entity)
      findings.append(
        finding(
          .rowsMayBreakRule, subject, at: place,
          "\(title): \(subject): \(change.change); an object that does not fit stops \(unvalidated.contains(change.kind) ? "a run, unless the job keeps it" : "the migration")"
        ))
    }
    return findings + brokenDefaults()
  }

  /// Defaults that objects take and that break rules of their own attributes.
  private func brokenDefaults() -> [LintFinding] {
    guard case .forecast(let forecast) = expectation() else { return [] }
    var told: Set<String> = []
    return forecast.brokenDefaults.compactMap { found in
      // An attribute that subentities inherit is one finding.
      let entity = new.declaringEntity(of: found.attribute, in: found.entity)?.name ?? found.entity
      let subject = "\(entity).\(found.attribute)"
      guard told.insert(subject).inserted else { return nil }
      let takers = found.isForNil ? "an object without a value takes" : "every object takes"
      return finding(
        .rowsMayBreakRule, subject, at: newIndex.place(of: found.attribute, in: entity, of: new),
        "\(title): \(subject): its default \(found.fault); \(takers) the default, and stops a run unless the job keeps it",
        try: "give \(subject) in '\(new.name)' a default that keeps its rules, relax the rule, or write a mapping model"
      )
    }
  }

  /// The same for the inferred step.
  func brokenPatterns() -> [LintFinding] {
    guard let mapping = try? MappingInference(from: old, to: new).mappingModel() else { return [] }
    return brokenPatterns(in: [mapping])
  }

  /// Regular expressions that do not compile, of attributes of the objects that entity mappings make.
  func brokenPatterns(in models: [MappingModel]) -> [LintFinding] {
    var told: Set<String> = []
    let entities = models.flatMap(\.entityMappings).filter { $0.kind != .remove }.compactMap(\.destinationEntityName)
    return entities.filter { new.entity($0) != nil }.flatMap { entity in
      ValidationPattern.broken(in: entity, of: new).compactMap { attribute in
        let owner = new.declaringEntity(of: attribute.name, in: entity)?.name ?? entity
        let subject = "\(owner).\(attribute.name)"
        guard told.insert(subject).inserted else { return nil }
        var found = finding(
          .rowsMayBreakRule, subject, at: newIndex.place(of: attribute.name, in: owner, of: new),
          "\(title): the regular expression of \(subject) does not compile: it stops every run that makes objects of \(entity)",
          try: "correct the expression in '\(new.name)', or remove it")
        found.severity = .error
        return found
      }
    }
  }

  private func uniqueness() -> [LintFinding] {
    pairing.entities.flatMap { pair -> [LintFinding] in
      guard let before = pair.old, let after = pair.new else { return [] }
      let kept = old.uniquenessConstraints(of: before.name).map { Set($0.properties) }
      return after.uniquenessConstraints.compactMap { constraint in
        let names = constraint.map { name -> String in
          let property = ModelPairing.Property.all(of: after.name, in: new).first { $0.name == name }
          return property.flatMap { pairing.origin(of: $0, in: after.name, from: before.name)?.name } ?? ""
        }
        // Objects that differ in some attributes differ in more of them too.
        guard !kept.contains(where: { !$0.isEmpty && $0.isSubset(of: names) }) else { return nil }
        let list = constraint.joined(separator: ", ")
        return finding(
          .uniquenessAdded, "\(after.name)(\(list))", at: newIndex.placeOfConstraints(of: after.name),
          "\(title) makes \(list) of \(after.name) unique: a store with duplicates cannot be migrated")
      }
    }
  }

  // MARK: In place

  /// The changes that make a migration in place read every row.
  func rowsInPlace() -> LintFinding? {
    let inference = MappingInference(from: old, to: new)
    guard let mapping = try? inference.mappingModel(),
      let reason = InPlaceForecast.rowReason(for: mapping, from: old, to: new)
    else { return nil }
    let stops =
      reason.isRule
      ? "; an object that breaks it stops the run, and `on-invalid: keep` keeps it, as Core Data's inferred migration does"
      : ""
    var found = finding(
      .rowsReadInPlace, "", at: place(in: reason.text),
      "\(title) reads every row when a store is migrated in place: \(reason.text)\(stops)")
    if reason.isRule { found.severity = .warning }
    return found
  }

  /// The place of the first entity or property that a text names.
  private func place(in text: String) -> LintFinding.Location {
    for word in text.split(whereSeparator: { " ,:".contains($0) }) {
      let parts = word.split(separator: ".", maxSplits: 1).map(String.init)
      guard let entity = parts.first, new.entity(entity) != nil else { continue }
      return parts.count == 2 ? newIndex.place(of: parts[1], in: entity, of: new) : newIndex.place(of: entity)
    }
    return newIndex.start
  }
}
