import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

private typealias Attribute = AttributeDescription

private func link(_ name: String, _ inverse: String, was: String? = nil) -> RelationshipDescription {
  var link = RelationshipDescription.toOne(name, name.hasPrefix("to") ? "B" : "A", inverse: inverse)
  link.renamingIdentifier = was
  return link
}

/// Whole jobs over versions that rename.
struct `Runs over renames` {
  /// An entity with two values, two links and a composite attribute, and what its rows hold.
  private static func entities(isExchanged: Bool, hasComposite: Bool) -> [EntityDescription] {
    func was(_ name: String) -> String? { isExchanged ? name : nil }
    let composite = Attribute.composite("pair", [.make("left", was: was("right")), .make("right", was: was("left"))])
    return [
      EntityDescription(
        name: "A",
        attributes: [.make("x", was: was("y")), .make("y", was: was("x"))] + (hasComposite ? [composite] : []),
        relationships: [link("to1", "from1", was: was("to2")), link("to2", "from2", was: was("to1"))]),
      EntityDescription(
        name: "B", attributes: [.make("n", .integer32)],
        relationships: [link("from1", "to1", was: was("from2")), link("from2", "to2", was: was("from1"))]),
    ]
  }

  private func exchanging(hasComposite: Bool = false) throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      Self.entities(isExchanged: false, hasComposite: hasComposite),
      to: Self.entities(isExchanged: true, hasComposite: hasComposite))
    #expect(fixture.source.versionHashes == fixture.destination.versionHashes)
    try fixture.build { store in
      // Both ends of a one-to-one have a key.
      for key in Int64(1)...4 {
        try store.insert(
          "B", key: key, attributes: ["n": .integer(key)],
          relationships: key < 3 ? ["from1": [key]] : ["from2": [key - 2]])
      }
      for key in Int64(1)...2 {
        var values: [String: AttributeValue] = ["x": .init("x\(key)"), "y": .init("y\(key)")]
        if hasComposite { values.merge(["pair.left": .init("l\(key)"), "pair.right": .init("r\(key)")]) { a, _ in a } }
        try store.insert("A", key: key, attributes: values, relationships: ["to1": [key], "to2": [key + 2]])
      }
    }
    try fixture.infer()
    return fixture
  }

  private static let rows = ["x1|y1|1|3", "x2|y2|2|4"]
  private static let query = """
    SELECT a.ZX, a.ZY, first.ZN, second.ZN FROM source.ZA AS a LEFT JOIN source.ZB AS first ON first.Z_PK = a.ZTO1
    LEFT JOIN source.ZB AS second ON second.Z_PK = a.ZTO2 ORDER BY a.Z_PK
    """

  @Test func `versions with equal hashes are copied as they are, to each kind of store`() throws {
    let fixture = try exchanging()
    for type in [StoreType.sqlite, .xml, .binary] {
      var job = try fixture.job
      job.destinationType = type
      job.destinationPath = fixture.folder.file("out/\(type.rawValue)")
      #expect(try MigrationManager(job).run().outcome == .finished)
      #expect(try Verifier(job: job).run().isClean)
      // The store that was made, as it is.
      let back = MigrationJob(
        name: "back", sourcePath: job.destinationPath, destinationPath: fixture.folder.file("back/\(type.rawValue)"),
        sourceModel: fixture.source, destinationModel: fixture.source,
        mappingModels: [try MappingModel(inferredFrom: fixture.source, to: fixture.source)])
      try MigrationManager(back).run()
      let store = try StoreConnection.openStore(readingAt: back.destinationPath)
      let rows = try store.rows(Self.query).map { $0.map(\.plain).joined(separator: "|") }
      #expect(rows == Self.rows)
    }
  }

  @Test func `elements of a composite attribute stay, and objects that are appended`() throws {
    let fixture = try exchanging(hasComposite: true)
    try MigrationManager(fixture.job).run()
    #expect(try Verifier(job: fixture.job).run().isClean)
    #expect(try fixture.rows("SELECT ZLEFT, ZRIGHT FROM source.ZA ORDER BY Z_PK") == ["l1|r1", "l2|r2"])
    // A store is appended once, so these are the objects of another one.
    let other = try exchanging(hasComposite: true)
    var again = try other.job
    (again.name, again.destinationPath, again.existingDestination) = ("again", fixture.destinationPath, .append)
    #expect(try MigrationManager(again).run().outcome == .finished)
    let rows = try fixture.rows(Self.query)
    #expect(rows == Self.rows + Self.rows)
  }

  @Test func `names are exchanged as the identifiers say where an entity changes, in place too`() throws {
    let plain = EntityDescription(name: "C", attributes: [.make("n")])
    let fixture = try MigrationFixture(
      Self.entities(isExchanged: false, hasComposite: true) + [plain],
      to: Self.entities(isExchanged: true, hasComposite: true)
        + [EntityDescription(name: "C", attributes: [.make("n"), .make("more", default: .init("m"))])])
    try fixture.build { store in
      try store.insert("B", key: 1, relationships: ["from1": [1]])
      try store.insert(
        "A", key: 1,
        attributes: ["x": .init("x1"), "y": .init("y1"), "pair.left": .init("l"), "pair.right": .init("r")],
        relationships: ["to1": [1]])
      try store.insert("C", key: 1, attributes: ["n": .init("n")])
    }
    try fixture.infer()
    // In place by SQL, and with a new store.
    try fixture.run()
    let rows = try fixture.rows("SELECT ZX, ZY, ZLEFT, ZRIGHT, ZTO1, ZTO2 FROM source.ZA")
    #expect(rows == ["y1|x1|r|l|nil|1"])
  }

  @Test func `a composite that is renamed keeps its values, in place too`() throws {
    let fixture = try MigrationFixture(
      [
        EntityDescription(
          name: "P",
          attributes: [
            .composite("price", [.make("amount", .integer32, was: "value"), .make("unit")]),
            .composite("style", [.make("style")]),
          ])
      ],
      to: [
        EntityDescription(
          name: "P",
          attributes: [
            .composite("cost", was: "price", [.make("amount", .integer32, was: "value"), .make("unit")]),
            .composite("kind", was: "style", [.make("kind")]), .make("more"),
          ])
      ])
    try fixture.build { store in
      try store.insert(
        "P", key: 1,
        attributes: ["price.amount": .integer(7), "price.unit": .init("m"), "style.style": .init("bold")])
    }
    try fixture.infer()
    let summary = try fixture.run()
    #expect(try fixture.rows("SELECT ZAMOUNT, ZUNIT, ZKIND FROM source.ZP") == ["7|m|bold"])
    #expect(summary.losses.losses == [])
  }

  @Test func `a name that is used again takes nothing, and plan and summary say so`() throws {
    let fixture = try MigrationFixture(
      [EntityDescription(name: "Trip", attributes: [.make("made", was: "date")])],
      to: [
        EntityDescription(
          name: "Trip", attributes: [.make("made", was: "date"), .make("date", default: .init("none"))])
      ])
    try fixture.build { try $0.insert("Trip", key: 1, attributes: ["made": .init("May")]) }
    try fixture.infer()
    let job = MigrationJob(
      name: "test", sourcePath: fixture.sourcePath, destinationPath: fixture.destinationPath,
      first: MigrationStep(
        sourceModel: fixture.source, destinationModel: fixture.destination,
        mappingModels: [MappingModel(entityMappings: fixture.mappings)], origin: MigrationStep.inferredOrigin))
    let note =
      "'1' to '2': Trip.date is new; it takes nothing from 'made', which has the same canonical name"
    #expect(try MigrationManager(job).plan().codedNotes == [MigrationNote(.renamingIdentifiers, note)])
    #expect(try MigrationManager(job).run().codedNotes == [MigrationNote(.renamingIdentifiers, note)])
    #expect(try fixture.rows("SELECT ZMADE, ZDATE FROM source.ZTRIP") == ["May|none"])
  }
}
