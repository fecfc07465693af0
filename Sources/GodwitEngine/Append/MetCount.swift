package import GodwitJob
import GodwitModel

/// The new objects of a mapping that the destination had already, and what became of them.
package struct MetCount: Codable, Sendable {
  /// A property whose values or links differ from those that stay.
  struct Lost: Codable {
    var name: String
    var isLink: Bool
    var count: Int64
  }

  var mapping: String
  var objects, changed, unlike, kept: Int64
  var lost: [Lost]

  package var met: AppendRecord.Met { .init(objects: objects, changed: changed, unlike: unlike, kept: kept) }
}

extension ResolvedEntityMapping {
  /// Why something of an old or a new object is lost where the two become one.
  var reasonForMeeting: String {
    let order = mapping.uniqueOrder.map(\.description).joined(separator: ", ")
    return
      "mapping \(name) meets objects of the destination with the same \(mapping.uniqueBy.joined(separator: ", ")), "
      + (order.isEmpty ? "and keeps them" : "and keeps the first by \(order)")
  }

  /// The losses where new objects become one with old ones.
  func losses(_ lost: [MetCount.Lost], step: StepID) -> [LossReport.Loss] {
    lost.filter { $0.count > 0 }.map {
      .init(
        step: step, kind: $0.isLink ? .links : .values, subject: "\(destination.name).\($0.name)", count: $0.count,
        reason: reasonForMeeting, cause: .merged)
    }
  }

  /// - Parameters:
  ///   - met: Objects of the destination that new ones are the same as.
  ///   - changed: Those whose values or links the run has changed; nil before the run.
  ///   - hasLinks: Whether the two may have other links.
  func noteOfMeeting(_ met: Int64, changed: Int64?, hasLinks: Bool = false) -> MigrationNote {
    let verb = changed == nil ? (met == 1 ? "is" : "are") : met == 1 ? "was" : "were"
    let subject = "\(met.counted("object")) of \(destination.name) \(verb) in the destination already (mapping \(name))"
    guard let changed else {
      return MigrationNote(.met, subject + (hasLinks ? "; the run counts the links that differ" : ""))
    }
    return MigrationNote(.met, subject + ": \(changed) changed, \(met - changed) as before")
  }
}

extension Executor {
  /// The losses of a plan, with those of met objects as the run has counted them.
  func withMet(_ planned: [LossReport.Loss]) throws -> [LossReport.Loss] {
    let meeting = program.meeting.map { program.mappings[$0] }
    guard !meeting.isEmpty else { return planned }
    let reasons = Set(meeting.map(\.reasonForMeeting))
    let counted = try ledger.met()
    return planned.filter { !reasons.contains($0.reason) }
      + meeting.flatMap { mapping in
        mapping.losses(
          counted.first { $0.mapping == mapping.name }?.lost ?? [], step: job.position.step)
      }
  }

  /// The notes of a plan, with those of met objects as the run has counted them.
  package func withMet(_ planned: [MigrationNote]) throws -> [MigrationNote] {
    let meeting = program.meeting.map { program.mappings[$0] }
    guard !meeting.isEmpty else { return planned }
    let counted = try ledger.met()
    return planned.filter { $0.code != .met }
      + meeting.compactMap { mapping in
        counted.first { $0.mapping == mapping.name && $0.objects > 0 }
          .map { mapping.noteOfMeeting($0.objects, changed: $0.changed) }
      }
  }
}
