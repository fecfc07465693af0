import GodwitModel

extension MigrationJob {
  /// The job with steps of an inferred mapping model called so, where code gives that mapping model as it would any
  /// other: such a step migrates in place by SQL, as `mappings: inferred` does.
  package func namingInferredSteps() -> MigrationJob {
    guard steps.contains(where: \.mayBeInferred) else { return self }
    var job = self
    for index in steps.indices where steps[index].mayBeInferred {
      let step = steps[index]
      guard let inferred = try? MappingModel(inferredFrom: step.sourceModel, to: step.destinationModel),
        step.mappingModels == [inferred]
      else { continue }
      job.steps[index].origin = MigrationStep.inferredOrigin
    }
    return job
  }
}

extension MigrationStep {
  /// A mapping that was read from a file has places in it, and inference needs not be asked.
  fileprivate var mayBeInferred: Bool {
    origin == nil && mappingModels.count == 1
      && mappingModels[0].entityMappings.allSatisfy { $0.location == nil && $0.policyName == nil }
  }
}
