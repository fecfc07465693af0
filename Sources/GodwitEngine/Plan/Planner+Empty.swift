import GodwitJob
import GodwitModel
import GodwitStore

/// A job that leaves no object of a source that has some has the wrong model, mostly: an old store of another product,
/// or a destination that shares no entity with it.
extension Planner {
  /// Looks for one row that a mapping may take; counts nothing.
  package func refuseEmptyResult() throws {
    guard job.onLoss != .allowEmpty, !makesObjectsOfNothing else { return }
    let taken = Set(resolved.entityMappings.map(\.source.name))
    var hasRows = false
    for entity in resolved.sourceModel.entities {
      guard let table = sourceSchema.table(of: entity.name) else { continue }
      let condition = sourceSchema.isObject(of: [entity.name], usesIndex: true).clause
      let found = try scan.reading(table.name) {
        try connection.integer("SELECT 1 FROM source.\(quoted(table.name))\(condition) LIMIT 1") != nil
      }
      guard found else { continue }
      if taken.contains(entity.name) { return }
      hasRows = true
    }
    if hasRows { throw emptyResult }
  }

  /// The same when filters have been tried on all rows.
  func refuseEmptyResult(_ facts: PlanFacts) throws {
    guard job.onLoss != .allowEmpty, !makesObjectsOfNothing else { return }
    guard facts.entities.contains(where: { $0.rows > 0 }), !facts.entities.contains(where: { $0.taken > 0 }) else {
      return
    }
    throw emptyResult
  }

  /// Whether a policy makes objects without a source object, or continues from those of an earlier job.
  private var makesObjectsOfNothing: Bool { resolved.policies.contains { $0.index == nil } }

  private var emptyResult: GodwitError {
    GodwitError(
      .dataWrong,
      "no object of '\(job.sourceName)' would be in the destination: no mapping from '\(job.sourceModel.name)' to '\(job.destinationModel.name)' takes one",
      remedy: "check 'models' and 'destination-model', or write `on-loss: allow-empty`", safe: "nothing was written"
    ).about(.loss)
  }
}
