import Foundation
import GodwitModel

/// A small model and objects of it in memory.
enum ExpressionFixture {
  static func model() throws -> ManagedObjectModel {
    var note = AttributeDescription(name: "note", type: .string)
    note.isTransient = true
    let person = EntityDescription(
      name: "Person",
      attributes: [
        .init(name: "name", type: .string), .init(name: "age", type: .integer16), .init(name: "big", type: .integer64),
        .init(name: "height", type: .double), .init(name: "isMember", type: .boolean),
        .init(name: "born", type: .date), .init(name: "photo", type: .binary), .init(name: "tag", type: .uuid),
        .init(name: "salary", type: .decimal), note,
      ],
      relationships: [
        .init(name: "manager", destinationEntityName: "Person", inverseName: "reports"),
        .init(name: "reports", destinationEntityName: "Person", inverseName: "manager", isToMany: true),
        .init(name: "pets", destinationEntityName: "Pet", isToMany: true),
      ])
    let employee = EntityDescription(
      name: "Employee", superentityName: "Person", attributes: [.init(name: "badge", type: .string)])
    let pet = EntityDescription(
      name: "Pet", attributes: [.init(name: "name", type: .string), .init(name: "weight", type: .integer32)])
    return try ManagedObjectModel(name: "Zoo", entities: [person, employee, pet])
  }

  final class Object: EvaluatedObject {
    let entityName: String
    let key: Int64
    var values: [String: EvaluatedValue]

    init(_ entityName: String, _ key: Int64, _ values: [String: EvaluatedValue]) {
      self.entityName = entityName
      self.key = key
      self.values = values
    }

    func value(_ property: String) throws -> EvaluatedValue { values[property] ?? .value(.null) }
  }

  static func pet(_ key: Int64, _ name: String?, _ weight: Int64?) -> Object {
    Object(
      "Pet", key,
      [
        "name": .value(name.map { AttributeValue($0) } ?? .null),
        "weight": .value(weight.map { .integer($0) } ?? .null),
      ])
  }

  /// Zoë, 40, who has no manager, two named pets and one nameless.
  static func person() -> Object {
    let boss = Object("Person", 1, ["name": .value(AttributeValue("Zoë")), "age": .value(.integer(40))])
    boss.values["manager"] = .object(nil)
    boss.values["height"] = .value(.double(1.5))
    boss.values["big"] = .value(.integer(.max))
    boss.values["isMember"] = .value(.boolean(true))
    boss.values["born"] = .value(.date(1000))
    boss.values["salary"] = .value(.decimal(5))
    boss.values["photo"] = .value(.data([1, 2]))
    boss.values["reports"] = .objects([], ordered: false)
    boss.values["pets"] = .objects([pet(1, "Rex", 3), pet(2, "Tom", 5), pet(3, nil, nil)], ordered: false)
    return boss
  }
}
