import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A random store of people with broken rows, what of it must be rejected, and the same store without that.
///
/// The rejected objects are computed here from the objects, by the rules in words, without the engine.
final class QuarantineWorld {
  struct Person {
    var key: Int64
    var isEmployee: Bool
    var name: String?
    /// nil, a number, or text in place of one.
    var age: Int64?
    var ageText: String?
    var badge: String?
    var hasFile = false
    var address: Int64?
    var boss: Int64?
    var spouse: Int64?
    var friends: [Int64] = []
    var groups: [Int64] = []
  }

  let folder: TemporaryFolder
  var people: [Person] = []
  /// Streets by key; nil is invalid in the destination.
  var addresses: [Int64: String?] = [:]
  var groups: Int64 = 0
  /// Whether addresses with an even key take the employees that live there for their people, and so lose the others.
  var fillsAddresses = false
  let uuid = UUID()
  var sourcePath: String { folder.file("source.sqlite") }

  init(seed: UInt64, people count: Int, broken percent: Int) throws {
    folder = try TemporaryFolder("godwit-quarantine")
    var random = SeededGenerator(seed: seed)
    let streets = Int64(max(2, count / 4))
    for key in 1...streets { addresses[key] = .some(random.chance(percent / 2) ? nil : "street \(key)") }
    groups = Int64(max(1, count / 5))
    var free = Set((1...Int64(count)).map { $0 })
    for key in 1...Int64(count) {
      func someone() -> Int64 { Int64(random.below(count)) + 1 }
      var person = Person(key: key, isEmployee: random.chance(40), name: "name \(key)", age: key % 90)
      person.address = Int64(random.below(Int(streets))) + 1
      person.boss = random.chance(60) ? someone() : nil
      person.friends = (0..<random.below(4)).map { _ in someone() }
      person.groups = random.chance(50) ? [Int64(random.below(Int(groups))) + 1] : []
      person.badge = person.isEmployee ? "A\(key)" : nil
      person.hasFile = random.chance(10)
      if random.chance(30), free.contains(key) {
        let other = someone()
        if other != key, free.contains(other) {
          person.spouse = other
          free.subtract([key, other])
        }
      }
      if random.chance(percent) {
        switch random.below(6) {
        case 0: person.name = nil
        case 1: person.name = String(repeating: "x", count: 30)
        case 2: person.age = 32767
        case 3: person.ageText = "old"
        case 4: person.address = nil
        default: if person.isEmployee { person.badge = "a\(key)" } else { person.age = 300 }
        }
      }
      people.append(person)
    }
  }

  // MARK: Models

  private static func entities(isDestination: Bool) -> [EntityDescription] {
    var photo = AttributeDescription(name: "photo", type: .binary)
    photo.allowsExternalBinaryDataStorage = true
    var person = EntityDescription.make(
      "Person", ["name": .string, "age": .integer16],
      [
        .toOne("address", "Address", inverse: "people"), .toOne("boss", "Person", inverse: "reports"),
        .toMany("reports", "Person", inverse: "boss"), .toMany("friends", "Person", inverse: "friendOf"),
        .toMany("friendOf", "Person", inverse: "friends"), .toOne("spouse", "Person", inverse: "spouseOf"),
        .toOne("spouseOf", "Person", inverse: "spouse"), .toMany("groups", "Group", inverse: "members"),
      ])
    person.attributes.append(photo)
    var employee = EntityDescription.make("Employee", parent: "Person", ["badge": .string])
    var address = EntityDescription.make(
      "Address", ["street": .string], [.toMany("people", "Person", inverse: "address", ordered: true)]
    )
    let group = EntityDescription.make(
      "Group", ["title": .string], [.toMany("members", "Person", inverse: "groups", ordered: true)])
    if isDestination {
      func change(_ list: inout [AttributeDescription], _ name: String, _ body: (inout AttributeDescription) -> Void) {
        for place in list.indices where list[place].name == name { body(&list[place]) }
      }
      change(&person.attributes, "name") {
        $0.isOptional = false
        $0.maximumLength = 20
      }
      change(&person.attributes, "age") { $0.maximumValue = .integer(150) }
      change(&employee.attributes, "badge") { $0.regularExpression = "[A-Z][0-9]+" }
      change(&address.attributes, "street") { $0.isOptional = false }
      for place in person.relationships.indices where person.relationships[place].name == "address" {
        person.relationships[place].isOptional = false
      }
    }
    return [person, employee, address, group]
  }

  // Made once: what is computed of a model is kept with it.
  private static let models = Result {
    try [false, true].map { try ManagedObjectModel(name: $0 ? "2" : "1", entities: entities(isDestination: $0)) }
  }

  static var source: ManagedObjectModel { get throws { try models.get()[0] } }
  static var destination: ManagedObjectModel { get throws { try models.get()[1] } }

  // MARK: Oracle

  /// The people and addresses that the rules reject.
  func rejected() -> (people: Set<Int64>, addresses: Set<Int64>) {
    let streets = Set(addresses.filter { $0.value == nil }.map(\.key))
    // A person is rejected for what it holds, and for an address that is not there or is rejected.
    let broken = people.filter { person in
      guard let name = person.name, name.count <= 20, person.ageText == nil, (person.age ?? 0) + 1 <= 150 else {
        return true
      }
      if person.isEmployee, let badge = person.badge, badge.hasPrefix("a") { return true }
      if fillsAddresses, !person.isEmployee, let address = person.address, address % 2 == 0 { return true }
      return person.address.map { streets.contains($0) } ?? true
    }
    return (Set(broken.map(\.key)), streets)
  }

  // MARK: Stores

  /// Writes the store at a path.
  ///
  /// - Parameter left: The objects that are left out, with all links to them.
  func write(to path: String, without left: (people: Set<Int64>, addresses: Set<Int64>) = ([], [])) throws {
    let model = try Self.source
    let builder = try StoreBuilder(path: path, model: model, metadata: StoreMetadata(model: model, uuid: uuid))
    for (key, street) in addresses.sorted(by: { $0.key < $1.key }) where !left.addresses.contains(key) {
      try builder.insert("Address", key: key, attributes: ["street": street.map { .init($0) } ?? .null])
    }
    for key in 1...groups { try builder.insert("Group", key: key, attributes: ["title": .init("group \(key)")]) }
    func kept(_ keys: [Int64?]) -> [Int64] { keys.compactMap(\.self).filter { !left.people.contains($0) } }
    for person in people where !left.people.contains(person.key) {
      var attributes: [String: AttributeValue] = [
        "name": person.name.map { .init($0) } ?? .null, "age": person.age.map { .integer($0) } ?? .null,
      ]
      if person.isEmployee { attributes["badge"] = person.badge.map { .init($0) } ?? .null }
      try builder.insert(
        person.isEmployee ? "Employee" : "Person", key: person.key, attributes: attributes,
        relationships: [
          "address": person.address.map { left.addresses.contains($0) ? [] : [$0] } ?? [],
          "boss": kept([person.boss]), "spouse": kept([person.spouse]), "friends": kept(person.friends),
          "groups": person.groups,
        ])
    }
    try builder.finish()
    let connection = try StoreConnection(path: path)
    for person in people where !left.people.contains(person.key) {
      if let text = person.ageText {
        try connection.execute("UPDATE ZPERSON SET ZAGE = ?1 WHERE Z_PK = ?2", [.text(text), .integer(person.key)])
      }
    }
    try addFiles(connection, path, without: left.people)
    // Whatever is left out, the counters are those of the whole.
    for (name, key) in [("Person", Int64(people.count)), ("Address", Int64(addresses.count)), ("Group", groups)] {
      try connection.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = ?1 WHERE Z_NAME = ?2", [.integer(key), .text(name)])
    }
    try connection.close()
  }

  private func addFiles(_ connection: StoreConnection, _ path: String, without left: Set<Int64>) throws {
    let support = SupportFolder(ofStoreAt: path)
    for person in people where person.hasFile && !left.contains(person.key) {
      try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
      let name = Self.fileName(person.key)
      try Data(repeating: UInt8(person.key % 250), count: 500).write(to: URL(filePath: support.path(of: name)))
      try connection.execute(
        "UPDATE ZPERSON SET ZPHOTO = ?1 WHERE Z_PK = ?2",
        [.blob(StoredBinary.external(name: name).bytes), .integer(person.key)])
    }
  }

  static func fileName(_ key: Int64) -> String { "00000000-0000-0000-1000-\(String(100_000_000_000 + key))" }

  // MARK: Jobs

  func job(
    from source: String, to destination: String, chunkRows: Int?, quarantine: Quarantine?
  ) throws -> MigrationJob {
    var addresses = [try EntityMapping.make("Address", "Address", kind: .copy)]
    if fillsAddresses {
      addresses[0].filter = try FilterPredicate("street == nil OR NOT street MATCHES '.*[02468]'")
      var full = try EntityMapping.make(
        "Address", "Address", name: "Full", filter: "street MATCHES '.*[02468]'",
        attributes: ["street": "$source.street"])
      full.relationshipMappings = [
        RelationshipMapping(name: "people", value: .mapping("EmployeeToEmployee", keyPath: ["people"]))
      ]
      addresses.append(full)
    }
    var job = MigrationJob(
      name: "people", sourcePath: source, destinationPath: destination, sourceModel: try Self.source,
      destinationModel: try Self.destination,
      mappingModels: [
        MappingModel(
          entityMappings: [
            try .make("Person", "Person", kind: .copy, attributes: ["age": "$source.age + 1"]),
            try .make("Employee", "Employee", kind: .copy, attributes: ["age": "$source.age + 1"]),
          ] + addresses + [try .make("Group", "Group", kind: .copy)])
      ], chunkRows: chunkRows)
    job.quarantine = quarantine
    return job
  }

  /// The content of a store, without the name of the job that made it.
  static func content(_ path: String) throws -> [String] {
    let lines = try StoreDump(path).lines.filter {
      !$0.contains("GodwitJobs") && !$0.contains("GodwitQuarantined")
    }
    let metadata = try #require(lines.firstIndex { $0.hasPrefix("table ") && $0.contains("Z_METADATA") })
    return Array(lines[..<metadata]) + lines[(metadata + 1)...].drop { $0.hasPrefix("  ") }
  }
}
