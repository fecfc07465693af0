import GodwitModel
import GodwitStore
import TestSupport

extension RandomWorld {
  /// Removes rows and changes the entity of others behind Core Data's back, so that keys and join rows lead to nothing
  /// or to an object of a wrong entity. The world then says what is left.
  mutating func damage(_ fixture: MigrationFixture, _ random: inout SeededGenerator) throws {
    let schema = StoreSchema(model: source)
    func table(_ entity: String) -> String { quoted(schema.table(of: entity)?.name ?? "") }
    for index in objects.indices.reversed() {
      let object = objects[index]
      if random.chance(25) {
        try fixture.alter("DELETE FROM \(table(object.entity)) WHERE Z_PK = \(object.key)")
        objects.remove(at: index)
      } else if let other = source.family(of: source.root(of: object.entity)?.name ?? "").map(\.name)
        .filter({ $0 != object.entity }).randomElement(using: &random), random.chance(30)
      {
        try fixture.alter(
          "UPDATE \(table(object.entity)) SET Z_ENT = \(schema.number(of: other) ?? 0) WHERE Z_PK = \(object.key)")
        objects[index].entity = other
      }
    }
    for index in objects.indices {
      for (name, keys) in objects[index].links {
        guard let relationship = source.relationship(name, of: objects[index].entity) else {
          objects[index].links[name] = nil
          continue
        }
        objects[index].links[name] = keys.filter { key in
          guard let other = object(relationship.destinationEntityName, key) else { return false }
          return source.isKind(other.entity, of: relationship.destinationEntityName)
        }
      }
    }
  }
}
