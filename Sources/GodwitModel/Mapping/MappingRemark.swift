/// A remark on a mapping model, printed as a comment of its mapping file.
public struct MappingRemark: Sendable, Hashable {
  public enum Subject: Sendable, Hashable {
    case entity
    case attribute(String)
    case relationship(String)

    public var property: String? {
      switch self {
      case .entity: nil
      case .attribute(let name), .relationship(let name): name
      }
    }
  }

  /// The name of the entity mapping; nil for a remark on the whole, which stands at the head of the file.
  public var mapping: String?
  public var subject: Subject
  public var text: String
  /// Whether somebody has to fill something in: the file cannot be read before.
  public var isGap: Bool

  public init(mapping: String?, subject: Subject = .entity, _ text: String, isGap: Bool = false) {
    self.mapping = mapping
    self.subject = subject
    self.text = text
    self.isGap = isGap
  }
}
