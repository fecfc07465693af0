public import GodwitModel

/// What is to be migrated: one source store, one destination, two models, the mappings between.
///
/// The command line makes it from a manifest; code can make it by hand.
public struct MigrationJob: Sendable {
  public var name: String
  public var sourcePath: String
  public var destinationPath: String
  public var sourceModel: ManagedObjectModel
  /// Where the source model came from, for the plan; nil when it is one of those given.
  public var sourceModelOrigin: String?
  public var destinationModel: ManagedObjectModel
  /// Laid end to end; the order is the mapping order.
  public var mappingModels: [MappingModel]
  /// Rows per chunk; nil: chosen from sampled row widths and the memory budget.
  public var chunkRows: Int?
  /// Predicates in place of key ranges, by mapping name.
  public var chunkPredicates: [String: [ParsedPredicate]]
  public var memory: ByteCount
  /// Whether what belongs to CloudKit mirroring is left out; a mirrored store is an error otherwise.
  public var dropsMirroring: Bool
  /// A canonical text of the mappings, for the digest that notices a change.
  public var mappingText: String

  public init(
    name: String, sourcePath: String, destinationPath: String, sourceModel: ManagedObjectModel,
    destinationModel: ManagedObjectModel, mappingModels: [MappingModel], chunkRows: Int? = nil,
    chunkPredicates: [String: [ParsedPredicate]] = [:], memory: ByteCount = .mebibytes(64), mappingText: String? = nil,
    sourceModelOrigin: String? = nil, dropsMirroring: Bool = false
  ) {
    self.name = name
    self.sourcePath = sourcePath
    self.destinationPath = destinationPath
    self.sourceModel = sourceModel
    self.sourceModelOrigin = sourceModelOrigin
    self.dropsMirroring = dropsMirroring
    self.destinationModel = destinationModel
    self.mappingModels = mappingModels
    self.chunkRows = chunkRows
    self.chunkPredicates = chunkPredicates
    self.memory = memory
    self.mappingText = mappingText ?? Self.canonicalText(of: mappingModels)
  }

  /// Names, kinds, expressions and order of all mappings, without comments or layout.
  static func canonicalText(of models: [MappingModel]) -> String {
    var lines: [String] = []
    for mapping in models.flatMap(\.entityMappings) {
      lines.append(
        "mapping \(mapping.name) \(mapping.kind.rawValue) \(mapping.sourceEntityName ?? "-") \(mapping.destinationEntityName ?? "-")"
      )
      if let filter = mapping.filter { lines.append("filter \(filter.predicate)") }
      if let policy = mapping.policyName { lines.append("policy \(policy)") }
      if !mapping.uniqueBy.isEmpty { lines.append("unique-by \(mapping.uniqueBy.joined(separator: ","))") }
      for attribute in mapping.attributeMappings.sorted(by: { Text($0.name) < Text($1.name) }) {
        lines.append("attribute \(attribute.name) \(attribute.value.expression)")
      }
      for relationship in mapping.relationshipMappings.sorted(by: { Text($0.name) < Text($1.name) }) {
        switch relationship.value {
        case .mapping(let name, let path):
          lines.append("relationship \(relationship.name) mapping \(name) \(path.joined(separator: "."))")
        case .sourceRelationship(let name): lines.append("relationship \(relationship.name) source \(name)")
        case .expression(let parsed): lines.append("relationship \(relationship.name) expression \(parsed.expression)")
        }
      }
    }
    return lines.joined(separator: "\n")
  }
}
