import GodwitModel

/// Turns the archive of a compiled mapping model, a `.cdm`, into its content.
struct CompiledMappingReader {
  private var reader: ArchivedExpression
  /// The version hashes of the entities that mappings take and make.
  private(set) var sourceHashes: [String: VersionHash] = [:]
  private(set) var destinationHashes: [String: VersionHash] = [:]

  /// More than any mapping model has.
  static let mappingsMaximum = 10_000
  static let propertiesMaximum = 200_000
  private var propertyCount = 0

  /// - Throws: code `.missingInput` for a damaged file.
  init(_ bytes: [UInt8], file: String) throws {
    reader = try ArchivedExpression(bytes, file: file, location: nil, maximumValues: KeyedArchive.valuesMaximum)
  }

  /// - Throws: code `.missingInput` for a damaged file, `.configuration` for one with unsupported content.
  mutating func content() throws -> MappingContent {
    do {
      let root = try reader.archive.root()
      try reader.check(
        root, is: "NSMappingModel", keys: ["NSEntityMappings", "NSEntityMappingsByName"], at: "the root")
      let mappings = try reader.objects("NSEntityMappings", of: root)
      guard mappings.count <= Self.mappingsMaximum else {
        throw reader.problem("expected at most \(Self.mappingsMaximum) entity mappings, found \(mappings.count)")
      }
      var entities: [MappingContent.Entity] = []
      for mapping in mappings {
        let entity = try entity(mapping)
        // A mapping without source and destination has type 0 and does nothing.
        if entity.source != nil || entity.destination != nil { entities.append(entity) }
      }
      return MappingContent(file: reader.file, entities: entities)
    } catch let error as KeyedArchive.Malformed {
      throw reader.problem(error.problem)
    }
  }

  // MARK: Entity mappings

  private static let entityKeys: Set<String> = [
    "NSMappingName", "NSMappingType", "NSSourceEntityName", "NSDestinationEntityName", "NSSourceEntityVersionHash",
    "NSDestinationEntityVersionHash", "NSSourceExpression", "NSAttributeMappings", "NSRelationshipMappings",
    "NSEntityMigrationPolicyClassName", "NSUserInfo",
  ]

  private mutating func entity(_ object: KeyedArchive.Object) throws -> MappingContent.Entity {
    let name = try reader.required("NSMappingName", of: object)
    let place = "mapping '\(name)'"
    try reader.check(object, is: "NSEntityMapping", keys: Self.entityKeys, at: place)
    var entity = MappingContent.Entity(
      name: name, source: try reader.nonEmpty("NSSourceEntityName", of: object),
      destination: try reader.nonEmpty("NSDestinationEntityName", of: object))
    try checkType(try reader.integer("NSMappingType", of: object) ?? 0, of: entity)
    entity.policyName = try reader.nonEmpty("NSEntityMigrationPolicyClassName", of: object)
    entity.userInfo = try userInfo(of: object)
    if let source = entity.source {
      // Without one Core Data takes no object at all.
      guard let fetch = try reader.object("NSSourceExpression", of: object) else {
        throw reader.unsupported("\(place) has a source entity and no source expression, so it takes no objects")
      }
      entity.filter = try reader.fetch(fetch, source: source)
      try add(try hash("NSSourceEntityVersionHash", of: object), of: source, to: \.sourceHashes)
    }
    if let destination = entity.destination {
      try add(try hash("NSDestinationEntityVersionHash", of: object), of: destination, to: \.destinationHashes)
    }
    entity.attributes = try properties("NSAttributeMappings", of: object, at: place)
    entity.relationships = try properties("NSRelationshipMappings", of: object, at: place)
    return entity
  }

  /// 0 undefined, 1 custom, 2 add, 3 remove, 4 copy, 5 transform. The type must agree with the names.
  private func checkType(_ type: Int, of entity: MappingContent.Entity) throws {
    let agrees =
      switch type {
      case 0: true
      case 1: entity.source != nil || entity.destination != nil
      case 2: entity.source == nil && entity.destination != nil
      case 3: entity.source != nil && entity.destination == nil
      case 4, 5: entity.source != nil && entity.destination != nil
      default: false
      }
    guard agrees else {
      throw reader.problem("mapping '\(entity.name)' has the type \(type), which does not go with its entities")
    }
  }

  private mutating func hash(_ key: String, of object: KeyedArchive.Object) throws -> VersionHash? {
    let value = try reader.archive.value(key, of: object)
    if case .null = value { return nil }
    guard case .data(let bytes)? = try reader.archive.attributeValue(value, type: .binary),
      let hash = VersionHash(bytes: bytes)
    else { throw reader.problem("expected 32 bytes for key '\(key)' of class '\(object.className)'") }
    return hash
  }

  private mutating func add(
    _ hash: VersionHash?, of entity: String, to path: WritableKeyPath<Self, [String: VersionHash]>
  ) throws {
    guard let hash else { return }
    guard self[keyPath: path].updateValue(hash, forKey: entity) ?? hash == hash else {
      throw reader.problem("two mappings have different version hashes for '\(entity)'")
    }
  }

  private mutating func userInfo(of object: KeyedArchive.Object) throws -> [String: String] {
    guard let info = try reader.object("NSUserInfo", of: object) else { return [:] }
    return try reader.userInfo(info)
  }

  // MARK: Property mappings

  private static let propertyKeys: Set<String> = [
    "NSDestinationPropertyName", "NSValueExpression", "NSUserInfo", "NSPropertyTransforms",
  ]

  private mutating func properties(
    _ key: String, of object: KeyedArchive.Object, at place: String
  ) throws -> [MappingContent.Property] {
    let rows = try reader.objects(key, of: object)
    propertyCount += rows.count
    guard propertyCount <= Self.propertiesMaximum else {
      throw reader.problem("expected at most \(Self.propertiesMaximum) property mappings, found more")
    }
    var properties: [MappingContent.Property] = []
    var seen: Set<String> = []
    for row in rows {
      let name = try reader.required("NSDestinationPropertyName", of: row)
      try reader.check(row, is: "NSPropertyMapping", keys: Self.propertyKeys, at: "'\(name)' of \(place)")
      guard seen.insert(name).inserted else { throw reader.problem("'\(name)' is mapped twice in \(place)") }
      if case .null = try reader.archive.value("NSPropertyTransforms", of: row) {
      } else {
        throw reader.unsupported("'\(name)' of \(place) has property transforms, which only an inferred one has")
      }
      let expression = try reader.object("NSValueExpression", of: row)
      properties.append(
        MappingContent.Property(
          name: name, value: try expression.map { .expression(try reader.parsedExpression($0)) } ?? .none,
          userInfo: try userInfo(of: row)))
    }
    return properties
  }
}
