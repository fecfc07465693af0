import Foundation
import GodwitJob
import GodwitModel
import TestSupport

/// Three versions of a model, each made of the one before by a few changes that can be inferred.
struct RandomChain {
  private struct Entity {
    var name: String
    var was: String?
    var parent: String?
    var attributes: [AttributeDescription]
    var constraints: [[String]] = []
  }

  private struct Side {
    var entity: Int
    var name: String
    var was: String?
    var isToMany, isOrdered, isOptional: Bool
    var minCount = 0
  }

  private struct Draft {
    var entities: [Entity] = []
    var pairs: [(a: Side, b: Side)] = []
    var names = 0

    mutating func name(_ prefix: String) -> String {
      names += 1
      return "\(prefix)\(names)"
    }

    func model(_ name: String) throws -> ManagedObjectModel {
      var made = entities.map { entity in
        var description = EntityDescription(
          name: entity.name, superentityName: entity.parent, attributes: entity.attributes)
        description.renamingIdentifier = entity.was
        description.uniquenessConstraints = entity.constraints
        return description
      }
      func relationship(_ side: Side, _ other: Side) -> RelationshipDescription {
        var made = RelationshipDescription(
          name: side.name, destinationEntityName: entities[other.entity].name, inverseName: other.name,
          isToMany: side.isToMany, isOptional: side.isOptional)
        made.minCount = side.isToMany ? side.minCount : 0
        made.isOrdered = side.isOrdered && side.isToMany
        made.renamingIdentifier = side.was
        return made
      }
      for (a, b) in pairs {
        made[a.entity].relationships.append(relationship(a, b))
        made[b.entity].relationships.append(relationship(b, a))
      }
      return try ManagedObjectModel(name: name, entities: made)
    }
  }

  let models: [ManagedObjectModel]

  init(_ random: inout SeededGenerator) throws {
    var draft = Draft()
    for _ in 0..<(2 + random.below(3)) { Self.addEntity(&draft, &random) }
    for _ in 0..<(1 + random.below(3)) { Self.addPair(&draft, &random) }
    var models = [try draft.model("V1")]
    for number in 2...3 {
      // Old renames are forgotten by some, and kept by others.
      if random.chance(50) { Self.forgetRenames(&draft) }
      for _ in 0..<(1 + random.below(3)) {
        var next = draft
        Self.change(&next, &random)
        if let model = try? next.model("V\(number)"),
          (try? MappingModel(inferredFrom: models[number - 2], to: model)) != nil
        {
          draft = next
        }
      }
      models.append(try draft.model("V\(number)"))
    }
    self.models = models
  }

  var steps: [MigrationStep] {
    get throws {
      try zip(models, models.dropFirst()).map { source, destination in
        MigrationStep(
          sourceModel: source, destinationModel: destination,
          mappingModels: [try MappingModel(inferredFrom: source, to: destination)],
          origin: MigrationStep.inferredOrigin)
      }
    }
  }

  // MARK: Parts

  private static func addEntity(_ draft: inout Draft, _ random: inout SeededGenerator) {
    let parent =
      draft.entities.isEmpty || random.chance(60) ? nil : draft.entities[random.below(draft.entities.count)].name
    var entity = Entity(name: draft.name("E"), parent: parent, attributes: [])
    for _ in 0..<(1 + random.below(3)) { entity.attributes.append(attribute(draft.name("a"), &random)) }
    draft.entities.append(entity)
  }

  private static func attribute(_ name: String, _ random: inout SeededGenerator) -> AttributeDescription {
    let types: [AttributeType] = [.string, .integer32, .integer64, .double, .boolean, .date, .decimal, .binary]
    var made = AttributeDescription(name: name, type: types[random.below(types.count)])
    setDefault(&made, &random)
    if !made.defaultValue.isNull, random.chance(50) { made.isOptional = false }
    if made.type == .binary { made.allowsExternalBinaryDataStorage = random.chance(50) }
    return made
  }

  private static func setDefault(_ attribute: inout AttributeDescription, _ random: inout SeededGenerator) {
    let number = random.below(2)
    guard random.chance(60) || !attribute.isOptional else {
      attribute.defaultValue = .null
      return
    }
    attribute.defaultValue =
      switch attribute.type {
      case .string: .init("d\(number)")
      case .integer16, .integer32, .integer64: .integer(Int64(number))
      case .double, .float: .double(Double(number) + 0.5)
      case .boolean: .boolean(number == 1)
      case .date: .date(Double(number))
      case .decimal: .decimal(.init(number))
      default: attribute.defaultValue
      }
  }

  private static func addPair(_ draft: inout Draft, _ random: inout SeededGenerator) {
    func side(_ random: inout SeededGenerator) -> Side {
      Side(
        entity: random.below(draft.entities.count), name: draft.name("r"), isToMany: random.chance(50),
        isOrdered: random.chance(30), isOptional: random.chance(80))
    }
    let a = side(&random)
    draft.pairs.append((a, side(&random)))
  }

  private static func forgetRenames(_ draft: inout Draft) {
    for index in draft.entities.indices {
      draft.entities[index].was = nil
      for place in draft.entities[index].attributes.indices {
        draft.entities[index].attributes[place].renamingIdentifier = nil
      }
    }
    for index in draft.pairs.indices { (draft.pairs[index].a.was, draft.pairs[index].b.was) = (nil, nil) }
  }

  // MARK: Changes

  private static func change(_ draft: inout Draft, _ random: inout SeededGenerator) {
    let index = random.below(draft.entities.count)
    let count = draft.entities[index].attributes.count
    let place = random.below(count)
    switch random.below(count == 0 ? 5 : 18) {
    case 0: addEntity(&draft, &random)
    case 1: addPair(&draft, &random)
    case 2, 3: draft.entities[index].attributes.append(attribute(draft.name("a"), &random))
    case 4: renameEntity(&draft, index)
    case 5:
      let was = draft.entities[index].attributes[place]
      draft.entities[index].attributes[place].name = draft.name("a")
      draft.entities[index].attributes[place].renamingIdentifier = was.renamingIdentifier ?? was.name
      draft.entities[index].constraints = []
    case 6:
      let gone = draft.entities[index].attributes.remove(at: place)
      draft.entities[index].constraints.removeAll { $0.contains(gone.name) }
    case 7: draft.entities[index].attributes[place].isOptional.toggle()
    case 8: setDefault(&draft.entities[index].attributes[place], &random)
    case 9 where draft.entities[index].attributes[place].type == .string:
      let limit = [nil, 1, 4][random.below(3)]
      draft.entities[index].attributes[place].minimumLength = limit
    case 10 where draft.entities[index].attributes[place].type == .integer32:
      draft.entities[index].attributes[place].minimumValue = random.chance(50) ? nil : .integer(Int64(random.below(2)))
    case 11 where draft.entities[index].attributes[place].type == .binary:
      draft.entities[index].attributes[place].allowsExternalBinaryDataStorage.toggle()
    case 12:
      let name = draft.entities[index].attributes[place].name
      draft.entities[index].constraints = draft.entities[index].constraints.isEmpty ? [[name]] : []
    case 13, 14:
      let numbers: [AttributeType] = [.integer16, .integer32, .integer64, .decimal, .double, .float]
      let type = draft.entities[index].attributes[place].type
      guard numbers.contains(type) || type == .boolean else { return }
      draft.entities[index].attributes[place].type = numbers[random.below(type == .boolean ? 3 : numbers.count)]
      draft.entities[index].attributes[place].isOptional = true
      draft.entities[index].attributes[place].minimumValue = nil
      setDefault(&draft.entities[index].attributes[place], &random)
    default: changePair(&draft, &random)
    }
  }

  private static func renameEntity(_ draft: inout Draft, _ index: Int) {
    let old = draft.entities[index].name
    let name = draft.name("E")
    for child in draft.entities.indices where draft.entities[child].parent == old {
      draft.entities[child].parent = name
    }
    draft.entities[index].name = name
    draft.entities[index].was = draft.entities[index].was ?? old
  }

  private static func changePair(_ draft: inout Draft, _ random: inout SeededGenerator) {
    guard !draft.pairs.isEmpty else { return }
    let index = random.below(draft.pairs.count)
    var pair = draft.pairs[index]
    switch random.below(6) {
    case 0:
      draft.pairs.remove(at: index)
      return
    case 1: pair.a.isToMany = true
    case 2: pair.b.isOrdered.toggle()
    case 3:
      pair.a.was = pair.a.was ?? pair.a.name
      pair.a.name = draft.name("r")
    case 4:
      pair.b.isOptional.toggle()
      pair.b.minCount = random.below(2)
    default:
      // To a parent or a child.
      let names = draft.entities.indices.filter { draft.entities[$0].parent != nil }
      guard let child = names.first(where: { $0 == pair.b.entity }),
        let parent = draft.entities.firstIndex(where: { $0.name == draft.entities[child].parent })
      else { return }
      pair.b.entity = parent
    }
    draft.pairs[index] = pair
  }
}
