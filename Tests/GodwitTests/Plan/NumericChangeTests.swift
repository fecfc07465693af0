import GodwitEngine
import GodwitModel
import GodwitStore
import Testing

/// Values that a later numeric type cannot hold, and those of which it holds a neighbour.
struct NumericChangeTests {
  struct Case: Sendable {
    var source, destination: AttributeType
    var values: String
    var rounded: Int64 = 0
    var misfits: Int64 = 0
    var valueless: Int64 = 0
  }

  @Test(arguments: [
    Case(
      source: .integer64, destination: .integer16, values: "(NULL), (-32768), (32767), (-32769), (32768)", misfits: 2),
    Case(source: .double, destination: .integer16, values: "(1.0), (-32768.0), (1.5), (-32768.5), (4e4)", misfits: 3),
    Case(source: .integer16, destination: .integer64, values: "(-32768), (32767)"),
    Case(source: .boolean, destination: .integer16, values: "(0), (1)"),
    Case(source: .integer16, destination: .float, values: "(-32768), (32767)"),
    Case(
      source: .integer32, destination: .float, values: "(16777216), (16777217), (-16777217), ('16777217'), (NULL)",
      rounded: 2),
    Case(
      source: .integer64, destination: .float, values: "(4611686018427387904), (9223372036854775807)", rounded: 1),
    Case(source: .double, destination: .float, values: "(0.5), (-0.1), (1e300), (9e999)", rounded: 2),
    Case(
      source: .integer64, destination: .double, values: "(9007199254740992), (9007199254740993), (-9007199254740993)",
      rounded: 2),
    Case(
      source: .double, destination: .decimal, values: "(9e126), (1e127), (-1e127), (NULL), (1e-130), (0.0)", misfits: 3),
    Case(
      source: .decimal, destination: .double, values: "(7), ('NaN'), (9e999), (-1e127), (1e-130), (0), (0.5), (NULL)",
      valueless: 4),
    Case(
      source: .decimal, destination: .float, values: "(-9223372036854775808), (1e100), ('NaN'), (1e300), (0.1)",
      rounded: 2, valueless: 2),
    Case(
      source: .decimal, destination: .integer16, values: "(7), ('NaN'), (9e999), (1e127), (1e-130), (0), (0.5), (7e4)",
      misfits: 2, valueless: 4),
  ]) func `values that a numeric change rounds or cannot hold are counted`(numbers: Case) throws {
    let connection = try StoreConnection(path: nil)
    defer { try? connection.close() }
    try connection.execute("CREATE TABLE numbers (number, isMeant)")
    try connection.execute("INSERT INTO numbers (number) VALUES \(numbers.values)")
    try connection.execute("UPDATE numbers SET isMeant = 1")
    try connection.execute("INSERT INTO numbers (number) VALUES (1e300), (-0.1), (9007199254740993)")
    let schema = StoreSchema(model: try ManagedObjectModel(name: "1", entities: []))
    let functions = try SQLFunctions(connection: connection, sourceSchema: schema, now: 0)
    let sql =
      "SELECT godwit_numbers(number, \(numbers.source.rawValue), \(numbers.destination.rawValue), 0, 0) FROM numbers WHERE isMeant"
    let rows = try functions.running(ChunkStatement(sql: sql, builder: StatementBuilder()), context: "") {
      try connection.rows(sql)
    }
    guard case .text(let text)? = rows.first?.first else { return #expect(Bool(false), "\(rows)") }
    let counts = NumberTally(String(decoding: text, as: UTF8.self))
    #expect(counts.rounded == numbers.rounded && counts.misfits == numbers.misfits, "\(counts)")
    #expect(counts.valueless == numbers.valueless, "\(counts)")
  }

  /// The kinds of value are those of `NumberTally.What`.
  @Test(arguments: [(.stored, 7), (.read, 7), (.readOrConstant, 4), (.computed, 4)] as [(NumberTally.What, Int64)])
  func `a Float holds the last digits of what is stored, and the whole digits of what is computed`(
    what: NumberTally.What, rounded: Int64
  ) throws {
    // Fractions that a Float has, fractions that it lacks, and numbers whose neighbour is of another whole number.
    let values = "0.5, 16777215.0, 0.1, 2.9999999999, 16777216.25, 33554433.75, 16777217.25, 600000020.25, -600000020.5"
    let list = values.split(separator: ", ").map { "(\($0))" }.joined(separator: ", ")
    let connection = try StoreConnection(path: nil)
    defer { try? connection.close() }
    let schema = StoreSchema(model: try ManagedObjectModel(name: "1", entities: []))
    let functions = try SQLFunctions(connection: connection, sourceSchema: schema, now: 0)
    let sql =
      "SELECT godwit_numbers(column1, -1, \(AttributeType.float.rawValue), \(what.rawValue), 0) FROM (VALUES \(list))"
    let rows = try functions.running(ChunkStatement(sql: sql, builder: StatementBuilder()), context: "") {
      try connection.rows(sql)
    }
    guard case .text(let text)? = rows.first?.first else { return #expect(Bool(false), "\(rows)") }
    #expect(NumberTally(String(decoding: text, as: UTF8.self)).rounded == rounded)
  }

  @Test func `numeric values are counted only for changes that Core Data infers`() {
    #expect(NumericChange(from: .integer16, to: .integer16) == nil)
    #expect(NumericChange(from: .integer16, to: .boolean) == nil)
    #expect(NumericChange(from: .boolean, to: .double) == nil)
    #expect(NumericChange(from: .string, to: .integer16) == nil)
  }
}
