import GodwitModel
import GodwitStore

extension MigrationJob {
  /// The notes in plan and summary on how the job found its source model and its mapping models, and on what inferred
  /// steps decided about renames.
  package var inputNotes: [MigrationNote] {
    var notes: [MigrationNote] = []
    if let sourceModelOrigin {
      let text =
        "no listed model fits the store: the source model '\(sourceModel.name)' is \(sourceModelOrigin), and its place among the versions is not known"
      notes.append(MigrationNote(.modelFromStore, text))
      if let first = sourceModel.remarks.first {
        let more = sourceModel.remarks.count - 1
        let rest = more > 0 ? "; \(more) more like it (see `godwit inspect`)" : ""
        notes.append(MigrationNote(.modelPartsLeftOut, "of the model that the store carries, \(first)\(rest)"))
      }
    }
    notes += mappingSearch.emptyFolders.map { folder in
      MigrationNote(.mappingSearchEmpty, "no mapping model was found in '\(folder)', which 'mapping-search' names")
    }
    notes += mappingSearch.unsearched.map { MigrationNote(.mappingUnsearched, $0) }
    for step in steps where step.isInferred {
      let found = ModelPairing(from: step.sourceModel, to: step.destinationModel).contradictions
      notes += found.map {
        let lead = "'\(step.sourceModel.name)' to '\(step.destinationModel.name)': \($0.path)"
        return MigrationNote(.renamingIdentifiers, "\(lead) \($0.doubt.decision)")
      }
    }
    return notes + unmetNotes
  }

  /// An appending job of several steps meets objects of the destination in the last step alone.
  private var unmetNotes: [MigrationNote] {
    guard appends else { return [] }
    return steps.dropLast().flatMap(\.mappingModels).flatMap(\.entityMappings).filter { !$0.uniqueBy.isEmpty }.map {
      MigrationNote(
        .met,
        "not looked at: whether the destination has the objects of mapping \($0.name) already, since another step follows"
      )
    }
  }

  /// The notes of plan and summary on the two stores.
  package func storeNotes() throws -> [MigrationNote] {
    let missing = try sourcePaths.compactMap { try MissingLog.note(ofStoreAt: $0) }
      .map { MigrationNote(.logMissing, "the source \($0)") }
    let unused = try sourcePaths.flatMap { try UnusedLog.notes(ofStoreAt: $0) }
      .map { MigrationNote(.logUnused, "beside the source, \($0)") }
    return try missing + unused + transformerNotes()
  }

  /// A binary store has the objects of transformable attributes, any other store what a value transformer makes of them.
  private func transformerNotes() throws -> [MigrationNote] {
    let sources = try sourcePaths.map { try StoreFiles(path: $0).type == .binary }
    guard sources.contains(destinationType != .binary) else { return [] }
    return destinationModel.entities.flatMap { entity in
      entity.attributes.compactMap { attribute in
        guard attribute.type == .transformable, !attribute.isTransient, let name = attribute.valueTransformerName,
          !Self.archivingTransformers.contains(name)
        else { return nil }
        return MigrationNote(
          .transformerAssumed,
          "'\(entity.name).\(attribute.name)' has the value transformer '\(name)' of the application, and is taken to be a keyed archive of its object; check the transformer"
        )
      }
    }
  }

  /// Transformers of Foundation whose values are keyed archives.
  private static let archivingTransformers: Set<String> = [
    "NSKeyedUnarchiveFromData", "NSKeyedUnarchiveFromDataTransformer", "NSSecureUnarchiveFromData",
    "NSSecureUnarchiveFromDataTransformer",
  ]
}
