/// Something in a model's file that its reader replaced or left out: a default value that does not fit its attribute, or
/// a word that is not known. Or a regular expression that does not compile.
///
/// Xcode keeps such values when an attribute's type is changed, and still compiles the model. None of them is part of
/// the version hash. A remark is printed when a job uses the model.
package struct ModelRemark: Sendable, Hashable {
  /// The text that was found and the value that it was read as.
  package var text: String
  /// The place in the file; nil for an archive, which has no lines.
  package var location: GodwitError.Location?

  /// The word of the file that Xcode's compiler passes over, when it is about one: `age.renamingIdentifier`.
  package var ignoredWord: String?

  /// The attribute whose regular expression does not compile, when it is about one: `Person.code`.
  package var brokenPattern: String?

  package init(
    _ text: String, location: GodwitError.Location? = nil, ignoredWord: String? = nil, brokenPattern: String? = nil
  ) {
    self.text = text
    self.location = location
    self.ignoredWord = ignoredWord
    self.brokenPattern = brokenPattern
  }
}

extension ModelRemark: CustomStringConvertible {
  /// For example `Model.xcdatamodel/contents:12:3: the default value 'NO' of 'Person.age' …`.
  package var description: String {
    (location.map { "\($0.file):\($0.line):\($0.column): " } ?? "") + text
  }
}
