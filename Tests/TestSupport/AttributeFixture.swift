package import GodwitModel

extension AttributeDescription {
  /// An attribute of a model that a test makes.
  ///
  /// - Parameter was: Its renaming identifier.
  package static func make(
    _ name: String, _ type: AttributeType = .string, isOptional: Bool = true, default value: AttributeValue = .null,
    was: String? = nil
  ) -> AttributeDescription {
    var attribute = AttributeDescription(name: name, type: type, isOptional: isOptional)
    attribute.defaultValue = value
    attribute.renamingIdentifier = was
    return attribute
  }

  /// A composite attribute.
  ///
  /// - Parameter was: Its renaming identifier.
  package static func composite(
    _ name: String, isOptional: Bool = true, was: String? = nil, _ elements: [AttributeDescription]
  ) -> AttributeDescription {
    var attribute = AttributeDescription.make(name, .composite, isOptional: isOptional, was: was)
    attribute.elements = elements
    return attribute
  }
}
