/// A remark on a mapping model, printed as a comment of its mapping file.
package struct MappingRemark: Sendable, Hashable {
  /// The subject of a remark.
  package enum Subject: Sendable, Hashable {
    /// The entity mapping as a whole.
    case entity
    /// The attribute of this name.
    case attribute(String)
    /// The relationship of this name.
    case relationship(String)

    /// The property's name; nil for a remark on the entity mapping.
    package var property: String? {
      switch self {
      case .entity: nil
      case .attribute(let name), .relationship(let name): name
      }
    }
  }

  /// The name of the entity mapping; nil for a remark on the whole model, at the head of the file.
  package var mapping: String?
  /// The subject of the remark.
  package var subject: Subject
  /// The remark, in one sentence.
  package var text: String
  /// Whether a person has to fill in a value before the file can be read.
  package var isPlaceholder: Bool

  package init(mapping: String?, subject: Subject = .entity, _ text: String, isPlaceholder: Bool = false) {
    self.mapping = mapping
    self.subject = subject
    self.text = text
    self.isPlaceholder = isPlaceholder
  }
}
