import GodwitJob
import GodwitModel
import GodwitStore

/// Makes a store one of the destination model by a change of definitions alone.
///
/// 1. Views, triggers, tables that no model names and indexes that the destination lacks go. Tables and columns get
///    their new names, new columns come at the end of their tables, tables of new entities and relationships are made.
/// 2. Definitions that stay get the spelling, and indexes the name, that they have in a new store.
/// 3. Indexes that no present one can replace are made. Only this reads rows.
/// 4. Counters, metadata and triggers are written.
/// 5. Everything is read back: definitions, numbers, metadata. Pages are not checked, since no row was written.
final class SchemaOnlyRun: InPlaceRun {
  private let program: SchemaOnlyProgram
  private let connection: StoreConnection
  private let editor: SchemaOnlyEditor
  let overridden: Int64 = 0

  init(_ program: SchemaOnlyProgram, connection: StoreConnection) {
    self.program = program
    self.connection = connection
    editor = SchemaOnlyEditor(connection: connection)
  }

  func tasks(finish: @escaping () throws -> Void) -> [InPlaceTask] {
    var tasks = [
      InPlaceTask(stage: "schema", name: "tables", rows: 1) { [self] in try restructure() },
      InPlaceTask(stage: "schema", name: "spelling", rows: 1) { [self] in
        try editor.spell(program.layout.tables, program.layout.joins)
        try editor.spell(program.layout.indexes.kept)
      },
    ]
    for index in program.layout.indexes.made {
      tasks.append(
        InPlaceTask(stage: index.isUnique ? "unique" : "index", name: index.name, rows: 1) { [self] in
          try connection.execute(index.sql)
        })
    }
    tasks.append(InPlaceTask(stage: "finish", name: "metadata", rows: 1) { try finish() })
    tasks.append(InPlaceTask(stage: "check", name: "definitions", rows: 1) { [self] in try check() })
    return tasks
  }

  private func restructure() throws {
    let layout = program.layout
    try editor.dropTriggersAndViews()
    try editor.dropTables(but: Set(layout.tables.map(\.old) + layout.joins.map(\.old)))
    for index in layout.indexes.dropped { try editor.dropIndex(index) }
    try editor.alter(layout.tables, layout.joins)
    for sql in layout.made { try connection.execute(sql) }
  }

  /// Reads the written content back.
  private func check() throws {
    try connection.execute("PRAGMA main.user_version = 0")
    try connection.execute("PRAGMA main.application_id = 0")
    func wrong(_ what: String) -> GodwitError {
      GodwitError(.internalBug, "\(what) is not what the destination model requires")
    }
    let wanted =
      program.layout.tables.map { ("table", $0.new.name, $0.new.createStatement) }
      + program.layout.joins.map { ("table", $0.new.name, $0.new.createStatement) }
      + program.destination.indexes.map { ("index", $0.name, $0.sql) }
    for (type, name, sql) in wanted {
      guard try editor.definition(type, name) == sql else { throw wrong("\(type) '\(name)'") }
    }
    let found = try StoreSchema(model: program.destination.model, probing: connection, schema: "main")
    guard found.entityNumbers == program.destination.entityNumbers else { throw wrong("Z_PRIMARYKEY") }
    for table in program.destination.tables {
      guard found.table(of: table.rootEntityName).map({ Set($0.columns) }) == Set(table.columns) else {
        throw wrong("table '\(table.name)'")
      }
      let columns = table.columns.map { quoted($0.name) }.joined(separator: ", ")
      try connection.execute("SELECT \(columns) FROM main.\(quoted(table.name)) LIMIT 0")
    }
    for join in program.destination.joinTables {
      try connection.execute("SELECT * FROM main.\(quoted(join.name)) LIMIT 0")
    }
    let metadata = try StoreMetadata(reading: connection, schema: "main", path: program.job.sourcePath)
    guard program.destination.model.isCompatible(with: metadata) else { throw wrong("Z_METADATA") }
  }
}
