import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

struct ObjectTraceTests {
  /// Every object of the destination, with its tag: the source object's number and the mapping's.
  private func tags(_ fixture: MigrationFixture) throws -> [(uri: String, tag: Int64)] {
    let reader = try ObjectReader(path: fixture.destinationPath, model: fixture.destination)
    var tags: [(uri: String, tag: Int64)] = []
    for root in fixture.destination.rootEntities {
      try reader.forEachObject(of: fixture.destination.family(of: root.name).map(\.name)) { object in
        if case .attribute(.integer(let tag), _)? = object.properties.first(where: { $0.name == "tag" })?.value {
          tags.append((reader.uri(of: object.reference), tag))
        }
        return true
      }
    }
    return tags
  }

  @Test func `of random jobs every object leads to what it was made of, and back`() throws {
    var (merged, filtered, shifted, dropped) = (0, 0, 0, 0)
    for seed in UInt64(91_000)..<UInt64(91_000 + TestTier.choose(8, long: 160)) {
      var random = SeededGenerator(seed: seed)
      let world = try RandomWorld(&random)
      let fixture = try MigrationFixture(world.source, to: world.destination)
      fixture.mappings = world.mappings
      try world.write(to: fixture)
      fixture.chunkRows = [1, 2, 3, 1000][random.below(4)]
      try MigrationManager(fixture.job).run()
      let manager = MigrationManager(try fixture.job)
      let reference = world.reference()
      let tags = try tags(fixture)
      #expect(tags.count == reference.made.count, "seed \(seed)")
      for (uri, tag) in tags {
        let made = try #require(reference.made.first { $0.tag == tag }, "seed \(seed)")
        let back = try manager.trace(uri, in: .destination)
        #expect(back.remarks.isEmpty && back.gaps.isEmpty, "seed \(seed): \(uri) \(back.gaps) \(back.remarks)")
        try #require(back.associations.count == 1, "seed \(seed): \(uri), \(back.associations.map(\.mapping))")
        let found = back.associations[0]
        let mapping = world.mappings[made.mapping]
        #expect(found.mapping == mapping.name, "seed \(seed): \(uri)")
        #expect(
          found.source.key == made.key && found.source.entityName == mapping.sourceEntityName, "seed \(seed): \(uri)")
        #expect(
          found.merged.map { Int64($0.split(separator: "/p").last ?? "") } == made.sources.filter { $0 != made.key })
        #expect(found.destination?.uri == uri && found.destination?.attributes["tag"] == .integer(tag))
        #expect((1...found.chunks).contains(found.chunk), "seed \(seed): \(uri)")
        merged += found.merged.count
        if found.source.key != found.destination?.key { shifted += 1 }
      }
      for object in world.objects {
        let forth = try manager.trace("\(object.entity)/p\(object.key)", in: .source)
        let expected = reference.made.filter {
          world.mappings[$0.mapping].sourceEntityName == object.entity && $0.sources.contains(object.key)
        }
        let found = forth.associations.map { $0.destination?.attributes["tag"] }
        #expect(found == expected.map { .integer($0.tag) }, "seed \(seed): \(object.entity)/p\(object.key)")
        filtered += forth.gaps.count { $0.reason == .filter }
        dropped += forth.gaps.count { $0.reason == .noMapping }
      }
    }
    #expect(merged > 0 && filtered > 0 && shifted > 0 && dropped > 0, "\(merged) \(filtered) \(shifted) \(dropped)")
  }

  private func pets(_ cats: [Int64], _ dogs: [Int64]) throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [.make("Cat", ["name": .string]), .make("Dog", ["name": .string])], to: [.make("Pet", ["name": .string])])
    try fixture.build { store in
      for key in cats { try store.insert("Cat", key: key, attributes: ["name": .init("cat \(key)")]) }
      for key in dogs { try store.insert("Dog", key: key, attributes: ["name": .init("dog \(key)")]) }
    }
    fixture.mappings = [
      try .make("Cat", "Pet", attributes: ["name": "$source.name"]),
      try .make("Dog", "Pet", filter: "name != 'dog 9223372036854775805'", attributes: ["name": "$source.name"]),
    ]
    return fixture
  }

  @Test func `objects that were numbered densely lead to what they were made of`() throws {
    let fixture = try pets([1, 2], [.max - 3, .max - 2, .max - 1])
    try fixture.run()
    let manager = MigrationManager(try fixture.job)
    #expect(try manager.trace("Pet/p4").associations.map(\.source.key) == [.max - 1])
    #expect(try manager.trace("Pet/p3").associations.map(\.source.key) == [.max - 3])
    #expect(try manager.trace("Dog/p\(Int64.max - 1)").associations.map(\.destination?.key) == [4])
    let dropped = try manager.trace("Dog/p\(Int64.max - 2)")
    #expect(dropped.associations.isEmpty && dropped.gaps.map(\.reason) == [.filter])
  }

  @Test func `numbers of another type lead to the unique-by object that they are stored as`() throws {
    let columns: [String: AttributeType] = ["whole": .double, "flag": .boolean, "number": .integer32]
    let fixture = try MigrationFixture(
      [.make("Item", columns)], to: [.make("Kind", ["size": .integer16, "truth": .boolean, "price": .decimal])])
    try fixture.build { store in
      for key in Int64(1)...6 {
        try store.insert(
          "Item", key: key,
          attributes: ["whole": .double(Double(key % 2)), "flag": .boolean(key < 3), "number": .integer(key / 4)])
      }
    }
    // Values of other types than the columns: a floating point number, a whole number and a boolean.
    fixture.mappings = [
      try .make(
        "Item", "Kind", uniqueBy: ["size", "truth", "price"],
        attributes: ["size": "$source.whole", "truth": "$source.number", "price": "$source.flag"])
    ]
    try fixture.run()
    let manager = MigrationManager(try fixture.job)
    let kinds = try fixture.rows("SELECT Z_PK, ZSIZE, ZTRUTH, ZPRICE FROM source.ZKIND ORDER BY 1")
    #expect(kinds == ["1|1|0|1", "2|0|0|1", "3|1|0|0", "4|0|1|0", "5|1|1|0"])
    #expect(try manager.trace("Kind/p4").associations.map(\.merged) == [["\(prefix(fixture))/Item/p6"]])
    #expect(try manager.trace("Item/p6", in: .source).associations.map(\.destination?.key) == [4])
    for key in Int64(1)...5 {
      #expect(try manager.trace("Item/p\(key)", in: .source).associations.map(\.destination?.key) == [key])
    }
  }

  private func prefix(_ fixture: MigrationFixture) throws -> String {
    "x-coredata://\(try StoreMetadata(readingStoreAt: fixture.sourcePath).uuid)"
  }

  @Test func `an object that the application made or deleted is named as such`() throws {
    let fixture = try pets([1, 2], [5])
    try fixture.run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("DELETE FROM ZPET WHERE Z_PK = 2")
    try connection.execute("INSERT INTO ZPET (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (900, 1, 1, 'new')")
    try connection.close()
    let manager = MigrationManager(try fixture.job)
    let new = try manager.trace("Pet/p900")
    #expect(new.gaps.map(\.reason) == [.unexplained] && new.object.attributes["name"] == .init("new"))
    let deleted = try manager.trace("Cat/p2")
    #expect(deleted.associations.count == 1 && deleted.associations[0].destination == nil)
    #expect(deleted.associations[0].destinationURI.hasSuffix("/Pet/p2"))
    #expect(throws: GodwitError.self) { try manager.trace("Pet/p2") }
  }

  @Test func `a policy decides alone, and an entity without a mapping is dropped`() throws {
    let fixture = try pets([1], [5])
    fixture.mappings.removeLast()
    fixture.mappings[0].policyName = "Plain"
    var job = try fixture.job
    job.policies.register("Plain", PlainPolicy())
    let manager = MigrationManager(job)
    try manager.run()
    for subject in [manager, MigrationManager(try fixture.job)] {
      let made = try subject.trace("Pet/p1")
      #expect(made.associations.isEmpty && made.gaps.map(\.reason) == [.policy])
      #expect(made.gaps[0].message.contains("'Plain'"))
      #expect(try subject.trace("Cat/p1").gaps.map(\.reason) == [.policy])
      #expect(try subject.trace("Dog/p5").gaps.map(\.reason) == [.noMapping])
    }
  }
}
