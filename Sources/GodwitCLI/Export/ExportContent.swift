import GodwitModel
import GodwitStore

/// The content that `export` writes: objects of a model, or rows of tables.
enum ExportContent {
  case objects(ObjectSelection, ObjectReader)
  case rows([RawStore.Table], RawStore)

  /// The noun for the part that gets a file.
  var noun: String {
    switch self {
    case .objects: "entity"
    case .rows: "table"
    }
  }

  /// The tables that are read for it: those of its objects, and those that hold their links.
  var tables: [String] {
    switch self {
    case .objects(let selection, let reader):
      let schema = reader.schema
      let links = selection.entities.flatMap { entity in
        schema.model.relationships(of: entity).compactMap { relationship -> String? in
          switch schema.storage(of: relationship.name, in: entity) {
          case .join(let join, _, _, _): join.name
          case .inverse(let table, _, _, _): table
          case .foreignKey, .none: nil
          }
        }
      }
      return Set(selection.entities.compactMap { schema.table(of: $0)?.name } + links).sorted()
    case .rows(let tables, _): return tables.map(\.name)
    }
  }

  /// The parts that get a file each, with their names.
  var parts: [(name: String, content: ExportContent)] {
    switch self {
    case .objects(let selection, let reader): selection.entities.map { ($0, .objects(selection.only($0), reader)) }
    case .rows(let tables, let source): tables.map { ($0.name, .rows([$0], source)) }
    }
  }

  /// - Returns: How many decimals the database does not hold exactly.
  @discardableResult func writeDatabase(
    to path: String, like store: String, decimals: DecimalForm = .number, dates: DateForm = .iso
  ) throws -> Int {
    switch self {
    case .objects(let selection, let reader):
      return try SQLiteExport.write(selection, from: reader, to: path, like: store, decimals: decimals, dates: dates)
    case .rows(let tables, let source):
      try RawSQLiteExport.write(tables, from: source, to: path, like: store)
      return 0
    }
  }

  /// Gathers records into pieces of 64 KiB. Ends when `send` returns false. If a record cannot be read, those before it
  /// are sent first. A record with a large value is sent as it is read.
  func write(as format: ExportFormat, style: ExportStyle = ExportStyle(), send: (String) throws -> Bool) throws {
    var piece = ""
    var goesOn = true
    func add(_ text: String) throws {
      piece += text
      guard piece.utf8.count >= 1 << 16 else { return }
      if goesOn { goesOn = try send(piece) }
      piece = ""
    }
    func sendRest() throws {
      if goesOn, !piece.isEmpty { _ = try send(piece) }
      piece = ""
    }
    func addAll() throws {
      switch self {
      case .objects(let selection, let reader):
        reader.leavesLargeValues = true
        piece = ObjectWriter(format: format, style: style, entities: selection.entities, reader: reader).head
        for group in selection.groups where goesOn {
          try reader.write(objectsOf: group, where: selection.condition) { reader in
            let writer = ObjectWriter(format: format, style: style, entities: selection.entities, reader: reader)
            return { try writer.write($0, to: $1) }
          } send: {
            try add($0)
            return goesOn
          }
        }
      case .rows(let tables, let source):
        let writer = RawWriter(format: format, style: style, tables: tables)
        piece = writer.head
        for table in tables where goesOn {
          try source.forEachRow(of: table) {
            try writer.write($0, of: table, from: source, to: add)
            return goesOn
          }
        }
      }
    }
    do { try addAll() } catch {
      try sendRest()
      throw error
    }
    try sendRest()
  }
}
