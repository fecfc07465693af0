import Foundation
import Godwit
import GodwitModel
import GodwitStore

/// A mix of what real migrations do: a filter splits each person into an adult or a child, an address is cut out of every
/// person, employers become companies by `unique-by`, both halves keep a many-to-many with tags, twice as many notes
/// look up which half their author went to, and three attributes are lost.
enum Everything: Workload {
  static let name = "everything"
  static let ways: [Way] = [.sql, .godwit]

  static func source() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "1",
      entities: [
        EntityDescription(
          name: "Note",
          attributes: [
            attribute("body", .string), attribute("stamp", .date), attribute("draft", .boolean),
          ], relationships: [toOne("author", "Person", inverse: "notes")]),
        EntityDescription(
          name: "Person",
          attributes: [
            attribute("name", .string), attribute("age", .integer16), attribute("email", .string),
            attribute("street", .string), attribute("city", .string), attribute("employer", .string),
            attribute("school", .string), attribute("nickname", .string), attribute("score", .double),
          ],
          relationships: [
            toMany("notes", "Note", inverse: "author"), toMany("tags", "Tag", inverse: "people"),
          ]),
        EntityDescription(
          name: "Tag", attributes: [attribute("name", .string)],
          relationships: [toMany("people", "Person", inverse: "tags")]),
      ])
  }

  static func destination() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "2",
      entities: [
        EntityDescription(
          name: "Address", attributes: [attribute("street", .string), attribute("city", .string)],
          relationships: [toMany("people", "Human", inverse: "address")]),
        EntityDescription(
          name: "Company", attributes: [attribute("name", .string)],
          relationships: [toMany("employees", "Adult", inverse: "company")]),
        EntityDescription(
          name: "Human", isAbstract: true,
          attributes: [
            attribute("name", .string, isOptional: false), attribute("age", .integer32), attribute("email", .string),
            attribute("percent", .double),
          ],
          relationships: [
            toOne("address", "Address", inverse: "people"), toMany("notes", "Note", inverse: "author"),
            toMany("tags", "Tag", inverse: "people"),
          ]),
        EntityDescription(
          name: "Adult", superentityName: "Human", relationships: [toOne("company", "Company", inverse: "employees")]),
        EntityDescription(name: "Child", superentityName: "Human", attributes: [attribute("school", .string)]),
        EntityDescription(
          name: "Note", attributes: [attribute("body", .string), attribute("stamp", .date)],
          relationships: [toOne("author", "Human", inverse: "notes")]),
        EntityDescription(
          name: "Tag", attributes: [attribute("name", .string)],
          relationships: [toMany("people", "Human", inverse: "tags")]),
      ])
  }

  static func mappings() throws -> [EntityMapping] {
    let values = [
      "name": "$source.name", "age": "$source.age", "email": "$source.email", "percent": "$source.score * 100.0",
    ]
    return [
      EntityMapping(name: "TagToTag", kind: .copy, source: "Tag", destination: "Tag"),
      try mapping("Person", "Address", attributes: ["street": "$source.street", "city": "$source.city"]),
      try mapping(
        "Person", "Company", filter: "employer != nil AND age >= 18", uniqueBy: ["name"],
        attributes: ["name": "$source.employer"]),
      try mapping(
        "Person", "Adult", filter: "age >= 18", attributes: values,
        relationships: [
          "address": .mapping("PersonToAddress", keyPath: []), "company": .mapping("PersonToCompany", keyPath: []),
          "tags": .mapping("TagToTag", keyPath: ["tags"]),
        ]),
      try mapping(
        "Person", "Child", filter: "age < 18", attributes: values.merging(["school": "$source.school"]) { $1 },
        relationships: [
          "address": .mapping("PersonToAddress", keyPath: []), "tags": .mapping("TagToTag", keyPath: ["tags"]),
        ]),
      try mapping(
        "Note", "Note", attributes: ["body": "$source.body", "stamp": "$source.stamp"],
        relationships: ["author": .sourceRelationship("author")]),
    ]
  }

  /// The join table's name and its columns: of the tag, of the person.
  static func join(_ model: ManagedObjectModel) throws -> (name: String, tag: String, person: String) {
    guard case .join(let table, let subject, let object, _) = StoreSchema(model: model).storage(of: "people", in: "Tag")
    else { fatalError("no join table") }
    return (table.name, subject, object)
  }

  static func fill(_ connection: StoreConnection, rows: Int64) throws {
    let schema = StoreSchema(model: try source())
    func number(_ entity: String) -> Int { schema.number(of: entity) ?? 0 }
    let tags = max(1, rows / 100)
    try connection.execute(
      "\(numbers(tags)) INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT i, \(number("Tag")), 1, 'tag ' || i FROM n")
    try connection.execute(
      """
      \(numbers(rows)) INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAGE, ZEMAIL, ZSTREET, ZCITY, ZEMPLOYER, ZSCHOOL, \
      ZNICKNAME, ZSCORE) SELECT i, \(number("Person")), 1, 'person number ' || i, i % 90, 'person.' || i || '@example.org', \
      i || ' long street', 'city ' || (i % 5003), CASE WHEN i % 5 <> 0 THEN 'company ' || ((i * 7919) % \(max(1, rows / 20))) END, \
      CASE WHEN i % 4 = 0 THEN 'school ' || (i % 997) END, CASE WHEN i % 3 = 0 THEN 'nick ' || i END, (i % 1000) / 8.0 FROM n
      """)
    try connection.execute(
      """
      \(numbers(rows * 2)) INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZBODY, ZSTAMP, ZDRAFT, ZAUTHOR) SELECT i, \
      \(number("Note")), 1, 'note number ' || i || ' with some more text', i * 1000, i % 2, (i * 7919) % \(rows) + 1 FROM n
      """)
    let join = try join(source())
    try connection.execute(
      """
      \(numbers(rows)) INSERT OR IGNORE INTO \(join.name) (\(join.tag), \(join.person)) \
      SELECT (i * 31) % \(tags) + 1, i FROM n
      """)
  }

  static func insert(_ connection: StoreConnection) throws {
    let schema = StoreSchema(model: try destination())
    func number(_ entity: String) -> Int { schema.number(of: entity) ?? 0 }
    // The entity of a note's author: it leads into a hierarchy.
    let kind = "Z\(number("Human"))_AUTHOR"
    try connection.execute(
      "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT Z_PK, \(number("Tag")), 1, ZNAME FROM source.ZTAG ORDER BY Z_PK"
    )
    try connection.execute(
      """
      INSERT INTO ZADDRESS (Z_PK, Z_ENT, Z_OPT, ZSTREET, ZCITY) SELECT Z_PK, \(number("Address")), 1, ZSTREET, ZCITY \
      FROM source.ZPERSON ORDER BY Z_PK
      """)
    try connection.execute("CREATE TEMP TABLE company (k INTEGER PRIMARY KEY, name TEXT UNIQUE)")
    try connection.execute(
      """
      INSERT INTO company SELECT MIN(Z_PK), ZEMPLOYER FROM source.ZPERSON WHERE ZEMPLOYER IS NOT NULL AND ZAGE >= 18 \
      GROUP BY ZEMPLOYER ORDER BY 1
      """)
    try connection.execute(
      "INSERT INTO ZCOMPANY (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT k, \(number("Company")), 1, name FROM company ORDER BY k"
    )
    try connection.execute(
      """
      INSERT INTO ZHUMAN (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAGE, ZEMAIL, ZPERCENT, ZADDRESS, ZCOMPANY) SELECT p.Z_PK, \
      \(number("Adult")), 1, p.ZNAME, p.ZAGE, p.ZEMAIL, p.ZSCORE * 100.0, p.Z_PK, c.k FROM source.ZPERSON p \
      LEFT JOIN company c ON c.name = p.ZEMPLOYER WHERE p.ZAGE >= 18 ORDER BY p.Z_PK
      """)
    try connection.execute("DROP TABLE company")
    try connection.execute(
      """
      INSERT INTO ZHUMAN (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAGE, ZEMAIL, ZPERCENT, ZADDRESS, ZSCHOOL) SELECT Z_PK, \
      \(number("Child")), 1, ZNAME, ZAGE, ZEMAIL, ZSCORE * 100.0, Z_PK, ZSCHOOL FROM source.ZPERSON WHERE ZAGE < 18 \
      ORDER BY Z_PK
      """)
    try connection.execute(
      """
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZBODY, ZSTAMP, ZAUTHOR, \(kind)) SELECT n.Z_PK, \(number("Note")), 1, \
      n.ZBODY, n.ZSTAMP, CASE WHEN p.ZAGE IS NOT NULL THEN n.ZAUTHOR END, CASE WHEN p.ZAGE >= 18 THEN \(number("Adult")) \
      WHEN p.ZAGE < 18 THEN \(number("Child")) END FROM source.ZNOTE n LEFT JOIN source.ZPERSON p ON p.Z_PK = n.ZAUTHOR \
      ORDER BY n.Z_PK
      """)
    let (from, to) = (try join(source()), try join(destination()))
    try connection.execute(
      """
      INSERT INTO \(to.name) (\(to.tag), \(to.person)) SELECT \(from.tag), \(from.person) FROM source.\(from.name) \
      ORDER BY \(to.name.hasSuffix("TAGS") ? "2, 1" : "1, 2")
      """)
  }

  static let checks = [
    "SELECT COUNT(*) FROM ZHUMAN WHERE ZNAME IS NULL OR typeof(ZNAME) <> 'text' OR typeof(ZAGE) <> 'integer'",
    "SELECT COUNT(*) FROM ZHUMAN p WHERE ZADDRESS IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ZADDRESS a WHERE a.Z_PK = p.ZADDRESS)",
    "SELECT COUNT(*) FROM ZHUMAN p WHERE ZCOMPANY IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ZCOMPANY a WHERE a.Z_PK = p.ZCOMPANY)",
    "SELECT COUNT(*) FROM ZNOTE p WHERE ZAUTHOR IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ZHUMAN a WHERE a.Z_PK = p.ZAUTHOR)",
  ]
}
