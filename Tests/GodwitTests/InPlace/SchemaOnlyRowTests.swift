import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Rows of a store that was migrated by definition alone: they stay, `verify` knows them, and they migrate on.
struct SchemaOnlyRowTests: SchemaOnlyFixture {
  @Test func `by definition alone, rows stay unchanged, and verify accepts them as the old store's rows`()
    throws
  {
    let fixture = try fixture(Library().with { $0["Book"].attributes.append(AttributeDescription.make("alpha")) })
    for sql in [
      "UPDATE ZBOOK SET ZAUTHOR = 77 WHERE Z_PK = 2", "INSERT INTO Z_2TAGS SELECT 1, 99, 5",
      "UPDATE ZWORK SET Z_OPT = NULL WHERE Z_PK = 4",
    ] { try fixture.alter(sql) }
    for keepsOld in [true, false] {
      let path = try fixture.copyOfSource("rows-\(keepsOld)")
      try MigrationManager(fixture.jobInPlace(path, keepsOld: keepsOld)).run()
      try fixture.expectSameRows(path)
      let store = try StoreConnection.openStore(readingAt: path)
      #expect(try store.rows("SELECT ZAUTHOR FROM source.ZBOOK WHERE Z_PK = 2") == [[.integer(77)]])
      #expect(try store.rows("SELECT COUNT(*) FROM source.Z_2TAGS WHERE Z_3TAGS = 99") == [[.integer(1)]])
      guard keepsOld else { continue }
      let report = try fixture.verifyInPlace(path)
      #expect(report.isClean, "\(report)")
      for line in ["9 rows with their old Z_OPT", "1 links of Book.author to nothing"] {
        #expect("\(report)".contains(line.dropFirst(2)), "\(report)")
      }
    }
  }

  @Test(arguments: [
    ("UPDATE ZBOOK SET Z_OPT = 70 WHERE Z_PK = 7", "Z_OPT is neither 1 nor what it was"),
    ("UPDATE ZWORK SET Z_OPT = 2 WHERE Z_PK = 1", "Z_OPT is neither 1 nor what it was"),
    ("UPDATE ZBOOK SET Z_OPT = NULL WHERE Z_PK = 7", "Z_OPT is neither 1 nor what it was"),
    ("UPDATE ZBOOK SET ZAUTHOR = 78 WHERE Z_PK = 2", "the link to p78 comes from no assignment"),
    ("UPDATE ZBOOK SET ZAUTHOR = 77 WHERE Z_PK = 3", "the link to p77 comes from no assignment"),
    ("UPDATE ZBOOK SET ZAUTHOR = 77 WHERE Z_PK = 3", "it leads to p77, which is not an object of 'Author'"),
    ("UPDATE Z_2TAGS SET Z_2BOOKS1 = 2 WHERE Z_3TAGS = 99", "comes from no assignment"),
    ("UPDATE ZBOOK SET ZTITLE = 'other' WHERE Z_PK = 1", "the value is not what mapping"),
    ("UPDATE ZBOOK SET ZALPHA = 'more' WHERE Z_PK = 1", "gives nothing"),
    ("UPDATE ZTAG SET Z_ENT = 4 WHERE Z_PK = 1", "Z_ENT names no entity of this table"),
    ("DELETE FROM ZBOOK WHERE Z_PK = 1", "its object is missing"),
    ("ALTER TABLE ZBOOK ADD COLUMN ZMORE VARCHAR", "table 'ZBOOK' differs"),
  ])
  func `verify finds a row that was changed after a migration by definition alone`(sql: String, message: String) throws
  {
    let fixture = try fixture(Library().with { $0["Book"].attributes.append(AttributeDescription.make("alpha")) })
    try fixture.alter("UPDATE ZBOOK SET ZAUTHOR = 77 WHERE Z_PK = 2")
    try fixture.alter("INSERT INTO Z_2TAGS SELECT 1, 99, 5")
    let path = try migrated(fixture)
    let connection = try StoreConnection(path: path)
    let column = try connection.rows("SELECT name FROM pragma_table_info('Z_2TAGS')").first?.first?.plain ?? ""
    try connection.execute(sql.replacing("Z_2BOOKS1", with: column))
    try connection.close()
    let report = try fixture.verifyInPlace(path)
    #expect(!report.isClean)
    #expect(
      report.findings.contains { $0.message.contains(message) }
        || message == "gives nothing" && report.findings.contains { $0.property == "alpha" }, "\(report)")
  }

  @Test(
    arguments: [
      "UPDATE ZAUTHOR SET ZSPOUSE = 1 WHERE Z_PK IN (2, 3)", "UPDATE ZAUTHOR SET ZPARTNER = NULL WHERE Z_PK = 2",
      "UPDATE ZBOOK SET Z_FOK_AUTHOR = NULL", "UPDATE ZBOOK SET Z_FOK_AUTHOR = 5",
    ])
  func `by definition alone, links stay that no run would make, and verify accepts only these`(sql: String) throws {
    let fixture = try fixture(Library().with { $0["Author"].attributes.append(AttributeDescription.make("zeta")) })
    try fixture.alter(sql)
    let path = try migrated(fixture)
    let report = try fixture.verifyInPlace(path)
    #expect(report.isClean, "\(report)")
    #expect("\(report)".contains(", as in the old store"), "\(report)")
    let connection = try StoreConnection(path: path)
    try connection.execute("UPDATE ZAUTHOR SET ZSPOUSE = 4 WHERE Z_PK = 2")
    try connection.execute("UPDATE ZBOOK SET Z_FOK_AUTHOR = 6 WHERE Z_PK = 3")
    try connection.close()
    #expect(try !fixture.verifyInPlace(path).isClean)
  }

  @Test(arguments: ["70000", "'many'", "1.5"])
  func `by definition alone, a value that breaks a rule stays, and verify accepts it alone`(value: String) throws {
    let fixture = try fixture(Library().with { $0["Opera"].attributes.append(AttributeDescription.make("zeta")) })
    try fixture.alter("UPDATE ZWORK SET ZACTS = \(value) WHERE Z_PK = 2")
    let path = try migrated(fixture)
    let report = try fixture.verifyInPlace(path)
    #expect(report.isClean, "\(report)")
    #expect("\(report)".contains("values that break rules, as in the old store"), "\(report)")
    let connection = try StoreConnection(path: path)
    try connection.execute("UPDATE ZWORK SET ZACTS = \(value) WHERE Z_PK = 4")
    try connection.close()
    #expect(try fixture.verifyInPlace(path).findings.contains { $0.property == "acts" && $0.key == 4 })
  }

  @Test func `without the old store, verify does not accept old rows`() throws {
    let fixture = try fixture(Library().with { $0["Book"].attributes.append(AttributeDescription.make("zeta")) })
    let path = try migrated(fixture)
    var job = try fixture.job
    job.destinationPath = path
    let report = try Verifier(job: job).run()
    #expect(report.findings.filter { $0.message == "Z_OPT is not 1" }.count == 8, "\(report)")
  }

  // MARK: Afterwards

  @Test func `a store migrated by definition alone is a good source for every strategy`() throws {
    let first = try fixture(
      Library().with {
        $0["Book"].attributes += [AttributeDescription.make("alpha"), AttributeDescription.make("blurb")]
      })
    try first.run()
    for (added, way) in [
      (AttributeDescription.make("colour"), MigrationPlan.wayOfDefinitions),
      (AttributeDescription.make("colour", default: .init("red")), "in place by SQL, loading no rows"),
    ] {
      let later = Library().with {
        $0["Book"].attributes += [
          AttributeDescription.make("alpha"), AttributeDescription.make("text", was: "blurb"), added,
        ]
      }
      let second = try MigrationFixture(
        first.destination, to: try ManagedObjectModel(name: "3", entities: later.entities))
      let name = UUID().uuidString
      try FileManager.default.copyItem(atPath: migrated(first, name), toPath: second.sourcePath)
      let store = try StoreConnection(path: second.sourcePath)
      for sql in ["UPDATE ZBOOK SET ZALPHA = 'a' || Z_PK", "UPDATE ZBOOK SET ZBLURB = 'b' || Z_PK"] {
        try store.execute(sql)
      }
      try store.close()
      try second.infer()
      #expect(try plan(second).steps.first?.way == way)
      try second.run()
      #expect(try second.rows("SELECT ZALPHA, ZTEXT FROM source.ZBOOK WHERE Z_PK = 3") == ["a3|b3"])
    }
  }

  @Test func `a fused chain is migrated by definition alone and verified hop by hop`() throws {
    let folder = try TemporaryFolder()
    func library(_ title: AttributeDescription, _ more: [AttributeDescription] = []) -> [EntityDescription] {
      [
        EntityDescription(name: "Author", relationships: [.toMany("books", "Book", inverse: "author")]),
        EntityDescription(
          name: "Book", attributes: [title] + more, relationships: [.toOne("author", "Author", inverse: "books")]),
      ]
    }
    let models = try [
      library(AttributeDescription.make("title")),
      library(AttributeDescription.make("heading", was: "title"), [AttributeDescription.make("alpha")]),
      library(
        AttributeDescription.make("label", was: "title"),
        [AttributeDescription.make("alpha"), AttributeDescription.make("beta")]),
    ].enumerated().map { try ManagedObjectModel(name: "\($0 + 1)", entities: $1) }
    let path = folder.file("people.sqlite")
    let builder = try StoreBuilder(path: path, model: models[0])
    for key in Int64(1)...3 { try builder.insert("Book", key: key, attributes: ["title": .init("b\(key)")]) }
    try builder.finish()
    let connection = try StoreConnection(path: path)
    try connection.execute("UPDATE ZBOOK SET Z_OPT = 5, ZAUTHOR = 8 WHERE Z_PK = 2")
    try connection.close()
    let steps = try zip(models, models.dropFirst()).map { source, destination in
      MigrationStep(
        sourceModel: source, destinationModel: destination,
        mappingModels: [try MappingModel(inferredFrom: source, to: destination)], origin: MigrationStep.inferredOrigin)
    }
    var job = MigrationJob(
      name: "chain", sourcePath: path, destinationPath: path, first: steps[0], later: Array(steps.dropFirst()))
    job.existingDestination = .inPlace(keepsOld: true)
    let manager = MigrationManager(job)
    #expect(try manager.plan().steps.map(\.way) == [MigrationPlan.wayOfDefinitions])
    try manager.run()
    (job.sourcePath, job.existingDestination) = (MigrationJob.oldPath(of: path), .fail)
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    let made = try StoreConnection(path: path)
    #expect(
      try made.rows("SELECT ZLABEL, Z_OPT, ZAUTHOR FROM ZBOOK WHERE Z_PK = 2").first?.map(\.plain) == ["b2", "5", "8"])
    try made.execute("UPDATE ZBOOK SET Z_OPT = 6 WHERE Z_PK = 2")
    try made.close()
    #expect(try !Verifier(job: job).run().isClean)
  }
}
