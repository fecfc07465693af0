import GodwitModel
import GodwitStore

/// Which tables of a store an inferred mapping leaves where they are, and which are rebuilt from their rows.
///
/// SQLite adds columns at the end alone and drops one by writing every row. So a table stays when each of its columns,
/// in order, becomes the column of the same place in the destination's table, and new columns follow. The rows of all
/// others go through one `INSERT … SELECT` into a table of the right shape.
struct InPlaceSQLLayout {
  /// A table of entities that stays.
  struct Kept {
    var old: String
    var new: StoreSchema.EntityTable
    /// Present names of the columns, in order; the first columns of `new`.
    var columns: [String]

    var renamedColumns: [(from: String, to: String)] {
      zip(columns, new.columns).filter { $0 != $1.name }.map { ($0, $1.name) }
    }
    var addedColumns: [StoreSchema.Column] { Array(new.columns.dropFirst(columns.count)) }
  }

  /// A join table that stays.
  struct KeptJoin {
    var old: String
    var new: StoreSchema.JoinTable
    /// Present and new names of the columns, in order.
    var columns: [(from: String, to: String)]

    var renamedColumns: [(from: String, to: String)] { columns.filter { $0.from != $0.to } }

    /// The reason why a join table cannot stay.
    enum Obstacle: Error {
      /// A column for an order comes or goes.
      case order
      case places
    }

    /// Pairs the columns of a present table with those that they become, as one end of the relationship sees them.
    init(
      _ old: String, as new: StoreSchema.JoinTable, was: JoinColumns, now: JoinColumns, in file: StoreTables
    ) throws(Obstacle) {
      var names = [was.subject: now.subject, was.object: now.object]
      for (from, to) in [(was.order, now.order), (was.otherOrder, now.otherOrder)] {
        guard (from == nil) == (to == nil) else { throw .order }
        if let from, let to { names[from] = to }
      }
      let present = file.columns(of: old).map(\.name)
      let wanted =
        [new.ownerColumn, new.destinationColumn]
        + [new.destinationOrderColumn, new.ownerOrderColumn].compactMap { $0 }
      guard present.map({ names[$0] ?? "" }) == wanted else { throw .places }
      self.old = old
      self.new = new
      columns = Array(zip(present, wanted)).map { ($0, $1) }
    }
  }

  /// The columns of a join table as one end sees them.
  struct JoinColumns {
    var subject, object: String
    var order, otherOrder: String?

    init(_ join: StoreSchema.JoinTable, subject: String, object: String, order: String?) {
      self.subject = subject
      self.object = object
      self.order = order
      otherOrder = subject == join.ownerColumn ? join.destinationOrderColumn : join.ownerOrderColumn
    }
  }

  private(set) var tables: [Kept] = []
  private(set) var joins: [KeptJoin] = []
  /// Present tables of the model that are dropped or whose rows go into new tables, with their temporary names.
  private(set) var aside: [(table: String, name: String)] = []
  /// Why each rebuilt table cannot stay, by the destination's table.
  private(set) var reasons: [(table: String, reason: String)] = []

  init(program: StepProgram, connection: StoreConnection) throws {
    let file = try StoreTables(connection)
    let destination = program.destinationSchema
    var taken: Set<String> = []
    let users = Self.users(of: program)
    for table in destination.tables {
      guard let source = users[table.rootEntityName]?.first else {
        reasons.append((table.name, "new"))
        continue
      }
      let isShared = users.contains { $0.key != table.rootEntityName && $0.value.contains(source) }
      if isShared || users[table.rootEntityName]?.count != 1 {
        reasons.append((table.name, "its hierarchy is split"))
      } else if let reason = Self.obstacle(to: table, from: source, program: program, file: file) {
        reasons.append((table.name, reason))
      } else {
        taken.insert(source)
        tables.append(Kept(old: source, new: table, columns: file.columns(of: source).map(\.name)))
      }
    }
    for join in destination.joinTables {
      do throws(SchemaOnlyLayout.Obstacle) {
        let kept = try Self.kept(join, program: program, file: file)
        if taken.insert(kept.old).inserted {
          joins.append(kept)
        } else {
          reasons.append((join.name, "another table takes its place"))
        }
      } catch { reasons.append((join.name, error.reason)) }
    }
    let present = program.sourceSchema.tables.map(\.name) + program.sourceSchema.joinTables.map(\.name)
    aside = present.filter { !taken.contains($0) }.enumerated().map { ($1, "godwit_old_\($0)") }
  }

  /// The source as the statements of the step find it once tables and columns have their new names.
  func source(_ schema: StoreSchema) -> StoreSchema {
    var names = Dictionary(aside.map { ($0.table, $0.name) }) { first, _ in first }
    var columns: [String: [String: String]] = [:]
    for table in tables {
      names[table.old] = table.new.name
      columns[table.old] = Dictionary(table.renamedColumns.map { ($0.from, $0.to) }) { first, _ in first }
    }
    for join in joins {
      names[join.old] = join.new.name
      columns[join.old] = Dictionary(join.renamedColumns.map { ($0.from, $0.to) }) { first, _ in first }
    }
    return schema.renaming(tables: names, columns: columns)
  }

  /// The tables that provide the objects of each destination root entity.
  private static func users(of program: StepProgram) -> [String: Set<String>] {
    var users: [String: Set<String>] = [:]
    for mapping in program.mappings {
      guard let root = program.resolved.destinationModel.root(of: mapping.destination.name)?.name,
        let table = program.sourceSchema.table(of: mapping.source.name)?.name
      else { continue }
      users[root, default: []].insert(table)
    }
    return users
  }

  // MARK: Tables

  /// Why a table cannot stay; nil when it can.
  private static func obstacle(
    to table: StoreSchema.EntityTable, from source: String, program: StepProgram, file: StoreTables
  ) -> String? {
    let present = file.columns(of: source)
    guard file.isPlain(source) else { return "its definition is not spelt as Core Data spells it" }
    let mappings = program.mappings.filter {
      program.resolved.destinationModel.root(of: $0.destination.name)?.name == table.rootEntityName
    }
    for (position, column) in table.columns.enumerated() {
      guard position < present.count else { return nil }
      let there = present[position]
      guard there.type == column.declaredType, comes(column, from: there.name, mappings, program) else {
        let isKnown = present.contains { comes(column, from: $0.name, mappings, program) }
        return isKnown ? "column \(column.name) changes its position" : "column \(column.name) is added before others"
      }
    }
    guard present.count == table.columns.count else { return "column \(present[table.columns.count].name) is dropped" }
    return nil
  }

  /// Whether the values of a column are those of a present one for some mapping.
  private static func comes(
    _ column: StoreSchema.Column, from present: String, _ mappings: [ResolvedEntityMapping], _ program: StepProgram
  ) -> Bool {
    let (source, model) = (program.sourceSchema, program.resolved.destinationModel)
    func of(_ entity: String) -> [ResolvedEntityMapping] {
      mappings.filter { model.isKind($0.destination.name, of: entity) }
    }
    switch column.role {
    case .primaryKey, .entity, .optimisticLock: return present == column.name
    case .attribute(let entity, let name, _):
      return of(entity).contains { mapping in
        if let attribute = model.attribute(name, of: mapping.destination.name), attribute.isDerived {
          return present == column.name && source.column(of: name, in: mapping.source.name) == present
        }
        guard let (_, value) = mapping.attributes.first(where: { $0.attribute.name == name }),
          case .copy(let from) = value.withoutDefault
        else { return false }
        return source.column(of: from, in: mapping.source.name) == present
      }
    case .foreignKey(let entity, let name), .foreignEntity(let entity, let name), .orderKey(let entity, let name):
      return of(entity).contains { mapping in
        guard let part = mapping.relationships.firstIndex(where: { $0.relationship.name == name }),
          let hop = mapping.relationships[part].path.first, mapping.relationships[part].path.count == 1,
          isWrittenWithObject(part, of: mapping, program),
          case .foreignKey(_, let key, let entityColumn, let order) = source.storage(
            of: hop.relationship.name, in: mapping.source.name)
        else { return false }
        switch column.role {
        case .foreignKey: return key == present
        case .foreignEntity: return entityColumn == present
        default: return order == present
        }
      }
    }
  }

  private static func isWrittenWithObject(
    _ part: Int, of mapping: ResolvedEntityMapping, _ program: StepProgram
  ) -> Bool {
    program.links.contains { link in
      link.strategy == .atCreation
        && link.assignments.contains { $0.mapping == mapping.index && $0.part == part && $0.end == link.carriedEnd }
    }
  }

  // MARK: Join tables

  private static func kept(
    _ join: StoreSchema.JoinTable, program: StepProgram, file: StoreTables
  ) throws(SchemaOnlyLayout.Obstacle) -> KeptJoin {
    let links = program.links.filter { link in
      [InversePair.End.first, .second].contains { end in
        guard let side = link.side(end) else { return false }
        return side.entityName == join.ownerEntityName && side.relationship.name == join.ownerRelationshipName
      }
    }
    guard let link = links.first else { throw .init(reason: "new") }
    guard link.strategy == .pairs, !join.isReflexive else { throw .init(reason: "its links are resolved one by one") }
    var kept: KeptJoin?
    for assignment in link.assignments where assignment.end == link.carriedEnd {
      let mapping = program.mappings[assignment.mapping]
      let source = mapping.relationships[assignment.part]
      guard source.path.count == 1, let hop = source.path.first,
        case .join(let old, let oldSubject, let oldObject, let oldOrder) = program.sourceSchema.storage(
          of: hop.relationship.name, in: mapping.source.name),
        case .join(_, let subject, let object, let order) = program.destinationSchema.storage(
          of: source.relationship.name, in: mapping.destination.name), !old.isReflexive,
        file.isPlain(old.name, key: [old.ownerColumn, old.destinationColumn])
      else { throw .init(reason: "its links were stored differently") }
      let found: KeptJoin
      do throws(KeptJoin.Obstacle) {
        found = try KeptJoin(
          old.name, as: join, was: JoinColumns(old, subject: oldSubject, object: oldObject, order: oldOrder),
          now: JoinColumns(join, subject: subject, object: object, order: order), in: file)
      } catch {
        switch error {
        case .order: throw .init(reason: "an order column is added or removed")
        case .places: throw .init(reason: "its columns change position")
        }
      }
      guard kept == nil || kept?.old == found.old else { throw .init(reason: "its links were in several tables") }
      kept = found
    }
    guard let kept else { throw .init(reason: "new") }
    return kept
  }
}

/// The tables of a store as their file defines them.
struct StoreTables {
  struct Column: Hashable {
    var name: String
    var type: String
    /// Place in the primary key, from 1; 0 for none.
    var keyPlace: Int
    var isBare: Bool
  }

  struct Index: Hashable {
    var name: String
    var table: String
    var sql: String
  }

  private(set) var definitions: [String: String] = [:]
  /// The indexes that statements made, in the order of the file.
  private(set) var indexes: [Index] = []
  private var columns: [String: [Column]] = [:]

  /// Reads the tables of the source.
  init(_ connection: StoreConnection) throws {
    try connection.query("SELECT name, sql FROM source.sqlite_master WHERE type = 'table'") { row in
      if let name = row.string(0) { definitions[name] = row.string(1) ?? "" }
      return true
    }
    indexes = try Self.indexes(connection, in: "source")
    for table in definitions.keys where table.hasPrefix("Z") {
      var list: [Column] = []
      try connection.query("PRAGMA source.table_info(\(StoreSchema.identifier(table)))") { row in
        list.append(
          Column(
            name: row.string(1) ?? "", type: row.string(2) ?? "", keyPlace: row.int(5),
            isBare: row.int64(3) == 0 && row.isNull(4)))
        return true
      }
      columns[table] = list
    }
  }

  /// The indexes of a file that statements made, in its order.
  static func indexes(_ connection: StoreConnection, in schema: String) throws -> [Index] {
    var indexes: [Index] = []
    try connection.query(
      "SELECT name, tbl_name, sql FROM \(schema).sqlite_master WHERE type = 'index' AND sql NOT NULL ORDER BY rowid"
    ) { row in
      indexes.append(Index(name: row.string(0) ?? "", table: row.string(1) ?? "", sql: row.string(2) ?? ""))
      return true
    }
    return indexes
  }

  func columns(of table: String) -> [Column] { columns[table] ?? [] }

  /// Whether a definition has only names, types and its primary key, so that its text may be rewritten.
  func isPlain(_ table: String, key: Set<String> = ["Z_PK"]) -> Bool {
    let list = columns(of: table)
    guard !list.isEmpty, list.allSatisfy(\.isBare) else { return false }
    let keys = list.filter { $0.keyPlace > 0 }.sorted { $0.keyPlace < $1.keyPlace }
    guard Set(keys.map(\.name)) == key, keys.count > 1 || keys[0].type == "INTEGER" else { return false }
    let texts = list.map { column in
      "\(column.name) \(column.type)" + (keys.count == 1 && column.keyPlace == 1 ? " PRIMARY KEY" : "")
    }
    let key = keys.count > 1 ? ", PRIMARY KEY (\(keys.map(\.name).joined(separator: ", ")))" : ""
    return Self.isSame(
      definitions[table] ?? "", "CREATE TABLE \(table) (\(texts.joined(separator: ", "))\(key))")
  }

  /// Every definition, in an order that depends on names alone.
  var texts: [String] { definitions.values.sorted() + indexes.map(\.sql).sorted() }

  /// Whether two definitions differ in blanks and quotes alone.
  static func isSame(_ a: String, _ b: String) -> Bool { bare(a) == bare(b) }

  /// A definition without blanks and quotes.
  static func bare(_ text: String) -> String { text.filter { !$0.isWhitespace && $0 != "\"" } }
}
