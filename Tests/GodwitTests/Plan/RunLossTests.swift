import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import GodwitEngine

/// Losses while objects are made: values that expressions turn to nil, and to-ones that find several objects.
@Suite struct RunLossTests {
  /// Ten readings: `text` is a number in half of them, `level` is 0 in two, `parent.text` leads to the one before.
  private func fixture() throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [
        .make(
          "Reading", ["text": .string, "level": .double, "kind": .integer32, "sum": .decimal],
          [.toOne("parent", "Reading", inverse: "children"), .toMany("children", "Reading", inverse: "parent")])
      ],
      to: [
        .make(
          "Value", ["number": .double, "ratio": .double, "one": .string, "other": .string, "above": .double])
      ])
    try fixture.build { store in
      for key in Int64(1)...10 {
        try store.insert(
          "Reading", key: key * 3,
          attributes: [
            "text": key == 10 ? .null : .init(key % 2 == 0 ? "\(key)" : "about \(key)"),
            "level": key == 9 ? .null : .double(key % 4 == 0 ? 0 : 2), "kind": .integer(key % 3),
          ], relationships: key > 1 ? ["parent": [key * 3 - 3]] : [:])
      }
    }
    fixture.mappings = [
      try .make(
        "Reading", "Value",
        attributes: [
          // 1, 3, 5, 7, 9 are not numbers; 10 was nil.
          "number": #"CAST($source.text, "NSNumber")"#,
          // 4 and 8 divide by 0; 9 was nil.
          "ratio": "1 / $source.level",
          // Lost are those of 1 to 9 whose kind is not 1.
          "one": "TERNARY($source.kind == 1, $source.text, nil)",
          // An attribute that only a condition reads does not belong to the result.
          "other": #"TERNARY($source.kind == 1, "x", nil)"#,
          // 2, 4, 6, 8, 10 look at a parent that says 'about'.
          "above": #"CAST($source.parent.text, "NSNumber")"#,
        ])
    ]
    return fixture
  }

  private func nils(_ losses: LossReport) -> [String] {
    losses.losses.filter { $0.kind == .nils }.map { "\($0.step) \($0.subject) \($0.count ?? -1) \($0.reason)" }.sorted()
  }

  private let expected = [
    "1 Value.above 5 mapping ReadingToValue", "1 Value.number 5 mapping ReadingToValue",
    "1 Value.one 6 mapping ReadingToValue", "1 Value.ratio 2 mapping ReadingToValue",
  ]

  @Test(arguments: [false, true], [1, 3, 100])
  func `values that an expression turns to nil are counted, in both lanes`(inSwift: Bool, rows: Int) throws {
    let fixture = try fixture()
    fixture.chunkRows = rows
    let summary = try EngineTuning.with(\.runsAllInSwift, inSwift) { try fixture.run() }
    #expect(nils(summary.losses) == expected)
  }

  /// Decimals: infinite, too large, not a number, nil, too small, 7, and 0.
  private func decimals(_ type: AttributeType) throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [.make("A", ["m": .decimal, "n": .integer16])], to: [.make("A", ["m": type, "n": .integer16])])
    try fixture.build { store in
      for key in Int64(1)...7 { try store.insert("A", key: key, attributes: ["m": .decimal(7), "n": .integer(key)]) }
    }
    try fixture.alter(
      """
      UPDATE ZA SET ZM = CASE Z_PK WHEN 1 THEN 9e999 WHEN 2 THEN -1e127 WHEN 3 THEN 'NaN' WHEN 4 THEN NULL
      WHEN 5 THEN 1e-130 WHEN 6 THEN 7 ELSE 0 END
      """)
    return fixture
  }

  @Test(arguments: [AttributeType.double, .integer64], [nil, "n < 5", "unique", "policy"])
  func `a decimal without a value that becomes nil is counted once, in both lanes`(
    type: AttributeType, way: String?
  ) throws {
    for inSwift in [false, true] {
      let fixture = try decimals(type)
      let isFilter = way == "n < 5"
      fixture.mappings = [
        try .make(
          "A", "A", filter: isFilter ? way : nil, uniqueBy: way == "unique" ? ["n"] : [],
          attributes: ["m": "$source.m", "n": "$source.n"])
      ]
      var policies: PolicyRegistry = [:]
      if way == "policy" {
        fixture.setPolicy("Plain", of: "AToA")
        policies = ["Plain": { ClosurePolicy() }]
      }
      let summary = try EngineTuning.with(\.runsAllInSwift, inSwift) {
        way == "policy" ? try fixture.run(policies).0 : try fixture.run()
      }
      #expect(nils(summary.losses) == ["1 A.m \(isFilter ? 3 : 4) mapping AToA"], "in Swift: \(inSwift)")
    }
  }

  @Test(arguments: [AttributeType.double, .integer64])
  func `a decimal without a value is counted before a migration in place`(type: AttributeType) throws {
    let fixture = try decimals(type)
    try fixture.infer()
    #expect(try nils(fixture.run().losses) == ["1 A.m 4 mapping \(fixture.mappings[0].name)"])
    #expect(try MigrationManager(fixture.job).plan().misfits == [])
    let path = try fixture.copyOfSource("live")
    var job = fixture.jobInPlace(path, keepsOld: false)
    job.onLoss = .fail
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error?.code == .dataWrong && error?.cause?.contains("4 values of A.m became nil") == true)
    job.onLoss = .allowEmpty
    #expect(try nils(MigrationManager(job).run().losses) == ["1 A.m 4 mapping \(fixture.mappings[0].name)"])
  }

  @Test func `values turned to nil are counted with moved, dense and shared keys`() throws {
    let moved = try fixture()
    moved.mappings.insert(try .make("Reading", "Value", name: "First"), at: 0)
    #expect(try nils(moved.run().losses) == expected)

    let shared = try fixture()
    var other = try EntityMapping.make(
      "Reading", "Value", name: "Odd", filter: "kind == 0", attributes: ["ratio": "1 / $source.level"])
    other.attributeMappings.append(.init(name: "number", value: try ValueExpression("$source.level + 1")))
    shared.mappings[0].filter = try FilterPredicate("kind != 0")
    shared.mappings.append(other)
    shared.chunkRows = nil
    // Seven are not of kind 0: 1, 5, 7 are not numbers, 4 and 8 divide by 0.
    #expect(
      try nils(shared.run().losses) == [
        "1 Value.above 4 mapping ReadingToValue", "1 Value.number 3 mapping ReadingToValue",
        "1 Value.one 3 mapping ReadingToValue", "1 Value.ratio 2 mapping ReadingToValue",
      ])

    let unique = try fixture()
    unique.mappings = [
      try .make(
        "Reading", "Value", uniqueBy: ["one"],
        attributes: ["one": "CAST($source.kind, 'NSString')", "ratio": "1 / ($source.kind - 1)"])
    ]
    #expect(try nils(unique.run().losses) == ["1 Value.ratio 1 mapping ReadingToValue"])

    let huge = try fixture()
    try huge.alter("UPDATE ZREADING SET Z_PK = Z_PK + 9223372036854775000, ZPARENT = ZPARENT + 9223372036854775000")
    huge.mappings.insert(try .make("Reading", "Value", name: "First"), at: 0)
    #expect(try nils(huge.run().losses) == expected)
  }

  @Test func `chunks by predicates count each row once`() throws {
    let fixture = try fixture()
    fixture.chunkRows = nil
    fixture.chunkPredicates = ["ReadingToValue": ["kind == 0", "kind == 1", "kind == 2"]]
    #expect(try nils(fixture.run().losses) == expected)
  }

  @Test func `a run stopped after every chunk counts each lost value once`() throws {
    let fixture = try fixture()
    fixture.chunkRows = 2
    var runs = 0
    var summary = MigrationSummary(outcome: .stopped)
    while summary.outcome == .stopped, runs < 60 {
      runs += 1
      summary = try MigrationManager(fixture.job).run(maximumSeconds: 0)
    }
    #expect(runs > 4 && nils(summary.losses) == expected)
  }

  @Test func `a job with 'on-loss: fail' ends with 65 and no destination`() throws {
    let fixture = try MigrationFixture(
      [.make("Reading", ["text": .string])], to: [.make("Reading", ["number": .double])])
    try fixture.build { store in
      try store.insert("Reading", key: 1, attributes: ["text": .init("1")])
      try store.insert("Reading", key: 2, attributes: ["text": .init("one")])
    }
    fixture.mappings = [
      try .make("Reading", "Reading", attributes: ["number": "CAST($source.text, 'NSNumber')"])
    ]
    var job = try fixture.job
    job.onLoss = .fail
    #expect(try MigrationManager(job).plan().losses.refusable.map(\.count) == [1])
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(
      error?.code == .dataWrong
        && error?.cause?.contains("1 value of Reading.number became nil (mapping ReadingToReading)") == true,
      "\(String(describing: error))")
    #expect(!FileManager.default.fileExists(atPath: fixture.destinationPath))
  }

  @Test(arguments: [false, true], [1, 100])
  func `a value without the property that is read is a counted loss`(inSwift: Bool, rows: Int) throws {
    let fixture = try MigrationFixture(
      [.make("Page", ["price": .decimal, "link": .uri, "name": .string])],
      to: [.make("Page", ["isSold": .boolean, "price": .string, "path": .string, "plain": .string])])
    try fixture.build { store in
      for (key, link, name) in [(Int64(1), "https://a.org/b", "a%20b"), (2, "mailto:a", "100%"), (3, "a/b", "c")] {
        try store.insert(
          "Page", key: key, attributes: ["price": .decimal(1), "link": .uri(Text(link)), "name": .init(name)])
      }
    }
    // No decimal has this value.
    try fixture.alter("UPDATE ZPAGE SET ZPRICE = 1e200 WHERE Z_PK > 1")
    fixture.mappings = [
      try .make(
        "Page", "Page",
        attributes: [
          "isSold": "$source.price.boolValue", "price": "$source.price.stringValue", "path": "$source.link.path",
          "plain": "$source.name.stringByRemovingPercentEncoding",
        ])
    ]
    fixture.chunkRows = rows
    var job = try fixture.job
    job.onLoss = .fail
    try EngineTuning.with(\.runsAllInSwift, inSwift) {
      let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
      #expect(error?.code == .dataWrong, "\(String(describing: error))")
      let losses = try fixture.run().losses
      #expect(
        nils(losses) == [
          "1 Page.isSold 2 mapping PageToPage", "1 Page.plain 1 mapping PageToPage",
          "1 Page.price 2 mapping PageToPage",
        ])
    }
  }

  @Test func `expressions that keep what they read are not watched`() throws {
    let fixture = try fixture()
    let model = fixture.source
    func isWatched(_ text: String) throws -> Bool {
      let inputs = ExpressionInputs(model: model, entityName: "Reading")
      let expression = try ValueExpression(parsing: text)
      return inputs.mayTurnToNil(expression) && !inputs.paths(expression).isEmpty
    }
    for text in [
      "$source.text", "$source.parent.text", "uppercase($source.text)", "$source.kind + 1", "-$source.kind",
      "($source.level - 32.0) / 1.8", "TERNARY($source.kind == 1, $source.text, 'x')", "$source.kind * $source.kind",
      "nil", "$source.text.length", "$source.parent.kind.stringValue",
      "TERNARY($source.kind == 1, 'x', nil)", "$source.children.@count",
    ] {
      #expect(try !isWatched(text), "\(text)")
    }
    for text in [
      "1 / $source.level", "$source.level * 0", "$source.level - $source.level", "sqrt($source.level)",
      "$source.kind ** 2",
      "CAST($source.text, 'NSNumber')", "TERNARY($source.kind == 1, $source.text, nil)", "$source.sum + 1",
      "$source.sum.boolValue", "$source.parent.sum.stringValue", "$source.text.stringByRemovingPercentEncoding",
      "1 / ($source.kind - 1)", "uppercase(TERNARY($source.kind == 1, $source.text, nil))",
    ] {
      #expect(try isWatched(text), "\(text)")
    }
  }

  @Test(arguments: [0, 1, 2])
  func `losses of a policy's objects are counted after the policy filled in values`(way: Int) throws {
    let fixture = try fixture()
    fixture.setPolicy("Mending", of: "ReadingToValue")
    var policy = ClosurePolicy()
    policy.create = { source, mapping, manager in
      guard way > 0 else { return try manager.createDestinationInstances(forSource: source, in: mapping) }
      var value = try manager.createDestinationInstance(forSource: source, in: mapping)
      if way == 2, value["ratio"] == .null { value["ratio"] = .double(-1) }
      try manager.insert(value)
      manager.associate(sourceInstance: source, withDestinationInstance: value, for: mapping)
    }
    let (summary, _) = try fixture.run(["Mending": { [policy] in policy }])
    #expect(nils(summary.losses) == (way == 2 ? expected.filter { !$0.contains("ratio") } : expected))
  }

  // MARK: To-ones that find several

  /// Every person becomes two contacts; a home's `chief` is a person.
  private func homes() throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [
        .make("Person", ["name": .string], [.toMany("homes", "Home", inverse: "chief")]),
        .make("Home", ["street": .string], [.toOne("chief", "Person", inverse: "homes")]),
      ],
      to: [
        .make("Contact", ["name": .string], [.toMany("places", "Place", inverse: "chief")]),
        .make("Place", ["street": .string], [.toOne("chief", "Contact", inverse: "places")]),
      ])
    try fixture.build { store in
      for key in Int64(1)...4 { try store.insert("Person", key: key, attributes: ["name": .init("p\(key)")]) }
      for key in Int64(1)...9 {
        try store.insert("Home", key: key, attributes: [:], relationships: key < 8 ? ["chief": [key % 4 + 1]] : [:])
      }
    }
    fixture.mappings = [
      try .make("Person", "Contact", attributes: ["name": "$source.name"]),
      try .make("Home", "Place", relationships: ["chief": .mapping("PersonToContact", keyPath: ["chief"])]),
    ]
    fixture.setPolicy("Twice", of: "PersonToContact")
    return fixture
  }

  /// Makes two objects of a source object whose key is even, else one.
  private static let twice: ClosurePolicy = {
    var policy = ClosurePolicy()
    policy.create = { source, mapping, manager in
      for _ in 0...(source.key % 2 == 0 ? 1 : 0) {
        let object = try manager.createDestinationInstance(forSource: source, in: mapping)
        try manager.insert(object)
        manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
      }
    }
    return policy
  }()

  @Test(arguments: ["mapping", "policy", "by hand", "answer"])
  func `a to-one that finds several objects of a policy is counted`(way: String) throws {
    let fixture = try homes()
    var policies: PolicyRegistry = ["Twice": { Self.twice }]
    if way != "mapping" {
      fixture.setPolicy("Places", of: "HomeToPlace")
      var places = ClosurePolicy()
      if way == "by hand" {
        // Relationships are set object by object after this hook.
        places.endCreate = { mapping, manager in
          let home = try manager.sourceInstances(ofEntityNamed: "Home", limit: 1)
          let place = try manager.destinationInstances(forEntityMappingNamed: mapping.name, sourceInstances: home)
          manager.associate(sourceInstance: home[0], withDestinationInstance: place[0], for: mapping)
        }
      }
      if way == "answer" {
        fixture.mappings[1].relationshipMappings = [
          RelationshipMapping(
            name: "chief",
            value: .expression(try ValueExpression("FUNCTION($entityPolicy, \"chiefs:\", $source.chief)")))
        ]
        places.answer = { call, _, manager in
          guard case .object(let person as ManagedObject)? = call.arguments.first else { return .value(.null) }
          return .objects(
            try manager.destinationInstances(forEntityMappingNamed: "PersonToContact", sourceInstances: [person]),
            ordered: true)
        }
      }
      policies = ["Twice": { Self.twice }, "Places": { [places] in places }]
    }
    let (summary, report) = try fixture.run(policies)
    #expect(report.isClean, "\(report)")
    // Homes 1, 3, 5 and 7 have a chief with an even key.
    #expect(summary.ambiguousToOne == 4)
    #expect(summary.losses.losses.filter { $0.kind == .ambiguousToOne }.map(\.count) == [4])
    #expect(try fixture.rows("SELECT COUNT(ZCHIEF) FROM source.ZPLACE") == ["7"])
  }

  @Test func `a to-one is not counted as several if a policy makes one object of each source object`() throws {
    let fixture = try homes()
    #expect(try fixture.run(["Twice": { PlainPolicy() }]).0.ambiguousToOne == 0)
  }
}
