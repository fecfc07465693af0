import GodwitModel

extension MigrationJob {
  /// A job of one step with `for-each` as mappings of pairs, for a reader that reads mappings one by one.
  ///
  /// - Throws: code `.configuration` (78) as `PairLowering`.
  package func loweringPairs() throws -> MigrationJob {
    let lowering = try PairLowering(mappingModels, from: sourceModel)
    guard !lowering.source.pairEntities.isEmpty, sourceModel.pairEntities.isEmpty else { return self }
    var job = self
    job.steps[0].sourceModel = lowering.source
    job.steps[0].mappingModels = lowering.models
    return job
  }
}
