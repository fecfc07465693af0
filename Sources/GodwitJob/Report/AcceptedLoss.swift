package import GodwitModel
import Synchronization

/// The losses that jobs of one manifest may have, by their ways: many stores of one version share them.
package final class PossibleLosses: Sendable {
  private let known = Mutex<[String: [LossReport.Loss]]>([:])

  package init() {}

  /// - Parameters:
  ///   - way: The digests of the versions on the way.
  ///   - find: Finds them where they are not known yet.
  package func losses(of way: String, find: () throws -> [LossReport.Loss]) rethrows -> [LossReport.Loss] {
    if let losses = known.withLock({ $0[way] }) { return losses }
    let losses = try find()
    known.withLock { $0[way] = losses }
    return losses
  }
}

extension MigrationJob {
  /// A loss that is meant: `on-loss: fail` does not stop for it.
  ///
  /// It names what is lost as a plan does: `Person.age`, or with the reason `Pet (filtered out)`. Without a reason it
  /// stands for every loss of that name, in every step.
  public struct AcceptedLoss: Sendable, Hashable, ExpressibleByStringLiteral {
    /// An entity, `Entity.property`, a table or `TABLE.column` that no model names, or the class of a policy.
    public let subject: String
    /// The reason or the kind of the loss, as a plan names it or as its code; nil for any.
    public let reason: String?
    /// The place in a manifest.
    package var location: GodwitError.Location?

    /// - Parameter text: `SUBJECT` or `SUBJECT (REASON)`.
    public init(_ text: String) {
      guard text.hasSuffix(")"), let mark = text.firstRange(of: " (") else {
        (subject, reason) = (text, nil)
        return
      }
      (subject, reason) = (String(text[..<mark.lowerBound]), String(text[mark.upperBound...].dropLast()))
    }

    /// - Parameter value: `SUBJECT` or `SUBJECT (REASON)`.
    public init(stringLiteral value: String) { self.init(value) }

    /// `SUBJECT` or `SUBJECT (REASON)`.
    package var text: String { subject + (reason.map { " (\($0))" } ?? "") }

    /// The table or column that it names with a reason why no model names it; nil for any other entry.
    package var unmodelledName: String? {
      for isColumn in [false, true] {
        let loss = LossReport.Loss(unmodelled: subject, isColumn: isColumn, count: nil, step: .first)
        for reason in loss.reasonNames where text.hasSuffix(" (\(reason))") {
          return String(text.dropLast(reason.count + 3))
        }
      }
      return nil
    }

    /// Whether it stands for a loss. Names and reasons of a loss may have parentheses of their own.
    package func names(_ loss: LossReport.Loss) -> Bool {
      if loss.printedTexts.contains(text) { return true }
      return loss.subjectNames.contains { name in
        text.hasPrefix(name)
          && (text == name || loss.reasonNames.contains { text == "\(name) (\($0))" })
      }
    }
  }

  /// The losses with those marked that the job accepts.
  ///
  /// Links between objects in quarantine and others are a consequence: they are accepted with the objects.
  package func marking(_ losses: [LossReport.Loss]) -> [LossReport.Loss] {
    guard !acceptedLosses.isEmpty || losses.contains(where: { $0.isAccepted != nil }) else { return losses }
    var marked = losses
    for index in marked.indices {
      let loss = marked[index]
      marked[index].isAccepted = acceptedLosses.contains { $0.names(loss) } ? true : nil
    }
    for index in marked.indices where marked[index].kind == .links && marked[index].cause == .quarantined {
      let step = marked[index].step
      let objects = marked.filter { $0.step == step && $0.kind == .objects && $0.cause == .quarantined }
      if !objects.isEmpty, objects.allSatisfy({ $0.isAccepted == true }) { marked[index].isAccepted = true }
    }
    return marked
  }

  /// Whether the job accepts that objects of some entities are set aside.
  package func acceptsSettingAside(_ entities: Set<String>) -> Bool {
    entities.allSatisfy { entity in
      let loss = LossReport.Loss(
        step: .first, kind: .objects, subject: entity, count: 1, reason: LossReport.Loss.inQuarantine,
        cause: .quarantined)
      return acceptedLosses.contains { $0.names(loss) }
    }
  }

  /// The error of an accepted loss that the job does not have.
  ///
  /// - Parameter known: The losses that the job may have.
  package func error(unknown entry: AcceptedLoss, among known: [LossReport.Loss]) -> GodwitError {
    var seen: Set<String> = []
    let subjects = known.map(\.subject).filter { seen.insert($0).inserted }
    let sameSubject = known.filter { entry.text == $0.subject || entry.text.hasPrefix($0.subject + " (") }
    var nearest =
      sameSubject.first.map(AcceptedLoss.init)
      ?? known.first { $0.subject.hasPrefix(entry.subject + ".") }
      .map(AcceptedLoss.init)
    if sameSubject.isEmpty, let name = Spelling.nearest(to: entry.subject, among: subjects) {
      nearest = AcceptedLoss(name)
    }
    let listed = subjects.prefix(8).joined(separator: ", ").onOneLine
    let more = subjects.count > 8 ? " and \(subjects.count - 8) more" : ""
    return GodwitError(
      .configuration,
      "accept-losses names '\(entry.text)', which job '\(name)' does not lose"
        + (nearest.map { " (did you mean '\($0.text)'?)" } ?? ""),
      location: entry.location,
      cause: subjects.isEmpty ? "the job loses nothing" : "it may lose \(listed)\(more)",
      remedy: "correct or remove the entry; `godwit plan --details` lists the losses", safe: "nothing was written")
  }
}

extension MigrationJob.AcceptedLoss {
  /// The entry that stands for a loss and no other of its name.
  init(_ loss: LossReport.Loss) {
    self.init(loss.subject + (loss.cause.map { " (\($0.rawValue.replacing("-", with: " ")))" } ?? ""))
  }
}

extension LossReport.Loss {
  package static let inQuarantine = "in quarantine"

  /// The names by which an accepted loss may call its reason.
  fileprivate var reasonNames: [String] {
    var names = [reason, kind.rawValue]
    if let cause { names += [cause.rawValue, cause.rawValue.replacing("-", with: " ")] + Self.printed(cause) }
    return names
  }

  /// The words that plans and runs print in parentheses for a reason, beside the sentence of the loss itself.
  private static func printed(_ cause: LossReport.Cause) -> [String] {
    switch cause {
    case .noMapping, .removeMapping: ["no mapping carries them over"]
    case .expression: ["became nil"]
    case .quarantined: [inQuarantine, "between objects in quarantine and others"]
    case .policyNotRegistered: ["not registered"]
    case .filteredOut, .notTaken, .entityNotAccepted, .notOrdered, .leadsNowhere, .numericType: []
    case .firstOfSeveral, .merged, .notInModel, .missingFile: []
    }
  }

  /// The words that plans and runs print behind a count.
  fileprivate var printedTexts: [String] {
    [1, 2].compactMap { count in
      var loss = self
      (loss.count, loss.isEstimate) = (Int64(count), nil)
      // A policy has no count.
      return loss.text.hasPrefix("\(count) ") ? String(loss.text.dropFirst(2)) : nil
    }
  }

  /// The subject, and the subject as plans and runs print it, without the reason.
  fileprivate var subjectNames: [String] {
    let printed: [String] =
      switch kind {
      case .objects: ["objects of \(subject)"]
      case .values, .rounded: ["value of \(subject)", "values of \(subject)"]
      case .rows: ["table \(subject)", "row of table \(subject)", "rows of table \(subject)"]
      case .links, .linksToNothing: ["link of \(subject)", "links of \(subject)"]
      case .order: ["links of \(subject)", "the order of links of \(subject)"]
      case .nils: ["\(subject) became nil", "values of \(subject)"]
      case .policy, .ambiguousToOne: []
      }
    return [subject] + printed
  }
}
