/// A composite attribute of an object, as a key path reads it: the next segment names an element.
package struct CompositePart: EvaluatedObject {
  private let owner: any EvaluatedObject
  private let path: String

  /// - Parameters:
  ///   - path: The attribute's name, or its path from the object for a composite inside another.
  ///   - owner: The object that has it.
  package init(_ path: String, of owner: any EvaluatedObject) {
    (self.path, self.owner) = (path, owner)
  }

  package var entityName: String { owner.entityName }
  package var key: Int64 { owner.key }

  package func value(_ property: String) throws -> EvaluatedValue { try owner.value("\(path).\(property)") }
}
