import Foundation
import Godwit
import GodwitModel
import TestSupport
import Testing

@testable import GodwitEngine
@testable import GodwitJob
@testable import GodwitStore

/// Sums of both ends of a link, where the ends have their tables to themselves: what the plan counts and the run makes
/// is what a list of links says.
@Suite struct LinkSumTests {
  /// Pizzas and toppings with a rank, and the links between them.
  private struct World {
    let fixture: MigrationFixture
    var pizzas: [Int64: Int64?] = [:]
    var toppings: [Int64: Int64?] = [:]
    var links: [[Int64]] = []

    private static func ends(_ pizza: RelationshipDescription, _ topping: RelationshipDescription)
      -> [EntityDescription]
    {
      let attributes: [String: AttributeType] = ["name": .string, "rank": .integer32]
      return [.make("Pizza", attributes, [pizza]), .make("Topping", attributes, [topping])]
    }

    /// - Parameters:
    ///   - sum: The expression of the sum, and its type.
    ///   - gap: A key that no topping has.
    init(
      sum: (expression: String, type: AttributeType) = ("$source.rank + $element.rank", .integer32), gap: Int64? = nil,
      rank: (Int64) -> Int64?
    ) throws {
      fixture = try MigrationFixture(
        Self.ends(.toMany("toppings", "Topping", inverse: "pizzas"), .toMany("pizzas", "Pizza", inverse: "toppings")),
        to: Self.ends(.toMany("portions", "Portion", inverse: "pizza"), .toMany("uses", "Portion", inverse: "topping"))
          + [
            .make(
              "Portion", ["name": .string, "sum": sum.type],
              [.toOne("pizza", "Pizza", inverse: "portions"), .toOne("topping", "Topping", inverse: "uses")])
          ])
      for key in Int64(1)...6 { pizzas[key] = .some(rank(key)) }
      for key in Int64(1)...6 where key != gap { toppings[key] = .some(rank(key + 6)) }
      for pizza in pizzas.keys.sorted() {
        for topping in toppings.keys.sorted() where (pizza + topping) % 4 != 0 { links.append([pizza, topping]) }
      }
      try write()
      var portions = try EntityMapping.make(
        "Pizza", "Portion", name: "Portions", attributes: ["name": "$element.name", "sum": sum.expression])
      portions.forEach = "toppings"
      var pizza = RelationshipMapping(name: "pizza", value: .mapping("PizzaToPizza", keyPath: []))
      pizza.end = .source
      portions.relationshipMappings = [
        pizza, RelationshipMapping(name: "topping", value: .mapping("ToppingToTopping", keyPath: ["$element"])),
      ]
      fixture.mappings =
        try ["Pizza", "Topping"].map { try .make($0, $0, attributes: ["name": "$source.name"]) } + [portions]
    }

    private func write() throws {
      func attributes(_ name: String, _ rank: Int64?) -> [String: AttributeValue] {
        ["name": .init(name), "rank": rank.map { .integer($0) } ?? .null]
      }
      try fixture.build { store in
        for (key, rank) in toppings { try store.insert("Topping", key: key, attributes: attributes("t\(key)", rank)) }
        for (key, rank) in pizzas {
          try store.insert(
            "Pizza", key: key, attributes: attributes("p\(key)", rank),
            relationships: ["toppings": links.filter { $0[0] == key }.map { $0[1] }])
        }
      }
    }

    /// A link to a topping that is gone.
    func addStray(to topping: Int64) throws {
      guard
        case .join(let join, let pizza, let other, _) = StoreSchema(model: fixture.source).storage(
          of: "toppings", in: "Pizza")
      else { return }
      try fixture.alter("INSERT INTO \(join.name) (\(pizza), \(other)) VALUES (1, \(topping))")
    }

    /// The objects that the links become, in any order.
    func expected(_ sum: (Int64, Int64) -> Int64 = { $0 + $1 }) -> [String] {
      links.map { link in
        let ranks = [pizzas[link[0]] ?? nil, toppings[link[1]] ?? nil].compactMap(\.self)
        return "t\(link[1])|\(ranks.count == 2 ? "\(sum(ranks[0], ranks[1]))" : "nil")|\(link[0])|\(link[1])"
      }.sorted()
    }

    func made() throws -> [String] {
      try fixture.rows("SELECT ZNAME, ZSUM, ZPIZZA, ZTOPPING FROM ZPORTION").sorted()
    }

    /// How many sums a type does not hold.
    func misfits(_ limits: ClosedRange<Int64>) -> Int {
      links.count { link in
        guard let a = pizzas[link[0]] ?? nil, let b = toppings[link[1]] ?? nil else { return false }
        return !limits.contains(a + b)
      }
    }

    func plan() throws -> MigrationPlan { try MigrationManager(fixture.job).plan() }
  }

  private static func small(_ key: Int64) -> Int64? { key == 5 ? nil : key * 3 }

  @Test(arguments: [nil, 3, 6] as [Int64?], [false, true])
  func `links are counted with and without gaps among the keys of their ends`(gap: Int64?, hasStray: Bool) throws {
    let world = try World(gap: gap, rank: Self.small)
    if hasStray { try world.addStray(to: gap ?? 7) }
    let facts = try world.fixture.plannedFacts()
    #expect(facts.mappings[2].rows == Int64(world.links.count))
    let losses = try world.plan().losses.losses.filter { $0.kind == .linksToNothing }
    #expect(losses.map(\.count) == (hasStray ? [1] : []))
    for inSwift in [false, true] {
      try? FileManager.default.removeItem(atPath: world.fixture.folder.file("out"))
      try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try world.fixture.run() }
      #expect(try world.made() == world.expected())
    }
  }

  /// All sums fit, then some of them, then none.
  @Test(arguments: [0, Int64(Int32.max) - 20, Int64(Int32.max)], [false, true])
  func `the plan counts exactly the sums that do not fit`(base: Int64, inSwift: Bool) throws {
    let world = try World { $0 > 6 ? ($0 - 6) * 4 : $0 == 5 ? nil : min(base + $0, Int64(Int32.max)) }
    let misfits = world.misfits(Int64(Int32.min)...Int64(Int32.max))
    #expect((misfits == 0) == (base == 0) && misfits < world.links.count)
    try EngineTuning.with(\.runsAllInSwift, inSwift) {
      let told = try world.plan().codedNotes.filter { $0.code == .valuesDoNotFit }.map(\.text)
      guard misfits > 0 else {
        #expect(told.isEmpty)
        try world.fixture.run()
        #expect(try world.made() == world.expected())
        return
      }
      #expect(told.count == 1 && told[0].contains("stop: \(misfits) values of Portion.sum do not fit"), "\(told)")
      let error = #expect(throws: GodwitError.self) { try world.fixture.run() }
      #expect(error?.message.contains("cannot store 'sum'") == true, "\(String(describing: error))")
    }
  }

  @Test func `values of a type that does not hold each whole number are counted`() throws {
    // No double is 2⁵³ + 1.
    let world = try World(sum: ("$source.rank * 4194304 * $element.rank + 1", .double)) { $0 > 6 ? 2048 : 1_048_576 }
    let rounded = try world.plan().losses.losses.filter { $0.kind == .rounded }
    #expect(rounded.map(\.count) == [Int64(world.links.count)])
  }

  @Test(arguments: [false, true])
  func `a value of the wrong type at an end stops the run, and names the object that has it`(inSwift: Bool) throws {
    let world = try World(rank: Self.small)
    try world.fixture.alter("UPDATE ZTOPPING SET ZRANK = 'many' WHERE Z_PK = 4")
    EngineTuning.with(\.runsAllInSwift, inSwift) {
      let error = #expect(throws: GodwitError.self) { try world.fixture.run() }
      #expect(
        error?.message.hasPrefix("cannot evaluate 'rank' for Topping p4: expected an integer of 32 bits, found ")
          == true,
        "\(String(describing: error))")
    }
  }

  @Test(arguments: ["'many'", "1.5", "x'00'"])
  func `no bounds are taken from ends with something else than whole numbers`(value: String) throws {
    let world = try World(rank: Self.small)
    try world.fixture.alter("UPDATE ZTOPPING SET ZRANK = \(value) WHERE Z_PK = 4")
    let linked = world.links.count { $0[1] == 4 }
    let told = try world.plan().codedNotes.filter { $0.code == .valuesDoNotFit }.map(\.text)
    #expect(told.first?.contains("\(linked) values of Portion.sum cannot be computed") == true, "\(told)")
  }

  // MARK: Costs

  @Test func `an object of a link takes few SQLite instructions`() throws {
    let world = try World(rank: Self.small)
    let connection = try StoreConnection(path: world.fixture.folder.file("cost.sqlite"), create: true)
    let (job, files) = (try world.fixture.job, try StoreFiles(path: world.fixture.sourcePath))
    try connection.attachSource(files)
    let attached = try AttachedSource(connection, job: job, files: files)
    let (_, program) = try attached.planner(job).plan(now: 0)
    for sql in attached.destinationSchema.createStatements { try connection.execute(sql) }
    let statement = try program.creation.statement(2, predicate: nil)
    for word in ["godwit_fit", "typeof", "BETWEEN 1"] { #expect(!statement.sql.contains(word), "\(statement.sql)") }
    let cost = ConnectionCost(connection)
    try attached.functions.running(statement, context: "") {
      try connection.execute(statement.sql, statement.builder.arguments())
    }
    let perRow = Double(cost.instructions) / Double(world.links.count)
    #expect(perRow > 25 && perRow < 75, "\(perRow) instructions a row")
  }

  @Test(arguments: [false, true]) func `a plan passes over the links once, if all sums fit`(fits: Bool) throws {
    let world = try World { key in fits ? key : Int64(Int32.max) - key }
    let job = try world.fixture.job
    let source = try SourceFiles(job)
    let attached = try #require(source.attached)
    let cost = ConnectionCost(attached.connection)
    _ = try source.planner(job).plan(now: 0)
    let links = Double(cost.scannedRows) / Double(world.links.count)
    #expect(fits ? links < 3 : links < 4, "\(links) scans")
  }
}
