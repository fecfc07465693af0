import Foundation
import GodwitModel
import TestSupport

/// People and pets, for binary stores.
enum BinaryPets {
  static func model() throws -> ManagedObjectModel {
    func attribute(_ name: String, _ type: AttributeType) -> AttributeDescription {
      AttributeDescription(name: name, type: type)
    }
    var pets = RelationshipDescription(name: "pets", destinationEntityName: "Pet", inverseName: "owner", isToMany: true)
    pets.isOrdered = true
    var age = attribute("shoeSize", .integer16)
    age.defaultValue = .integer(42)
    var dream = attribute("aDream", .string)
    dream.isTransient = true
    return try ManagedObjectModel(
      name: "Pets",
      entities: [
        EntityDescription(
          name: "Person",
          attributes: [
            attribute("wage", .decimal), attribute("fullName", .string), age, dream, attribute("born", .date),
            attribute("photo", .binary), attribute("isTall", .boolean), attribute("id", .uuid),
            attribute("home", .uri), attribute("height", .float), attribute("hair", .transformable),
          ], relationships: [pets]),
        EntityDescription(
          name: "Employee", superentityName: "Person",
          attributes: [attribute("zeal", .double), attribute("badge", .integer64)]),
        EntityDescription(
          name: "Pet",
          relationships: [RelationshipDescription(name: "owner", destinationEntityName: "Person", inverseName: "pets")]),
        EntityDescription(name: "Ghost", isAbstract: true),
      ])
  }

  /// Values of a person, in the order of names: born, fullName, hair, height, home, id, isTall, photo, shoeSize, wage.
  static func person(
    _ key: Int64, _ name: Any = NSNull(), pets: [Int64] = [], change: [Int: Any] = [:], entity: String = "Person",
    more: [Any] = []
  ) -> BinaryMapNode {
    var values: [Any] = [
      NSNull(), name, NSNull(), NSNull(), NSNull(), NSNull(), NSNull(), NSNull(), NSNull(), NSNull(),
    ]
    for (place, value) in change { values[place] = value }
    return BinaryMapNode(
      entity: entity, key: key, values: values + more + [NSNull()], related: pets.isEmpty ? [:] : ["pets": pets])
  }

  static func pet(_ key: Int64, owner: Int64? = nil) -> BinaryMapNode {
    BinaryMapNode(entity: "Pet", key: key, values: [NSNull()], related: owner.map { ["owner": [$0]] } ?? [:])
  }
}
