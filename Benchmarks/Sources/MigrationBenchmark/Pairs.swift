import Foundation
import Godwit
import GodwitModel
import GodwitStore

/// `for-each`: each link of a many-to-many becomes an object with values of both ends. There are ten times as many links
/// as pizzas; `rows` counts the links.
enum Pairs: Workload {
  static let name = "pairs"
  static let ways: [Way] = [.sql, .godwit]

  private static func ends(_ pizza: RelationshipDescription, _ topping: RelationshipDescription) -> [EntityDescription]
  {
    [("Pizza", pizza), ("Topping", topping)].map { name, relationship in
      EntityDescription(
        name: name, attributes: [attribute("name", .string), attribute("rank", .integer32)],
        relationships: [relationship])
    }
  }

  static func source() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "1",
      entities: ends(
        toMany("toppings", "Topping", inverse: "pizzas"), toMany("pizzas", "Pizza", inverse: "toppings")))
  }

  static func destination() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "2",
      entities: ends(toMany("portions", "Portion", inverse: "pizza"), toMany("uses", "Portion", inverse: "topping")) + [
        EntityDescription(
          name: "Portion", attributes: [attribute("name", .string), attribute("sum", .integer32)],
          relationships: [
            toOne("pizza", "Pizza", inverse: "portions"), toOne("topping", "Topping", inverse: "uses"),
          ])
      ])
  }

  static func mappings() throws -> [EntityMapping] {
    var portions = try mapping(
      "Pizza", "Portion", name: "Portions",
      attributes: ["name": "$element.name", "sum": "$source.rank + $element.rank"])
    portions.forEach = "toppings"
    var pizza = RelationshipMapping(name: "pizza", value: .mapping("PizzaToPizza", keyPath: []))
    pizza.end = .source
    portions.relationshipMappings = [
      pizza, RelationshipMapping(name: "topping", value: .mapping("ToppingToTopping", keyPath: ["$element"])),
    ]
    // Ranks go nowhere but into the sums.
    return try ["Pizza", "Topping"].map { try mapping($0, $0, attributes: ["name": "$source.name"]) } + [portions]
  }

  private static func join() throws -> (name: String, pizza: String, topping: String) {
    guard
      case .join(let table, let subject, let object, _) = StoreSchema(model: try source()).storage(
        of: "toppings", in: "Pizza")
    else { fatalError("no join table") }
    return (table.name, subject, object)
  }

  static func fill(_ connection: StoreConnection, rows: Int64) throws {
    let schema = StoreSchema(model: try source())
    let ends = max(10, rows / 10)
    for entity in ["Pizza", "Topping"] {
      try connection.execute(
        """
        \(numbers(ends)) INSERT INTO Z\(entity.uppercased()) (Z_PK, Z_ENT, Z_OPT, ZRANK, ZNAME) \
        SELECT i, \(schema.number(of: entity) ?? 0), 1, i % 90, '\(entity) number ' || i FROM n
        """)
    }
    let join = try join()
    try connection.execute(
      """
      \(numbers(rows)) INSERT OR IGNORE INTO \(join.name) (\(join.pizza), \(join.topping)) \
      SELECT (i - 1) / 10 % \(ends) + 1, (i * 7919 + i % 10 * 131) % \(ends) + 1 FROM n
      """)
  }

  static func insert(_ connection: StoreConnection) throws {
    let schema = StoreSchema(model: try destination())
    func number(_ entity: String) -> Int { schema.number(of: entity) ?? 0 }
    for entity in ["Pizza", "Topping"] {
      let table = "Z" + entity.uppercased()
      try connection.execute(
        "INSERT INTO \(table) (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT Z_PK, \(number(entity)), 1, ZNAME FROM source.\(table) ORDER BY Z_PK"
      )
    }
    let join = try join()
    try connection.execute(
      """
      INSERT INTO ZPORTION (Z_PK, Z_ENT, Z_OPT, ZSUM, ZPIZZA, ZTOPPING, ZNAME) SELECT j.rowid, \(number("Portion")), 1, \
      p.ZRANK + t.ZRANK, p.Z_PK, t.Z_PK, t.ZNAME FROM source.\(join.name) AS j \
      JOIN source.ZPIZZA AS p ON p.Z_PK = j.\(join.pizza) JOIN source.ZTOPPING AS t ON t.Z_PK = j.\(join.topping) \
      ORDER BY j.rowid
      """)
  }

  static let checks = [
    "SELECT COUNT(*) FROM ZPORTION WHERE typeof(ZNAME) <> 'text' OR typeof(ZSUM) <> 'integer'",
    "SELECT COUNT(*) FROM ZPORTION p WHERE NOT EXISTS (SELECT 1 FROM ZPIZZA a WHERE a.Z_PK = p.ZPIZZA)",
    "SELECT COUNT(*) FROM ZPORTION p WHERE NOT EXISTS (SELECT 1 FROM ZTOPPING a WHERE a.Z_PK = p.ZTOPPING)",
  ]
}
