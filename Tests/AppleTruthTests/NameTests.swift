#if canImport(CoreData)
  import CoreData
  import Foundation
  import GodwitModel
  import GodwitStore
  import GodwitXcode
  import Testing

  /// A made-up model whose names of join tables and columns leave Core Data a choice.
  ///
  /// `Node` has a many-to-many relationship to itself with another one as its inverse, and 5 to 60 properties of every
  /// kind. Three entities have a many-to-many relationship to `Node` of one name each, so that columns clash.
  private struct NameModel {
    let number: Int
    let model: ManagedObjectModel

    /// The number of the seed, and the properties of `Node`.
    var title: String { "model \(number), \(model.propertyNames(of: "Node").count) properties" }

    init(_ number: Int) throws {
      self.number = number
      var random = TruthRandom(seed: UInt64(number) &* 0x9E37_79B9 &+ 1)
      let count = 5 + number * 55 / 39
      var names: Set<String> = []
      func name() -> String {
        while true {
          let syllables = ["al", "be", "co", "di", "em", "fo", "gra", "hu", "in", "ju", "ki", "lo", "mar", "no", "tru"]
          let name = (0..<random.next(2...5)).map { _ in syllables[random.next(0...14)] }.joined()
          if names.insert(name).inserted { return name }
        }
      }
      var others = ["Alpha", "Beta", "Omega"].map { EntityDescription(name: $0) }
      var attributes: [AttributeDescription] = []
      var relationships: [RelationshipDescription] = []
      func relate(
        _ name: String, isToMany: Bool, isOrdered: Bool = false, to other: Int, _ inverse: String, inverseIsToMany: Bool
      ) {
        var one = RelationshipDescription(
          name: name, destinationEntityName: others[other].name, inverseName: inverse, isToMany: isToMany)
        var back = RelationshipDescription(
          name: inverse, destinationEntityName: "Node", inverseName: name, isToMany: inverseIsToMany)
        one.inverseEntityName = others[other].name
        back.inverseEntityName = "Node"
        one.isOrdered = isOrdered
        one.maxCount = isToMany ? 0 : 1
        back.maxCount = inverseIsToMany ? 0 : 1
        relationships.append(one)
        others[other].relationships.append(back)
      }
      let (first, second) = (name(), name())
      for (name, inverse) in [(first, second), (second, first)] {
        var one = RelationshipDescription(
          name: name, destinationEntityName: "Node", inverseName: inverse, isToMany: true)
        one.inverseEntityName = "Node"
        relationships.append(one)
      }
      // The name of the inverse is the same in all three: their columns in the join tables would be too.
      let shared = name()
      for other in others.indices { relate(name(), isToMany: true, to: other, shared, inverseIsToMany: true) }
      let types: [AttributeType] = [
        .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binary, .uuid, .uri,
        .transformable,
      ]
      while attributes.count + relationships.count < count {
        let kind = random.next(0...9)
        let other = random.next(0...2)
        switch kind {
        case 0...4: attributes.append(AttributeDescription(name: name(), type: types[random.next(0...12)]))
        case 5:
          var attribute = AttributeDescription(name: name(), type: .string)
          attribute.isTransient = true
          attributes.append(attribute)
        case 6: relate(name(), isToMany: false, to: other, name(), inverseIsToMany: true)
        case 7: relate(name(), isToMany: true, to: other, name(), inverseIsToMany: false)
        case 8: relate(name(), isToMany: true, isOrdered: true, to: other, name(), inverseIsToMany: false)
        default: relate(name(), isToMany: true, to: other, name(), inverseIsToMany: true)
        }
      }
      let node = EntityDescription(name: "Node", attributes: attributes, relationships: relationships)
      model = try ManagedObjectModel(name: "Names \(number)", entities: [node] + others)
    }

    /// Compiled by Apple's compiler, as an application's model is.
    func compiled(in folder: TruthFolder) throws -> NSManagedObjectModel {
      let bundle = folder.file("Names \(number).xcdatamodel")
      try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
      try model.xcodeContents.write(to: bundle.appending(path: "contents"), atomically: true, encoding: .utf8)
      return try TruthVersion(name: "\(number)", model: model, compiled: TruthBundle.compile(bundle, in: folder))
        .apple()
    }

    /// Made in code. Its properties are listed in name order or in the reverse: whether the order counts is open.
    func made(isReversed: Bool) -> NSManagedObjectModel {
      var entities: [String: NSEntityDescription] = [:]
      for described in model.entities {
        let entity = NSEntityDescription()
        entity.name = described.name
        entity.managedObjectClassName = "NSManagedObject"
        entities[described.name] = entity
      }
      var relationships: [String: NSRelationshipDescription] = [:]
      for described in model.entities {
        var properties: [NSPropertyDescription] = []
        for attribute in described.attributes {
          let made = NSAttributeDescription()
          made.name = attribute.name
          made.attributeType = NSAttributeType(rawValue: UInt(attribute.type.rawValue)) ?? .stringAttributeType
          made.isTransient = attribute.isTransient
          properties.append(made)
        }
        for relationship in described.relationships {
          let made = NSRelationshipDescription()
          made.name = relationship.name
          made.destinationEntity = entities[relationship.destinationEntityName]
          made.maxCount = relationship.isToMany ? 0 : 1
          made.isOrdered = relationship.isOrdered
          relationships[described.name + "." + relationship.name] = made
          properties.append(made)
        }
        properties.sort { isReversed ? $0.name > $1.name : $0.name < $1.name }
        entities[described.name]?.properties = properties
      }
      for described in model.entities {
        for relationship in described.relationships {
          guard let inverse = relationship.inverseName else { continue }
          relationships[described.name + "." + relationship.name]?.inverseRelationship =
            relationships[relationship.destinationEntityName + "." + inverse]
        }
      }
      let made = NSManagedObjectModel()
      made.entities = model.entities.compactMap { entities[$0.name] }
      return made
    }
  }

  /// SplitMix64: the same numbers in every run.
  private struct TruthRandom {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next(_ range: ClosedRange<Int>) -> Int {
      state &+= 0x9E37_79B9_7F4A_7C15
      var bits = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
      bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
      return range.lowerBound + Int((bits ^ (bits >> 31)) % UInt64(range.count))
    }
  }

  @Suite(.serialized) struct `Names of join tables` {
    /// The tables of a store that are neither of an entity nor Core Data's own, with their columns in order.
    private static func joinTables(_ url: URL) throws -> [String] {
      let connection = try StoreConnection.openStore(readingAt: url.path)
      defer { try? connection.close() }
      func text(_ value: SQLValue?) -> String {
        if case .text(let bytes)? = value { String(decoding: bytes, as: UTF8.self) } else { "" }
      }
      let names = try connection.rows(
        "SELECT name FROM source.sqlite_master WHERE type = 'table' AND name GLOB 'Z_[0-9]*' ORDER BY rowid")
      return try names.map { row in
        let columns = try connection.rows(
          "SELECT name FROM pragma_table_info(?1, 'source') ORDER BY cid", [row[0]])
        return "\(text(row[0])) (\(columns.map { text($0[0]) }.joined(separator: ", ")))"
      }
    }

    private static func store(_ model: NSManagedObjectModel, in folder: TruthFolder) throws -> [String] {
      let url = folder.file("\(UUID().uuidString).sqlite")
      try TruthStore(url, model: model).close()
      return try joinTables(url)
    }

    private static func own(_ model: ManagedObjectModel, in folder: TruthFolder) throws -> [String] {
      let url = folder.file("\(UUID().uuidString).sqlite")
      try StoreBuilder(path: url.path, model: model).finish()
      return try joinTables(url)
    }

    /// This test expects nothing: Core Data's rule is not known, and the printed names are the answer.
    @Test func `the names that Core Data and Godwit give forty models are printed`() throws {
      let folder = try TruthFolder()
      var lines: [String] = []
      var equal = [0, 0]
      for number in 0..<40 {
        let model = try NameModel(number)
        let compiled = try model.compiled(in: folder)
        let order = compiled.entitiesByName["Node"]?.properties.map(\.name) ?? []
        let apple = try Self.store(compiled, in: folder)
        let own = try Self.own(model.model, in: folder)
        let sorted = try Self.store(model.made(isReversed: false), in: folder)
        let reversed = try Self.store(model.made(isReversed: true), in: folder)
        if Set(apple) == Set(own) { equal[0] += 1 }
        if Set(apple) == Set(sorted), Set(apple) == Set(reversed) { equal[1] += 1 }
        lines.append("\(model.title)")
        lines.append("  order in the compiled model: \(order.joined(separator: " "))")
        lines += apple.map { "  Core Data, compiled:        \($0)" }
        lines += own.map { "  Godwit:                     \($0)" }
        if sorted != apple { lines += sorted.map { "  Core Data, in name order:   \($0)" } }
        if reversed != apple { lines += reversed.map { "  Core Data, in reverse order: \($0)" } }
      }
      lines.append("Godwit names all join tables as Core Data does: \(equal[0]) of 40")
      lines.append("the order of properties makes no difference to Core Data: \(equal[1]) of 40")
      try TruthLog.write(lines, to: "join-table-names")
    }
  }
#endif
