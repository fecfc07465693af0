import GodwitModel

extension MigrationJob {
  /// The notes in plan and summary on how the job found its source model and its mapping models.
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
    return notes
  }
}
