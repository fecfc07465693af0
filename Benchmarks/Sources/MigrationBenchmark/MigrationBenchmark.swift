import Foundation
import Godwit
import GodwitModel
import GodwitStore

/// Time and memory of one migration beside the same work as hand-written SQL.
///
///     MigrationBenchmark make FILE ROWS      a source store of people at addresses
///     MigrationBenchmark migrate FILE [MIB]  through Godwit, to FILE.out, with a budget (64 MiB)
///     MigrationBenchmark sql FILE            hand-written SQL: the floor
///
/// Each runs in a process of its own, so that peak memory is its own.
@main struct MigrationBenchmark {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count >= 2, let verb = arguments.first else {
      print("usage: MigrationBenchmark make FILE ROWS | migrate FILE [MIB] | sql FILE")
      exit(64)
    }
    let file = arguments[arguments.startIndex + 1]
    let start = Date()
    switch verb {
    case "make": try make(file, rows: arguments.last.flatMap { Int64($0) } ?? 1_000_000)
    case "migrate": try migrate(file, memory: arguments.dropFirst(2).first.flatMap { Int64($0) } ?? 64)
    case "sql": try floor(file)
    default: exit(64)
    }
    let peak = peakMebibytes()
    print("\(verb) \(String(format: "%.2f", Date().timeIntervalSince(start))) s, peak \(peak) MiB")
  }

  static func peakMebibytes() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) / 1024
  }

  static func attribute(_ name: String, _ type: AttributeType) -> AttributeDescription {
    AttributeDescription(name: name, type: type)
  }

  static func source() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "1",
      entities: [
        EntityDescription(
          name: "Address", attributes: [attribute("street", .string)],
          relationships: [
            RelationshipDescription(
              name: "people", destinationEntityName: "Person", inverseName: "address", isToMany: true)
          ]),
        EntityDescription(
          name: "Person",
          attributes: [
            attribute("name", .string), attribute("age", .integer16), attribute("fahrenheit", .double),
            attribute("born", .date),
          ],
          relationships: [
            RelationshipDescription(name: "address", destinationEntityName: "Address", inverseName: "people")
          ]),
      ])
  }

  static func destination() throws -> ManagedObjectModel {
    var name = attribute("name", .string)
    name.isOptional = false
    return try ManagedObjectModel(
      name: "2",
      entities: [
        EntityDescription(
          name: "Address", attributes: [attribute("street", .string)],
          relationships: [
            RelationshipDescription(
              name: "people", destinationEntityName: "Person", inverseName: "address", isToMany: true)
          ]),
        EntityDescription(
          name: "Person", isAbstract: true,
          attributes: [name, attribute("age", .integer32), attribute("celsius", .double), attribute("born", .date)],
          relationships: [
            RelationshipDescription(name: "address", destinationEntityName: "Address", inverseName: "people")
          ]),
        EntityDescription(name: "Adult", superentityName: "Person"),
        EntityDescription(name: "Child", superentityName: "Person"),
      ])
  }

  static func make(_ file: String, rows: Int64) throws {
    let model = try source()
    let schema = StoreSchema(model: model)
    let metadata = StoreMetadata(model: model, uuid: UUID())
    let connection = try EmptyStore.create(at: file, schema: schema, metadata: metadata, cache: .mebibytes(64))
    try connection.execute("PRAGMA synchronous = OFF")
    try connection.transaction {
      try connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(max(1, rows / 4))) INSERT INTO ZADDRESS (Z_PK, Z_ENT, Z_OPT, ZSTREET) SELECT i, 1, 1, 'street ' || i FROM n"
      )
      try connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows)) INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZAGE, ZADDRESS, ZBORN, ZFAHRENHEIT, ZNAME) SELECT i * 2, 2, 1, i % 90, (i * 7919) % \(max(1, rows / 4)) + 1, i * 1000, i % 110 + 0.5, 'person number ' || i FROM n"
      )
    }
    try EmptyStore.createIndexes(of: schema, on: connection)
    try EmptyStore.updatePrimaryKeyCounters(of: schema, on: connection)
    try connection.close()
  }

  static func migrate(_ file: String, memory: Int64) throws {
    func expression(_ text: String) throws -> ParsedExpression {
      ParsedExpression(try Expression(parsing: text), source: SourceText(text))
    }
    func person(_ destination: String, filter: String) throws -> EntityMapping {
      var mapping = EntityMapping(name: "PersonTo\(destination)", source: "Person", destination: destination)
      mapping.filter = ParsedPredicate(try Predicate(parsing: filter), source: SourceText(filter))
      mapping.attributeMappings = [
        AttributeMapping(name: "name", value: try expression("$source.name")),
        AttributeMapping(name: "age", value: try expression("$source.age + 1")),
        AttributeMapping(name: "celsius", value: try expression("($source.fahrenheit - 32.0) / 1.8")),
        AttributeMapping(name: "born", value: try expression("$source.born")),
      ]
      mapping.relationshipMappings = [
        RelationshipMapping(name: "address", value: .mapping("AddressToAddress", keyPath: ["address"]))
      ]
      return mapping
    }
    let address = EntityMapping(name: "AddressToAddress", kind: .copy, source: "Address", destination: "Address")
    let job = MigrationJob(
      name: "benchmark", sourcePath: file, destinationPath: file + ".out", sourceModel: try source(),
      destinationModel: try destination(),
      mappingModels: [
        MappingModel(
          entityMappings: [
            address, try person("Adult", filter: "age >= 18"), try person("Child", filter: "age < 18"),
          ])
      ], memory: .mebibytes(memory))
    try? FileManager.default.removeItem(atPath: file + ".out")
    var stage = ""
    let start = Date()
    let summary = try MigrationManager(job).run { progress in
      guard progress.stage != stage else { return }
      stage = progress.stage
      print("  \(String(format: "%.2f", Date().timeIntervalSince(start))) s \(stage) \(progress.name)")
    }
    print("\(summary.objects) objects, \(summary.seconds) s in the run")
  }

  /// The same tables, rows, indexes, checks and durability by hand.
  static func floor(_ file: String) throws {
    let schema = StoreSchema(model: try destination())
    try? FileManager.default.removeItem(atPath: file + ".sql")
    let connection = try EmptyStore.create(
      at: file + ".sql", schema: schema, metadata: StoreMetadata(model: schema.model, uuid: UUID()),
      cache: .mebibytes(16))
    try connection.execute("PRAGMA synchronous = NORMAL")
    try connection.attachSource(try StoreFiles(path: file), cache: .mebibytes(8))
    try connection.transaction {
      try connection.execute(
        "INSERT INTO ZADDRESS (Z_PK, Z_ENT, Z_OPT, ZSTREET) SELECT Z_PK, 1, 1, ZSTREET FROM source.ZADDRESS ORDER BY Z_PK"
      )
      for (entity, filter) in [(3, "ZAGE >= 18"), (4, "ZAGE < 18")] {
        try connection.execute(
          """
          INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZAGE, ZADDRESS, ZBORN, ZCELSIUS, ZNAME) SELECT Z_PK, \(entity), 1, \
          ZAGE + 1, ZADDRESS, ZBORN, (ZFAHRENHEIT - 32.0) / 1.8, ZNAME FROM source.ZPERSON WHERE \(filter) ORDER BY Z_PK
          """)
      }
    }
    for sql in schema.indexStatements { try connection.execute(sql) }
    for check in [
      "SELECT COUNT(*) FROM ZPERSON WHERE ZNAME IS NULL OR typeof(ZNAME) <> 'text' OR typeof(ZAGE) <> 'integer'",
      "SELECT COUNT(*) FROM ZPERSON p WHERE ZADDRESS IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ZADDRESS a WHERE a.Z_PK = p.ZADDRESS)",
    ] {
      guard try connection.integer(check) == 0 else { exit(1) }
    }
    _ = try connection.value("PRAGMA main.quick_check")
    try connection.close()
    let handle = try FileHandle(forUpdating: URL(filePath: file + ".sql"))
    try handle.synchronize()
    try handle.close()
  }
}
