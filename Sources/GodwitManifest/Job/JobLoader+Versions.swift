package import GodwitModel

extension JobLoader {
  /// A model version that an application may have shipped.
  package struct ShippedVersion: Sendable {
    package var name: String
    /// The model, or why it cannot be read.
    package var model: Result<ManagedObjectModel, GodwitError>
  }

  /// The versions before the job's destination model, oldest first. Reads no store.
  ///
  /// The order is that of `version-order`, else the natural order of the names. A version whose hashes are those of the
  /// destination model is left out.
  package func shippedVersions() throws -> (versions: [ShippedVersion], destination: ManagedObjectModel) {
    var versions = try ModelVersions(manifest.models)
    let merged = manifest.mergeModels.isEmpty ? nil : try MergedModels(manifest.mergeModels)
    if let configuration = manifest.configuration { versions.restrict(toConfiguration: configuration) }
    let destination = try destinationModel(among: versions, merged: merged)
    var names = try orderedNames(versions, leadingTo: destination.name)
    if let place = names.lastIndex(of: destination.name) { names = Array(names[..<place]) }
    let shipped = names.compactMap { name -> ShippedVersion? in
      guard let candidate = versions.models.first(where: { $0.name == name }) else { return nil }
      do {
        let model = try candidate.model()
        return model.versionHashes == destination.versionHashes ? nil : .init(name: name, model: .success(model))
      } catch {
        let problem = candidate.problem ?? GodwitError(.missingInput, "cannot read model '\(name)'", cause: "\(error)")
        return .init(name: name, model: .failure(problem))
      }
    }
    return (shipped, destination)
  }
}
