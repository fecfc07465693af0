import Foundation
package import GodwitJob
import GodwitModel
import GodwitStore

/// The value of `now()` in a job.
package struct JobClock {
  /// In seconds since 2001. Where the destination does not say, it is the time of its last change, which is a guess.
  package private(set) var now: Double
  package private(set) var isKnown: Bool
  /// The times that the source of a later step would need, if the moment is not known.
  var unknown = UnknownTimes()

  init(now: Double) { (self.now, isKnown) = (now, true) }

  /// - Parameter digest: The name that the job has in the destination.
  package init(of job: MigrationJob, digest: () throws -> String) throws {
    // Another check reports damaged metadata.
    let known = try job.callsNow ? StoreMetadata.ifStore(at: job.destinationPath)?.moment(of: digest) : nil
    let changed = try StoreFiles(path: job.destinationPath).stamp().store.seconds
    now = known ?? Double(changed) - Date.timeIntervalBetween1970AndReferenceDate
    isKnown = known != nil
  }
}

/// The values in a store between two steps that depend on an unknown moment and so cannot be computed again.
struct UnknownTimes {
  /// `Entity.attribute`, of the objects of exactly the entity.
  private(set) var attributes: Set<String> = []
  /// Their names.
  private var names: Set<String> = []
  /// Whether such a value decides which objects exist, or what they lead to.
  private(set) var decidesObjects = false

  func contains(_ attribute: String, of entity: String) -> Bool { attributes.contains("\(entity).\(attribute)") }

  /// Whether an expression of the next step reads such a value.
  func areRead(by expression: ValueExpression) -> Bool {
    !names.isEmpty
      && expression.contains { part in
        switch part.node {
        case .keyPath(_, let segments): segments.contains(where: names.contains)
        case .fetch: true
        default: false
        }
      }
  }

  /// The unknown times in the store that a step makes.
  ///
  /// - Parameter knowsNow: Whether the value of `now()` in this step is known.
  func after(_ step: MigrationJob, knowsNow: Bool = false) -> UnknownTimes {
    var next = UnknownTimes()
    next.decidesObjects = decidesObjects
    func isUnknown(_ expression: ValueExpression) -> Bool {
      !knowsNow && expression.callsNow || areRead(by: expression)
    }
    for mapping in step.mappingModels.flatMap(\.entityMappings) {
      guard let source = mapping.sourceEntityName, let destination = mapping.destinationEntityName else { continue }
      for attribute in step.destinationModel.attributes(of: destination) {
        let given = mapping.attributeMappings.first { $0.name == attribute.name }?.value
        let isCopy = given == nil && mapping.kind == .copy
        guard
          attribute.isDerived
            ? !knowsNow && attribute.isNow(in: destination, of: step.destinationModel) || !names.isEmpty
            : given.map(isUnknown) ?? (isCopy && contains(attribute.name, of: source))
        else { continue }
        next.attributes.insert("\(destination).\(attribute.name)")
        next.names.insert(attribute.name)
        if mapping.uniqueBy.contains(attribute.name) { next.decidesObjects = true }
      }
      if mapping.filter?.operands.contains(where: isUnknown) == true
        || !knowsNow && mapping.relationshipMappings.contains(where: \.callsNow)
      {
        next.decidesObjects = true
      }
    }
    return next
  }
}
