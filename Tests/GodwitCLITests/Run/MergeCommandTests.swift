import Foundation
import GodwitStore
import TestSupport
import Testing

/// `source: {merge: […]}` through the executable, with the example of `jobs/cards`.
@Suite struct MergeCommandTests {
  private static func cards() throws -> TemporaryFolder {
    let folder = try TemporaryFolder("godwit-merge")
    for name in try FileManager.default.contentsOfDirectory(atPath: Checkout.url("jobs/cards").path) where name != "out"
    {
      try FileManager.default.copyItem(
        atPath: Checkout.url("jobs/cards").path + "/" + name, toPath: folder.file(name))
    }
    return folder
  }

  @Test func `two stores are one source in every verb`() throws {
    let folder = try Self.cards()
    func run(_ arguments: String..., status: Int32 = 0) throws -> String {
      let result = try BuiltCommand.run(arguments: arguments, in: folder.path)
      #expect(result.status == status, "\(arguments): \(result.output)\(result.diagnostics)")
      return result.output + result.diagnostics
    }
    #expect(try run("status", "merged.yaml").contains("not started"))
    let plan = try run("plan", "--details", "merged.yaml")
    #expect(plan.contains("the source is 2 stores, merged in this order: "), "\(plan)")
    let json = try run("plan", "--format", "json", "merged.yaml")
    #expect(json.contains("\"stores/cards.sqlite, stores/tablet.sqlite\""), "\(json)")
    _ = try run("audit", "merged.yaml", status: 4)
    #expect(try run("run", "merged.yaml").contains("merged in this order"))
    #expect(try run("status", "merged.yaml").contains("finished"))
    #expect(try run("run", "merged.yaml").contains("is already finished"))
    let verified = try run("verify", "--details", "merged.yaml")
    #expect(verified.contains("stores that were merged"), "\(verified)")
    _ = try run("verify", "--receipt", "out/cards-of-both.sqlite.receipt.json")
    let uuid = try StoreMetadata(readingStoreAt: folder.file("stores/tablet.sqlite")).uuid
    #expect(
      try run("trace", "merged.yaml", "x-coredata://\(uuid)/Card/p3").contains("is Card/p3 of 'stores/tablet.sqlite'"))
    // The verbs leave no file beside the stores or the destination.
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("stores")).count == 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("out")).count == 2)
    // The two jobs that append make the same objects.
    for manifest in ["job.yaml", "tablet.yaml"] { _ = try run("run", manifest) }
    let sql =
      "SELECT c.ZEMAIL, c.ZNAME, COUNT(n.Z_PK) FROM source.ZCARD AS c LEFT JOIN source.ZNOTE AS n ON n.ZCARD = c.Z_PK GROUP BY c.Z_PK ORDER BY 1, 2"
    let found = try ["cards-of-both", "cards-2"].map { name in
      try StoreConnection.openStore(readingAt: folder.file("out/\(name).sqlite")).rows(sql)
    }
    #expect(found[0] == found[1] && found[0].count > 20)
  }

  @Test func `kills at any moment end in the same store`() throws {
    let folder = try Self.cards()
    let result = try BuiltCommand.run(
      arguments: ["torture", "merged.yaml", "--rounds", "\(TestTier.choose(3, long: 30))", "--seed", "5"],
      in: folder.path)
    #expect(result.status == 0, "\(result.output)\(result.diagnostics)")
  }
}
