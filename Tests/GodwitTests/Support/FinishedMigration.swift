import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A job that has run, with its source attached as `source` and its destination as `made`.
///
/// Each test says in plain SQL what it compares; the engine has no part in it.
final class FinishedMigration {
  let job: MigrationJob
  let summary: MigrationSummary
  private let connection: StoreConnection

  /// Runs a job and checks what holds for every job.
  init(running job: MigrationJob) throws {
    self.job = job
    let folder = URL(filePath: job.sourcePath).deletingLastPathComponent().path
    let before = try FolderContents(folder)
    summary = try MigrationManager(job).run()
    #expect(try FolderContents(folder) == before, "the source's folder changed")
    connection = try StoreConnection.openStore(readingAt: job.sourcePath)
    let uri = "file://" + URL(filePath: job.destinationPath).path(percentEncoded: true) + "?immutable=1"
    try connection.execute("ATTACH ?1 AS made", [.text(uri)])
    try checkFinish()
  }

  /// The verifier, which shares no code with the engine, has nothing to say either.
  func expectVerified(sourceLocation: SourceLocation = #_sourceLocation) throws {
    let report = try Verifier(job: job).runBothWays()
    #expect(report.isClean, "\(report.findings.prefix(5).map(\.description))", sourceLocation: sourceLocation)
  }

  /// The rows of a query, each value with its type, as `StoreDump` prints it.
  func rows(_ sql: String) throws -> [String] {
    try connection.rows(sql).map { $0.map(StoreDump.text).joined(separator: " | ") }
  }

  func integer(_ sql: String) throws -> Int64? { try connection.integer(sql) }

  /// Both queries give the same rows in the same order, values with equal types; returns how many.
  @discardableResult
  func expectEqual(
    _ made: String, _ expected: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Int {
    let (made, expected) = (try rows(made), try rows(expected))
    #expect(made.count == expected.count, sourceLocation: sourceLocation)
    let difference = zip(made, expected).first { $0 != $1 }
    #expect(
      difference == nil, "made \(difference?.0 ?? ""), expected \(difference?.1 ?? "")", sourceLocation: sourceLocation)
    return expected.count
  }

  private func checkFinish() throws {
    #expect(summary.outcome == .finished)
    let destination = URL(filePath: job.destinationPath)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: destination.deletingLastPathComponent().path)
        == [destination.lastPathComponent], "something lies beside the destination")
    #expect(try rows("PRAGMA made.integrity_check") == ["'ok'"])
    #expect(try rows("SELECT name FROM made.sqlite_master WHERE name LIKE '%godwit%'") == [])
    try checkSchema()
    try checkMetadata()
    try checkKeys()
  }

  private func checkSchema() throws {
    let schema = try job.destinationSchema()
    let history = try connection.rows(
      "SELECT sql FROM source.sqlite_master WHERE tbl_name IN ('ACHANGE', 'ATRANSACTION', 'ATRANSACTIONSTRING') AND sql NOT NULL"
    ).map { $0[0].plain }
    let sql = (schema.createStatements + schema.indexStatements + schema.triggerStatements + history).sorted()
    #expect(
      try connection.rows("SELECT sql FROM made.sqlite_master WHERE sql IS NOT NULL").map(\.[0]).sortedText == sql)
    let entities = job.destinationModel.entities.compactMap { entity in
      schema.number(of: entity.name).map { number in
        "\(number) | '\(entity.name)' | \(entity.superentityName.flatMap { schema.number(of: $0) } ?? 0)"
      }
    }
    #expect(
      try rows("SELECT Z_ENT, Z_NAME, Z_SUPER FROM made.Z_PRIMARYKEY WHERE Z_ENT < 16000 ORDER BY Z_NAME")
        == entities.sorted { $0.split(separator: "'")[1] < $1.split(separator: "'")[1] })
  }

  private func checkMetadata() throws {
    let old = try StoreMetadata(reading: connection, path: job.sourcePath)
    let new = try StoreMetadata(reading: connection, schema: "made", path: job.destinationPath)
    #expect(new.uuid == old.uuid)
    #expect(new.versionHashes == job.destinationModel.versionHashes.mapValues(\.bytes))
    #expect(job.destinationModel.isCompatible(with: new.entityVersionHashes))
    #expect(new.versionIdentifiers == job.destinationModel.versionIdentifiers)
    #expect(new.digest == job.destinationModel.versionHashesDigest)
    #expect(new.values[StoreMetadata.Key.storeType] == .string("SQLite"))
    #expect(new.frameworkVersion == old.frameworkVersion)
    var kept = old.applicationValues
    (kept["GodwitJobs"], kept["GodwitMoments"]) = (nil, nil)
    var found = new.applicationValues
    #expect((found.removeValue(forKey: "GodwitMoments") != nil) == job.callsNow)
    let jobs = found.removeValue(forKey: "GodwitJobs")?.array
    #expect(found == kept)
    let jobsBefore: Int = old.values["GodwitJobs"]?.array?.count ?? 0
    #expect(jobs?.count == jobsBefore + 1)
    #expect(jobs?.last?.string?.isEmpty == false)
  }

  /// No to-one leads nowhere, every object is of a concrete entity of its table, every counter is high enough.
  private func checkKeys() throws {
    let schema = try job.destinationSchema()
    for table in schema.tables {
      let name = StoreSchema.identifier(table.name)
      let numbers = job.destinationModel.family(of: table.rootEntityName).filter { !$0.isAbstract }
        .compactMap { schema.number(of: $0.name) }
      let list = numbers.map(String.init).joined(separator: ", ")
      #expect(try integer("SELECT COUNT(*) FROM made.\(name) WHERE Z_ENT NOT IN (\(list)) OR Z_OPT IS NOT 1") == 0)
      #expect(
        try integer(
          """
          SELECT COUNT(*) FROM made.Z_PRIMARYKEY WHERE Z_NAME = '\(table.rootEntityName)'
            AND Z_MAX < (SELECT COALESCE(MAX(Z_PK), 0) FROM made.\(name))
          """) == 0, "the counter of \(table.rootEntityName) is too low")
      for column in table.columns {
        guard case .foreignKey(let owner, let relationship) = column.role,
          let destination = job.destinationModel.relationship(relationship, of: owner)?.destinationEntityName,
          let target = schema.table(of: destination)
        else { continue }
        let key = StoreSchema.identifier(column.name)
        #expect(
          try integer(
            """
            SELECT COUNT(*) FROM made.\(name) WHERE \(key) IS NOT NULL
              AND \(key) NOT IN (SELECT Z_PK FROM made.\(StoreSchema.identifier(target.name)))
            """) == 0, "\(owner).\(relationship) dangles")
      }
    }
  }
}

extension [SQLValue] {
  fileprivate var sortedText: [String] { map(\.plain).sorted() }
}

/// Names, bytes and modification times of the files of a folder.
struct FolderContents: Hashable {
  private let files: [String: [Data]]

  init(_ folder: String) throws {
    var files: [String: [Data]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let path = folder + "/" + name
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
      let changed = (attributes[.modificationDate] as? Date)?.timeIntervalSinceReferenceDate ?? 0
      files[name] = [try Data(contentsOf: URL(filePath: path)), Data("\(changed)".utf8)]
    }
    self.files = files
  }
}

extension MigrationJob {
  /// A job of a mapping file in `Mappings`, from a copy of a store that lies with its companions in a folder.
  init(
    copying store: String, into folder: TemporaryFolder, from source: ManagedObjectModel,
    to destination: ManagedObjectModel, mappings: MappingModel, chunkRows: Int?, run: String = "1"
  ) throws {
    let files = FileManager.default
    let name = URL(filePath: store).lastPathComponent
    let copies = folder.file("stores")
    if !files.fileExists(atPath: copies) {
      try files.createDirectory(atPath: copies, withIntermediateDirectories: true)
      for suffix in ["", "-wal", "-shm"] where files.fileExists(atPath: store + suffix) {
        try files.copyItem(atPath: store + suffix, toPath: copies + "/" + name + suffix)
      }
    }
    self.init(
      name: "corpus", sourcePath: copies + "/" + name, destinationPath: folder.file("out-\(run)/made.sqlite"),
      sourceModel: source, destinationModel: destination, mappingModels: [mappings], chunkRows: chunkRows)
  }
}

extension MappingModel {
  /// A mapping file in the folder `Mappings` beside the tests.
  static func named(_ name: String) throws -> MappingModel {
    try MappingModel(contentsOfYAML: Checkout.url("Tests/GodwitTests/Mappings/\(name).mapping.yaml").path)
  }
}
