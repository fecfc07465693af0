/// Something in a model's file that its reader replaced or left out: a default value that does not fit its attribute.
///
/// Xcode keeps such values when an attribute's type is changed, and compiles the model all the same. None of them
/// has a part in the version hash. Remarks travel with the model until something uses it.
public struct ModelRemark: Sendable, Hashable {
  /// What was found and what it was read as.
  public var text: String
  /// Where it stands; nil for an archive, which has no lines.
  public var location: GodwitError.Location?

  package init(_ text: String, location: GodwitError.Location? = nil) {
    self.text = text
    self.location = location
  }
}

extension ModelRemark: CustomStringConvertible {
  /// For example `Model.xcdatamodel/contents:12:3: the default value 'NO' of 'Person.age' …`.
  public var description: String {
    (location.map { "\($0.file):\($0.line):\($0.column): " } ?? "") + text
  }
}
