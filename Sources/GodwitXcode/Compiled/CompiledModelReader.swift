package import GodwitModel

/// Turns the archive of a compiled model into a model.
///
/// An unknown part of a property is an error that names class and key, because ignoring a key there could lose data in
/// a migration. An unknown part outside of properties affects neither version hashes nor rows: it is left out and
/// recorded. A store's own model may hold content that only code can give an entity (a default that is an object of the
/// application, any predicate as a validation). It is left out and listed too.
package struct CompiledModelReader: ArchiveReader {
  let name: String
  /// Whether parts that a source store does not need may be left out.
  let allowsOmissions: Bool
  private(set) var omissions: [String] = []
  private var remarks: [ModelRemark] = []
  /// The names in each of an entity's fetch indexes. An old form of the index has them too.
  private var mirrors: [String: Set<[String]>] = [:]
  /// Unknown keys and classes that were recorded, so that each is recorded once.
  private var noted: Set<String> = []
  var archive: KeyedArchive

  /// More than any store can hold. The limits bound the work for a damaged archive.
  static let entitiesMaximum = 10_000
  static let propertiesPerEntityMaximum = 2_000
  static let propertiesMaximum = 100_000
  static let inheritanceMaximum = 100
  private var propertyCount = 0
  var expressionCount = 0

  /// - Throws: code `.missingInput`.
  package static func read(
    _ bytes: [UInt8], name: String, allowsOmissions: Bool
  ) throws -> (model: ManagedObjectModel, omissions: [String]) {
    let list = try PropertyListFile.read(
      bytes, file: "compiled model '\(name)'", maximumValues: KeyedArchive.valuesMaximum)
    do {
      var reader = CompiledModelReader(
        name: name, allowsOmissions: allowsOmissions, archive: try KeyedArchive(list))
      var model = try reader.model(try reader.archive.root())
      model.remarks = reader.remarks
      return (model, reader.omissions)
    } catch let error as KeyedArchive.Malformed {
      throw problem(error.problem, name: name)
    }
  }

  // MARK: Complaints

  private static func problem(_ text: String, name: String) -> GodwitError {
    GodwitError(
      .missingInput, "cannot read compiled model '\(name)': \(text)",
      remedy: "give the .xcdatamodeld it was compiled from")
  }

  func problem(_ text: String) -> GodwitError { Self.problem(text, name: name) }

  /// Leaves something out where that is allowed.
  mutating func omit(_ text: String) throws {
    guard allowsOmissions else { throw problem(text) }
    omissions.append(text)
  }

  /// Records that a part was replaced or left out, for the model's user.
  mutating func replace(_ text: String) {
    if allowsOmissions { omissions.append(text) } else { remarks.append(ModelRemark(text)) }
  }

  /// Whether an object outside properties has a class that is read. Notes an unknown one, and unknown keys.
  private mutating func isKnown(
    _ object: KeyedArchive.Object, as className: String, keys: Set<String>, at place: String
  ) -> Bool {
    guard object.className == className else {
      if noted.insert(object.className).inserted {
        replace(
          "the unknown class '\(object.className)' at \(place), and wherever it is in place of '\(className)', is left out"
        )
      }
      return false
    }
    for key in object.keys where !keys.contains(key) && noted.insert("\(className) \(key)").inserted {
      replace("the unknown key '\(key)' of class '\(className)', first met at \(place), is left out")
    }
    return true
  }

  // MARK: Fields

  /// Lists of property names, given by name or as the properties themselves.
  mutating func nameLists(_ key: String, of object: KeyedArchive.Object) throws -> [[String]] {
    var lists: [[String]] = []
    for list in try objects(key, of: object) {
      var names: [String] = []
      for member in try archive.members(of: list) {
        if let name = try archive.text(member) {
          names.append(name)
        } else if case .object(let property) = member, property.className.hasSuffix("Description") {
          names.append(try required("NSPropertyName", of: property))
        } else {
          throw problem("expected property names for key '\(key)' of class '\(object.className)'")
        }
      }
      if !names.isEmpty { lists.append(names) }
    }
    return lists
  }

  mutating func userInfo(of object: KeyedArchive.Object, at place: String) throws -> [String: String] {
    var info: [String: String] = [:]
    for (key, value) in try entries("NSUserInfo", of: object) {
      guard let text = try archive.text(value) else {
        replace("the value of '\(key)' in 'NSUserInfo' at \(place) is not a string and is left out")
        continue
      }
      info[key] = text
    }
    return info
  }

  // MARK: The model

  private static let modelKeys: Set<String> = [
    "NSEntities", "NSFetchRequestTemplates", "NSVersionIdentifiers", "NSConfigurations", "CDMCompilerToolVersion",
    "CDMCompilerXcodeVersion",
  ]

  private mutating func model(_ root: KeyedArchive.Object) throws -> ManagedObjectModel {
    guard isKnown(root, as: "NSManagedObjectModel", keys: Self.modelKeys, at: "the root") else {
      throw problem("expected the class 'NSManagedObjectModel' at the root, found '\(root.className)'")
    }
    let members = try entries("NSEntities", of: root)
    guard members.count <= Self.entitiesMaximum else {
      throw problem("expected at most \(Self.entitiesMaximum) entities, found \(members.count)")
    }
    var entities: [EntityDescription] = []
    for (key, value) in members {
      guard case .object(let object) = value else { throw problem("entity '\(key)' is not an object") }
      let entity = try entity(object)
      guard entity.name == key else {
        throw problem("the entity '\(entity.name)' is listed as '\(key)'")
      }
      entities.append(entity)
    }
    let parents = try lineages(of: entities)
    entities = Self.withoutInherited(entities, lineages: parents).map(withoutMirroredIndexes)
    for index in entities.indices {
      for place in entities[index].relationships.indices {
        let relationship = entities[index].relationships[place]
        // The editor names the destination, but its ancestor may declare the inverse.
        if let declaring = relationship.inverseEntityName,
          parents[relationship.destinationEntityName]?.contains(declaring) == true
        {
          entities[index].relationships[place].inverseEntityName = relationship.destinationEntityName
        }
      }
    }

    var requests: [FetchRequestTemplate] = []
    for (key, value) in try entries("NSFetchRequestTemplates", of: root) {
      guard case .object(let object) = value else { throw problem("fetch request '\(key)' is not an object") }
      if let request = try fetchRequest(object, name: key) { requests.append(request) }
    }
    var configurations: [String: [String]] = [:]
    for (key, value) in try entries("NSConfigurations", of: root) {
      guard case .object(let list) = value else { throw problem("configuration '\(key)' is not an object") }
      configurations[key] = try archive.members(of: list).map { member in
        guard case .object(let entity) = member else { throw problem("configuration '\(key)' lists no entity") }
        return try required("NSEntityName", of: entity)
      }.sorted(by: ManagedObjectModel.precedes)
    }
    return try ManagedObjectModel(
      name: name, entities: entities, versionIdentifiers: try versionIdentifiers(of: root),
      configurations: configurations, fetchRequestTemplates: requests.sorted { Text($0.name) < Text($1.name) })
  }

  private mutating func versionIdentifiers(of root: KeyedArchive.Object) throws -> [String] {
    guard let list = try object("NSVersionIdentifiers", of: root) else { return [] }
    return try archive.members(of: list).map { member in
      guard let text = try archive.text(member) else {
        throw problem("expected strings for key 'NSVersionIdentifiers' of class 'NSManagedObjectModel'")
      }
      return text
    }.sorted { Text($0) < Text($1) }
  }

  // MARK: Entities

  private static let entityKeys: Set<String> = [
    "NSEntityName", "NSClassNameForEntity", "NSProperties", "NSSubentities", "NSSuperentity", "NSIsAbstract",
    "NSVersionHashModifier", "NSRenamingIdentifier", "NSUserInfo", "NSManagedObjectModel",
    "NSFetchIndexDescriptions", "NSCompoundIndexes", "NSUniqueTuples",
  ]

  private mutating func entity(_ object: KeyedArchive.Object) throws -> EntityDescription {
    let name = try required("NSEntityName", of: object)
    guard isKnown(object, as: "NSEntityDescription", keys: Self.entityKeys, at: "entity '\(name)'") else {
      throw problem("expected the class 'NSEntityDescription' at entity '\(name)', found '\(object.className)'")
    }
    var entity = EntityDescription(name: name)
    entity.managedObjectClassName = try nonEmpty("NSClassNameForEntity", of: object)
    entity.superentityName = try self.object("NSSuperentity", of: object).map { try required("NSEntityName", of: $0) }
    entity.isAbstract = try flag("NSIsAbstract", of: object)
    let renaming = try nonEmpty("NSRenamingIdentifier", of: object)
    entity.renamingIdentifier = renaming == name ? nil : renaming
    entity.versionHashModifier = try nonEmpty("NSVersionHashModifier", of: object)
    entity.userInfo = try userInfo(of: object, at: "entity '\(name)'")
    entity.uniquenessConstraints = try nameLists("NSUniqueTuples", of: object)
    entity.compoundIndexes = try nameLists("NSCompoundIndexes", of: object)
    entity.fetchIndexes = try objects("NSFetchIndexDescriptions", of: object)
      .compactMap { try fetchIndex($0, of: name) }
    try readProperties(of: object, into: &entity)
    return entity
  }

  private mutating func readProperties(
    of object: KeyedArchive.Object, into entity: inout EntityDescription
  ) throws {
    let entries = try entries("NSProperties", of: object)
    try count(entries.count)
    for (key, value) in entries {
      let place = "'\(entity.name).\(key)'"
      guard case .object(let property) = value else { throw problem("\(place) is not an object") }
      switch property.className {
      case "NSAttributeDescription", "NSDerivedAttributeDescription", "NSCompositeAttributeDescription":
        entity.attributes.append(try attribute(property, key: key, at: place))
      case "NSRelationshipDescription": entity.relationships.append(try relationship(property, key: key, at: place))
      case "NSFetchedPropertyDescription":
        entity.fetchedProperties.append(try fetchedProperty(property, key: key, at: place))
      case "_NSPropertyDescriptionProxy":
        // It represents a property that an ancestor declares.
        guard entity.superentityName != nil else { throw problem("\(place) is inherited, and there is no parent") }
      case _ where allowsOmissions && property.keys.contains("NSAttributeType"):
        // A kind of attribute that is newer than this reader.
        entity.attributes.append(try attribute(property, key: key, at: place))
      default: throw problem("unknown class '\(property.className)' of key 'NSProperties' at \(place)")
      }
    }
    entity.attributes.sort { Text($0.name) < Text($1.name) }
    entity.relationships.sort { Text($0.name) < Text($1.name) }
    entity.fetchedProperties.sort { Text($0.name) < Text($1.name) }
  }

  /// Counts properties of an entity, or elements of a composite attribute.
  mutating func count(_ properties: Int) throws {
    propertyCount += properties
    guard properties <= Self.propertiesPerEntityMaximum, propertyCount <= Self.propertiesMaximum else {
      throw problem(
        "expected at most \(Self.propertiesPerEntityMaximum) properties of an entity and "
          + "\(Self.propertiesMaximum) in all, found more")
    }
  }

  /// Entity name to its own name and those of its ancestors, nearest first.
  private func lineages(of entities: [EntityDescription]) throws -> [String: [String]] {
    let parents = Dictionary(entities.map { ($0.name, $0.superentityName) }) { first, _ in first }
    var lineages: [String: [String]] = [:]
    for entity in entities {
      var line = [entity.name]
      var next = entity.superentityName
      while let name = next {
        line.append(name)
        guard line.count <= Self.inheritanceMaximum else {
          throw problem(
            "entity '\(entity.name)' inherits from itself, or over more than \(Self.inheritanceMaximum) steps")
        }
        next = parents[name] ?? nil
      }
      lineages[entity.name] = line
    }
    return lineages
  }

  /// Removes properties that a store's model repeats from its ancestors; an override that differs stays.
  private static func withoutInherited(
    _ entities: [EntityDescription], lineages: [String: [String]]
  ) -> [EntityDescription] {
    var attributes: [String: [String: AttributeDescription]] = [:]
    var relationships: [String: [String: RelationshipDescription]] = [:]
    var fetched: [String: [String: FetchedPropertyDescription]] = [:]
    for entity in entities {
      attributes[entity.name] = Dictionary(entity.attributes.map { ($0.name, $0) }) { first, _ in first }
      relationships[entity.name] = Dictionary(entity.relationships.map { ($0.name, $0) }) { first, _ in first }
      fetched[entity.name] = Dictionary(entity.fetchedProperties.map { ($0.name, $0) }) { first, _ in first }
    }
    return entities.map { entity in
      var entity = entity
      let ancestors = (lineages[entity.name] ?? []).dropFirst()
      entity.attributes.removeAll { own in ancestors.lazy.compactMap { attributes[$0]?[own.name] }.first == own }
      entity.relationships.removeAll { own in ancestors.lazy.compactMap { relationships[$0]?[own.name] }.first == own }
      entity.fetchedProperties.removeAll { own in ancestors.lazy.compactMap { fetched[$0]?[own.name] }.first == own }
      return entity
    }
  }

  /// Takes away the old forms of fetch indexes, which the archive repeats: a compound index for one
  /// over several properties, the flag of the attribute for one over a single property.
  private func withoutMirroredIndexes(_ entity: EntityDescription) -> EntityDescription {
    var entity = entity
    let indexed = mirrors[entity.name] ?? []
    entity.compoundIndexes.removeAll { names in
      indexed.contains(names.map { $0 == "self" ? "SELF" : $0 })
    }
    for place in entity.attributes.indices where indexed.contains([entity.attributes[place].name]) {
      entity.attributes[place].isIndexed = false
    }
    return entity
  }

  // MARK: Fetch indexes and requests

  private static let indexKeys: Set<String> = [
    "NSIndexName", "NSIndexElements", "NSPartialIndexPredicate", "NSEntity",
  ]
  private static let indexElementKeys: Set<String> = [
    "NSPropertyName", "NSAscending", "NSFetchIndexElementType", "NSFetchIndexDescription", "NSIndexedProperty",
  ]

  /// Nil for an index with a part that is not known: without it, it would be another index.
  private mutating func fetchIndex(_ object: KeyedArchive.Object, of entity: String) throws -> FetchIndexDescription? {
    guard isKnown(object, as: "NSFetchIndexDescription", keys: Self.indexKeys, at: "an index of entity '\(entity)'")
    else {
      return nil
    }
    let name = try required("NSIndexName", of: object)
    let place = "index '\(name)' of entity '\(entity)'"
    var elements: [FetchIndexDescription.Element] = []
    var names: [String] = []
    defer { mirrors[entity, default: []].insert(names) }
    do {
      for element in try objects("NSIndexElements", of: object) {
        let className = "NSFetchIndexElementDescription"
        guard isKnown(element, as: className, keys: Self.indexElementKeys, at: place) else { return nil }
        let type = try integer("NSFetchIndexElementType", of: element) ?? 0
        if type != 0 && type != 1 {
          replace("unknown value \(type) of key 'NSFetchIndexElementType': \(place) is read as Binary")
        }
        let expression = try indexedExpression(of: element)
        names += try [expression ?? nonEmpty("NSPropertyName", of: element)].compactMap(\.self)
        elements.append(
          .init(
            propertyName: expression == nil ? try required("NSPropertyName", of: element) : nil,
            expressionText: expression, isRTree: type == 1, isAscending: try flag("NSAscending", of: element)))
      }
      let predicate = try self.object("NSPartialIndexPredicate", of: object).map { try "\(self.predicate($0))" }
      return FetchIndexDescription(name: name, elements: elements, partialPredicateText: predicate)
    } catch let error as UnknownExpression {
      replace("\(error.text): \(place) is left out")
      return nil
    }
  }

  /// The text of the expression that an element indexes; nil when it indexes a property.
  private mutating func indexedExpression(of element: KeyedArchive.Object) throws -> String? {
    guard let indexed = try object("NSIndexedProperty", of: element) else { return nil }
    guard indexed.className == "NSExpressionDescription" else {
      if ["NSAttributeDescription", "NSRelationshipDescription", "_NSPropertyDescriptionProxy"]
        .contains(indexed.className)
      {
        return nil
      }
      throw UnknownExpression(text: "unknown class '\(indexed.className)' of key 'NSIndexedProperty'")
    }
    guard let expression = try object("NSExpression", of: indexed) else {
      throw UnknownExpression(text: "an element without its expression")
    }
    return "\(try self.expression(expression))"
  }

  private static let fetchRequestKeys: Set<String> = [
    "NSEntity", "NSEntityName", "NSPredicate", "NSSortDescriptors", "NSValuesToFetch", "NSHasFetchRequestFlags",
    "NSFetchRequestFlags", "NSResultType", "NSValuesToGroupBy", "NSHavingPredicate", "NSFetchOffset", "NSFetchLimit",
    "NSBatchSize", "NSRelationshipKeyPathsForPrefetching", "NSAllocationType", "NSAffectedStores",
  ]

  /// Only entity and predicate are kept: nothing here runs the request.
  mutating func fetchRequest(_ object: KeyedArchive.Object, name: String) throws -> FetchRequestTemplate? {
    let place = "fetch request '\(name)'"
    guard isKnown(object, as: "NSFetchRequest", keys: Self.fetchRequestKeys, at: place) else { return nil }
    let entity =
      try self.object("NSEntity", of: object).map { try required("NSEntityName", of: $0) }
      ?? required("NSEntityName", of: object)
    do {
      let predicate = try self.object("NSPredicate", of: object).map { try "\(self.predicate($0))" }
      return FetchRequestTemplate(name: name, entityName: entity, predicateText: predicate)
    } catch let error as UnknownExpression {
      replace("\(error.text) in the predicate of \(place), which is left out")
      return nil
    }
  }
}
