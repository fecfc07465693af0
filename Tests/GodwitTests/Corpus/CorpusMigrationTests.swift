import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// Chunk sizes that must not matter.
private let chunkSizes = [1, 7, 1000]

@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct CorpusMigrationTests {
  private static let wibosco = "wibosco_CoreDataMigration-Example/CoreDataMigration-Example"
  private static let moody = "objcio_core-data/Migrations/"

  private func wiboscoModel(_ version: Int) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      contentsOf: Corpus.path(Self.wibosco + "/CoreData/Model/CoreDataMigration_Example.xcdatamodeld"),
      version: "CoreDataMigration_Example" + (version == 1 ? "" : " \(version)"))
  }

  private func wiboscoStore(_ name: String) -> String {
    Corpus.path(Self.wibosco + "Tests/Resources/SQLite/CoreDataMigration_Example_\(name).sqlite")
  }

  private func moodyModel(_ version: Int) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      contentsOf: Corpus.path(Self.moody + "Migrations/Moody.xcdatamodeld"),
      version: version == 1 ? "Moody" : "Moody \(version)")
  }

  /// Runs the same migration with several chunk sizes, checks one result and that the others equal it.
  private func migrate(
    _ store: String, from source: ManagedObjectModel, to destination: ManagedObjectModel, by mappings: MappingModel,
    chunkSizes: [Int] = chunkSizes, check: (FinishedMigration) throws -> Void
  ) throws {
    let folder = try TemporaryFolder()
    var first: StoreDump?
    for size in chunkSizes {
      let job = try MigrationJob(
        copying: store, into: folder, from: source, to: destination, mappings: mappings, chunkRows: size, run: "\(size)"
      )
      let finished = try FinishedMigration(running: job)
      let dump = try StoreDump(job.destinationPath)
      if let first {
        #expect(dump.firstDifference(from: first) == nil, "chunks of \(size) rows")
      } else {
        first = dump
        try check(finished)
      }
    }
  }

  @Test func `Wibosco 1 to 2 renames an attribute of every post`() throws {
    try migrate(
      wiboscoStore("1"), from: wiboscoModel(1), to: wiboscoModel(2), by: .named("Wibosco1to2")
    ) { finished in
      let count = try finished.expectEqual(
        "SELECT Z_PK, Z_ENT, Z_OPT, ZDATE, ZHEXCOLOR, ZPOSTID FROM made.ZPOST ORDER BY Z_PK",
        "SELECT Z_PK, Z_ENT, 1, ZDATE, ZCOLOR, ZPOSTID FROM source.ZPOST ORDER BY Z_PK")
      #expect(count == 1001)
      #expect(finished.summary.objects == 1001)
      #expect(try finished.rows("SELECT * FROM made.Z_PRIMARYKEY") == ["1 | 'Post' | 0 | 1001"])
    }
  }

  @Test func `Wibosco 2 to 3 gives every post its own color, linked both ways`() throws {
    try migrate(
      wiboscoStore("2"), from: wiboscoModel(2), to: wiboscoModel(3), by: .named("Wibosco2to3"),
      chunkSizes: [50, 1000, 100_000]
    ) { finished in
      let posts = try finished.expectEqual(
        "SELECT Z_PK, Z_ENT, Z_OPT, ZDATE, ZPOSTID FROM made.ZPOST ORDER BY Z_PK",
        "SELECT Z_PK, 2, 1, ZDATE, ZPOSTID FROM source.ZPOST ORDER BY Z_PK")
      let colors = try finished.expectEqual(
        "SELECT Z_PK, Z_ENT, Z_OPT, ZHEX, ZCOLORID FROM made.ZCOLOR ORDER BY Z_PK",
        "SELECT Z_PK, 1, 1, ZHEXCOLOR, ZPOSTID FROM source.ZPOST ORDER BY Z_PK")
      #expect(posts == 5979 && colors == 5979)
      #expect(finished.summary.objects == 2 * 5979)
      try finished.expectEqual(
        "SELECT p.ZPOSTID, c.ZHEX FROM made.ZPOST AS p JOIN made.ZCOLOR AS c ON c.Z_PK = p.ZCOLOR ORDER BY p.Z_PK",
        "SELECT ZPOSTID, ZHEXCOLOR FROM source.ZPOST ORDER BY Z_PK")
      try finished.expectEqual(
        "SELECT c.ZCOLORID, p.ZPOSTID FROM made.ZCOLOR AS c JOIN made.ZPOST AS p ON p.Z_PK = c.ZPOST ORDER BY c.Z_PK",
        "SELECT ZPOSTID, ZPOSTID FROM source.ZPOST ORDER BY Z_PK")
      #expect(
        try finished.rows("SELECT * FROM made.Z_PRIMARYKEY ORDER BY 1")
          == ["1 | 'Color' | 0 | 5979", "2 | 'Post' | 0 | 5979"])
    }
  }

  @Test func `a store whose content is only in its write-ahead log is copied completely`() throws {
    let model = try wiboscoModel(4)
    var posts = EntityMapping(name: "PostToPost", kind: .copy, source: "Post", destination: "Post")
    posts.relationshipMappings = []
    let colors = EntityMapping(name: "ColorToColor", kind: .copy, source: "Color", destination: "Color")
    try migrate(
      wiboscoStore("WAL"), from: model, to: model, by: MappingModel(entityMappings: [posts, colors])
    ) { finished in
      let log = try FileManager.default.attributesOfItem(atPath: finished.job.sourcePath + "-wal")
      #expect((log[.size] as? Int ?? 0) > 1_000_000)
      let columns = "Z_PK, Z_ENT, Z_OPT, ZHIDE, ZCOLOR, ZDATE, ZPOSTID"
      #expect(
        try finished.expectEqual(
          "SELECT \(columns) FROM made.ZPOST ORDER BY Z_PK", "SELECT \(columns) FROM source.ZPOST ORDER BY Z_PK") == 84)
      #expect(
        try finished.expectEqual(
          "SELECT Z_PK, Z_ENT, Z_OPT, ZPOST, ZCOLORID, ZHEX FROM made.ZCOLOR ORDER BY Z_PK",
          "SELECT Z_PK, Z_ENT, Z_OPT, ZPOST, ZCOLORID, ZHEX FROM source.ZCOLOR ORDER BY Z_PK") == 84)
      try finished.expectEqual("SELECT * FROM made.Z_PRIMARYKEY", "SELECT * FROM source.Z_PRIMARYKEY")
      try finished.expectVerified()
    }
  }

  @Test func `Moody 1 to 2 keeps inheritance, raw bytes and links, and gives the new attribute its default`() throws {
    try migrate(
      Corpus.path(Self.moody + "MigrationsTests/Moody.moody"), from: moodyModel(1), to: moodyModel(2),
      by: .named("Moody1to2")
    ) { finished in
      let regions = """
        ZNUMBEROFMOODS, ZNUMERICISO3166CODE, ZUNIQUENESSDUMMY, ZNUMBEROFCOUNTRIES, ZCONTINENT, ZMARKEDFORDELETIONDATE,
        ZUPDATEDAT
        """
      #expect(
        try finished.expectEqual(
          "SELECT Z_PK, Z_ENT, Z_OPT, \(regions) FROM made.ZGEOGRAPHICREGION ORDER BY Z_PK",
          "SELECT Z_PK, Z_ENT, 1, \(regions) FROM source.ZGEOGRAPHICREGION ORDER BY Z_PK") == 5)
      let moods = """
        ZMARKEDFORREMOTEDELETION, ZCOUNTRY, ZDATE, ZLATITUDE, ZLONGITUDE, ZMARKEDFORDELETIONDATE, ZCREATORID, ZCOLORS
        """
      #expect(
        try finished.expectEqual(
          "SELECT Z_PK, Z_ENT, Z_OPT, ZRATING, ZREMOTEID, \(moods) FROM made.ZMOOD ORDER BY Z_PK",
          "SELECT Z_PK, Z_ENT, 1, 0, ZREMOTEIDENTIFIER, \(moods) FROM source.ZMOOD ORDER BY Z_PK") == 4)
      #expect(try finished.rows("SELECT typeof(ZCOLORS), length(ZCOLORS) FROM made.ZMOOD LIMIT 1") == ["'blob' | 24"])
      #expect(
        try finished.rows("SELECT Z_NAME, Z_MAX FROM made.Z_PRIMARYKEY ORDER BY Z_ENT")
          == ["'GeographicRegion' | 36", "'Continent' | 0", "'Country' | 0", "'Mood' | 116"])
      let metadata = try StoreMetadata(readingStoreAt: finished.job.destinationPath)
      #expect(metadata.uuid == "374C5961-3E41-43E5-915C-383EA914074C")
      #expect(metadata.values["io.objc.Moody.CloudKitUserID"] == .string("_62a0ed0ad3b375fc9ec7fdf66dfd9c63"))
      #expect(metadata.versionIdentifiers == ["2"])
      try finished.expectVerified()
    }
  }
}
