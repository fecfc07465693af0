import Godwit
import GodwitModel
import GodwitStore
import TestSupport

/// A small random store with random faults, and what an audit is to find in it, computed without SQL.
struct AuditWorld {
  /// A value as the store has it.
  enum Value: Equatable {
    case null
    case number(Int64)
    case text(String)
    case bytes

    var sql: String {
      switch self {
      case .null: "NULL"
      case .number(let number): "\(number)"
      case .text(let text): "'\(text)'"
      case .bytes: "x'07'"
      }
    }

    var number: Int64? { if case .number(let number) = self { number } else { nil } }
  }

  struct Owner {
    var key: Int64
    var name: Value
    var age: Value
    var tag: Value
    var home: Int64?
  }

  struct Place {
    var key: Int64
    var level: Value
  }

  /// The destination's limit.
  private static let limitPeople = 3

  private(set) var owners: [Owner] = []
  private(set) var places: [Place] = []

  init(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    // Every third store is sound, so that a run proves that nothing is found without reason.
    let percent = seed % 3 == 0 ? 0 : 12
    let levels: [Value] = [.null, .number(-1), .text("high")]
    let ages: [Value] = [.null, .number(-5), .number(40_000), .number(-40_000), .text("old")]
    let homes: [Int64?] = [nil, 99, 1, 1, 2]
    for key in Int64(1)...8 {
      var level = Value.number(Int64(random.below(5)))
      if random.chance(percent) { level = levels[random.below(levels.count)] }
      places.append(Place(key: key, level: level))
    }
    for key in Int64(1)...20 {
      var owner = Owner(
        key: key, name: .text("n\(key)"), age: .number(Int64(random.below(90))), tag: .text("t\(key)"),
        home: key % 8 + 1)
      if random.chance(percent) { owner.name = random.chance(50) ? .null : .bytes }
      if random.chance(percent) { owner.age = ages[random.below(ages.count)] }
      if random.chance(percent) { owner.tag = random.chance(50) ? .null : .text("t\(random.below(20) + 1)") }
      if random.chance(percent) { owner.home = homes[random.below(homes.count)] }
      owners.append(owner)
    }
  }

  // MARK: The job

  private static func entities(isStrict: Bool) -> [EntityDescription] {
    var owner = EntityDescription.make(
      "Owner", ["name": .string, "age": isStrict ? .integer16 : .integer32, "tag": .string],
      [.toOne("home", "Place", inverse: "people")])
    var people = RelationshipDescription.toMany("people", "Owner", inverse: "home")
    if isStrict {
      for index in owner.attributes.indices {
        if owner.attributes[index].name == "name" { owner.attributes[index].isOptional = false }
        if owner.attributes[index].name == "age" { owner.attributes[index].minimumValue = .integer(0) }
      }
      owner.relationships[0].isOptional = false
      owner.uniquenessConstraints = [["tag"]]
      people.maxCount = limitPeople
    }
    return [owner, .make("Place", ["level": .integer32], [people])]
  }

  func fixture() throws -> MigrationFixture {
    let fixture = try MigrationFixture(Self.entities(isStrict: false), to: Self.entities(isStrict: true))
    fixture.mappings = [
      try .make("Owner", "Owner", kind: .copy), try .make("Place", "Place", kind: .copy, filter: "level >= 0"),
    ]
    try fixture.build { store in
      for place in places { try store.insert("Place", key: place.key) }
      for owner in owners { try store.insert("Owner", key: owner.key) }
    }
    for place in places { try fixture.alter("UPDATE ZPLACE SET ZLEVEL = \(place.level.sql) WHERE Z_PK = \(place.key)") }
    for owner in owners {
      let home = owner.home.map { "\($0)" } ?? "NULL"
      try fixture.alter(
        "UPDATE ZOWNER SET ZNAME = \(owner.name.sql), ZAGE = \(owner.age.sql), ZTAG = \(owner.tag.sql), ZHOME = \(home) WHERE Z_PK = \(owner.key)"
      )
    }
    return fixture
  }

  // MARK: Expected findings

  static func text(_ kind: String, _ place: String, _ keys: [Int64]) -> String {
    "\(kind) \(place) \(keys.sorted().map { "\($0)" }.joined(separator: ","))"
  }

  func expected() -> [String] {
    var found: [String] = []
    func add(_ kind: String, _ place: String, _ keys: [Int64]) {
      if !keys.isEmpty { found.append(Self.text(kind, place, keys)) }
    }
    func owners(_ isWrong: (Owner) -> Bool) -> [Int64] { self.owners.filter(isWrong).map(\.key) }
    let unreadable = places.filter { $0.level == .text("high") }.map(\.key)
    let taken = Set(places.filter { ($0.level.number ?? -1) >= 0 }.map(\.key))
    add("wrong type", "Place.level", unreadable)
    add("expression", "Place", unreadable)
    add("wrong type", "Owner.name", owners { $0.name == .bytes })
    add("wrong type", "Owner.age", owners { $0.age == .text("old") })
    add("invalid", "Owner.name", owners { $0.name == .null })
    add("invalid", "Owner.age", owners { ($0.age.number ?? 0) < 0 })
    add(
      "invalid", "Owner.age",
      owners { owner in owner.age.number.map { Int16(exactly: $0) == nil } ?? false })
    add(
      "dangling link", "Owner.home",
      owners { owner in owner.home.map { key in !places.contains { $0.key == key } } ?? false })
    add("invalid", "Owner.home", owners { owner in !(owner.home.map { taken.contains($0) } ?? false) })
    add(
      "invalid", "Place.people",
      taken.filter { key in self.owners.count { $0.home == key } > Self.limitPeople }.sorted())
    add(
      "duplicate", "Owner.tag",
      owners { owner in owner.tag != .null && self.owners.count { $0.tag == owner.tag } > 1 })
    return found
  }
}
