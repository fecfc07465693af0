package import GodwitModel

extension MappingModel {
  /// The model without its places, for comparing what two files say.
  package var placeless: MappingModel {
    var model = self
    model.file = nil
    model.locations = [:]
    model.entityMappings = model.entityMappings.map { mapping in
      var mapping = mapping
      mapping.location = nil
      mapping.locations = [:]
      mapping.filter?.source.location = nil
      mapping.attributeMappings = mapping.attributeMappings.map { attribute in
        var attribute = attribute
        attribute.location = nil
        attribute.value.source.location = nil
        return attribute
      }
      mapping.relationshipMappings = mapping.relationshipMappings.map { relationship in
        var relationship = relationship
        relationship.location = nil
        relationship.valueLocation = nil
        if case .expression(var expression) = relationship.value {
          expression.source.location = nil
          relationship.value = .expression(expression)
        }
        return relationship
      }
      return mapping
    }
    return model
  }
}
