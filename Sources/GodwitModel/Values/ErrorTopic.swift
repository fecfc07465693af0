/// What an error is about, where somebody has an answer to exactly that and the code alone does not say it.
package enum ErrorTopic: Sendable {
  /// A file, or a text in place of one, without content.
  case emptyFile
  /// A SQLite file that is shorter than its header says.
  case cutOff
  /// What SQLite itself calls wrong: a damaged file, or a row that breaks a constraint.
  case refusedBySQLite
  /// No model version has the hashes of a store.
  case unknownStoreVersion
  /// Several mapping models serve one step and do not go together.
  case conflictingMappings
  /// What the source has and the destination would not.
  case loss
}
