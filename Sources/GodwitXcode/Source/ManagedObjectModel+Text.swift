package import GodwitModel

extension ManagedObjectModel {
  /// Reads the output of `xcodeContents`.
  ///
  /// - Parameters:
  ///   - name: The model's name, which the text does not have.
  ///   - file: The name of the text in messages.
  package init(xcodeContents text: String, name: String, file: String) throws {
    self = try ModelContents.read(Array(text.utf8), file: file, modelName: name)
  }
}
