import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

private func attribute(
  _ name: String, _ type: AttributeType = .string, was: String? = nil, isOptional: Bool = true,
  default value: AttributeValue = .null
) -> AttributeDescription {
  var attribute = AttributeDescription(name: name, type: type, isOptional: isOptional)
  attribute.renamingIdentifier = was
  attribute.defaultValue = value
  return attribute
}

/// The examples that Core Data's documentation and its books tell migrations by.
struct `Seed examples` {
  @Test func `example: Recipes 1.0 equals 1.1 but not 2.0`() throws {
    var recipe = EntityDescription(name: "Recipe", attributes: [attribute("title")])
    recipe.managedObjectClassName = "Recipe"
    let first = try ManagedObjectModel(name: "Recipes 1.0", entities: [recipe])
    // Another custom class is another program, not another store.
    recipe.managedObjectClassName = "CookingRecipe"
    let second = try ManagedObjectModel(name: "Recipes 1.1", entities: [recipe])
    recipe.attributes.append(attribute("servings", .integer16))
    let third = try ManagedObjectModel(name: "Recipes 2.0", entities: [recipe])
    #expect(second.isCompatible(with: first.versionHashes))
    #expect(!third.isCompatible(with: first.versionHashes))
    let versions = MigrationPathFinder(models: [first, second, third], mappings: [])
    #expect(versions.models.map(\.name) == ["Recipes 1.0", "Recipes 2.0"], "versions with equal hashes are one")
    #expect(try versions.path(from: second, to: third).map(\.isInferred) == [true])
  }

  @Test func `example: a hash modifier makes Recipes 1.0 and 1.1 differ`() throws {
    var recipe = EntityDescription(name: "Recipe", attributes: [attribute("title")])
    let first = try ManagedObjectModel(name: "Recipes 1.0", entities: [recipe])
    recipe.versionHashModifier = "the text has another format"
    let second = try ManagedObjectModel(name: "Recipes 1.1", entities: [recipe])
    #expect(!second.isCompatible(with: first.versionHashes))
    let fixture = try MigrationFixture(first, to: second)
    try fixture.build { try $0.insert("Recipe", key: 4, attributes: ["title": .init("Pie")]) }
    _ = try fixture.infer()
    try fixture.run()
    #expect(try fixture.rows("SELECT Z_PK, ZTITLE FROM source.ZRECIPE") == ["4|Pie"])
  }

  @Test func `example: Car becomes Automobile, color becomes paintColor`() throws {
    var automobile = EntityDescription(
      name: "Automobile", attributes: [attribute("paintColor", was: "color"), attribute("doors", .integer16)])
    automobile.renamingIdentifier = "Car"
    let fixture = try MigrationFixture([.make("Car", ["color": .string, "doors": .integer16])], to: [automobile])
    try fixture.build { store in
      try store.insert("Car", key: 2, attributes: ["color": .init("red"), "doors": .integer(4)])
      try store.insert("Car", key: 9, attributes: ["doors": .integer(2)])
    }
    #expect(try fixture.infer().entityMappings.map(\.name) == ["IEM_Transform_Car"])
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZPAINTCOLOR, ZDOORS FROM source.ZAUTOMOBILE ORDER BY 1") == ["2|red|4", "9|nil|2"])
  }

  @Test func `example: amount becomes totalCost`() throws {
    let fixture = try MigrationFixture(
      [.make("Order", ["amount": .decimal])], to: [.make("Order", ["totalCost": .decimal])])
    try fixture.build { try $0.insert("Order", attributes: ["amount": .decimal(Decimal(string: "12.75") ?? 0)]) }
    fixture.mappings = [try .make("Order", "Order", attributes: ["totalCost": "$source.amount"])]
    try fixture.run()
    #expect(try fixture.rows("SELECT ZTOTALCOST FROM source.ZORDER") == ["12.75"])
  }

  @Test func `example: Fahrenheit becomes Celsius`() throws {
    let fixture = try MigrationFixture(
      [.make("Reading", ["temperature": .double])], to: [.make("Reading", ["temperature": .double])])
    try fixture.build { store in
      for (key, value) in [(Int64(1), 32.0), (2, 212), (3, -40)] {
        try store.insert("Reading", key: key, attributes: ["temperature": .double(value)])
      }
      try store.insert("Reading", key: 4)
    }
    fixture.mappings = [
      try .make("Reading", "Reading", attributes: ["temperature": "($source.temperature - 32.0) / 1.8"])
    ]
    try fixture.run()
    #expect(
      try fixture.rows("SELECT ZTEMPERATURE FROM source.ZREADING ORDER BY Z_PK").map { Double($0) }
        == [0, 100, -40, nil])
  }

  @Test func `example: trades become transactions through TradeToTrade`() throws {
    let fixture = try MigrationFixture(
      [
        .make("Account", ["name": .string], [.toMany("trades", "Trade", inverse: "account")]),
        .make("Trade", ["amount": .double], [.toOne("account", "Account", inverse: "trades")]),
      ],
      to: [
        .make("Account", ["name": .string], [.toMany("transactions", "Trade", inverse: "account")]),
        .make("Trade", ["amount": .double], [.toOne("account", "Account", inverse: "transactions")]),
      ])
    try fixture.build { store in
      for key in Int64(1)...2 { try store.insert("Account", key: key, attributes: ["name": .init("a\(key)")]) }
      for key in Int64(1)...5 {
        try store.insert(
          "Trade", key: key, attributes: ["amount": .double(Double(key))], relationships: ["account": [key % 2 + 1]])
      }
    }
    fixture.mappings = [
      try .make(
        "Account", "Account", attributes: ["name": "$source.name"],
        relationships: [
          "transactions": .expression(
            ValueExpression(
              "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", \"TradeToTrade\", $source.trades)"
            ))
        ]),
      try .make("Trade", "Trade", attributes: ["amount": "$source.amount"]),
    ]
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZACCOUNT FROM source.ZTRADE ORDER BY Z_PK") == ["1|2", "2|1", "3|2", "4|1", "5|2"])
  }

  @Test func `example: a property named like a reserved word, $source.#size`() throws {
    let fixture = try MigrationFixture([.make("Box", ["size": .integer32])], to: [.make("Box", ["extent": .integer32])])
    try fixture.build { try $0.insert("Box", attributes: ["size": .integer(7)]) }
    fixture.mappings = [try .make("Box", "Box", attributes: ["extent": "$source.#size"])]
    try fixture.run()
    #expect(try fixture.rows("SELECT ZEXTENT FROM source.ZBOX") == ["7"])
  }

  @Test func `example: an expression sets doNotAlert for names that begin with "a"`() throws {
    let fixture = try MigrationFixture(
      [.make("ToDo", ["name": .string])],
      to: [.make("ToDo", ["name": .string, "doNotAlert": .boolean, "priority": .integer16])])
    try fixture.build { store in
      for (key, name) in ["apples", "Bread", "Aspirin", "äpfel"].enumerated() {
        try store.insert("ToDo", key: Int64(key + 1), attributes: ["name": .init(name)])
      }
      try store.insert("ToDo", key: 9)
    }
    fixture.mappings = [
      try .make(
        "ToDo", "ToDo",
        attributes: [
          "name": "$source.name", "priority": "0",
          "doNotAlert": "TERNARY($source.name BEGINSWITH[c] \"a\", YES, NO)",
        ])
    ]
    try fixture.run()
    #expect(
      try fixture.rows("SELECT ZNAME, ZDONOTALERT, ZPRIORITY FROM source.ZTODO ORDER BY Z_PK")
        == ["apples|1|0", "Bread|0|0", "Aspirin|1|0", "äpfel|0|0", "nil|0|0"])
  }

  @Test func `example: the old store is renamed with ~`() throws {
    let fixture = try MigrationFixture([.make("Note", ["t": .string])], to: [.make("Note", ["text": .string])])
    try fixture.build { try $0.insert("Note", attributes: ["t": .init("x")]) }
    fixture.mappings = [try .make("Note", "Note", attributes: ["text": "$source.t"])]
    let before = try Data(contentsOf: URL(filePath: fixture.sourcePath))
    var job = try fixture.job
    job.destinationPath = job.sourcePath
    job.existingDestination = .inPlace(keepsOld: true)
    #expect(try MigrationManager(job).run().outcome == .finished)
    let old = fixture.folder.file("source~.sqlite")
    #expect(try Data(contentsOf: URL(filePath: old)) == before)
    let store = try StoreConnection.openStore(readingAt: fixture.sourcePath)
    #expect(try store.rows("SELECT ZTEXT FROM source.ZNOTE") == [[.text(Array("x".utf8))]])
    #expect(try contents(of: fixture.folder.file("")).keys.sorted() == ["source.sqlite", "source~.sqlite"])
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
    // Proved against what it was made of.
    job.existingDestination = .fail
    job.sourcePath = old
    #expect(try Verifier(job: job).run().isClean)
  }

  @Test func `example: chunks by first letter with a progress line`() throws {
    let fixture = try MigrationFixture([.make("Person", ["name": .string])], to: [.make("Person", ["name": .string])])
    try fixture.build { store in
      for (key, name) in ["Ada", "Bob", "Anna", "Carl", "Bea"].enumerated() {
        try store.insert("Person", key: Int64(key + 1), attributes: ["name": .init(name)])
      }
      try store.insert("Person", key: 9)
    }
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    fixture.chunkPredicates = [
      "PersonToPerson": [
        "name BEGINSWITH 'A'", "name BEGINSWITH 'B'",
        "NOT (name BEGINSWITH 'A' OR name BEGINSWITH 'B') OR name == nil",
      ]
    ]
    var lines: [String] = []
    try MigrationManager(fixture.job).run { progress in
      if progress.stage == "create" { lines.append("\(progress.chunk)/\(progress.chunks) \(progress.rows)") }
    }
    for line in ["1/3 2", "2/3 4", "3/3 6"] { #expect(lines.contains(line), "\(lines)") }
    #expect(
      try fixture.rows("SELECT Z_PK, ZNAME FROM source.ZPERSON ORDER BY Z_PK")
        == ["1|Ada", "2|Bob", "3|Anna", "4|Carl", "5|Bea", "9|nil"])
  }
}
