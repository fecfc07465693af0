import Foundation
import GRDB
import GRDBSQLite
import Godwit
import GodwitModel
import GodwitStore

/// Rename and arithmetic: one entity becomes two by a filter, with a to-one relationship and a required attribute.
enum People: Workload {
  static let name = "people"
  static let ways: [Way] = [.sql, .godwit, .c, .grdb, .python]

  static func source() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "1",
      entities: [
        EntityDescription(
          name: "Address", attributes: [attribute("street", .string)],
          relationships: [toMany("people", "Person", inverse: "address")]),
        EntityDescription(
          name: "Person",
          attributes: [
            attribute("name", .string), attribute("age", .integer16), attribute("fahrenheit", .double),
            attribute("born", .date),
          ], relationships: [toOne("address", "Address", inverse: "people")]),
      ])
  }

  static func destination() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "2",
      entities: [
        EntityDescription(
          name: "Address", attributes: [attribute("street", .string)],
          relationships: [toMany("people", "Person", inverse: "address")]),
        EntityDescription(
          name: "Person", isAbstract: true,
          attributes: [
            attribute("name", .string, isOptional: false), attribute("age", .integer32), attribute("celsius", .double),
            attribute("born", .date),
          ], relationships: [toOne("address", "Address", inverse: "people")]),
        EntityDescription(name: "Adult", superentityName: "Person"),
        EntityDescription(name: "Child", superentityName: "Person"),
      ])
  }

  static func mappings() throws -> [EntityMapping] {
    try mappings(["age": "$source.age + 1", "celsius": "($source.fahrenheit - 32.0) / 1.8"])
  }

  static func mappings(_ computed: [String: String]) throws -> [EntityMapping] {
    let people = try [("Adult", "age >= 18"), ("Child", "age < 18")].map { entity, filter in
      try mapping(
        "Person", entity, filter: filter,
        attributes: computed.merging(["name": "$source.name", "born": "$source.born"]) { own, _ in own },
        relationships: ["address": .mapping("AddressToAddress", keyPath: ["address"])])
    }
    return [EntityMapping(name: "AddressToAddress", kind: .copy, source: "Address", destination: "Address")] + people
  }

  static func fill(_ connection: StoreConnection, rows: Int64) throws {
    let addresses = max(1, rows / 4)
    try connection.execute(
      "\(numbers(addresses)) INSERT INTO ZADDRESS (Z_PK, Z_ENT, Z_OPT, ZSTREET) SELECT i, 1, 1, 'street ' || i FROM n")
    try connection.execute(
      """
      \(numbers(rows)) INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZAGE, ZADDRESS, ZBORN, ZFAHRENHEIT, ZNAME) \
      SELECT i * 2, 2, 1, i % 90, (i * 7919) % \(addresses) + 1, i * 1000, i % 110 + 0.5, 'person number ' || i FROM n
      """)
  }

  static func insert(_ connection: StoreConnection) throws {
    try connection.execute(addressCopy)
    for (entity, filter) in [(3, "ZAGE >= 18"), (4, "ZAGE < 18")] {
      try connection.execute(
        """
        INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZAGE, ZADDRESS, ZBORN, ZCELSIUS, ZNAME) SELECT Z_PK, \(entity), 1, \
        ZAGE + 1, ZADDRESS, ZBORN, (ZFAHRENHEIT - 32.0) / 1.8, ZNAME FROM source.ZPERSON WHERE \(filter) ORDER BY Z_PK
        """)
    }
  }

  private static let addressCopy =
    "INSERT INTO ZADDRESS (Z_PK, Z_ENT, Z_OPT, ZSTREET) SELECT Z_PK, 1, 1, ZSTREET FROM source.ZADDRESS ORDER BY Z_PK"
  private static let select =
    "SELECT Z_PK, ZAGE, ZADDRESS, ZBORN, ZFAHRENHEIT, ZNAME FROM source.ZPERSON ORDER BY Z_PK"
  private static let insertion =
    "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZAGE, ZADDRESS, ZBORN, ZCELSIUS, ZNAME) VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7)"

  static let checks = [
    "SELECT COUNT(*) FROM ZPERSON WHERE ZNAME IS NULL OR typeof(ZNAME) <> 'text' OR typeof(ZAGE) <> 'integer'",
    "SELECT COUNT(*) FROM ZPERSON p WHERE ZADDRESS IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ZADDRESS a WHERE a.Z_PK = p.ZADDRESS)",
  ]

  static func run(_ way: Way, from source: String, to output: String, memory: ByteCount) throws {
    switch way {
    case .sql: try byHand(from: source, to: output) { try insert($0) }
    case .c:
      try byHand(from: source, to: output) { connection in
        try connection.execute(addressCopy)
        copyRows(connection)
      }
    case .grdb:
      try byHand(from: source, to: output) { _ in
      } rows: {
        try copyWithGRDB(from: source, to: output)
      }
    case .python:
      try byHand(from: source, to: output) { _ in
      } rows: {
        try copyWithPython(from: source, to: output)
      }
    default:
      var job = try job(from: source, to: output, memory: memory)
      if way == .policy {
        for index in job.steps[0].mappingModels[0].entityMappings.indices.dropFirst() {
          job.steps[0].mappingModels[0].entityMappings[index].policyName = "Shout"
        }
        job.policies = ["Shout": { Shout() }]
      }
      try MigrationManager(job).run()
    }
  }

  /// The rows by a loop of another program between an empty store and the indexes.
  private static func byHand(
    from source: String, to output: String, _ body: (StoreConnection) throws -> Void, rows: () throws -> Void
  ) throws {
    let schema = StoreSchema(model: try destination())
    let empty = try EmptyStore.create(
      at: output, schema: schema, metadata: StoreMetadata(model: schema.model, uuid: UUID()),
      cache: .mebibytes(16))
    try empty.close()
    try rows()
    let connection = try StoreConnection(path: output, cache: .mebibytes(16))
    for sql in schema.indexStatements { try connection.execute(sql) }
    for check in checks where try connection.integer(check) != 0 { exit(1) }
    _ = try connection.value("PRAGMA main.quick_check")
    try connection.close()
  }

  /// A policy that does what its mapping says, and changes one value.
  private struct Shout: EntityMigrationPolicy {
    func createDestinationInstances(
      forSource source: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
    ) throws {
      var person = try manager.createDestinationInstance(forSource: source, in: mapping)
      if let name = try source.string("name") { person["name"] = AttributeValue(name + "!") }
      try manager.insert(person)
      try manager.associate(sourceInstance: source, withDestinationInstance: person, for: mapping)
    }
  }

  private static func copyRows(_ connection: StoreConnection) {
    connection.withHandle { handle in
      var reader: OpaquePointer?
      var writer: OpaquePointer?
      sqlite3_prepare_v2(handle, select, -1, &reader, nil)
      sqlite3_prepare_v2(handle, insertion, -1, &writer, nil)
      while sqlite3_step(reader) == SQLITE_ROW {
        let age = sqlite3_column_int64(reader, 1)
        sqlite3_bind_int64(writer, 1, sqlite3_column_int64(reader, 0))
        sqlite3_bind_int64(writer, 2, age >= 18 ? 3 : 4)
        sqlite3_bind_int64(writer, 3, age + 1)
        sqlite3_bind_value(writer, 4, sqlite3_column_value(reader, 2))
        sqlite3_bind_double(writer, 5, sqlite3_column_double(reader, 3))
        sqlite3_bind_double(writer, 6, (sqlite3_column_double(reader, 4) - 32) / 1.8)
        sqlite3_bind_text(writer, 7, sqlite3_column_text(reader, 5), sqlite3_column_bytes(reader, 5), nil)
        guard sqlite3_step(writer) == SQLITE_DONE else { exit(1) }
        sqlite3_reset(writer)
      }
      sqlite3_finalize(reader)
      sqlite3_finalize(writer)
    }
  }

  private static func copyWithGRDB(from source: String, to output: String) throws {
    let queue = try DatabaseQueue(path: output)
    try queue.inDatabase { try $0.execute(sql: "ATTACH ? AS source", arguments: [source]) }
    try queue.write { database in
      try database.execute(sql: addressCopy)
      let statement = try database.makeStatement(sql: insertion)
      let rows = try Row.fetchCursor(database, sql: select)
      while let row = try rows.next() {
        let age: Int64 = row[1]
        let fahrenheit: Double = row[4]
        try statement.execute(arguments: [
          row[0] as Int64, age >= 18 ? 3 : 4, age + 1, row[2] as Int64?, row[3] as Double?, (fahrenheit - 32) / 1.8,
          row[5] as String?,
        ])
      }
    }
    try queue.close()
  }

  private static func copyWithPython(from source: String, to output: String) throws {
    let program = """
      import sqlite3, sys
      db = sqlite3.connect(sys.argv[2])
      db.execute("ATTACH ? AS source", (sys.argv[1],))
      db.execute(sys.argv[3])
      reader = db.cursor()
      for key, age, address, born, fahrenheit, name in reader.execute(sys.argv[4]):
          db.execute(sys.argv[5], (key, 3 if age >= 18 else 4, age + 1, address, born, (fahrenheit - 32.0) / 1.8, name))
      db.commit()
      """
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-c", program, source, output, addressCopy, select, insertion]
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { exit(1) }
  }
}

/// The same with two expressions that SQL cannot say: an index into a list runs in Swift.
enum PeopleByExpression: Workload {
  static let name = "expressions"
  static let ways: [Way] = [.sql, .godwit, .python]

  static func source() throws -> ManagedObjectModel { try People.source() }
  static func destination() throws -> ManagedObjectModel { try People.destination() }
  static func mappings() throws -> [EntityMapping] {
    try People.mappings([
      "age": "{$source.age + 1, 0}[FIRST]", "celsius": "{($source.fahrenheit - 32.0) / 1.8, 0.0}[FIRST]",
    ])
  }
  static func fill(_ connection: StoreConnection, rows: Int64) throws { try People.fill(connection, rows: rows) }
  static func insert(_ connection: StoreConnection) throws { try People.insert(connection) }
  static let checks = People.checks

  static func run(_ way: Way, from source: String, to output: String, memory: ByteCount) throws {
    guard way == .godwit else { return try People.run(way, from: source, to: output, memory: memory) }
    try MigrationManager(job(from: source, to: output, memory: memory)).run()
  }
}

/// The same through a policy in Swift that changes one value of each object.
enum PeopleByPolicy: Workload {
  static let name = "policy"
  static let ways: [Way] = [.sql, .policy, .python]

  static func source() throws -> ManagedObjectModel { try People.source() }
  static func destination() throws -> ManagedObjectModel { try People.destination() }
  static func mappings() throws -> [EntityMapping] { try People.mappings() }
  static func fill(_ connection: StoreConnection, rows: Int64) throws { try People.fill(connection, rows: rows) }
  static func insert(_ connection: StoreConnection) throws { try People.insert(connection) }
  static let checks = People.checks

  static func run(_ way: Way, from source: String, to output: String, memory: ByteCount) throws {
    try People.run(way, from: source, to: output, memory: memory)
  }
}
