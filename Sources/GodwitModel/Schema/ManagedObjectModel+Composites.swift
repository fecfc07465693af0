extension ManagedObjectModel {
  /// A key path with the segments that lead into composite attributes joined: `author`, `name` as `author.name`.
  ///
  /// - Parameters:
  ///   - segments: Names of properties, and collection operators.
  ///   - entity: The entity of the object that the path starts at.
  package func joiningComposites(_ segments: some Sequence<String>, from entity: String) -> [String] {
    var joined: [String] = []
    /// Nil behind an attribute.
    var reached: String? = entity
    var isInside = false
    for segment in segments {
      if isInside, let last = joined.popLast() { joined.append("\(last).\(segment)") } else { joined.append(segment) }
      guard let owner = reached, let path = joined.last, !segment.hasPrefix("@") else { continue }
      isInside = composite(path, of: owner) != nil
      if !isInside { reached = relationship(path, of: owner)?.destinationEntityName }
    }
    return joined
  }
}

extension MappingModel {
  /// The same mappings with composite attributes in place of which their leaves stand: a composite that takes one with
  /// equal leaves becomes an entry for each leaf, and `$source.author.name` reads the attribute `author.name`.
  ///
  /// An entry for a composite with any other value is unchanged; the check of the mappings reports it.
  package func namingLeaves(from source: ManagedObjectModel, to destination: ManagedObjectModel) -> MappingModel {
    guard source.hasComposites || destination.hasComposites else { return self }
    var model = self
    for index in entityMappings.indices {
      let mapping = entityMappings[index]
      guard let from = mapping.sourceEntityName, let to = mapping.destinationEntityName else { continue }
      model.entityMappings[index].attributeMappings = mapping.attributeMappings.flatMap { entry -> [AttributeMapping] in
        guard case .keyPath(let base?, let segments) = entry.value.node, base.node == .variable("source") else {
          return [entry]
        }
        let path = source.joiningComposites(segments, from: from)
        guard path.count == 1 else { return [entry] }
        func reading(_ name: String, as attribute: String) -> AttributeMapping {
          var entry = entry
          entry.name = attribute
          let read = ValueExpression(.keyPath(base: base, segments: [name]), range: entry.value.range)
          entry.value = ValueExpression(read, source: SourceText("\(read)", location: entry.value.source.location))
          return entry
        }
        guard let now = destination.composite(entry.name, of: to) else {
          return [segments.count == 1 ? entry : reading(path[0], as: entry.name)]
        }
        guard let was = source.composite(path[0], of: from), was.hasLeaves(of: now) else { return [entry] }
        return now.elementLeaves.map { reading("\(path[0]).\($0.name)", as: "\(entry.name).\($0.name)") }
      }
    }
    return model
  }
}

extension AttributeDescription {
  /// The leaves of a composite, named from within it.
  package var elementLeaves: [AttributeDescription] { elements.flatMap(\.leaves) }

  /// Whether two composites hold values of the same types under the same names.
  func hasLeaves(of other: AttributeDescription) -> Bool {
    func types(_ composite: AttributeDescription) -> [String: AttributeType] {
      Dictionary(composite.elementLeaves.map { ($0.name, $0.type) }) { first, _ in first }
    }
    return types(self) == types(other)
  }
}
