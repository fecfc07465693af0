#if canImport(CoreData)
  import CoreData
  import Foundation
  import GodwitModel
  import GodwitStore

  /// A store, opened by Core Data under a model that Apple's compiler made. Core Data migrates nothing when it opens
  /// the store.
  struct TruthStore {
    let context: NSManagedObjectContext
    let coordinator: NSPersistentStoreCoordinator
    let model: NSManagedObjectModel
    private let store: NSPersistentStore

    init(_ url: URL, model: NSManagedObjectModel, type: StoreType = .sqlite) throws {
      self.model = model
      coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      store = try coordinator.addPersistentStore(
        ofType: type == .xml ? NSXMLStoreType : NSSQLiteStoreType, configurationName: nil, at: url,
        options: Self.options)
      context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      context.persistentStoreCoordinator = coordinator
    }

    static var options: [AnyHashable: Any] {
      [
        NSMigratePersistentStoresAutomaticallyOption: false, NSInferMappingModelAutomaticallyOption: false,
        // No `-wal` file stays beside the store.
        NSSQLitePragmasOption: ["journal_mode": "DELETE"],
      ]
    }

    func close() throws {
      context.performAndWait { context.reset() }
      try coordinator.remove(store)
    }

    /// The entities that have objects of their own.
    var concreteEntities: [NSEntityDescription] {
      model.entities.filter { !$0.isAbstract }.sorted { ($0.name ?? "") < ($1.name ?? "") }
    }

    private func objects(of entity: NSEntityDescription) throws -> [NSManagedObject] {
      let request = NSFetchRequest<NSManagedObject>(entityName: entity.name ?? "")
      request.includesSubentities = false
      return try context.fetch(request)
    }

    /// Everything that the store says: its objects, by URI.
    func content() throws -> [String: TruthObject] {
      try context.performAndWait {
        var content: [String: TruthObject] = [:]
        for entity in concreteEntities {
          for object in try objects(of: entity) {
            content[object.objectID.uriRepresentation().absoluteString] = TruthObject(object)
          }
        }
        return content
      }
    }

    /// Saves one more object: a copy of one that is there. Entities are tried until a copy passes validation.
    ///
    /// - Returns: The entity, or nil with the reasons when no copy could be saved.
    func saveCopy() throws -> (entity: String?, reasons: [String]) {
      try context.performAndWait {
        var reasons: [String] = []
        for entity in concreteEntities {
          let name = entity.name ?? ""
          guard let original = try objects(of: entity).first else { continue }
          let before = try objects(of: entity).count
          let copy = NSManagedObject(entity: entity, insertInto: context)
          for (key, attribute) in entity.attributesByName where !attribute.isTransient && !Self.isDerived(attribute) {
            copy.setValue(original.value(forKey: key), forKey: key)
          }
          for (key, relationship) in entity.relationshipsByName where !relationship.isTransient {
            // A one-to-one or a one-to-many would be taken away from the original.
            let takes = relationship.inverseRelationship.map { !$0.isToMany } ?? false
            if !takes || !relationship.isOptional { copy.setValue(original.value(forKey: key), forKey: key) }
          }
          do {
            try context.save()
            context.reset()
            guard try objects(of: entity).count == before + 1 else {
              throw TruthError("Core Data saved an object of \(name) and does not find it")
            }
            return (name, reasons)
          } catch let error as TruthError {
            throw error
          } catch {
            context.rollback()
            reasons.append("\(name): \(error.localizedDescription)")
          }
        }
        return (nil, reasons)
      }
    }

    /// `NSDerivedAttributeDescription`, whose values Core Data computes.
    private static func isDerived(_ attribute: NSAttributeDescription) -> Bool {
      String(describing: Swift.type(of: attribute)).contains("Derived")
    }
  }

  /// An object as text: equal texts mean equal values.
  struct TruthObject: Equatable {
    var entity: String
    var attributes: [String: String] = [:]
    /// The URIs of related objects: sorted, unless the relationship is ordered.
    var links: [String: [String]] = [:]
    var ordered: Set<String> = []

    init(_ object: NSManagedObject) {
      entity = object.entity.name ?? ""
      for (name, attribute) in object.entity.attributesByName where !attribute.isTransient {
        attributes[name] = Self.text(object.value(forKey: name), attribute)
      }
      for (name, relationship) in object.entity.relationshipsByName where !relationship.isTransient {
        let value = object.value(forKey: name)
        func uri(_ other: Any) -> String {
          (other as? NSManagedObject)?.objectID.uriRepresentation().absoluteString ?? "not an object"
        }
        if let set = value as? NSOrderedSet {
          links[name] = set.array.map(uri)
          ordered.insert(name)
        } else if let set = value as? NSSet {
          links[name] = set.allObjects.map(uri).sorted()
        } else {
          links[name] = value.map { [uri($0)] } ?? []
        }
        if relationship.isOrdered { ordered.insert(name) }
      }
    }

    init(_ object: ObjectReader.Object, reader: ObjectReader) {
      entity = object.reference.entity
      for (name, value) in object.properties {
        switch value {
        case .attribute(let value, let attribute):
          attributes[name] = attribute.type == .transformable && !value.isNull ? Self.opaque : Self.text(value)
        case .large: attributes[name] = "left in the store"
        case .missingFile(let file): attributes[name] = "missing \(file)"
        case .toOne(let other): links[name] = other.map { [reader.uri(of: $0)] } ?? []
        case .toMany(let others):
          let relationship = reader.schema.model.relationship(name, of: entity)
          let uris = others.map { reader.uri(of: $0) }
          links[name] = relationship?.isOrdered == true ? uris : uris.sorted()
          if relationship?.isOrdered == true { ordered.insert(name) }
        }
      }
    }

    /// The value of a transformable attribute: only whether it exists is compared.
    private static let opaque = "transformable"

    private static func text(_ value: Any?, _ attribute: NSAttributeDescription) -> String {
      if attribute.attributeType == .transformableAttributeType { return value == nil ? "nil" : opaque }
      return switch value {
      case nil: "nil"
      case let text as String: "text \(Array(text.utf8))"
      case let date as Date: "date \(date.timeIntervalSinceReferenceDate.bitPattern)"
      case let data as Data: "data \(data.base64EncodedString())"
      case let uuid as UUID: "uuid \(uuid.uuidString)"
      case let url as URL: "uri \(url.absoluteString)"
      case let number as NSNumber:
        switch attribute.attributeType {
        case .booleanAttributeType: "boolean \(number.boolValue)"
        case .decimalAttributeType: "decimal \(number.stringValue)"
        case .doubleAttributeType, .floatAttributeType: "number \(number.doubleValue.bitPattern)"
        default: "integer \(number.int64Value)"
        }
      case let other?: "other \(Swift.type(of: other))"
      }
    }

    /// The value as Godwit reads it.
    private static func text(_ value: AttributeValue) -> String {
      switch value {
      case .null: "nil"
      case .boolean(let truth): "boolean \(truth)"
      case .integer(let number): "integer \(number)"
      case .decimal(let number): "decimal \(NSDecimalNumber(decimal: number).stringValue)"
      case .double(let number): "number \(number.bitPattern)"
      case .string(let text): "text \(text.utf8)"
      case .date(let seconds): "date \(seconds.bitPattern)"
      case .data(let bytes): "data \(Data(bytes).base64EncodedString())"
      case .uuid(let uuid): "uuid \(uuid.uuidString)"
      case .uri(let text): "uri \(text.string)"
      }
    }
  }

  extension [String: TruthObject] {
    /// The objects that Godwit reads in a store.
    static func read(_ url: URL, model: ManagedObjectModel) throws -> [String: TruthObject] {
      let reader = try ObjectReader(path: url.path, model: model)
      var content: [String: TruthObject] = [:]
      for root in model.entities where root.superentityName == nil {
        try reader.forEachObject(of: model.family(of: root.name).map(\.name)) { object in
          content[reader.uri(of: object.reference)] = TruthObject(object, reader: reader)
          return true
        }
      }
      return content
    }

    /// The first differences from another content, by URI. No values.
    func differences(from other: [String: TruthObject], limit: Int = 10) -> [String] {
      var found: [String] = []
      for (uri, object) in sorted(by: { $0.key < $1.key }) {
        guard found.count < limit else { break }
        guard let theirs = other[uri] else {
          found.append("\(uri) is missing")
          continue
        }
        for name in Set(object.attributes.keys).union(theirs.attributes.keys).sorted()
        where object.attributes[name] != theirs.attributes[name] {
          found.append("\(uri) has another '\(name)'")
        }
        for name in Set(object.links.keys).union(theirs.links.keys).sorted()
        where object.links[name] != theirs.links[name] {
          found.append("\(uri) has other objects in '\(name)'")
        }
      }
      for uri in other.keys.sorted() where self[uri] == nil && found.count < limit { found.append("\(uri) is new") }
      return found
    }

    /// The objects without their keys: each as a text of its values and of what surrounds it, sorted.
    ///
    /// Two migrations number objects in different ways. Objects whose surroundings are equal to that depth are taken
    /// for equal.
    func shapes(depth: Int = 4) -> [String] {
      // FNV-1a: a difference stays where it is, and does not change the numbers of all others.
      func colour(_ text: String) -> UInt64 {
        text.utf8.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
      }
      let values = mapValues { object in
        object.entity + " " + object.attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.description
      }
      var texts = values
      for _ in 0..<depth {
        let colours = texts.mapValues(colour)
        for (uri, object) in self {
          let links = object.links.sorted { $0.key < $1.key }.map { name, uris in
            let around = uris.map { colours[$0] ?? 0 }
            return "\(name)=\(object.ordered.contains(name) ? around : around.sorted())"
          }
          texts[uri] = "\(colours[uri] ?? 0) \(links)"
        }
      }
      return map { uri, object in "\(object.entity) \(values[uri] ?? "") \(texts[uri] ?? "")" }.sorted()
    }
  }
#endif
