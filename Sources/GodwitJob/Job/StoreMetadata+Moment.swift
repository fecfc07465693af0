package import GodwitModel
package import GodwitStore

extension StoreMetadata.Key {
  /// Under this key a finished store says what `now()` was, by the digest of the job. Only jobs that call `now()` are in
  /// it: what other jobs make is the same whenever they run.
  package static let moments = "GodwitMoments"
}

extension StoreMetadata {
  /// The value of `now()` in every step of a job, in seconds since 2001; nil if the store does not record it.
  ///
  /// - Parameter digest: The name that the job has in the store. It is asked only where there is a moment at all.
  package func moment(of digest: () throws -> String) rethrows -> Double? {
    guard let moments = values[Key.moments]?.dictionary, !moments.isEmpty else { return nil }
    guard case .real(let moment)? = moments[try digest()], moment.isFinite else { return nil }
    return moment
  }

  /// Notes what `now()` was in a job.
  package mutating func setMoment(_ moment: Double, of digest: String) {
    let known = values[Key.moments]?.dictionary ?? [:]
    values[Key.moments] = .dictionary(known.merging([Text(digest): .real(moment)]) { _, new in new })
  }
}

extension MigrationJob {
  /// Whether what the job makes depends on when it runs: an expression or a derived attribute of a step calls `now()`.
  package var callsNow: Bool { position.callsNow || steps.contains(where: \.callsNow) }
}

extension MigrationStep {
  fileprivate var callsNow: Bool {
    mappingModels.contains { $0.entityMappings.contains(where: \.callsNow) }
      || destinationModel.entities.contains { entity in
        entity.attributes.contains { $0.isDerived && $0.isNow(in: entity.name, of: destinationModel) }
      }
  }
}

extension AttributeDescription {
  /// Whether a derived attribute is the time of the last change.
  package func isNow(in entity: String, of model: ManagedObjectModel) -> Bool {
    (try? Derivation(of: self, in: entity, model: model).kind) == .now
  }
}

extension EntityMapping {
  fileprivate var callsNow: Bool {
    filter?.operands.contains(where: \.callsNow) == true
      || attributeMappings.contains(where: \.value.callsNow)
      || relationshipMappings.contains(where: \.callsNow)
  }
}

extension RelationshipMapping {
  /// Whether the objects that it gives depend on when it is evaluated.
  package var callsNow: Bool {
    if case .expression(let parsed) = value { parsed.callsNow } else { false }
  }
}
