#if canImport(CoreData)
  import CoreData
  import Foundation
  import GodwitModel
  import Testing

  /// A mapping of an inferred mapping model, as far as both sides say it.
  private struct TruthMapping: Hashable, CustomStringConvertible {
    var name: String
    var kind: String
    var source: String?
    var destination: String?
    /// The properties that are mapped; empty for a copy, in which Godwit names none.
    var properties: [String] = []

    var description: String {
      "\(name) \(kind) \(source ?? "-") \(destination ?? "-") \(properties.joined(separator: ","))"
    }

    init(_ mapping: NSEntityMapping) {
      name = mapping.name ?? ""
      kind =
        switch mapping.mappingType {
        case .addEntityMappingType: "add"
        case .removeEntityMappingType: "remove"
        case .copyEntityMappingType: "copy"
        case .transformEntityMappingType: "transform"
        case .customEntityMappingType: "custom"
        default: "undefined"
        }
      source = mapping.sourceEntityName
      destination = mapping.destinationEntityName
      guard kind == "transform" else { return }
      properties = ((mapping.attributeMappings ?? []) + (mapping.relationshipMappings ?? [])).compactMap(\.name)
        .sorted()
    }

    init(_ mapping: EntityMapping) {
      name = mapping.name
      kind = mapping.kind.rawValue
      source = mapping.sourceEntityName
      destination = mapping.destinationEntityName
      guard mapping.kind == .transform else { return }
      properties = (mapping.attributeMappings.map(\.name) + mapping.relationshipMappings.map(\.name)).sorted()
    }
  }

  @Suite(.serialized) struct `Inference agrees with Core Data` {
    @Test func `every pair of versions gives the mappings that Core Data infers, or none`() throws {
      let folder = try TruthFolder()
      var lines: [String] = []
      for bundle in try TruthBundle.all() {
        let versions = try bundle.versions(in: folder)
        for (index, old) in versions.enumerated() {
          for new in versions.dropFirst(index + 1) {
            let place = "\(bundle), \(old.name) to \(new.name)"
            let apple = try? NSMappingModel.inferredMappingModel(
              forSourceModel: old.apple(), destinationModel: new.apple())
            let own = try? MappingModel(inferredFrom: old.model, to: new.model)
            #expect((apple == nil) == (own == nil), "\(place): only one of the two infers a mapping model")
            lines.append(
              "\(place): Core Data \(apple == nil ? "refuses" : "infers"), Godwit \(own == nil ? "refuses" : "infers")")
            guard let apple, let own else { continue }
            let theirs = Set((apple.entityMappings ?? []).map(TruthMapping.init))
            let ours = Set(own.entityMappings.map(TruthMapping.init))
            #expect(theirs == ours, "\(place)")
            lines += theirs.subtracting(ours).map { "  Core Data alone: \($0)" }.sorted()
            lines += ours.subtracting(theirs).map { "  Godwit alone:    \($0)" }.sorted()
          }
        }
      }
      try TruthLog.write(lines, to: "inference")
    }
  }
#endif
