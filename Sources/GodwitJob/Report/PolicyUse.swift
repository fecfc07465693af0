package import GodwitModel

/// An entity mapping that names a policy class. A plan lists those that nobody registered, and `godwit policy stub`
/// drafts their code.
package struct PolicyUse: Sendable, Codable, Hashable {
  /// A function of the policy that an expression of the mapping calls.
  package struct Function: Sendable, Codable, Hashable {
    /// With its colons, as Objective-C spells it.
    package var selector: String
    /// The destination property that the expression is for.
    package var property: String
    /// The text of the expression.
    package var expression: String
  }

  /// From 1.
  package var step: Int
  /// The entity mapping's name.
  package var mapping: String
  /// The class as the mapping spells it.
  package var policy: String
  /// nil for a mapping of kind add.
  package var source: String?
  /// The name of the destination entity; nil for a mapping of kind remove.
  package var destination: String?
  /// Whether the job's registry has a policy of this name.
  package var isRegistered: Bool
  /// Required attributes of the destination that neither the mapping nor a default fills.
  package var unfilled: [String]
  /// `FUNCTION($entityPolicy, …)` in the mapping's expressions.
  package var functions: [Function]
}

extension MigrationJob {
  /// The mappings that name a policy, in the order of steps and mappings.
  package var policyUses: [PolicyUse] {
    steps.numbered.flatMap { id, step in
      step.mappingModels.flatMap(\.entityMappings).compactMap { mapping in
        mapping.policyName.map { use(of: $0, in: mapping, step: step, id: StepID(position.step.number + id.number)) }
      }
    }
  }

  /// Those whose policy is missing: nobody registered it, and nothing takes its place.
  package var missingPolicies: [PolicyUse] {
    unregisteredPolicies == .fail ? policyUses.filter { !$0.isRegistered } : []
  }

  private func use(of policy: String, in mapping: EntityMapping, step: MigrationStep, id: StepID) -> PolicyUse {
    var functions: [PolicyUse.Function] = []
    func note(_ parsed: ValueExpression, _ property: String) {
      _ = parsed.contains { part in
        if case .call(let receiver, let selector, _) = part.node, receiver.node == .variable("entityPolicy") {
          functions.append(.init(selector: selector, property: property, expression: parsed.source.text))
        }
        return false
      }
    }
    for entry in mapping.attributeMappings { note(entry.value, entry.name) }
    for entry in mapping.relationshipMappings {
      if case .expression(let parsed) = entry.value { note(parsed, entry.name) }
    }
    let filled = Set(mapping.attributeMappings.map(\.name))
    let unfilled = mapping.destinationEntityName.map { step.destinationModel.attributes(of: $0) } ?? []
    return PolicyUse(
      step: id.count, mapping: mapping.name, policy: policy, source: mapping.sourceEntityName,
      destination: mapping.destinationEntityName, isRegistered: policies[policy] != nil,
      unfilled: unfilled.filter { attribute in
        let isCopied =
          mapping.kind == .copy
          && mapping.sourceEntityName.flatMap { step.sourceModel.attribute(attribute.name, of: $0) } != nil
        return !attribute.isOptional && !attribute.isTransient && !attribute.isDerived
          && attribute.defaultValue.isNull && !isCopied && !filled.contains(attribute.name)
      }.map(\.name).sorted(),
      functions: functions.sorted { ($0.selector, $0.property) < ($1.selector, $1.property) })
  }

  /// The error of a job whose mappings name unregistered policies; nil when none is missing.
  package var missingPolicyError: GodwitError? {
    let missing = missingPolicies
    guard let first = missing.first else { return nil }
    let location = steps.flatMap(\.mappingModels).flatMap(\.entityMappings)
      .first { $0.policyName == first.policy && $0.name == first.mapping }
    var classes: [String] = []
    for use in missing where !classes.contains(use.policy) { classes.append(use.policy) }
    let names = classes.map { "'\($0)'" }.joined(separator: ", ")
    return GodwitError(
      .configuration,
      classes.count == 1
        ? "no policy \(names) is registered" + Spelling.suggestion(for: classes[0], among: policies.names)
        : "\(classes.count) policies are not registered: \(names)",
      location: location?.locations["policy"] ?? location?.location,
      cause: missing.map(\.description).asLines,
      remedy:
        "register them in your own executable (`godwit policy stub` drafts it), replace them by expressions, or write 'unregistered-policies: default'",
      safe: "nothing was written")
  }
}

extension PolicyUse: CustomStringConvertible {
  /// One line: the step, the mapping, the policy, and what only the policy can fill.
  package var description: String {
    var parts = ["step \(step), mapping '\(mapping)' names '\(policy)'"]
    if !unfilled.isEmpty { parts.append("nothing else fills the required \(unfilled.joined(separator: ", "))") }
    if !functions.isEmpty {
      parts.append("it answers " + functions.map { "\($0.selector) for \($0.property)" }.joined(separator: ", "))
    }
    return parts.joined(separator: "; ")
  }
}

/// Stands in a plan for a policy that nobody registered. It never runs.
package struct PlannedPolicy: EntityMigrationPolicy {
  package init() {}
}
