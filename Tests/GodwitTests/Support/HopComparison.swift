import Testing

/// Compares the stores on both sides of a hop row by row and column by column, by plain SQL on both files.
struct HopComparison {
  let finished: FinishedMigration
  let hop: CorpusHop
  private var source: [String: [String]] = [:]
  private var made: [String: [String]] = [:]
  /// Tables and columns of the source that something was expected of.
  private var read: Set<String> = []

  private static let fixed: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]

  init(_ finished: FinishedMigration, _ hop: CorpusHop) throws {
    self.finished = finished
    self.hop = hop
    source = try tables("source")
    made = try tables("made")
  }

  /// Names of objects' tables and join tables, and of their columns.
  private func tables(_ database: String) throws -> [String: [String]] {
    var tables: [String: [String]] = [:]
    for name in try names(
      "SELECT name FROM \(database).sqlite_master WHERE type = 'table' AND name GLOB 'Z*' AND name NOT IN ('Z_METADATA', 'Z_MODELCACHE', 'Z_PRIMARYKEY')"
    ) {
      tables[name] = try names("SELECT name FROM pragma_table_info('\(name)', '\(database)')")
    }
    return tables
  }

  private func names(_ sql: String) throws -> [String] {
    try finished.rows(sql).map { String($0.dropFirst().dropLast()) }
  }

  /// - Returns: how many objects there are.
  mutating func run() throws -> Int64 {
    var objects: Int64 = 0
    for (table, columns) in made.sorted(by: { $0.key < $1.key }) {
      if columns.contains("Z_ENT") {
        objects += Int64(try compareObjects(table, columns))
      } else {
        try compareLinks(table, columns)
      }
    }
    for name in hop.tables.keys { #expect(made[name] != nil, "there is no table \(name)") }
    for name in hop.joins.keys { #expect(made[name] != nil, "there is no table \(name)") }
    checkLost()
    return objects
  }

  // MARK: Objects

  private mutating func compareObjects(_ table: String, _ columns: [String]) throws -> Int {
    let rule = hop.tables[table] ?? .init()
    let origin = rule.table ?? table
    if rule.isEmpty {
      #expect(try finished.integer("SELECT COUNT(*) FROM made.\(table)") == 0, "\(table)")
      return 0
    }
    let present = try #require(source[origin], "nothing is said of table \(table)")
    var found: [String] = []
    var expected: [String] = []
    for column in columns where !Self.fixed.contains(column) {
      let name = "s.\(column)"
      if let reference = Self.reference(column) {
        found.append(Self.entityName(name, "made"))
        if let value = rule.columns[column] {
          expected.append(value)
        } else {
          // Numbers change, entities stay.
          let former = try #require(
            present.first { Self.reference($0) == reference }, "nothing is said of \(table).\(column)")
          read.insert("\(origin).\(former)")
          let value = Self.renamed(Self.entityName("s.\(former)", "source"), hop.renamed)
          // A number beside a key that leads to nothing goes with it.
          expected.append(
            rule.columns["Z" + reference].map { "CASE WHEN \($0) IS NOT NULL THEN \(value) END" } ?? value)
        }
        continue
      }
      let value = rule.columns[column]
      if value == nil {
        try #require(present.contains(column), "nothing is said of \(table).\(column)")
        read.insert("\(origin).\(column)")
      }
      if column.hasPrefix("Z_FOK_") {
        // Places are numbered again; their meaning is the order among one owner's objects.
        let key = "Z" + column.dropFirst("Z_FOK_".count)
        found.append(Self.place(name, "s.\(key)", "s.Z_PK"))
        expected.append(value ?? Self.place(name, "s.\(key)", "s.Z_PK"))
      } else {
        found.append(name)
        expected.append(value ?? name)
      }
    }
    let kind = Self.renamed(Self.entityName("s.Z_ENT", "source"), hop.renamed)
    let filter = rule.filter.map { " WHERE \($0)" } ?? ""
    let count = try finished.expectEqual(
      "SELECT s.Z_PK, \((["1", Self.entityName("s.Z_ENT", "made")] + found).joined(separator: ", ")) FROM made.\(table) AS s WHERE s.Z_OPT = 1 ORDER BY 1",
      "SELECT * FROM (SELECT s.Z_PK, \((["1", (rule.kind ?? kind) + " AS kind"] + expected).joined(separator: ", ")) FROM source.\(origin) AS s)\(filter) ORDER BY 1"
    )
    try finished.expectEqual(
      "SELECT \(Self.entityName("s.Z_ENT", "made")) AS kind, COUNT(*) FROM made.\(table) AS s GROUP BY 1 ORDER BY 1",
      "SELECT kind, COUNT(*) FROM (SELECT \(rule.kind ?? kind) AS kind FROM source.\(origin) AS s)\(filter) GROUP BY 1 ORDER BY 1"
    )
    return count
  }

  private static func entityName(_ number: String, _ database: String) -> String {
    "(SELECT k.Z_NAME FROM \(database).Z_PRIMARYKEY AS k WHERE k.Z_ENT = \(number))"
  }

  private static func renamed(_ name: String, _ names: [String: String]) -> String {
    guard !names.isEmpty else { return name }
    return "CASE \(name) \(names.map { "WHEN '\($0)' THEN '\($1)'" }.joined(separator: " ")) ELSE \(name) END"
  }

  private static func place(_ order: String, _ owner: String, _ key: String) -> String {
    "CASE WHEN \(owner) IS NOT NULL THEN row_number() OVER (PARTITION BY \(owner) ORDER BY \(order), \(key)) END"
  }

  /// The text after the number in the name of a column that holds the entity number of a to-one's object.
  private static func reference(_ column: String) -> String? {
    column.wholeMatch(of: #/Z\d+_(.+)/#).map { String($0.1) }
  }

  // MARK: Links

  private mutating func compareLinks(_ table: String, _ columns: [String]) throws {
    let expected: String
    if let said = hop.joins[table] {
      expected = said
    } else {
      let shape = Self.withoutNumbers([table] + columns)
      let same = source.filter { Self.withoutNumbers([$0.key] + $0.value) == shape }
      let (former, names) = try #require(same.count == 1 ? same.first : nil, "nothing is said of table \(table)")
      read.insert(former)
      expected = "SELECT \(Self.links(names)) FROM source.\(former)"
    }
    try finished.expectEqual(
      "SELECT \(Self.links(columns)) FROM made.\(table) ORDER BY 1, 2", "SELECT * FROM (\(expected)) ORDER BY 1, 2")
  }

  /// Both keys and the place: of the objects of the column that it is named after, among those of the other.
  private static func links(_ columns: [String]) -> String {
    columns.map { column in
      guard column.hasPrefix("Z_FOK_") else { return column }
      let member = "Z_" + column.dropFirst("Z_FOK_".count)
      let owner = columns.first { $0 != member && !$0.hasPrefix("Z_FOK_") } ?? member
      return place(column, owner, member)
    }.joined(separator: ", ")
  }

  private static func withoutNumbers(_ names: [String]) -> [String] {
    // Entity numbers, and those of columns that would have the same name.
    names.map { $0.replacing(#/^(Z_|Z_FOK_)\d+/#) { "\($0.1)#" }.replacing(#/\d+$/#, with: "") }
  }

  // MARK: What is lost

  /// Every column and join table of the source was carried, or is read by what the hop says, or is said to be lost.
  private func checkLost() {
    let said = (hop.tables.values.flatMap(\.columns.values) + Array(hop.joins.values)).joined(separator: " ")
    let words = Set(said.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
    let origins = Set(made.keys.map { hop.tables[$0]?.table ?? $0 })
    var lost: Set<String> = []
    for (table, columns) in source {
      if !columns.contains("Z_ENT") {
        if !read.contains(table), !words.contains(table) { lost.insert(table) }
      } else if !origins.contains(table) {
        lost.insert(table)
      } else {
        for column in columns where !Self.fixed.contains(column) {
          if !read.contains("\(table).\(column)"), !words.contains(column) { lost.insert("\(table).\(column)") }
        }
      }
    }
    #expect(lost == hop.lost)
  }
}
