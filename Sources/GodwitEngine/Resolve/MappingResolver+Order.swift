import GodwitJob
import GodwitModel

/// Sort descriptors: of objects that become one (`unique-by`), and of the objects of an ordered relationship.
extension MappingResolver {
  /// Types whose values have an order.
  private static let sortable: Set<AttributeType> = [
    .integer16, .integer32, .integer64, .double, .float, .decimal, .string, .date, .boolean, .uuid, .uri,
  ]

  func checkUniqueOrder(of mapping: EntityMapping, from: EntityDescription) throws {
    guard !mapping.uniqueBy.isEmpty else {
      guard mapping.uniqueOrder.isEmpty, !mapping.fillsNil else {
        throw error(
          "an order of objects that become one, or 'fill-nil', has no meaning without 'unique-by'", in: mapping,
          at: mapping.locations["unique-by"], try: "name the attributes by which objects become one")
      }
      return
    }
    try check(
      mapping.uniqueOrder, of: from.name, place: "in unique-by", in: mapping, at: mapping.locations["unique-by"])
  }

  /// The objects of a relationship with the order that its mapping wants.
  func ordering(
    _ found: ResolvedEntityMapping.RelationshipSource, by entry: RelationshipMapping, in mapping: EntityMapping,
    from: EntityDescription
  ) throws -> ResolvedEntityMapping.RelationshipSource {
    guard !entry.order.isEmpty else { return found }
    let (relationship, at) = (found.relationship, entry.orderLocation ?? entry.location)
    guard relationship.isToMany, relationship.isOrdered else {
      throw error(
        "'order-by' has no meaning for '\(relationship.name)', which is \(relationship.isToMany ? "not ordered" : "a to-one")",
        in: mapping, at: at,
        try: "remove 'order-by', or make the relationship an ordered to-many in model '\(destination.name)'")
    }
    if let name = mapping.policyName, policy(of: mapping) != nil {
      throw error(
        "policy '\(name)' sets the relationships of its objects, so 'order-by' of '\(relationship.name)' would do nothing",
        in: mapping, at: at, try: "remove 'order-by', and have the policy set the objects in their order")
    }
    for lookup in found.lookups {
      guard lookup.number >= usable.count else {
        throw error(
          "'order-by' of '\(relationship.name)' cannot order objects that an earlier job made", in: mapping, at: at,
          try: "combine both jobs into one, or remove 'order-by'")
      }
      let maker = makers[lookup.number - usable.count]
      guard policy(of: maker) == nil else {
        throw error(
          "'order-by' of '\(relationship.name)' cannot order objects that policy '\(maker.policyName ?? "")' makes: nobody knows of which source objects",
          in: mapping, at: at, try: "remove 'order-by', or replace the policy of '\(maker.name)' by expressions")
      }
    }
    try check(
      entry.order, of: found.path.last?.relationship.destinationEntityName ?? from.name,
      prefix: found.path.last?.relationship.name,
      place: "in relationship '\(relationship.name)'", in: mapping, at: at)
    var ordered = found
    ordered.order = entry.order
    return ordered
  }

  /// Checks that each descriptor leads along to-one relationships to an attribute whose values have an order.
  ///
  /// - Parameter prefix: The relationship whose objects are ordered, which no descriptor names.
  private func check(
    _ order: [EntityMapping.SortDescriptor], of start: String, prefix: String? = nil, place: String,
    in mapping: EntityMapping,
    at location: GodwitError.Location?
  ) throws {
    var paths: Set<Text> = []
    for descriptor in order {
      guard paths.insert(Text(descriptor.keyPath)).inserted else {
        throw error(
          "order-by names '\(descriptor.keyPath)' twice \(place)", in: mapping, at: location,
          try: "remove one of the two: only the first decides")
      }
      let segments = descriptor.keyPath.split(separator: ".").map(String.init)
      var entity = start
      func wrong(_ why: String, _ hint: String = "") -> GodwitError {
        error(
          "cannot order by '\(descriptor.keyPath)' \(place): \(why)\(hint)", in: mapping, at: location,
          try: "name an attribute of '\(start)', or one at the end of to-one relationships")
      }
      if let first = segments.first, segments.count > 1 || first.hasPrefix("$"),
        source.relationship(first, of: start) == nil && (first.hasPrefix("$") || first == prefix || first == "source")
      {
        let rest = EntityMapping.SortDescriptor(
          segments.dropFirst().joined(separator: "."), ascending: descriptor.isAscending)
        throw wrong(
          "its names start at the objects that are ordered"
            + (rest.keyPath.isEmpty ? "" : ": write '\(rest)'"))
      }
      if let name = segments.first, name.hasPrefix("-"),
        source.attribute(String(name.dropFirst()), of: start) != nil
      {
        throw wrong("write '\(name.dropFirst()) DESC'")
      }
      var rest = segments[...]
      // The name of an element of a composite has dots.
      while rest.count > 1, source.attribute(rest.joined(separator: "."), of: entity) == nil {
        let segment = rest.removeFirst()
        guard source.composite(segment, of: entity) == nil else {
          let names = source.attributes(of: entity).map(\.name)
          let name = ([segment] + rest).joined(separator: ".")
          throw wrong("'\(entity)' has no attribute '\(name)'", Spelling.suggestion(for: name, among: names))
        }
        guard let hop = source.relationship(segment, of: entity), !hop.isTransient else {
          let names = source.relationships(of: entity).map(\.name)
          throw wrong("'\(entity)' has no relationship '\(segment)'", Spelling.suggestion(for: segment, among: names))
        }
        guard !hop.isToMany else { throw wrong("'\(entity).\(segment)' is a to-many relationship") }
        entity = hop.destinationEntityName
      }
      let name = rest.joined(separator: ".")
      guard let attribute = source.attribute(name, of: entity) else {
        if let hop = source.relationship(name, of: entity) {
          guard !hop.isToMany else { throw wrong("'\(entity).\(name)' is a to-many relationship") }
          let ends = source.attributes(of: hop.destinationEntityName)
            .filter { !$0.isTransient && Self.sortable.contains($0.type) && !$0.allowsExternalBinaryDataStorage }
          throw wrong(
            "'\(entity).\(name)' is a relationship",
            ends.first.map { "; it is ordered by an attribute behind it, such as '\(descriptor.keyPath).\($0.name)'" }
              ?? "")
        }
        let names = source.attributes(of: entity).map(\.name)
        throw wrong(
          "source entity '\(entity)' has no attribute '\(name)'", Spelling.suggestion(for: name, among: names))
      }
      guard !attribute.isTransient else { throw wrong("'\(entity).\(name)' is transient: it is not stored") }
      guard Self.sortable.contains(attribute.type), !attribute.allowsExternalBinaryDataStorage else {
        throw wrong("'\(entity).\(name)' is \(attribute.type.xcodeName), whose values have no order")
      }
    }
  }
}
