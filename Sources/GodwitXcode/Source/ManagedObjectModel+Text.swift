package import GodwitModel

extension ManagedObjectModel {
  /// Reads what `xcodeContents` gave.
  ///
  /// - Parameters:
  ///   - name: The model's name, which the text does not have.
  ///   - file: What messages call the text.
  package init(xcodeContents text: String, name: String, file: String) throws {
    self = try ModelContents.read(Array(text.utf8), file: file, modelName: name)
  }
}
