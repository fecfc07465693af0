import GodwitModel

/// The places of a model's entities and properties in its `contents` file.
struct ElementIndex {
  let file: String
  /// The line of `<model>`; nil where the file has no lines.
  private var root: Int?
  private var entities: [String: Int] = [:]
  private var properties: [String: [String: Int]] = [:]
  private var constraints: [String: Int] = [:]

  /// - Parameter bytes: The content of the file, nil for a file that is not XML.
  init(file: String, bytes: [UInt8]?) {
    self.file = file
    guard let bytes, let model = try? MarkupReader.read(bytes, file: file) else { return }
    root = model.line
    for entity in model.children(named: "entity") {
      guard let name = entity["name"] else { continue }
      entities[name] = entity.line
      for child in entity.children {
        if child.name == "uniquenessConstraints" { constraints[name] = child.line }
        guard ["attribute", "relationship"].contains(child.name), let property = child["name"] else { continue }
        properties[name, default: [:]][property] = child.line
      }
    }
  }

  var start: LintFinding.Location { .init(file: file, line: root) }

  /// The place of an entity, or of the model if the entity is missing.
  func place(of entity: String) -> LintFinding.Location { .init(file: file, line: entities[entity] ?? root) }

  /// The place of a property, declared there or in an ancestor; of the entity where it is not there. A leaf of a
  /// composite attribute has the composite's.
  func place(of property: String, in entity: String, of model: ManagedObjectModel) -> LintFinding.Location {
    let lineage = model.lineage(of: entity).map(\.name)
    let property = property.split(separator: ".").first.map(String.init) ?? property
    let line = lineage.lazy.compactMap { self.properties[$0]?[property] }.first
    return line.map { .init(file: file, line: $0) } ?? place(of: entity)
  }

  func placeOfConstraints(of entity: String) -> LintFinding.Location {
    constraints[entity].map { .init(file: file, line: $0) } ?? place(of: entity)
  }
}
