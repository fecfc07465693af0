import GodwitModel
import GodwitTesting

/// The models of these tests.
///
/// | source | destination |
/// |---|---|
/// | Person (`fullName`, required; `age`), `home`, `friends`, `spouse`, ordered `lists` | Person (`given`, `age`), the same |
/// | Pupil: Person (`grade`) | the same |
/// | Home (`street`), ordered `people` | the same |
/// | List (`title`), ordered `members` | the same |
enum TestWorld {
  static func attribute(
    _ name: String, _ type: AttributeType, isOptional: Bool = true, default value: AttributeValue = .null
  ) -> AttributeDescription {
    var attribute = AttributeDescription(name: name, type: type, isOptional: isOptional)
    attribute.defaultValue = value
    return attribute
  }

  static func toOne(
    _ name: String, _ destination: String, inverse: String, isOptional: Bool = true
  ) -> RelationshipDescription {
    var one = RelationshipDescription(name: name, destinationEntityName: destination, inverseName: inverse)
    one.isOptional = isOptional
    one.maxCount = 1
    return one
  }

  static func toMany(
    _ name: String, _ destination: String, inverse: String, isOrdered: Bool = false
  ) -> RelationshipDescription {
    var many = RelationshipDescription(
      name: name, destinationEntityName: destination, inverseName: inverse, isToMany: true)
    many.isOrdered = isOrdered
    return many
  }

  static func model(_ name: String, person: [AttributeDescription]) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: name,
      entities: [
        EntityDescription(
          name: "Person", attributes: person,
          relationships: [
            toOne("home", "Home", inverse: "people"), toMany("friends", "Person", inverse: "friends"),
            toOne("spouse", "Person", inverse: "spouse"),
            toMany("lists", "List", inverse: "members", isOrdered: true),
          ]),
        EntityDescription(name: "Pupil", superentityName: "Person", attributes: [attribute("grade", .integer16)]),
        EntityDescription(
          name: "Home", attributes: [attribute("street", .string)],
          relationships: [toMany("people", "Person", inverse: "home", isOrdered: true)]),
        EntityDescription(
          name: "List", attributes: [attribute("title", .string)],
          relationships: [toMany("members", "Person", inverse: "lists", isOrdered: true)]),
      ])
  }

  static func source() throws -> ManagedObjectModel {
    try model("1", person: [attribute("fullName", .string, isOptional: false), attribute("age", .integer32)])
  }

  static func destination() throws -> ManagedObjectModel {
    try model("2", person: [attribute("given", .string), attribute("age", .integer32)])
  }

  /// The inferred mapping, with a policy for people.
  static func mapping(policy: String = "Names") throws -> MappingModel {
    var mapping = try MappingModel(inferredFrom: source(), to: destination())
    for index in mapping.entityMappings.indices where mapping.entityMappings[index].sourceEntityName == "Person" {
      mapping.entityMappings[index].policyName = policy
    }
    return mapping
  }

  static func migration(_ policies: PolicyRegistry) throws -> TestMigration {
    try TestMigration(from: source(), to: destination(), mapping: .model(mapping()), policies: policies)
  }
}

/// Takes the given name from the full name.
struct Names: EntityMigrationPolicy {
  func createDestinationInstances(
    forSource person: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
  ) throws {
    var made = try manager.createDestinationInstance(forSource: person, in: mapping)
    made["given"] = try person.string("fullName")?.split(separator: " ").first.map { AttributeValue($0) } ?? .null
    try manager.insert(made)
    manager.associate(sourceInstance: person, withDestinationInstance: made, for: mapping)
  }
}
