package import GodwitJob
package import GodwitModel
package import GodwitStore

extension UnmodelledContent {
  /// The part of it that a migration loses.
  ///
  /// - Parameter step: The step that reads the store.
  package func losses(step: StepID, on connection: StoreConnection) throws -> [LossReport.Loss] {
    try findings(on: connection).map { LossReport.Loss($0, step: step) }
  }

  /// For the plan: views and triggers hold no data, and are not carried over.
  package var notes: [MigrationNote] {
    leftOut.map { MigrationNote(.triggersLeftOut, $0) } + programNotes
  }

  private var programNotes: [MigrationNote] {
    guard !programs.isEmpty else { return [] }
    let more = programs.count - Self.limitNamed
    let names = programs.prefix(Self.limitNamed).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    return [
      MigrationNote(
        .programsDropped, "the new store has no views and triggers but those of Core Data; left out: \(names)")
    ]
  }

  private static let limitNamed = 5
}
