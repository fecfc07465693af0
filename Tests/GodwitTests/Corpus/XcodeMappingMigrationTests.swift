import Foundation
import GodwitEngine
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

/// Mapping models as Xcode saved them, run on stores that Core Data wrote.
@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Mapping models of Xcode in migrations` {
  private static let moods = "objcio_core-data/Migrations/"

  private func moody(_ version: Int) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      contentsOf: Corpus.path(Self.moods + "Migrations/Moody.xcdatamodeld"), version: "Moody \(version)")
  }

  private func mapping(from source: Int, to destination: Int) throws -> MappingModel {
    let path = Corpus.path(Self.moods + "Migrations/Moody \(source)-Moody \(destination).xcmappingmodel")
    return try XcodeMappingModel(contentsOf: path).mappingModel(from: moody(source), to: moody(destination))
  }

  /// Runs a step by Xcode's file, and again by what that becomes as YAML: the results must be equal.
  private func migrate(_ source: Int, to destination: Int, check: (FinishedMigration) throws -> Void) throws {
    let folder = try TemporaryFolder()
    let mapping = try mapping(from: source, to: destination)
    let file = folder.file("step.mapping.yaml")
    try Data(mapping.yaml.utf8).write(to: URL(filePath: file))
    let store = Corpus.path(Self.moods + "MigrationsTests/Moody \(source).moody")
    var dumps: [StoreDump] = []
    for (run, mappings) in [mapping, try MappingModel(contentsOfYAML: file)].enumerated() {
      let job = try MigrationJob(
        copying: store, into: folder, from: moody(source), to: moody(destination), mappings: mappings, chunkRows: 2,
        run: "\(run)")
      #expect(job.mappingText == MigrationJob.canonicalText(of: [mapping]))
      let finished = try FinishedMigration(running: job)
      try finished.expectVerified()
      dumps.append(try StoreDump(job.destinationPath))
      if run == 0 { try check(finished) }
    }
    #expect(dumps[1].firstDifference(from: dumps[0]) == nil)
  }

  @Test func `Moody 2 to 3 finds each mood's continent through its country`() throws {
    try migrate(2, to: 3) { finished in
      try finished.expectEqual(
        "SELECT Z_PK, ZRATING, ZREMOTEID, ZCOLORS, ZCOUNTRY, ZCONTINENT FROM made.ZMOOD ORDER BY Z_PK",
        """
        SELECT m.Z_PK, m.ZRATING, m.ZREMOTEID, m.ZCOLORS, m.ZCOUNTRY, c.ZCONTINENT
        FROM source.ZMOOD AS m LEFT JOIN source.ZGEOGRAPHICREGION AS c ON c.Z_PK = m.ZCOUNTRY ORDER BY m.Z_PK
        """)
      #expect(try finished.integer("SELECT COUNT(*) FROM made.ZMOOD WHERE ZCONTINENT IS NOT NULL") ?? 0 > 0)
    }
  }

  @Test func `Moody 3 to 4 takes the regions out of their hierarchy`() throws {
    try migrate(3, to: 4) { finished in
      try finished.expectEqual(
        "SELECT Z_PK, ZNUMERICISO3166CODE, ZUPDATEDAT FROM made.ZCOUNTRY UNION ALL "
          + "SELECT Z_PK, ZNUMERICISO3166CODE, ZUPDATEDAT FROM made.ZCONTINENT ORDER BY Z_PK",
        "SELECT Z_PK, ZNUMERICISO3166CODE, ZUPDATEDAT FROM source.ZGEOGRAPHICREGION ORDER BY Z_PK")
      try finished.expectEqual(
        "SELECT Z_PK, ZCOUNTRY, ZCONTINENT FROM made.ZMOOD ORDER BY Z_PK",
        "SELECT Z_PK, ZCOUNTRY, ZCONTINENT FROM source.ZMOOD ORDER BY Z_PK")
    }
  }

  @Test func `Moody 4 to 5 takes an attribute from a related object that is dropped`() throws {
    try migrate(4, to: 5) { finished in
      let count = try finished.expectEqual(
        "SELECT Z_PK, ZISOCONTINENT FROM made.ZCOUNTRY ORDER BY Z_PK",
        """
        SELECT c.Z_PK, r.ZNUMERICISO3166CODE FROM source.ZCOUNTRY AS c
        LEFT JOIN source.ZCONTINENT AS r ON r.Z_PK = c.ZCONTINENT ORDER BY c.Z_PK
        """)
      #expect(count == 3)
      #expect(finished.summary.dropped.map(\.entity) == ["Continent"])
    }
  }

  @Test func `two mapping models of one step run as two passes`() throws {
    let books = "hwaxxer_BookMigration/BookMigration/"
    let bundle = try ModelBundle(contentsOf: Corpus.path(books + "Model.xcdatamodeld"))
    let (source, destination) = (try bundle.model(named: "Model2"), try bundle.model(named: "Model3"))
    let parts = try ["", "_User"].map { ending in
      var part = try XcodeMappingModel(contentsOf: Corpus.path(books + "Model2_to_Model3\(ending).xcmappingmodel"))
        .mappingModel(from: source, to: destination)
      for index in part.entityMappings.indices { part.entityMappings[index].policyName = nil }
      return part
    }
    let resolved = try ResolvedMapping(parts, from: source, to: destination)
    #expect(resolved.entityMappings.map(\.name) == ["BookToBook", "AuthorToAuthor", "UserToUser"])
    #expect(resolved.entityMappings[1].relationships.map(\.lookups) == [[0]])
  }

  @Test func `an unregistered policy of a mapping model is an error`() throws {
    let error = #expect(throws: GodwitError.self) {
      try ResolvedMapping([mapping(from: 5, to: 6)], from: moody(5), to: moody(6))
    }
    #expect(error?.code == .configuration)
    #expect(
      error?.message == "mapping 'CountryToCountry': no policy 'Migrations.Country5ToCountry6Policy' is registered")
    #expect(error?.location?.file.hasSuffix("xcmapping.xml") == true)
  }
}
