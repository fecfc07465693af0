import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Objects that the destination has already, of entities with parents, with friends, and with keys of several attributes.
@Suite struct MeetingEntityTests {
  private static let entities: [EntityDescription] = [
    .make(
      "Being", ["name": .string, "born": .date], [.toMany("pets", "Pet", inverse: "keeper")]),
    .make("Human", parent: "Being", ["town": .string], [.toMany("friends", "Human", inverse: "friends")]),
    .make("Robot", parent: "Being", ["serial": .integer64]),
    .make("Pet", ["name": .string], [.toOne("keeper", "Being", inverse: "pets")]),
  ]

  private struct Human {
    var name, town: String
    /// The places of friends in the same store.
    var friends: [Int]
  }

  /// Stores of humans, robots and their pets, and the jobs that append them.
  private static func world(
    _ sources: [[Human]]
  ) throws -> (MigrationFixture, [MigrationJob]) {
    let fixture = try MigrationFixture(entities, to: entities)
    var jobs: [MigrationJob] = []
    for (number, humans) in sources.enumerated() {
      let path = fixture.folder.file("\(number).sqlite")
      let store = try StoreBuilder(path: path, model: fixture.source)
      for (place, human) in humans.enumerated() {
        try store.insert(
          "Human", key: Int64(place * 2 + 1),
          attributes: ["name": .init(human.name), "town": .init(human.town), "born": .date(Double(number))],
          relationships: ["friends": human.friends.map { Int64($0 * 2 + 1) }])
        // A robot of the same name is not a human.
        try store.insert(
          "Robot", key: Int64(place * 2 + 2),
          attributes: ["name": .init(human.name), "serial": .integer(Int64(number)), "born": .date(0)])
        for kind in 1...2 {
          try store.insert(
            "Pet", key: Int64(place * 2 + kind), attributes: ["name": .init("\(human.name) \(number) \(kind)")],
            relationships: ["keeper": [Int64(place * 2 + kind)]])
        }
      }
      try store.finish()
      var human = try EntityMapping.make(
        "Human", "Human", uniqueBy: ["name", "town"],
        attributes: ["name": "$source.name", "town": "$source.town", "born": "$source.born"],
        relationships: ["friends": .sourceRelationship("friends")])
      human.uniqueOrder = [.init("born", ascending: false)]
      let mappings = [
        human,
        try .make(
          "Robot", "Robot", uniqueBy: ["serial", "name"],
          attributes: [
            "name": "$source.name", "serial": "$source.serial", "born": "$source.born",
          ]),
        try .make(
          "Pet", "Pet", attributes: ["name": "$source.name"], relationships: ["keeper": .sourceRelationship("keeper")]),
      ]
      var job = MigrationJob(
        name: "\(number)", sourcePath: path, destinationPath: fixture.destinationPath, sourceModel: fixture.source,
        destinationModel: fixture.destination, mappingModels: [MappingModel(entityMappings: mappings)], chunkRows: 2)
      job.existingDestination = .append
      jobs.append(job)
    }
    return (fixture, jobs)
  }

  @Test func `objects of one entity meet in the table of several, and links through the parent follow them`() throws {
    let (fixture, jobs) = try Self.world([
      [
        Human(name: "Ann", town: "Rome", friends: [1]), Human(name: "Bob", town: "Oslo", friends: []),
        Human(name: "Cid", town: "Rome", friends: [0]),
      ],
      [
        Human(name: "Bob", town: "Oslo", friends: [1, 2]), Human(name: "Ann", town: "Rome", friends: []),
        Human(name: "Ann", town: "Oslo", friends: [1]),
      ],
    ])
    for job in jobs {
      #expect(try MigrationManager(job).run().outcome == .finished)
      let report = try Verifier(job: job).run()
      #expect(report.isClean, "\(report)")
    }
    #expect(
      try fixture.rows(
        "SELECT ZNAME, ZTOWN, CAST(ZBORN AS INTEGER) FROM source.ZBEING WHERE ZTOWN NOT NULL ORDER BY 1, 2") == [
          "Ann|Oslo|1", "Ann|Rome|1", "Bob|Oslo|1", "Cid|Rome|0",
        ])
    #expect(try fixture.rows("SELECT COUNT(*) FROM source.ZBEING WHERE ZSERIAL NOT NULL") == ["5"])
    #expect(
      try fixture.rows(
        "SELECT p.ZNAME, b.ZNAME, b.ZTOWN FROM source.ZPET AS p JOIN source.ZBEING AS b ON b.Z_PK = p.ZKEEPER AND b.ZTOWN NOT NULL ORDER BY 1, 3"
      ) == [
        "Ann 0 1|Ann|Rome", "Ann 1 1|Ann|Oslo", "Ann 1 1|Ann|Rome", "Bob 0 1|Bob|Oslo", "Bob 1 1|Bob|Oslo",
        "Cid 0 1|Cid|Rome",
      ])
    guard
      case .join(let join, let one, let other, _) = StoreSchema(model: fixture.destination).storage(
        of: "friends", in: "Human")
    else { return }
    let friends = try fixture.rows(
      """
      SELECT a.ZNAME || a.ZTOWN, b.ZNAME || b.ZTOWN FROM source.\(join.name) AS j \
      JOIN source.ZBEING AS a ON a.Z_PK = j.\(one) JOIN source.ZBEING AS b ON b.Z_PK = j.\(other) ORDER BY 1, 2
      """)
    let pairs = [("AnnRome", "BobOslo"), ("AnnRome", "CidRome"), ("AnnOslo", "BobOslo"), ("AnnOslo", "AnnRome")]
    #expect(Set(friends) == Set(pairs.flatMap { ["\($0.0)|\($0.1)", "\($0.1)|\($0.0)"] }))
    #expect(friends.count == Set(friends).count)
  }
}
