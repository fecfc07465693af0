/// The subject of an error, for a caller that handles exactly that subject where the code alone is not specific enough.
package enum ErrorTopic: Sendable {
  /// A file, or a text in place of one, without content.
  case emptyFile
  /// A SQLite file that is shorter than its header says.
  case cutOff
  /// No model version has the hashes of a store.
  case unknownStoreVersion
  /// The model inside a store, which the user did not list, and from which a job would make the wrong store.
  case storedModel
  /// A model's current version is not known, or is named wrongly.
  case currentVersion
  /// Several mapping models serve one step and do not go together.
  case conflictingMappings
  /// Data of the source that the destination would not have.
  case loss
  /// An error that SQLite reported, such as a damaged page, and never one in a single row.
  case database
  /// A row that the run cannot carry over: a value that cannot be computed or does not fit, or a broken rule.
  case rejectedRow
  /// A disk, or a quota of one, without room. This concerns every store, not only the current one.
  case diskFull
  /// A job that needs more room than there is, by an estimate: another one may fit.
  case tooLittleRoom
  /// A file of external binary data that cannot become a value, or a link in place of its folder. The fault is beside
  /// the store, not in the row.
  case externalFile
  /// A file of external binary data that is missing although a value's bytes are needed. A job may set the object aside,
  /// or go on without the value.
  case missingFile
}

extension GodwitError {
  /// Whether it is about a single object, which a job with a quarantine sets aside.
  package var isOfObject: Bool { topic == .rejectedRow || topic == .missingFile }
}
