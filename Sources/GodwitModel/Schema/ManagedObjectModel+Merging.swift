extension ManagedObjectModel {
  /// One model made from several, Core Data's `NSManagedObjectModel(byMerging:)`, for a store with entities of several
  /// models.
  ///
  /// - Parameters:
  ///   - models: The models, in any order.
  ///   - name: The model's name in messages; by default the names, joined with ` + `.
  /// - Throws: code `.configuration` when two models define an entity of one name differently, and as `init`.
  package init(merging models: [ManagedObjectModel], name: String? = nil) throws {
    let name = name ?? models.map(\.name).joined(separator: " + ")
    var entities: [String: (entity: EntityDescription, model: String)] = [:]
    var identifiers: [String] = []
    var configurations: [String: [String]] = [:]
    var templates: [FetchRequestTemplate] = []
    for model in models {
      for entity in model.entities {
        if let known = entities[entity.name], known.entity != entity {
          throw Self.cannotMerge("entity '\(entity.name)'", known.model, model.name)
        }
        entities[entity.name] = (entity, model.name)
      }
      for (configuration, members) in model.configurations {
        let known = configurations[configuration] ?? []
        configurations[configuration] = known + members.filter { !known.contains($0) }
      }
      identifiers += model.versionIdentifiers.filter { !identifiers.contains($0) }
      templates += model.fetchRequestTemplates.filter { !templates.contains($0) }
    }
    try self.init(
      name: name, entities: entities.values.map(\.entity), versionIdentifiers: identifiers,
      configurations: configurations, fetchRequestTemplates: templates)
    for model in models { publishedVersionHashes.merge(model.publishedVersionHashes) { first, _ in first } }
    remarks = models.flatMap(\.remarks)
  }

  private static func cannotMerge(_ what: String, _ first: String, _ second: String) -> GodwitError {
    GodwitError(
      .configuration, "cannot merge the models '\(first)' and '\(second)': both define \(what), and not alike",
      remedy: "name versions that agree, as 'PATH#Version Name'")
  }

  // MARK: Configurations

  /// Core Data's name for the configuration of all entities.
  package static let defaultConfigurationName = "Default"

  /// The model of a store that was added with a configuration: only its entities, under the same name.
  ///
  /// - Throws: code `.configuration` when the configuration does not exist, or when one of its entities has a parent or
  ///   a relationship outside, which no store can hold.
  package func restricted(toConfiguration configuration: String) throws -> ManagedObjectModel {
    guard let listed = configurations[configuration] else {
      if configuration == Self.defaultConfigurationName { return self }
      let names = configurations.keys.sorted { Text($0) < Text($1) }
      throw GodwitError(
        .configuration,
        "cannot use configuration '\(configuration)': model '\(name)' has none of this name"
          + Spelling.suggestion(for: configuration, among: names),
        cause: names.isEmpty
          ? "the model has no configurations" : "it has " + names.map { "'\($0)'" }.joined(separator: ", "),
        remedy: "correct 'configuration', or remove it for a store of all entities")
    }
    let members = Set(listed)
    func outside(_ what: String) -> GodwitError {
      GodwitError(
        .configuration, "cannot use configuration '\(configuration)' of model '\(name)': \(what)",
        remedy: "add the entity to the configuration in Xcode's editor")
    }
    let kept = entities.filter { members.contains($0.name) }
    for entity in kept {
      if let parent = entity.superentityName, !members.contains(parent) {
        throw outside("'\(entity.name)' is in it, its parent '\(parent)' is not")
      }
      for relationship in entity.relationships where !members.contains(relationship.destinationEntityName) {
        throw outside(
          "relationship '\(entity.name).\(relationship.name)' leads to '\(relationship.destinationEntityName)', which is not in it"
        )
      }
    }
    var model = try ManagedObjectModel(
      name: name, entities: kept, versionIdentifiers: versionIdentifiers,
      configurations: [configuration: listed],
      fetchRequestTemplates: fetchRequestTemplates.filter { members.contains($0.entityName) })
    model.publishedVersionHashes = publishedVersionHashes.filter { members.contains($0.key) }
    model.remarks = remarks
    return model
  }
}
