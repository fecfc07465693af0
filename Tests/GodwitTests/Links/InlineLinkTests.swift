import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Links that are written with their objects until a policy sets them give what resolving all of them gives.
@Suite struct InlineLinkTests {
  /// People who live in homes become contacts at places, and know no order.
  private func people(isMirrored: Bool = true) throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [
        .make("Person", ["name": .string], [.toOne("home", "Home", inverse: "people")]),
        .make("Home", ["street": .string], [.toMany("people", "Person", inverse: "home")]),
      ],
      to: [
        .make("Contact", ["name": .string], [.toOne("place", "Place", inverse: "contacts")]),
        .make("Place", ["street": .string], [.toMany("contacts", "Contact", inverse: "place")]),
      ])
    try fixture.build { store in
      for key in Int64(1)...5 {
        try store.insert("Home", key: key, attributes: ["street": .init("street \(key)")], relationships: [:])
      }
      for key in Int64(1)...12 {
        try store.insert(
          "Person", key: key, attributes: ["name": .init("name \(key)")],
          relationships: key % 7 == 0 ? [:] : ["home": [key % 5 + 1]])
      }
    }
    fixture.chunkRows = 3
    fixture.mappings = [
      try .make(
        "Home", "Place", attributes: ["street": "$source.street"],
        relationships: isMirrored ? ["contacts": .mapping("PersonToContact", keyPath: ["people"])] : [:]),
      try .make(
        "Person", "Contact", attributes: ["name": "$source.name"],
        relationships: ["place": .mapping("HomeToPlace", keyPath: ["home"])]),
    ]
    fixture.setPolicy("P", of: "PersonToContact")
    return fixture
  }

  /// Runs with links written directly and with all resolved, and compares; the row of each contact and its place.
  @discardableResult
  private func compare(
    _ policy: some EntityMigrationPolicy & Sendable, isMirrored: Bool = true
  ) throws -> [String] {
    var contents: [[String]] = []
    var places: [String] = []
    for direct in [true, false] {
      let fixture = try people(isMirrored: isMirrored)
      try EngineTuning.with(\.usesShortcuts, direct) {
        let (summary, report) = try fixture.run(["P": { policy }])
        #expect(summary.outcome == .finished)
        #expect(report.isClean, "\(report)")
      }
      contents.append(try fixture.content())
      let store = try StoreConnection.openStore(readingAt: fixture.destinationPath)
      places = try store.rows("SELECT Z_PK, COALESCE(ZPLACE, 'none') FROM source.ZCONTACT ORDER BY Z_PK").map {
        $0.map(\.plain).joined(separator: ":")
      }
    }
    let difference = zip(contents[0], contents[1]).first { $0 != $1 }
    #expect(contents[0] == contents[1], "direct \(difference?.0 ?? ""), resolved \(difference?.1 ?? "")")
    return places
  }

  @Test(arguments: [true, false])
  func `no assignment or association is stored while policies leave them to their mappings`(
    sets: Bool
  ) throws {
    let fixture = try people()
    var policy = ClosurePolicy()
    if sets {
      policy.endRelate = { _, manager in
        let contacts = try manager.destinationInstances(ofEntityNamed: "Contact", limit: 1)
        guard let first = contacts.first else { return }
        try manager.setRelationship("place", of: first, to: nil)
      }
    }
    let registered = policy
    let job = try fixture.job(["P": { registered }])
    let control = MigrationControl()
    let summary = try MigrationManager(job).run(control: control) { progress in
      if progress.stage.hasPrefix("resolv") { control.stop(reason: "the test looks") }
    }
    #expect(summary.outcome == .stopped)
    let folder = fixture.destinationPath + ".godwit"
    let names = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
    let store = try #require(names.first { $0.hasSuffix("store.sqlite") })
    let connection = try StoreConnection.openStore(readingAt: "\(folder)/\(store)")
    let assigned = try connection.integer("SELECT COUNT(*) FROM source.godwit_link_0") ?? -1
    let keys = try connection.integer("SELECT COUNT(*) FROM source.ZCONTACT WHERE ZPLACE NOT NULL") ?? -1
    let pairs = try connection.integer("SELECT COUNT(*) FROM source.godwit_pair_1") ?? -1
    #expect(pairs == 0)
    // Eleven live somewhere; each is told by either end, and twelve and five assignments happened.
    #expect(sets ? assigned > 22 : assigned == 0)
    #expect(keys == (sets ? 0 : 11))
  }

  @Test func `a policy that does nothing more than its mapping stores nothing more`() throws {
    #expect(
      try compare(ClosurePolicy())
        == ["1:2", "2:3", "3:4", "4:5", "5:1", "6:2", "7:none", "8:4", "9:5", "10:1", "11:2", "12:3"])
  }

  @Test func `an object that is inserted but never associated has no links`() throws {
    var policy = ClosurePolicy()
    policy.create = { source, mapping, manager in
      guard source.key == 4 else { return try manager.createDestinationInstances(forSource: source, in: mapping) }
      try manager.insert(manager.createDestinationInstance(forSource: source, in: mapping))
    }
    #expect(try compare(policy)[3] == "4:none")
  }

  @Test(arguments: [true, false])
  func `objects associated before they are inserted, and objects made by name, are written with their keys`(
    isFirst: Bool
  ) throws {
    var policy = ClosurePolicy()
    policy.create = { source, mapping, manager in
      // The first one has the key of its source object, whether it is inserted or not.
      if !isFirst, source.key % 2 > 0 { _ = try manager.createInstance(ofEntityNamed: "Contact") }
      let object =
        source.key % 2 == 0
        ? try manager.createDestinationInstance(forSource: source, in: mapping)
        : try manager.createInstance(ofEntityNamed: "Contact")
      manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
      try manager.insert(object)
    }
    let found = try compare(policy)
    let keys = isFirst ? [1, 3, 5, 7, 9, 11] : [13, 14, 15, 16, 17, 18]
    #expect(
      zip(keys, ["2", "4", "1", "none", "5", "2"]).allSatisfy { found.contains("\($0):\($1)") } && found.count == 12,
      "\(found)")
  }

  /// A policy without a `createRelationships` of its own.
  private struct Quiet: EntityMigrationPolicy, Sendable {
    var endRelate: @Sendable (inout PolicyContext) throws -> Void = { _ in }

    func endRelationshipCreation(forMapping mapping: EntityMapping, manager: inout PolicyContext) throws {
      try endRelate(&manager)
    }
  }

  /// A policy that hands some objects to another one, which has no `createRelationships` of its own.
  private struct Choosy: EntityMigrationPolicy, Sendable {
    func createRelationships(
      forDestination destination: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
    ) throws {
      guard destination.key % 5 != 0 else { return }
      try Quiet().createRelationships(forDestination: destination, in: mapping, manager: &manager)
    }
  }

  @Test(arguments: [true, false])
  func `a policy without a hook for relationships leaves all objects to the mapping`(isMirrored: Bool) throws {
    let whole = ["1:2", "2:3", "3:4", "4:5", "5:1", "6:2", "7:none", "8:4", "9:5", "10:1", "11:2", "12:3"]
    #expect(try compare(Quiet(), isMirrored: isMirrored) == whole)
    // A later hook sets a link: what was left to the mapping is written down then, for all objects.
    let later = Quiet { manager in
      let contacts = try manager.destinationInstances(ofEntityNamed: "Contact", limit: 4)
      let places = try manager.destinationInstances(ofEntityNamed: "Place", limit: 1)
      try manager.setRelationship("place", of: contacts[3], to: places.first)
    }
    var changed = whole
    changed[3] = "4:1"
    #expect(try compare(later, isMirrored: isMirrored) == changed)
    // A hook that reads finds the links of all objects.
    let reading = Quiet { manager in
      let contacts = try manager.destinationInstances(ofEntityNamed: "Contact", limit: 12)
      let keys = try contacts.map { try $0.objects("place").first.map { "\($0.key)" } ?? "none" }
      #expect(keys == whole.map { String($0.split(separator: ":")[1]) })
    }
    #expect(try compare(reading, isMirrored: isMirrored) == whole)
  }

  @Test func `a policy that hands some objects to a policy without the hook keeps the others back`() throws {
    #expect(try compare(Choosy(), isMirrored: false)[3...5] == ["4:5", "5:none", "6:2"])
    #expect(try compare(Choosy(), isMirrored: false)[9] == "10:none")
  }

  @Test func `an object that its policy does not leave to the mapping has no links`() throws {
    var policy = ClosurePolicy()
    policy.relate = { object, mapping, manager in
      guard object.key != 5 else { return }
      try manager.createRelationships(forDestination: object, in: mapping)
    }
    #expect(try compare(policy, isMirrored: false)[4...5] == ["5:none", "6:2"])
    // The place's mapping has said it before.
    #expect(try compare(policy)[4...5] == ["5:1", "6:2"])
  }

  @Test func `relationships that a policy sets before or after its mapping are set in order`() throws {
    var policy = ClosurePolicy()
    policy.relate = { object, mapping, manager in
      func set() throws {
        let places = try manager.destinationInstances(ofEntityNamed: "Place", limit: 1)
        try manager.setRelationship("place", of: object, to: places.first)
      }
      if object.key == 6 { try set() }
      try manager.createRelationships(forDestination: object, in: mapping)
      if object.key == 8 { try set() }
    }
    let places = try compare(policy)
    #expect(places[5] == "6:2")
    #expect(places[7] == "8:1")
    #expect(places[8] == "9:5")
  }

  @Test func `a policy that reads relationships finds what has been set so far`() throws {
    let log = HookLog()
    var policy = ClosurePolicy()
    policy.create = { source, mapping, manager in
      let object = try manager.createDestinationInstance(forSource: source, in: mapping)
      try manager.insert(object)
      manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
      if source.key == 3 { log.note("created \(try object.objects("place").count)") }
    }
    policy.relate = { object, mapping, manager in
      try manager.createRelationships(forDestination: object, in: mapping)
      if object.key == 9 { log.note("related \(try object.objects("place"))") }
    }
    try compare(policy)
    #expect(log.all == ["created 0", "related [Place p5]", "created 0", "related [Place p5]"])
  }

  // MARK: The other end

  @Test
  func `an object that its policy does not leave to the mapping keeps what the other end's policy left to its own`()
    throws
  {
    var contents: [[String]] = []
    for direct in [true, false] {
      let fixture = try people()
      fixture.setPolicy("Plain", of: "HomeToPlace")
      var policy = ClosurePolicy()
      policy.relate = { object, mapping, manager in
        if object.key != 5 { try manager.createRelationships(forDestination: object, in: mapping) }
      }
      let registered = policy
      _ = try EngineTuning.with(\.usesShortcuts, direct) {
        try fixture.run(["P": { registered }, "Plain": { PlainPolicy() }])
      }
      contents.append(try fixture.content())
      #expect(try fixture.rows("SELECT ZPLACE FROM source.ZCONTACT WHERE Z_PK = 5") == ["1"])
    }
    #expect(contents[0] == contents[1])
  }

  @Test func `a child that its policy does not leave to the mapping stays among its parent's children`() throws {
    for direct in [true, false] {
      let entity = EntityDescription.make(
        "Person", ["name": .string],
        [.toOne("parent", "Person", inverse: "children"), .toMany("children", "Person", inverse: "parent")])
      let fixture = try MigrationFixture([entity], to: [entity])
      try fixture.build { store in
        for key in Int64(1)...6 {
          try store.insert("Person", key: key, relationships: key == 1 ? [:] : ["parent": [1]])
        }
      }
      fixture.mappings = [try .make("Person", "Person", kind: .copy)]
      fixture.setPolicy("P", of: "PersonToPerson")
      var policy = ClosurePolicy()
      policy.relate = { object, mapping, manager in
        if object.key != 4 { try manager.createRelationships(forDestination: object, in: mapping) }
      }
      let registered = policy
      _ = try EngineTuning.with(\.usesShortcuts, direct) { try fixture.run(["P": { registered }]) }
      #expect(try fixture.rows("SELECT COUNT(*) FROM source.ZPERSON WHERE ZPARENT = 1") == ["5"])
    }
  }

  @Test func `an object of another entity under the same ancestor is found from the other end`() throws {
    for direct in [true, false] {
      let fixture = try MigrationFixture(
        [
          .make("Person", ["name": .string], [.toOne("home", "Home", inverse: "people")]),
          .make("Home", ["street": .string], [.toMany("people", "Person", inverse: "home")]),
        ],
        to: [
          .make("Base", isAbstract: true, ["name": .string], [.toOne("place", "Place", inverse: "contacts")]),
          .make("Contact", parent: "Base"), .make("Account", parent: "Base"),
          .make("Place", ["street": .string], [.toMany("contacts", "Base", inverse: "place")]),
        ])
      try fixture.build { store in
        try store.insert("Home", key: 1)
        for key in Int64(1)...3 { try store.insert("Person", key: key, relationships: ["home": [1]]) }
      }
      fixture.mappings = [
        try .make("Home", "Place", relationships: ["contacts": .mapping("PersonToContact", keyPath: ["people"])]),
        try .make("Person", "Contact", relationships: ["place": .mapping("HomeToPlace", keyPath: ["home"])]),
      ]
      fixture.setPolicy("P", of: "PersonToContact")
      var policy = ClosurePolicy()
      policy.create = { source, mapping, manager in
        try manager.createDestinationInstances(forSource: source, in: mapping)
        let account = try manager.createInstance(ofEntityNamed: "Account")
        try manager.insert(account)
        manager.associate(sourceInstance: source, withDestinationInstance: account, for: mapping)
      }
      let registered = policy
      _ = try EngineTuning.with(\.usesShortcuts, direct) { try fixture.run(["P": { registered }]) }
      #expect(try fixture.rows("SELECT COUNT(*) FROM source.ZBASE WHERE ZPLACE = 1") == ["6"])
    }
  }

  @Test func `rows with large values get their foreign keys too`() throws {
    var contents: [[String]] = []
    for direct in [true, false] {
      let fixture = try people(isMirrored: false)
      fixture.mappings[1].policyName = nil
      fixture.setPolicy("Plain", of: "HomeToPlace")
      try fixture.alter("UPDATE ZPERSON SET ZNAME = printf('%.*c', 5000, 'x') WHERE Z_PK % 4 = 0")
      try EngineTuning.with(\.largeRows, .init(rowBytes: 1000, valueBytes: 500, recordBytes: 2000)) {
        try EngineTuning.with(\.usesShortcuts, direct) { _ = try fixture.run(["Plain": { PlainPolicy() }]) }
      }
      contents.append(try fixture.content())
      #expect(try fixture.rows("SELECT ZPLACE FROM source.ZCONTACT WHERE Z_PK IN (4, 8)") == ["5", "4"])
    }
    #expect(contents[0] == contents[1])
  }

  // MARK: Looking

  @Test func `a hook finds any object that it has just associated`() throws {
    let log = HookLog()
    var policy = ClosurePolicy()
    policy.create = { source, mapping, manager in
      guard source.key == 3 else { return try manager.createDestinationInstances(forSource: source, in: mapping) }
      let object = try manager.createInstance(ofEntityNamed: "Contact")
      try manager.insert(object)
      manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
      let made = try manager.destinationInstances(forEntityMappingNamed: mapping.name, sourceInstances: [source])
      let from = try manager.sourceInstances(forEntityMappingNamed: mapping.name, destinationInstances: [object])
      log.note("\(made == [object]) \(from == [source])")
    }
    policy.endCreate = { mapping, manager in
      let people = try manager.sourceInstances(ofEntityNamed: "Person", limit: 4)
      let made = try manager.destinationInstances(forEntityMappingNamed: mapping.name, sourceInstances: people)
      log.note("\(made)")
    }
    try compare(policy)
    let expected = ["true true", "[Contact p1, Contact p2, Contact p3, Contact p4]"]
    #expect(log.all == expected + expected)
  }

  @Test func `a 'begin' that runs again reads what was set before the interruption`() throws {
    for direct in [true, false] {
      let fixture = try people()
      let log = HookLog()
      var policy = ClosurePolicy()
      policy.begin = { _, manager in
        guard manager.isResuming else { return }
        let contacts = try manager.destinationInstances(ofEntityNamed: "Contact", limit: 3)
        log.note("\(try contacts.map { try $0.objects("place").map(\.key) })")
      }
      let control = MigrationControl()
      policy.relate = { object, mapping, manager in
        try manager.createRelationships(forDestination: object, in: mapping)
        // Those of the first three people are one chunk.
        if object.key == 3 { control.stop(reason: "the test resumes") }
      }
      let registered = policy
      try EngineTuning.with(\.usesShortcuts, direct) {
        let job = try fixture.job(["P": { registered }])
        #expect(try MigrationManager(job).run(control: control).outcome == .stopped)
        #expect(try MigrationManager(job).run().outcome == .finished)
      }
      #expect(log.all.first == "[[2], [3], [4]]", "\(log.all)")
      #expect(try fixture.rows("SELECT ZPLACE FROM source.ZCONTACT WHERE Z_PK IN (1, 12)") == ["2", "3"])
    }
  }

  @Test func `source pages read by a second thread equal those read by one, and errors are reported in order`() throws {
    func run(_ leastRows: Int64, spoilt: Bool) throws -> [String] {
      let fixture = try people()
      fixture.chunkRows = nil
      // A value that does not fit: the page with it is read without values.
      if spoilt { try fixture.alter("UPDATE ZPERSON SET ZNAME = x'07' WHERE Z_PK = 9") }
      return try EngineTuning.with(\.pages.rowsPerPage, 2) {
        try EngineTuning.with(\.pages.leastRows, leastRows) {
          do {
            try fixture.run(["P": { ClosurePolicy() }])
            return try fixture.content()
          } catch let error as GodwitError { return [error.message] }
        }
      }
    }
    let log = HookLog()
    let onPage: @Sendable () -> Void = { log.note("page") }
    _ = try EngineTuning.with(\.pages.onPage, onPage) { try run(1, spoilt: false) }
    // Twelve people by two, the first page apart; the last but one says that there may be more.
    #expect(log.all.count >= 5)
    for spoilt in [false, true] {
      let (ahead, alone) = (try run(1, spoilt: spoilt), try run(.max, spoilt: spoilt))
      #expect(ahead == alone)
      #expect((ahead.count == 1) == spoilt)
    }
  }
}
