import Foundation
package import GodwitModel

/// A small world that expressions are tried on, in memory and in a store.
///
/// Person 1 is Zoë, 40, who has no manager, three pets in the order 2, 1, 3 (the last without a name), both clubs and
/// one report, Bob. Bob's one report, person 3, has no values at all. All nicks and ratings are nil.
package enum ExpressionWorld {
  package struct Row: Sendable {
    package var entity: String
    package var key: Int64
    package var attributes: [String: AttributeValue]
    package var links: [String: [Int64]]
  }

  package static func model() throws -> ManagedObjectModel {
    func toMany(_ name: String, _ entity: String, _ inverse: String, ordered: Bool = false) -> RelationshipDescription {
      var relationship = RelationshipDescription(
        name: name, destinationEntityName: entity, inverseName: inverse, isToMany: true)
      relationship.isOrdered = ordered
      return relationship
    }
    let person = EntityDescription(
      name: "Person",
      attributes: [
        .init(name: "name", type: .string), .init(name: "nick", type: .string), .init(name: "age", type: .integer16),
        .init(name: "big", type: .integer64), .init(name: "rating", type: .integer32),
        .init(name: "height", type: .double), .init(name: "isMember", type: .boolean),
        .init(name: "born", type: .date), .init(name: "photo", type: .binary), .init(name: "code", type: .uuid),
        .init(name: "pay", type: .decimal), .init(name: "site", type: .uri),
      ],
      relationships: [
        .init(name: "manager", destinationEntityName: "Person", inverseName: "reports"),
        toMany("reports", "Person", "manager"), toMany("pets", "Pet", "owner", ordered: true),
        toMany("clubs", "Club", "members"),
      ])
    let pet = EntityDescription(
      name: "Pet",
      attributes: [
        .init(name: "name", type: .string), .init(name: "weight", type: .integer32),
        .init(name: "price", type: .double),
      ], relationships: [.init(name: "owner", destinationEntityName: "Person", inverseName: "pets")])
    let club = EntityDescription(
      name: "Club", attributes: [.init(name: "name", type: .string)],
      relationships: [toMany("members", "Person", "clubs")])
    return try ManagedObjectModel(name: "World", entities: [person, pet, club])
  }

  package static let rows: [Row] = [
    Row(
      entity: "Person", key: 1,
      attributes: [
        "name": .string("Zoë"), "age": .integer(40), "big": .integer(.max), "height": .double(1.5),
        "isMember": .boolean(true), "born": .date(1000), "photo": .data([1, 2]), "pay": .decimal(5),
        "site": .uri("https://example.org/a"),
        "code": .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))),
      ], links: ["reports": [2], "pets": [2, 1, 3], "clubs": [1, 2]]),
    Row(
      entity: "Person", key: 2,
      attributes: [
        "name": .string("Bob"), "age": .integer(17), "big": .integer(-1), "height": .double(2),
        "isMember": .boolean(false), "born": .date(-86400.5), "pay": .decimal(Decimal(25) / 10),
      ], links: ["manager": [1], "reports": [3], "clubs": [2]]),
    Row(entity: "Person", key: 3, attributes: [:], links: ["manager": [2]]),
    Row(
      entity: "Pet", key: 1,
      attributes: ["name": .string("tom"), "weight": .integer(5), "price": .double(0.25)], links: ["owner": [1]]),
    Row(
      entity: "Pet", key: 2,
      attributes: ["name": .string("Rex"), "weight": .integer(3), "price": .double(2.5)], links: ["owner": [1]]),
    Row(entity: "Pet", key: 3, attributes: [:], links: ["owner": [1]]),
    Row(entity: "Pet", key: 4, attributes: ["name": .string("stray"), "weight": .integer(9)], links: [:]),
    Row(entity: "Club", key: 1, attributes: ["name": .string("Chess")], links: ["members": [1]]),
    Row(entity: "Club", key: 2, attributes: ["name": .string("choir")], links: ["members": [1, 2]]),
  ]

  /// `now()` in every case.
  package static let now = 7.0

  /// The values of `$entityMapping` and `$propertyMapping` in every case.
  package static var bindings: MappingBindings {
    var mapping = EntityMapping(name: "PersonToAdult", source: "Person", destination: "Adult")
    mapping.userInfo = ["batch": "7"]
    return MappingBindings(mapping, property: "target")
  }

  /// An object of the world in memory.
  package struct Object: EvaluatedObject {
    let row: Row
    let model: ManagedObjectModel
    package var entityName: String { row.entity }
    package var key: Int64 { row.key }

    package func value(_ property: String) throws -> EvaluatedValue {
      guard let relationship = model.relationship(property, of: row.entity) else {
        return .value(row.attributes[property] ?? .null)
      }
      let found = (row.links[property] ?? []).compactMap {
        object(relationship.destinationEntityName, $0, in: model)
      }
      return relationship.isToMany ? .objects(found, ordered: relationship.isOrdered) : .object(found.first)
    }
  }

  package static func object(_ entity: String, _ key: Int64, in model: ManagedObjectModel) -> Object? {
    rows.first { $0.entity == entity && $0.key == key }.map { Object(row: $0, model: model) }
  }
}
