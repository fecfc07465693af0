import Foundation
import Godwit
import GodwitModel
import GodwitStore

/// Two objects of each source object, associated by a policy's own hand, and a quarter as many notes that look them up.
enum Associations: Workload {
  static let name = "associations"
  static let ways: [Way] = [.sql, .policy]

  static func source() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "1",
      entities: [
        EntityDescription(
          name: "Note", attributes: [attribute("text", .string)],
          relationships: [toOne("person", "Person", inverse: "notes")]),
        EntityDescription(
          name: "Person", attributes: [attribute("name", .string)],
          relationships: [toMany("notes", "Note", inverse: "person")]),
      ])
  }

  static func destination() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "2",
      entities: [
        EntityDescription(
          name: "Contact", attributes: [attribute("name", .string), attribute("kind", .integer16)],
          relationships: [toMany("notes", "Note", inverse: "contact")]),
        EntityDescription(
          name: "Note", attributes: [attribute("text", .string)],
          relationships: [toOne("contact", "Contact", inverse: "notes")]),
      ])
  }

  static func mappings() throws -> [EntityMapping] {
    var split = try mapping("Person", "Contact", attributes: ["name": "$source.name", "kind": "0"])
    split.policyName = "Split"
    let notes = try mapping(
      "Note", "Note", attributes: ["text": "$source.text"],
      relationships: ["contact": .mapping("PersonToContact", keyPath: ["person"])])
    return [split, notes]
  }

  static func fill(_ connection: StoreConnection, rows: Int64) throws {
    let rows = max(1, rows)
    try connection.execute(
      "\(numbers(rows)) INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT i, 2, 1, 'person number ' || i FROM n")
    try connection.execute(
      """
      \(numbers(max(1, rows / 4))) INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZPERSON, ZTEXT) \
      SELECT i, 1, 1, (i * 7919) % \(rows) + 1, 'note ' || i FROM n
      """)
  }

  static func insert(_ connection: StoreConnection) throws {
    let last = try connection.integer("SELECT MAX(Z_PK) FROM source.ZPERSON") ?? 0
    for (offset, kind) in [(0, 0), (last, 1)] {
      try connection.execute(
        """
        INSERT INTO ZCONTACT (Z_PK, Z_ENT, Z_OPT, ZKIND, ZNAME) \
        SELECT Z_PK + \(offset), 1, 1, \(kind), ZNAME FROM source.ZPERSON ORDER BY Z_PK
        """)
    }
    try connection.execute(
      """
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZCONTACT, ZTEXT) \
      SELECT Z_PK, 2, 1, ZPERSON, ZTEXT FROM source.ZNOTE ORDER BY Z_PK
      """)
  }

  static let checks = [
    "SELECT COUNT(*) FROM ZCONTACT WHERE typeof(ZNAME) <> 'text' OR typeof(ZKIND) <> 'integer'",
    "SELECT COUNT(*) FROM ZNOTE n WHERE ZCONTACT IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ZCONTACT c WHERE c.Z_PK = n.ZCONTACT)",
  ]

  static func run(_ way: Way, from source: String, to output: String, memory: ByteCount) throws {
    guard way == .policy else { return try byHand(from: source, to: output) { try insert($0) } }
    var job = try job(from: source, to: output, memory: memory)
    job.policies = ["Split": { Split() }]
    try MigrationManager(job).run()
  }

  private struct Split: EntityMigrationPolicy {
    func createDestinationInstances(
      forSource source: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
    ) throws {
      for kind in Int64(0)..<2 {
        var contact = try manager.createDestinationInstance(forSource: source, in: mapping)
        contact["kind"] = .integer(kind)
        try manager.insert(contact)
        manager.associate(sourceInstance: source, withDestinationInstance: contact, for: mapping)
      }
    }
  }
}
