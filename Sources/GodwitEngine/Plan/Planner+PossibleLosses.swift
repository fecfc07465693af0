import Foundation
package import GodwitJob
import GodwitModel
import GodwitStore

/// The losses that a step may have whatever its source holds. They are named, not counted.
extension Planner {
  /// - Returns: Every loss that counting some source may find, with a count that is nil. A name may come twice.
  package func possibleLosses() throws -> [LossReport.Loss] {
    try checkStorage()
    let step = job.position.step
    let facts = try count(now: Date().timeIntervalSinceReferenceDate)
    var program = try StepProgram(
      resolved: resolved, sourceSchema: sourceSchema, destinationSchema: destinationSchema, facts: facts)
    program.isBeforeRun = true
    func loss(
      _ kind: LossReport.Kind, of subject: String, _ reason: String, _ cause: LossReport.Cause
    ) -> LossReport.Loss {
      LossReport.Loss(step: step, kind: kind, subject: subject, count: nil, reason: reason, cause: cause)
    }
    var found = droppedEntities.map { loss(.objects, of: $0.entity, $0.reason, $0.cause) }
    found += try PropertyLosses(self, facts: facts, step: step, isCounted: false, namesAll: true).find()
      .flatMap(\.wanted)
    found += resolved.defaulted.map { loss(.policy, of: $0.policy, $0.reason, .policyNotRegistered) }
    for watched in try NumberLosses(self, program, isWhole: true).parts().flatMap(\.watched) {
      found.append(loss(.rounded, of: watched.subject, watched.types, .numericType))
      found.append(loss(.nils, of: watched.target, "mapping \(watched.mapping)", .expression))
    }
    // An XML or binary source may hold more digits than are read.
    for entity in resolved.sourceModel.entities where job.position.isFirst && !entity.isAbstract {
      for attribute in resolved.sourceModel.attributes(of: entity.name) where attribute.type == .decimal {
        found.append(loss(.rounded, of: "\(entity.name).\(attribute.name)", Self.decimalReason, .numericType))
      }
    }
    for merged in try MergeLosses(self, program).parts(isCounted: false) {
      found += merged.part.wanted
      // New objects may become one with those of the destination too.
      found += merged.part.wanted.map { loss($0.kind, of: $0.subject, merged.mapping.reasonForMeeting, .merged) }
    }
    // The rows decide whether lookups of one to-one find several objects.
    let setsToOne = resolved.entityMappings.contains { $0.relationships.contains { !$0.relationship.isToMany } }
    if setsToOne || resolved.hasPolicies { found.append(.several(step: step, 0)) }
    guard job.quarantine != nil else { return found }
    for entity in resolved.sourceModel.entities where !entity.isAbstract {
      found.append(loss(.objects, of: entity.name, LossReport.Loss.inQuarantine, .quarantined))
      found += resolved.sourceModel.relationships(of: entity.name).map {
        loss(.links, of: "\(entity.name).\($0.name)", LossReport.Loss.inQuarantine, .quarantined)
      }
    }
    return found
  }

  /// The tables and columns of the source that no model names, as losses without counts.
  package var unmodelledLosses: [LossReport.Loss] {
    sourceSchema.foreignContent.counted.flatMap { counted -> [LossReport.Loss] in
      let columns: [String?] = counted.columns.isEmpty ? [nil] : counted.columns
      return columns.map {
        LossReport.Loss(
          unmodelled: counted.name + ($0.map { ".\($0)" } ?? ""), isColumn: $0 != nil, count: nil,
          step: job.position.step)
      }
    }
  }

  /// Entities of which some or all objects may be left out.
  var droppedEntities: [MigrationPlan.Dropped] {
    let takers = Dictionary(grouping: resolved.entityMappings.filter { $0.earlier == nil }, by: \.source.name)
    return resolved.sourceModel.entities.filter { !$0.isAbstract }.compactMap { entity in
      let own = takers[entity.name] ?? []
      guard own.allSatisfy({ $0.filter != nil }) else { return nil }
      return MigrationPlan.Dropped(
        entity: entity.name, rows: 0, reason: reasonForDropping(entity.name, isMapped: !own.isEmpty))
    }
  }
}
