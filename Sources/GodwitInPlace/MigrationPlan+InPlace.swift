package import GodwitJob

extension MigrationPlan {
  /// Says which way a job in place takes.
  package mutating func describe(_ way: InPlaceStrategy) {
    guard !steps.isEmpty else { return }
    switch way {
    case .definitions(let program):
      steps[0].way = Self.wayOfDefinitions
      steps[0].strategy = .definitions
      steps[0].costs = program.costs(bytes: sourceBytes)
      steps[0].rowsNote = "unchanged, none is read"
      stages = []
    case .sql(let program):
      steps[0].way = "in place by SQL, loading no rows"
      steps[0].strategy = .sql
      steps[0].costs = program.costs
    case .executor(let reason):
      steps[0].way = "through the executor: \(reason)"
      steps[0].strategy = .executor
    }
  }
}
