package import GodwitModel
package import GodwitStore

/// The losses of a migration, with counts. The plan, the summary and their JSON use this one type.
///
/// The plan has the losses that are found by counting the source. A run adds those that show only when objects are
/// made.
public struct LossReport: Sendable, Codable, Hashable {
  /// The kind of loss.
  public enum Kind: String, Sendable, Codable, Hashable, CaseIterable {
    /// Objects that no mapping takes.
    case objects
    /// Values of an attribute that no mapping of their objects reads, and no path of another mapping reaches; values of
    /// a column that no model names.
    case values
    /// Rows of a table that no model names.
    case rows
    /// Links that no relationship of the destination takes, or whose objects its relationship cannot hold.
    case links
    /// The order of links that are carried over: the source's relationship is ordered, but no relationship that takes
    /// them is.
    case order
    /// Links that lead to no object in the source either. They are not a loss, because Core Data reads them as nil.
    case linksToNothing = "links to nothing"
    /// A policy class that nobody registered and that Core Data's default policy replaces. It has no count.
    case policy
    /// Values that an expression turned to nil although none of its inputs was nil. A decimal without a value, such as
    /// NaN, is none of these nils.
    case nils = "values turned to nil"
    /// Values that are rounded because the attribute's new numeric type cannot hold them exactly.
    case rounded
    /// To-one relationships that found several objects and took the first.
    case ambiguousToOne = "several"
  }

  /// Why something is lost, for programs. The raw values never change.
  package enum Cause: String, Sendable, Codable, Hashable, CaseIterable {
    /// No mapping takes the objects of the entity.
    case noMapping = "no-mapping"
    /// A mapping of kind remove takes the objects.
    case removeMapping = "remove-mapping"
    /// No filter accepts the objects.
    case filteredOut = "filtered-out"
    /// No property of the destination takes the values or links.
    case notTaken = "not-taken"
    /// The destination's relationship does not accept the entity of the objects.
    case entityNotAccepted = "entity-not-accepted"
    /// No relationship of the destination that takes the links is ordered.
    case notOrdered = "not-ordered"
    /// The links lead to no object in the source either.
    case leadsNowhere = "leads-nowhere"
    /// The policy is not registered.
    case policyNotRegistered = "policy-not-registered"
    /// An expression gave nil.
    case expression
    /// The attribute's new numeric type cannot hold the values exactly.
    case numericType = "numeric-type"
    /// A to-one relationship takes the first of several objects.
    case firstOfSeveral = "first-of-several"
    /// `unique-by` makes one object of several, which differ.
    case merged
    /// No model names the table or column.
    case notInModel = "not-in-model"
    /// The external file of the values is missing, and their bytes are needed.
    case missingFile = "missing-file"
    /// Validation rejects the objects, or those at one end of the links.
    case quarantined
  }

  /// One thing that is lost, with its number.
  public struct Loss: Sendable, Codable, Hashable {
    /// The step that loses it, from 1.
    public var step: Int
    /// The kind of loss.
    public var kind: Kind
    /// An entity, `Entity.property`, a table or `TABLE.column` that no model names, or for a policy its class.
    public var subject: String
    /// How many; nil for a later step, whose rows are counted when the step before has finished, and for policies.
    public var count: Int64?
    /// Why it is lost, in one sentence.
    public var reason: String
    /// Why it is lost, as a code. Nil in a plan or ledger of an earlier version of Godwit.
    package var cause: Cause?
    /// True if the count is an estimate from a sample; otherwise nil.
    package var isEstimate: Bool?
    /// True if the job accepts the loss: see ``MigrationJob/acceptedLosses``. Otherwise nil.
    public package(set) var isAccepted: Bool?

    private enum CodingKeys: String, CodingKey {
      case step, kind, subject, count, reason, isEstimate, isAccepted
      case cause = "reasonCode"
    }

    package init(step: StepID, kind: Kind, subject: String, count: Int64?, reason: String, cause: Cause) {
      (self.step, self.kind, self.subject, self.count, self.reason) = (step.count, kind, subject, count, reason)
      self.cause = cause
    }

    /// To-one relationships that find several objects.
    package static func several(step: StepID, _ count: Int64) -> Loss {
      Loss(
        step: step, kind: .ambiguousToOne, subject: "to-one relationships", count: count,
        reason: "a to-one holds one object", cause: .firstOfSeveral)
    }

    /// The same loss with a count that was estimated.
    package func estimated(_ isEstimate: Bool) -> Loss {
      var loss = self
      if isEstimate { loss.isEstimate = true }
      return loss
    }

    /// Whether the destination will lack something that the source has. False while it is not counted.
    package var isLoss: Bool {
      switch kind {
      case .linksToNothing: false
      case .policy: true
      case .objects, .values, .rows, .links, .order, .nils, .rounded, .ambiguousToOne: (count ?? 0) > 0
      }
    }
  }

  /// The losses, in the order of steps.
  public var losses: [Loss]

  package init(_ losses: [Loss] = []) { self.losses = losses }

  /// Whether nothing is listed.
  public var isEmpty: Bool { losses.isEmpty }

  /// The losses that `on-loss: fail` refuses.
  package var refusable: [Loss] { losses.filter { $0.isLoss && $0.isAccepted != true } }

  /// The losses that happen and that the job accepts.
  package var accepted: [Loss] { losses.filter { $0.isLoss && $0.isAccepted == true } }

  package func ofStep(_ step: StepID) -> [Loss] { losses.filter { $0.step == step.count } }

  package mutating func add(_ other: LossReport) { losses += other.losses }
}

extension LossReport.Loss: CustomStringConvertible {
  /// One line: what is lost, how many, why, and whether the job accepts it.
  public var description: String { text + (isAccepted == true ? ", accepted" : "") }

  var text: String {
    guard let number = self.count else { return uncounted }
    let about = isEstimate == true ? "about " : ""
    let isOne = number == 1
    switch kind {
    case .objects: return "\(about)\(number) of \(subject) (\(reason))"
    case .values, .rounded: return "\(about)\(number.counted("value")) of \(subject) (\(reason))"
    case .rows: return "\(about)\(number.counted("row")) of table \(subject) (\(reason))"
    case .links: return "\(about)\(number.counted("link")) of \(subject) (\(reason))"
    case .order:
      return "\(about)\(number.counted("link")) of \(subject) \(isOne ? "loses its" : "lose their") order (\(reason))"
    case .linksToNothing:
      return
        "\(about)\(number.counted("link")) of \(subject) \(isOne ? "leads to no object, and is" : "lead to no object, and are") nil"
    case .policy: return uncounted
    case .nils: return "\(about)\(number.counted("value")) of \(subject) became nil (\(reason))"
    case .ambiguousToOne:
      return "\(about)\(number.counted("to-one relationship")) found several objects and took the first"
    }
  }

  /// The text of an uncounted loss: it names what a step leaves out. There may be none.
  private var uncounted: String {
    switch kind {
    case .objects: return "objects of \(subject) (\(reason)), not counted yet"
    case .values, .nils, .rounded: return "values of \(subject) (\(reason)), not counted yet"
    case .rows: return "rows of table \(subject) (\(reason)), not counted yet"
    case .links, .linksToNothing, .ambiguousToOne: return "links of \(subject) (\(reason)), not counted yet"
    case .order: return "the order of links of \(subject) (\(reason)), not counted yet"
    case .policy: return "\(subject) (\(reason))"
    }
  }

  /// One or two words for the start of a line.
  package var label: String {
    switch kind {
    case .policy: "policy"
    case .objects: count == nil ? "may drop" : "dropped"
    case .values, .rows, .links, .nils: count == nil ? "may lose" : "lost"
    case .order: count == nil ? "may lose" : "order"
    case .linksToNothing: "links"
    case .rounded: "rounded"
    case .ambiguousToOne: "several"
    }
  }
}

extension LossReport.Loss {
  /// The loss of content that no model names.
  package init(_ found: UnmodelledContent.Finding, step: StepID) {
    self.init(
      unmodelled: found.table + (found.column.map { ".\($0)" } ?? ""), isColumn: found.column != nil,
      count: found.count, step: step)
  }

  /// The loss of a table or a column that no model names.
  package init(unmodelled subject: String, isColumn: Bool, count: Int64?, step: StepID) {
    self.init(
      step: step, kind: isColumn ? .values : .rows, subject: subject, count: count,
      reason: isColumn ? "no model names the column" : "no model names it", cause: .notInModel)
  }
}

extension MigrationJob {
  /// The error of `on-loss: fail` for losses, or for a step that may lose uncounted data because a mapping model near
  /// the models was not used for it; nil without losses, or if the job may lose data.
  package func error(for losses: LossReport) -> GodwitError? {
    guard failsOnLoss else { return nil }
    if let error = unsearchedMappingError { return error }
    let refused = LossReport(marking(losses.losses)).refusable
    guard !refused.isEmpty else { return nil }
    return GodwitError(
      .dataWrong, "job '\(name)' would lose data of the source",
      cause: refused.map { "step \($0.step): \($0.label) \($0)" }.asLines,
      remedy:
        "map the data, name the losses that are meant under 'accept-losses', or run the job without 'on-loss: fail'",
      safe: "the source is untouched, and no destination was put in place"
    ).about(.loss)
  }
  /// The error of a test and of `on-loss: fail` for a step that is inferred although a mapping model for it lies near;
  /// nil when none does.
  package var unsearchedMappingError: GodwitError? {
    guard !mappingSearch.unsearched.isEmpty else { return nil }
    return GodwitError(
      .dataWrong, "job '\(name)' would infer a step for which there is a mapping model",
      cause: mappingSearch.unsearched.asLines,
      remedy: "name the folder of the mapping model under `mapping-search`, or write `mappings: inferred`",
      safe: "the source is untouched, and no destination was put in place"
    ).about(.loss)
  }
}
