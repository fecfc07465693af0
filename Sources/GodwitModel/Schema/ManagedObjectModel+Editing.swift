extension ManagedObjectModel {
  /// Changes one entity.
  ///
  /// ```swift
  /// try model.edit(entity: "Person") { $0.renamingIdentifier = "Human" }
  /// ```
  ///
  /// The whole model is checked again. If something is wrong, it stays unchanged. Published version hashes are kept for
  /// entities whose computed hash does not change, and removed for the others.
  ///
  /// - Parameters:
  ///   - name: The entity's name.
  ///   - change: Gets the entity as the model declares it, without inherited properties.
  /// - Throws: Code `.configuration` (78) when the model has no such entity; the errors of
  ///   ``init(name:entities:versionIdentifiers:configurations:fetchRequestTemplates:)`` for the changed entities; the
  ///   errors of `change`.
  package mutating func edit(entity name: String, _ change: (inout EntityDescription) throws -> Void) throws {
    guard let position = entities.firstIndex(where: { $0.name == name }) else {
      throw uneditable("has no entity '\(name)'" + Spelling.suggestion(for: name, among: entityNames))
    }
    var changed = entities
    try change(&changed[position])
    self = try replacingEntities(changed)
  }

  /// Changes one attribute.
  ///
  /// ```swift
  /// try model.edit(attribute: "fullName", of: "Person") { $0.renamingIdentifier = "name" }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - entity: The entity that declares the attribute.
  ///   - change: Gets the attribute.
  /// - Throws: Code `.configuration` (78) when the entity does not declare such an attribute; otherwise as
  ///   ``edit(entity:_:)``.
  package mutating func edit(
    attribute name: String, of entity: String, _ change: (inout AttributeDescription) throws -> Void
  ) throws {
    let model = self
    try edit(entity: entity) { declared in
      guard let position = declared.attributes.firstIndex(where: { $0.name == name }) else {
        throw model.undeclared(
          "attribute", name, of: entity, declaring: declared.attributes.map(\.name),
          inherited: model.attribute(name, of: entity) != nil)
      }
      try change(&declared.attributes[position])
    }
  }

  /// Changes one relationship.
  ///
  /// ```swift
  /// try model.edit(relationship: "home", of: "Person") { $0.versionHashModifier = "2" }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The relationship's name.
  ///   - entity: The entity that declares the relationship.
  ///   - change: Gets the relationship.
  /// - Throws: Code `.configuration` (78) when the entity does not declare such a relationship; otherwise as
  ///   ``edit(entity:_:)``.
  package mutating func edit(
    relationship name: String, of entity: String, _ change: (inout RelationshipDescription) throws -> Void
  ) throws {
    let model = self
    try edit(entity: entity) { declared in
      guard let position = declared.relationships.firstIndex(where: { $0.name == name }) else {
        throw model.undeclared(
          "relationship", name, of: entity, declaring: declared.relationships.map(\.name),
          inherited: model.relationships(of: entity).contains { $0.name == name })
      }
      try change(&declared.relationships[position])
    }
  }

  /// The same model with other entities, checked again.
  private func replacingEntities(_ changed: [EntityDescription]) throws -> ManagedObjectModel {
    var model = try ManagedObjectModel(
      name: name, entities: changed, versionIdentifiers: versionIdentifiers, configurations: configurations,
      fetchRequestTemplates: fetchRequestTemplates)
    model.remarks = remarks
    guard !publishedVersionHashes.isEmpty else { return model }
    let (before, after) = (computedVersionHashes, model.computedVersionHashes)
    model.publishedVersionHashes = publishedVersionHashes.filter { before[$0.key] == after[$0.key] }
    return model
  }

  private func undeclared(
    _ kind: String, _ name: String, of entity: String, declaring names: [String], inherited: Bool
  ) -> GodwitError {
    if inherited, let owner = declaringEntity(of: name, in: entity) {
      return uneditable("'\(entity)' inherits \(kind) '\(name)' from '\(owner.name)'; edit it there")
    }
    return uneditable("'\(entity)' has no \(kind) '\(name)'" + Spelling.suggestion(for: name, among: names))
  }

  private func uneditable(_ problem: String) -> GodwitError {
    GodwitError(.configuration, "cannot edit model '\(name)': \(problem)")
  }
}
