import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Relationships of one job that lead to objects of an earlier one, and external files that both carry.
@Suite struct AppendAssociationTests {
  /// Customers and cities first, everything else later.
  private func customers() throws -> [EntityMapping] {
    var mappings = Array(try AppendWorld.all().prefix(2))
    for name in ["orders", "tags", "card"] {
      mappings[0].relationshipMappings.append(.init(name: name, value: .expression(try ValueExpression("nil"))))
    }
    return mappings
  }

  private func orders(_ customer: RelationshipMapping.Value) throws -> [EntityMapping] {
    [
      try .make(
        "Order", "Order", attributes: ["number": "$source.number"],
        relationships: [
          "customer": customer, "lines": .sourceRelationship("lines"),
        ]), try .make("Line", "Line", kind: .copy), try .make("Tag", "Tag", kind: .copy),
    ]
  }

  private static let linked =
    "SELECT o.ZNUMBER, c.ZNAME FROM source.ZORDER AS o JOIN source.ZCUSTOMER AS c ON c.Z_PK = o.ZCUSTOMER ORDER BY o.Z_PK"

  @Test(arguments: [true, false]) func `a later job on the same source finds the objects of an earlier one`(
    isNamed: Bool
  ) throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.build("z.sqlite")
    try world.buildDestination()
    try world.run(world.job("z.sqlite"))
    let first = try world.job("a.sqlite", customers())
    try world.run(first)
    let second = try world.job(
      "a.sqlite",
      orders(isNamed ? .mapping("CustomerToCustomer", keyPath: ["customer"]) : .sourceRelationship("customer")))
    try world.run(second)
    try world.verify(first)
    #expect(
      try world.rows(Self.linked).filter { $0.hasSuffix("a.sqlite 1") || $0.hasSuffix("a.sqlite 4") } == [
        "3|a.sqlite 1", "4|a.sqlite 1", "9|a.sqlite 4", "10|a.sqlite 4",
      ])
    // A many-to-many takes rows that lead to old objects.
    let join = try #require(StoreSchema(model: world.destination).joinTables.first)
    let columns = [join.ownerColumn, join.destinationColumn].map(quoted).joined(separator: ", ")
    #expect(
      try world.rows("SELECT \(columns) FROM source.\(quoted(join.name)) ORDER BY 1, 2 DESC")
        == world.rows(
          "SELECT c.Z_PK, t.Z_PK FROM source.ZCUSTOMER AS c JOIN source.ZTAG AS t ON substr(c.ZNAME, 1, 8) = substr(t.ZNAME, 1, 8) AND (t.ZNAME LIKE '%1' OR c.ZNAME LIKE '%1' OR c.ZNAME LIKE '%3') OR c.Z_PK = 7 AND t.Z_PK = 9 ORDER BY 1, 2 DESC"
        ))
    let report = try Verifier(job: second).run()
    #expect(report.checks.contains { $0.name.hasPrefix("links of") && $0.count == 8 })
  }

  @Test func `filters distinguish the mappings of an earlier job, and links to deleted objects are not made`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    var some = try customers()
    some[0].filter = try FilterPredicate("name != \"a.sqlite 2\"")
    var rest = try customers()
    rest[0].name = "Rest"
    rest[0].filter = try FilterPredicate("name == \"a.sqlite 2\"")
    try world.run(world.job("a.sqlite", [some[0], rest[0], some[1]]))
    try world.alter("out/shop.sqlite", "DELETE FROM ZCUSTOMER WHERE ZNAME = 'a.sqlite 4'")
    try world.run(world.job("a.sqlite", orders(.mapping("CustomerToCustomer", keyPath: ["customer"]))))
    #expect(
      try world.rows(Self.linked) == ["3|a.sqlite 1", "4|a.sqlite 1", "7|a.sqlite 3", "8|a.sqlite 3"])
  }

  @Test func `an append that cannot find or store a link is refused with the reason`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.run(world.job("a.sqlite", customers()))
    func refusal(_ mappings: [EntityMapping], _ source: String = "a.sqlite") throws -> GodwitError {
      try world.refusal(world.job(source, mappings))
    }
    func order(_ value: RelationshipMapping.Value) throws -> [EntityMapping] {
      [try .make("Order", "Order", relationships: ["customer": value])]
    }
    let unique = try refusal([
      .make("Customer", "Customer", name: "Again", relationships: ["home": .mapping("Cities", keyPath: [])])
    ])
    #expect(unique.code == .configuration)
    #expect(unique.message.contains("unique-by"))
    let oneToOne = try refusal([.make("Card", "Card", kind: .copy)])
    #expect(oneToOne.code == .configuration)
    #expect(oneToOne.message.contains("one-to-one"))
    try world.run(
      world.job("a.sqlite", [.make("Line", "Line", relationships: ["order": .expression(ValueExpression("nil"))])]))
    let stored = try refusal([.make("Order", "Order", relationships: ["lines": .sourceRelationship("lines")])])
    #expect(stored.code == .configuration)
    #expect(stored.message.contains("stored with those objects"))

    try world.build("b.sqlite")
    let other = try refusal(order(.mapping("CustomerToCustomer", keyPath: ["customer"])), "b.sqlite")
    #expect(other.code == .configuration)
    #expect(other.message.contains("another source store"))
    try world.alter("a.sqlite", "UPDATE ZCUSTOMER SET ZNAME = 'x' WHERE Z_PK = 1")
    for value in [.mapping("CustomerToCustomer", keyPath: ["customer"]), .sourceRelationship("customer")]
      as [RelationshipMapping.Value]
    {
      let changed = try refusal(order(value))
      #expect(changed.code == .configuration)
      #expect(changed.message.contains("before it changed"))
    }
    // Objects that no earlier job took stay unlinked, as in a job alone.
    try world.run(world.job("b.sqlite", order(.sourceRelationship("customer"))))
  }

  // MARK: External files

  private static let name = "00000001-1111-2222-3333-444444444444"

  private func photoFixture() throws -> MigrationFixture {
    var photo = AttributeDescription(name: "photo", type: .binary)
    photo.allowsExternalBinaryDataStorage = true
    let entity = EntityDescription(
      name: "Person", attributes: [photo, AttributeDescription(name: "name", type: .string)])
    let fixture = try MigrationFixture([entity], to: [entity])
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Person", key: key, attributes: ["name": .init("p\(key)")]) }
    }
    let folder = SupportFolder(ofStoreAt: fixture.sourcePath)
    try FileManager.default.createDirectory(atPath: folder.dataPath, withIntermediateDirectories: true)
    try Data(repeating: 7, count: 5000).write(to: URL(filePath: folder.path(of: Self.name)))
    let connection = try StoreConnection(path: fixture.sourcePath)
    try connection.execute(
      "UPDATE ZPERSON SET ZPHOTO = ?1 WHERE Z_PK = 2", [.blob(StoredBinary.external(name: Self.name).bytes)])
    try connection.close()
    return fixture
  }

  private func files(_ fixture: MigrationFixture) throws -> Set<String> {
    var names: Set<String> = []
    try SupportFolder(ofStoreAt: fixture.destinationPath).forEachFile { name, _ in names.insert(name) }
    return names
  }

  @Test func `an external file from two jobs gets two names, and a discarded append keeps the earlier files`() throws {
    let fixture = try photoFixture()
    var first = try fixture.job
    first.existingDestination = .append
    try MigrationManager(first).run()
    #expect(try files(fixture) == [Self.name])
    var second = first
    second.steps[0].mappingModels[0].entityMappings[0].name = "Second"
    struct Killed: Error {}
    var killed = second
    killed.hooks.beforeAppendStep = { if $0 == 4 { throw Killed() } }
    #expect(throws: Killed.self) { try MigrationManager(killed).run() }
    #expect(try files(fixture).count == 2)
    #expect(try MigrationManager.discard(destination: fixture.destinationPath))
    #expect(try files(fixture) == [Self.name])
    #expect(throws: Killed.self) { try MigrationManager(killed).run() }
    try MigrationManager(second).run()
    #expect(try files(fixture).count == 2)
    for job in [first, second] {
      let report = try Verifier(job: job).run()
      #expect(report.isClean, "\(report)")
    }
    #expect(try fixture.rows("SELECT COUNT(DISTINCT ZPHOTO) FROM source.ZPERSON WHERE ZPHOTO NOT NULL") == ["2"])
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: fixture.folder.file("out")).sorted() == [
        ".destination_SUPPORT", "destination.sqlite",
      ])
  }
}
