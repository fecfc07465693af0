extension MappingModel {
  /// The mapping model that Core Data would infer between two models, with the names it gives (`IEM_Transform_Person`).
  ///
  /// No data is read: whether the objects satisfy the rules of the destination shows when they are validated.
  ///
  /// - Throws: code `.noPath` with every reason, when it cannot be inferred.
  public init(inferredFrom source: ManagedObjectModel, to destination: ManagedObjectModel) throws {
    self = try MappingInference(from: source, to: destination).mappingModel()
  }
}
