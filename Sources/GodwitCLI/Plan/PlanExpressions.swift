import GodwitJob
import GodwitModel

/// The expressions of an entity mapping, by property, as text.
struct PlanExpressions: Codable, Equatable {
  /// From 1.
  var step: Int
  var mapping, kind: String
  /// By destination property. One that is not listed takes the model's default.
  var properties: [String: String]

  static func all(of job: MigrationJob) -> [PlanExpressions] {
    job.steps.numbered.flatMap { id, step in
      step.mappingModels.flatMap(\.entityMappings).map { PlanExpressions($0, step: id.count) }
    }
  }

  private init(_ mapping: EntityMapping, step: Int) {
    self.step = step
    self.mapping = mapping.name
    kind = mapping.kind.rawValue
    var properties: [String: String] = [:]
    for entry in mapping.attributeMappings {
      properties[entry.name] = entry.value.source.text + (entry.usesDefaultForNil ? ", the default for nil" : "")
    }
    for entry in mapping.relationshipMappings {
      properties[entry.name] =
        switch entry.value {
        case .mapping(let name, let path):
          "mapping \(name)" + (path.isEmpty ? "" : " of \(path.joined(separator: "."))")
            + (entry.end.map { ", links of $\($0.rawValue)" } ?? "")
        case .sourceRelationship(let name): "source relationship \(name)"
        case .expression(let value): value.source.text
        }
    }
    self.properties = properties
  }
}
