/// A fact about a migration that is not a loss: a sentence for people and a code for programs.
package struct MigrationNote: Sendable, Codable, Hashable, CustomStringConvertible {
  /// The subject of a note. The raw values never change.
  package enum Code: String, Sendable, Codable, Hashable, CaseIterable {
    /// The source is several stores, merged.
    case merged
    /// The job adds objects to a destination that exists.
    case appends
    /// The destination's persistent history stays, without the new objects.
    case historyKept = "history-kept"
    /// Persistent history is not carried over.
    case historyDropped = "history-dropped"
    /// The data of CloudKit's mirror is not carried over.
    case cloudKitDropped = "cloudkit-dropped"
    /// Views and triggers that Core Data did not make are not carried over.
    case programsDropped = "programs-dropped"
    /// Rows have the number of another entity, or none, and are read as Core Data reads them.
    case entityNumbers = "entity-numbers"
    /// A lookup finds no object, whatever the rows.
    case emptyLookup = "empty-lookup"
    /// The triggers of a derived attribute are not made.
    case triggersLeftOut = "triggers-left-out"
    /// Indexes of the destination model are not made.
    case indexesLeftOut = "indexes-left-out"
    /// The source model was read from the store without some of its parts, none of which decides rows.
    case modelPartsLeftOut = "model-parts-left-out"
    /// Values are in files beside the store.
    case externalData = "external-data"
    /// Files of external data are missing.
    case externalDataMissing = "external-data-missing"
    /// Values do not fit their new numeric type, and the run will stop.
    case valuesDoNotFit = "values-do-not-fit"
    /// Values are too large for their new numeric type or too near to 0, and are read as NaN.
    case valuesTooLarge = "values-too-large"
    /// Objects break a rule that they broke in the source too, and stay.
    case invalidKept = "invalid-kept"
    /// Objects that the destination has already, by `unique-by`.
    case met
    /// Objects with nil in an attribute of `unique-by`, and whether they are merged.
    case nilKeys = "nil-keys"
    /// Core Data may choose another name for a table or column.
    case guessedName = "guessed-name"
    /// A damaged spill file was rebuilt.
    case spillRebuilt = "spill-rebuilt"
    /// The job is finished, but its receipt could not be written.
    case receiptMissing = "receipt-missing"
    /// The job replaces what it made before, from a source, models, mappings or keys that have changed since.
    case replaces
    /// The store that the job replaces was changed; it is kept.
    case destinationChanged = "destination-changed"
    /// The work of an earlier run was removed, because something has changed since.
    case workDropped = "work-dropped"
    /// The job is finished, and the store of the objects that it set aside is not there.
    case quarantineMissing = "quarantine-missing"
    /// No listed model fits the source: its model is the one that the store carries.
    case modelFromStore = "model-from-store"
    /// Names and renaming identifiers say different things, and one was decided for.
    case renamingIdentifiers = "renaming-identifiers"
    /// A folder under `mapping-search` has no mapping model in it.
    case mappingSearchEmpty = "mapping-search-empty"
    /// A step is inferred although a mapping model for it lies near, where nobody looked for it.
    case mappingUnsearched = "mapping-unsearched"
    /// No proof was possible: the store had the version before, and an old store to compare it with is missing.
    case notProved = "not-proved"
    /// The source is in WAL mode without its write-ahead log, and looks as if the log had been left behind.
    case logMissing = "log-missing"
    /// A log or a journal beside the source, or the end of a log, counts for nothing.
    case logUnused = "log-unused"
    /// Values of an application's own value transformer go between a binary store, which has objects, and one that has
    /// what the transformer makes of them.
    case transformerAssumed = "transformer-assumed"
    /// Only the run can say whether objects keep a rule.
    case notLookedAt = "not-looked-at"
    /// A pattern of dates is valid, and probably meant otherwise.
    case datePattern = "date-pattern"
  }

  /// The subject of the note.
  package var code: Code
  /// The note, in one sentence.
  package var text: String

  package init(_ code: Code, _ text: String) { (self.code, self.text) = (code, text) }

  /// The sentence alone.
  package var description: String { text }
}
