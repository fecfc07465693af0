import Foundation
import Godwit
import GodwitModel
import GodwitStore

/// Entity split with inheritance, `unique-by` and many-to-many: a name in each adult becomes a firm, a name in each
/// child a school, and both stay members of clubs.
enum Firms: Workload {
  static let name = "firms"
  static let ways: [Way] = [.sql, .godwit]

  private static func club() -> EntityDescription {
    EntityDescription(
      name: "Club", attributes: [attribute("name", .string)],
      relationships: [toMany("members", "Person", inverse: "clubs")])
  }

  static func source() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "4",
      entities: [
        EntityDescription(
          name: "Person", isAbstract: true, attributes: [attribute("name", .string), attribute("age", .integer16)],
          relationships: [toMany("clubs", "Club", inverse: "members")]),
        EntityDescription(name: "Adult", superentityName: "Person", attributes: [attribute("firmName", .string)]),
        EntityDescription(name: "Child", superentityName: "Person", attributes: [attribute("schoolName", .string)]),
        club(),
      ])
  }

  static func destination() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "5",
      entities: [
        EntityDescription(
          name: "Person", isAbstract: true, attributes: [attribute("name", .string), attribute("age", .integer16)],
          relationships: [toMany("clubs", "Club", inverse: "members")]),
        EntityDescription(
          name: "Adult", superentityName: "Person", relationships: [toOne("firm", "Firm", inverse: "employees")]),
        EntityDescription(
          name: "Child", superentityName: "Person", relationships: [toOne("school", "School", inverse: "pupils")]),
        EntityDescription(
          name: "Firm", attributes: [attribute("name", .string)],
          relationships: [toMany("employees", "Adult", inverse: "firm")]),
        EntityDescription(
          name: "School", attributes: [attribute("name", .string)],
          relationships: [toMany("pupils", "Child", inverse: "school")]),
        club(),
      ])
  }

  static func mappings() throws -> [EntityMapping] {
    [
      EntityMapping(name: "ClubToClub", kind: .copy, source: "Club", destination: "Club"),
      try mapping(
        "Adult", "Firm", filter: "firmName != nil", uniqueBy: ["name"], attributes: ["name": "$source.firmName"]),
      try mapping(
        "Child", "School", filter: "schoolName != nil", uniqueBy: ["name"], attributes: ["name": "$source.schoolName"]),
      try mapping(
        "Adult", "Adult", attributes: ["name": "$source.name", "age": "$source.age"],
        relationships: [
          "firm": .mapping("AdultToFirm", keyPath: []), "clubs": .mapping("ClubToClub", keyPath: ["clubs"]),
        ]),
      try mapping(
        "Child", "Child", attributes: ["name": "$source.name", "age": "$source.age"],
        relationships: [
          "school": .mapping("ChildToSchool", keyPath: []), "clubs": .mapping("ClubToClub", keyPath: ["clubs"]),
        ]),
    ]
  }

  /// The join table's name and its columns: of the club, of the person.
  private static func join(_ model: ManagedObjectModel) throws -> (name: String, club: String, person: String) {
    guard
      case .join(let table, let subject, let object, _) = StoreSchema(model: model).storage(of: "members", in: "Club")
    else { fatalError("no join table") }
    return (table.name, subject, object)
  }

  static func fill(_ connection: StoreConnection, rows: Int64) throws {
    let schema = StoreSchema(model: try source())
    func number(_ entity: String) -> Int { schema.number(of: entity) ?? 0 }
    let clubs = max(1, rows / 100)
    try connection.execute(
      "\(numbers(clubs)) INSERT INTO ZCLUB (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT i, \(number("Club")), 1, 'club ' || i FROM n"
    )
    try connection.execute(
      """
      \(numbers(rows)) INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAGE, ZFIRMNAME, ZSCHOOLNAME) SELECT i, \
      CASE WHEN i % 4 = 0 THEN \(number("Child")) ELSE \(number("Adult")) END, 1, 'person number ' || i, i % 90, \
      CASE WHEN i % 4 <> 0 THEN 'firm ' || ((i * 7919) % \(max(1, rows / 20))) END, \
      CASE WHEN i % 4 = 0 THEN 'school ' || (i % 997) END FROM n
      """)
    let join = try join(source())
    try connection.execute(
      """
      \(numbers(rows)) INSERT OR IGNORE INTO \(join.name) (\(join.club), \(join.person)) \
      SELECT (i * 31) % \(clubs) + 1, i FROM n UNION ALL SELECT (i * 17) % \(clubs) + 1, i FROM n WHERE i % 2 = 0
      """)
  }

  static func insert(_ connection: StoreConnection) throws {
    let schema = StoreSchema(model: try destination())
    let old = StoreSchema(model: try source())
    func number(_ entity: String) -> Int { schema.number(of: entity) ?? 0 }
    try connection.execute(
      "INSERT INTO ZCLUB (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT Z_PK, \(number("Club")), 1, ZNAME FROM source.ZCLUB ORDER BY Z_PK"
    )
    for (entity, column, holder) in [("Firm", "ZFIRMNAME", "Adult"), ("School", "ZSCHOOLNAME", "Child")] {
      let name = entity.uppercased()
      try connection.execute("CREATE TEMP TABLE \(name) (k INTEGER PRIMARY KEY, name TEXT UNIQUE)")
      try connection.execute(
        """
        INSERT INTO \(name) SELECT MIN(Z_PK), \(column) FROM source.ZPERSON WHERE \(column) IS NOT NULL \
        GROUP BY \(column) ORDER BY 1
        """)
      try connection.execute(
        "INSERT INTO Z\(name) (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT k, \(number(entity)), 1, name FROM \(name) ORDER BY k")
      try connection.execute(
        """
        INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAGE, Z\(name)) SELECT p.Z_PK, \(number(holder)), 1, p.ZNAME, \
        p.ZAGE, f.k FROM source.ZPERSON p LEFT JOIN \(name) f ON f.name = p.\(column) \
        WHERE p.Z_ENT = \(old.number(of: holder) ?? 0) ORDER BY p.Z_PK
        """)
      try connection.execute("DROP TABLE \(name)")
    }
    let (from, to) = (try join(source()), try join(destination()))
    try connection.execute(
      "INSERT INTO \(to.name) (\(to.club), \(to.person)) SELECT \(from.club), \(from.person) FROM source.\(from.name) ORDER BY 1, 2"
    )
  }

  static let checks = [
    "SELECT COUNT(*) FROM ZPERSON p WHERE ZFIRM IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ZFIRM a WHERE a.Z_PK = p.ZFIRM)",
    "SELECT COUNT(*) FROM ZPERSON p WHERE ZSCHOOL IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ZSCHOOL a WHERE a.Z_PK = p.ZSCHOOL)",
  ]
}
