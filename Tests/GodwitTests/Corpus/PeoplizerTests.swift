import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// The job of a manifest in `jobs/peoplizer`, with another destination.
private func job(from version: Int, to destination: String, source: String? = nil) throws -> MigrationJob {
  let manifest = try JobManifest(contentsOf: PeoplizerStores.file("v\(version)-to-v\(version + 1).yaml"))
  guard case .files(let files) = manifest.mappings else { throw Unexpected() }
  #expect(manifest.source.resolved == PeoplizerStores.path(version: version))
  #expect(manifest.models.map(\.resolved) == [PeoplizerStores.file("Peoplizer.xcdatamodeld")])
  #expect(manifest.destinationModel?.value == "Peoplizer \(version + 1)")
  let path = try #require(manifest.destination.path)
  #expect(path.resolved == PeoplizerStores.file("out/people-\(version + 1).sqlite"))
  let predicates = try manifest.chunks.by.mapValues { try $0.map { try FilterPredicate($0.text) } }
  return MigrationJob(
    name: manifest.job, sourcePath: source ?? manifest.source.resolved, destinationPath: destination,
    sourceModel: try PeoplizerStores.model(version: version),
    destinationModel: try PeoplizerStores.model(version: version + 1),
    mappingModels: try files.map { try MappingModel(contentsOfYAML: $0.resolved) }, chunkRows: manifest.chunks.rows,
    chunkPredicates: predicates)
}

private struct Unexpected: Error {}

/// The expected effect of each hop, as queries that give the same rows.
private enum Hop {
  static func check(_ version: Int, _ finished: FinishedMigration) throws {
    switch version {
    case 1: try check1(finished)
    case 2: try check2(finished)
    case 3: try check3(finished)
    default: try check4(finished)
    }
  }

  private static func check1(_ finished: FinishedMigration) throws {
    try finished.expectEqual(
      "SELECT Z_PK, Z_ENT, Z_OPT, ZAGE, ZNAME, ZSTATE, ZSTREET FROM made.ZPERSON ORDER BY Z_PK",
      "SELECT Z_PK, 1, 1, ZAGE, ZNAME, NULL, NULL FROM source.ZPERSON ORDER BY Z_PK")
    try finished.expectEqual("SELECT * FROM made.Z_PRIMARYKEY", "SELECT * FROM source.Z_PRIMARYKEY")
  }

  private static func check2(_ finished: FinishedMigration) throws {
    // An address has the key of the first person of its street and state, as bytes.
    let first = """
      SELECT MIN(Z_PK) AS first, ZSTREET AS street, ZSTATE AS state FROM source.ZPERSON
        WHERE ZSTREET IS NOT NULL OR ZSTATE IS NOT NULL GROUP BY ZSTREET, ZSTATE
      """
    try finished.expectEqual(
      "SELECT Z_PK, Z_ENT, Z_OPT, ZSTREET, ZSTATE FROM made.ZADDRESS ORDER BY Z_PK",
      "SELECT first, 1, 1, street, state FROM (\(first)) ORDER BY first")
    try finished.expectEqual(
      """
      SELECT Z_PK, Z_ENT, Z_OPT, ZAGE, ZNAME, ZCOMPANYNAME, ZSCHOOLNAME, ZADDRESS FROM made.ZPERSON ORDER BY Z_PK
      """,
      """
      SELECT Z_PK, 2, 1, ZAGE, ZNAME, NULL, NULL,
        (SELECT first FROM (\(first)) WHERE street IS ZSTREET AND state IS ZSTATE)
      FROM source.ZPERSON ORDER BY Z_PK
      """)
  }

  private static func check3(_ finished: FinishedMigration) throws {
    try finished.expectEqual(
      "SELECT Z_PK, Z_ENT, Z_OPT, ZSTATE, ZSTREET FROM made.ZADDRESS ORDER BY Z_PK",
      "SELECT Z_PK, 1, 1, ZSTATE, ZSTREET FROM source.ZADDRESS ORDER BY Z_PK")
    // Adult is entity 2 and Child 3: Person, which both are, comes after them in the order of names.
    try finished.expectEqual(
      """
      SELECT p.Z_PK, e.Z_NAME, p.Z_OPT, ZAGE, ZNAME, ZADDRESS, ZCOMPANYNAME, ZSCHOOLNAME
      FROM made.ZPERSON AS p JOIN made.Z_PRIMARYKEY AS e USING (Z_ENT) ORDER BY p.Z_PK
      """,
      """
      SELECT Z_PK, CASE WHEN ZAGE < 18 THEN 'Child' ELSE 'Adult' END, 1, ZAGE, ZNAME, ZADDRESS, ZCOMPANYNAME, ZSCHOOLNAME
      FROM source.ZPERSON ORDER BY Z_PK
      """)
    try finished.expectEqual(
      "SELECT Z_NAME, Z_MAX FROM made.Z_PRIMARYKEY WHERE Z_SUPER = 0 ORDER BY Z_NAME",
      "SELECT Z_NAME, Z_MAX FROM source.Z_PRIMARYKEY ORDER BY Z_NAME")
    #expect(finished.summary.dropped.isEmpty)
  }

  private static func check4(_ finished: FinishedMigration) throws {
    func first(_ column: String) -> String {
      "SELECT MIN(Z_PK) AS first, \(column) AS name FROM source.ZPERSON WHERE \(column) IS NOT NULL GROUP BY \(column)"
    }
    let (companies, schools) = (first("ZCOMPANYNAME"), first("ZSCHOOLNAME"))
    try finished.expectEqual(
      "SELECT Z_PK, Z_OPT, ZSTATE, ZSTREET FROM made.ZADDRESS ORDER BY Z_PK",
      "SELECT Z_PK, 1, ZSTATE, ZSTREET FROM source.ZADDRESS ORDER BY Z_PK")
    try finished.expectEqual(
      "SELECT Z_PK, Z_OPT, ZNAME, ZBUSINESS FROM made.ZCOMPANY ORDER BY Z_PK",
      """
      SELECT first, 1, name, CASE name WHEN 'Apple' THEN 'makes phones' ELSE 'makes stuff' END
      FROM (\(companies)) ORDER BY first
      """)
    try finished.expectEqual(
      "SELECT Z_PK, Z_OPT, ZNAME FROM made.ZSCHOOL ORDER BY Z_PK",
      "SELECT first, 1, name FROM (\(schools)) ORDER BY first")
    try finished.expectEqual(
      """
      SELECT p.Z_PK, e.Z_NAME, Z_OPT, ZAGE, ZNAME, ZADDRESS, ZCOMPANY, ZSCHOOL
      FROM made.ZPERSON AS p JOIN made.Z_PRIMARYKEY AS e USING (Z_ENT) ORDER BY p.Z_PK
      """,
      """
      SELECT p.Z_PK, e.Z_NAME, 1, ZAGE, ZNAME, ZADDRESS,
        (SELECT first FROM (\(companies)) WHERE name = ZCOMPANYNAME),
        (SELECT first FROM (\(schools)) WHERE name = ZSCHOOLNAME)
      FROM source.ZPERSON AS p JOIN source.Z_PRIMARYKEY AS e USING (Z_ENT) ORDER BY p.Z_PK
      """)
  }
}

@Suite struct PeoplizerTests {
  @Test func `the Peoplizer stores of the repository are what the generator makes`() throws {
    let folder = try TemporaryFolder()
    let regenerates = ProcessInfo.processInfo.environment["GODWIT_REGENERATE"] == "1"
    for version in PeoplizerStores.versions {
      let path = PeoplizerStores.path(version: version)
      let made = folder.file("people-\(version).sqlite")
      try PeoplizerStores.make(version: version, at: made)
      if regenerates {
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: made, toPath: path)
      }
      #expect(try StoreDump(made).firstDifference(from: StoreDump(path)) == nil)
    }
    let path = PeoplizerStores.file("stores/people-4.xml")
    let made = folder.file("people-4.xml")
    try AtomicStoreWriter(
      readingStoreAt: folder.file("people-4.sqlite"), model: PeoplizerStores.model(version: 4), name: made
    ).write(to: made)
    if regenerates {
      try? FileManager.default.removeItem(atPath: path)
      try FileManager.default.copyItem(atPath: made, toPath: path)
    }
    #expect(try Data(contentsOf: URL(filePath: made)) == Data(contentsOf: URL(filePath: path)))
    let files = try FileManager.default.contentsOfDirectory(atPath: PeoplizerStores.file("stores"))
    #expect(files.sorted() == (PeoplizerStores.versions.map { "people-\($0).sqlite" } + ["people-4.xml"]).sorted())
  }

  @Test func `every Peoplizer job file is tested`() throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: PeoplizerStores.folder.path)
    let jobs = (1...4).flatMap { ["v\($0)-to-v\($0 + 1).yaml", "V\($0)toV\($0 + 1).mapping.yaml"] }
    #expect(
      files.filter { $0.hasSuffix(".yaml") }.sorted()
        == (jobs + ["v1-to-v2-in-place.yaml", "v1-to-v5.yaml", "v2-in-place.yaml", "v4-to-v5-xml.yaml"]).sorted())
  }

  @Test func `the job of XML stores gives the content that the job of SQLite stores gives`() throws {
    let folder = try TemporaryFolder()
    let manifest = try JobManifest(contentsOf: PeoplizerStores.file("v4-to-v5-xml.yaml"))
    #expect(manifest.destinationType == .xml)
    let plain = try job(from: 4, to: folder.file("people-5.sqlite"))
    try MigrationManager(plain).run()
    var job = try job(from: 4, to: folder.file("people-5.xml"), source: manifest.source.resolved)
    job.destinationType = .xml
    #expect(try MigrationManager(job).plan().totalRows == MigrationManager(plain).plan().totalRows)
    try MigrationManager(job).run()
    #expect(try Verifier(job: job).run().isClean)
    // Keys differ, so the comparison names people by their names, and their groups by the group's name.
    let sql = """
      SELECT p.Z_ENT, p.ZNAME, p.ZAGE, a.ZSTREET, a.ZSTATE, c.ZNAME, c.ZBUSINESS, s.ZNAME FROM source.ZPERSON AS p \
      LEFT JOIN source.ZADDRESS AS a ON a.Z_PK = p.ZADDRESS LEFT JOIN source.ZCOMPANY AS c ON c.Z_PK = p.ZCOMPANY \
      LEFT JOIN source.ZSCHOOL AS s ON s.Z_PK = p.ZSCHOOL ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
      """
    let found = try [plain.destinationPath, job.destinationPath].map {
      try StoreConnection.openStore(readingAt: $0, model: job.destinationModel).rows(sql)
    }
    #expect(found[0].count == 180)
    #expect(found[0] == found[1])
  }

  @Test(arguments: [1, 2, 3, 4]) func `each Peoplizer job gives what its mapping says, for every chunk size`(
    version: Int
  ) throws {
    let folder = try TemporaryFolder()
    var job = try job(from: version, to: folder.file("out/people.sqlite"))
    let finished = try FinishedMigration(running: job)
    try Hop.check(version, finished)
    try finished.expectVerified()
    let dump = try StoreDump(job.destinationPath)
    #expect(dump.lines.contains { $0.contains("PeoplizerEdition") })
    job.chunkPredicates = [:]
    for rows in [1, 7, 1000] {
      job.chunkRows = rows
      job.destinationPath = folder.file("out-\(rows)/people.sqlite")
      try MigrationManager(job).run()
      #expect(try StoreDump(job.destinationPath).firstDifference(from: dump) == nil, "chunks of \(rows) rows")
    }
  }

  @Test(arguments: [1, 2, 3]) func `the Peoplizer hops run one after the other`(start: Int) throws {
    let folder = try TemporaryFolder()
    var path = PeoplizerStores.path(version: start)
    for version in start...4 {
      let next = folder.file("\(version + 1)/people.sqlite")
      let finished = try FinishedMigration(running: job(from: version, to: next, source: path))
      try Hop.check(version, finished)
      path = next
    }
    let first = try StoreConnection.openStore(readingAt: PeoplizerStores.path(version: start))
    let last = try StoreConnection.openStore(readingAt: path)
    let people = "SELECT Z_PK, ZAGE, ZNAME FROM source.ZPERSON ORDER BY Z_PK"
    #expect(try last.rows(people) == first.rows(people))
    // Versions 1 and 2 know no companies, version 1 no addresses either.
    #expect(try last.integer("SELECT COUNT(*) FROM source.ZCOMPANY") ?? 0 > 3 || start < 3)
    #expect(try last.integer("SELECT COUNT(*) FROM source.ZADDRESS") ?? 0 > 20 || start < 2)
    let metadata = try StoreMetadata(readingStoreAt: path)
    #expect(metadata.values[MigrationManager.jobsKey]?.array.map { Set($0).count } == 5 - start)
    #expect(metadata.values["PeoplizerEdition"] == .string(PeoplizerStores.edition))
  }

  @Test func `the Peoplizer stores contain the difficult cases`() throws {
    let people = try StoreConnection.openStore(readingAt: PeoplizerStores.path(version: 3))
    func count(_ condition: String) throws -> Int64? {
      try people.integer("SELECT COUNT(*) FROM source.ZPERSON WHERE \(condition)")
    }
    #expect(try count("ZAGE IS NULL") ?? 0 > 5)
    #expect(try count("ZNAME IS NULL") ?? 0 > 5)
    #expect(try count("ZADDRESS IS NULL") ?? 0 > 5)
    #expect(try count("ZCOMPANYNAME IS NOT NULL AND ZAGE < 18") == 0)
    #expect(try count("ZSCHOOLNAME IS NOT NULL AND (ZAGE >= 18 OR ZAGE IS NULL)") == 0)
    #expect(try people.integer("SELECT MAX(Z_PK) - COUNT(*) FROM source.ZPERSON") ?? 0 > 1000)
    #expect(
      try people.integer("SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM source.ZPERSON GROUP BY ZADDRESS)") ?? 0 > 2)
  }
}
