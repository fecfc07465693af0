import GodwitJob
import GodwitModel
import GodwitStore

/// Writes the objects of an edited quarantine into a copy of the source.
///
/// Writing them into the destination could corrupt links and counts.
///
/// - Attributes come from the quarantine.
/// - A to-one comes from the quarantine where it has one there. Without one, a link of the source to an object that the
///   quarantine has is cut: an edit removed it. Any other link of the source stays: a quarantine has none of those.
/// - An object that was deleted from the quarantine is deleted, with all links to it.
/// - The place in an order comes from the same side as its link.
/// - Pairs of a many-to-many whose ends are both in the quarantine come from there; all others stay.
/// - The other end of a one-to-one is updated if its object is not in the quarantine (`QuarantinePartners`).
///
/// Rows with large values are written one by one, each record held once (`LargeRowWriter`).
///
/// The main database is the copy, `source` the quarantine. The temporary table `godwit_changed` has the edited objects.
struct QuarantineMerge {
  private let copy: StoreConnection
  private let schema: StoreSchema
  private let quarantine: EditedQuarantine
  private var model: ManagedObjectModel { schema.model }
  private var partners: QuarantinePartners
  /// The keys of rows with large values, by their table in the quarantine.
  private var large: [String: [Int64]] = [:]
  private var writer: LargeRowWriter?
  var hasLargeValues: Bool { !large.isEmpty }

  private static let largeLimit = ByteCount.mebibytes(1)

  init(_ copy: StoreConnection, _ schema: StoreSchema, _ quarantine: EditedQuarantine) {
    (self.copy, self.schema, self.quarantine) = (copy, schema, quarantine)
    partners = QuarantinePartners(copy, schema)
  }

  func count() throws -> QuarantineEdits {
    func rows(_ table: String) throws -> Int64 { try copy.integer("SELECT COUNT(*) FROM temp.\(table)") ?? 0 }
    let (edited, held) = (try rows("godwit_changed"), try rows("godwit_held"))
    return QuarantineEdits(edited: edited, unchanged: held - edited, deleted: try rows("godwit_reason") - held)
  }

  // MARK: Beginning

  /// Finds the rows with large values. Call before the transaction: it may attach a database.
  mutating func findLargeValues() throws {
    for table in quarantine.schema.tables {
      let columns = table.columns.map(\.name).filter { $0 != "Z_PK" }
      let keys = try copy.spans(
        database: StoreConnection.sourceSchema, table: table.name, columns: columns, from: .min, through: .max,
        limit: Self.largeLimit
      ).compactMap { if case .large(let key) = $0 { key } else { nil } }
      if !keys.isEmpty { large[table.name] = keys }
    }
    if hasLargeValues { writer = try LargeRowWriter(copy, tables: Set(schema.tables.map(\.name))) }
  }

  func prepare() throws {
    for sql in [
      "CREATE TEMP TABLE godwit_changed (root TEXT, key INTEGER, entity TEXT, PRIMARY KEY (root, key)) WITHOUT ROWID",
      "CREATE TEMP TABLE godwit_gone (name TEXT, a INTEGER, b INTEGER, PRIMARY KEY (name, a, b)) WITHOUT ROWID",
      "CREATE TEMP TABLE godwit_reference (root TEXT, key INTEGER, entity TEXT, value BLOB, is_new INTEGER)",
      "CREATE TEMP TABLE godwit_large (root TEXT, key INTEGER, PRIMARY KEY (root, key)) WITHOUT ROWID",
      "CREATE TEMP TABLE godwit_deleted (root TEXT, key INTEGER, PRIMARY KEY (root, key)) WITHOUT ROWID",
    ] + QuarantinePartners.createStatements { try copy.execute(sql) }
    try quarantine.noteObjects(in: copy)
    for entity in model.entities where !entity.isAbstract {
      guard let table = schema.table(of: entity.name) else { continue }
      let kind = schema.isObject(of: [entity.name], row: "m").further
      let lost = try copy.integer(
        "SELECT h.key FROM temp.godwit_held AS h WHERE h.root = ?1 AND h.entity = ?2 AND NOT EXISTS (SELECT 1 FROM main.\(quoted(table.name)) AS m WHERE m.Z_PK = h.key\(kind)) LIMIT 1",
        [.text(table.rootEntityName), .text(entity.name)])
      if let lost { throw wrong("\(entity.name) p\(lost) is in it, and not in the source") }
      try copy.execute(
        "INSERT INTO temp.godwit_deleted (root, key) SELECT ?1, r.key FROM temp.godwit_reason AS r CROSS JOIN main.\(quoted(table.name)) AS m ON m.Z_PK = r.key WHERE r.entity = ?2 AND NOT EXISTS (SELECT 1 FROM temp.godwit_held AS h WHERE h.root = ?1 AND h.key = r.key)\(kind)",
        [.text(table.rootEntityName), .text(entity.name)])
    }
    if try copy.integer("SELECT COUNT(*) FROM temp.godwit_deleted") ?? 0 > 0 { try removeDeleted() }
  }

  /// Whether an object was deleted from the quarantine.
  private func deleted(_ entity: String, _ key: String) -> String {
    let root = textLiteral(model.root(of: entity)?.name ?? entity)
    return "EXISTS (SELECT 1 FROM temp.godwit_deleted AS d WHERE d.root = \(root) AND d.key = \(key))"
  }

  /// Removes the objects that were deleted from the quarantine, and the links that lead to them.
  private func removeDeleted() throws {
    for table in schema.tables {
      try copy.execute(
        "DELETE FROM main.\(quoted(table.name)) AS m WHERE \(deleted(table.rootEntityName, "m.Z_PK"))")
    }
    for entity in model.entities where !entity.isAbstract {
      guard let table = schema.table(of: entity.name) else { continue }
      for column in schema.columns(of: entity.name) {
        guard case .foreignKey(let owner, let name) = column.role,
          let destination = model.relationship(name, of: owner)?.destinationEntityName,
          case .foreignKey(_, let key, let number, let order) = schema.storage(of: name, in: owner)
        else { continue }
        let values = [key, number, order].compactMap(\.self).map { "\(quoted($0)) = NULL" }.joined(separator: ", ")
        try copy.execute(
          "UPDATE main.\(quoted(table.name)) AS m SET \(values) WHERE \(deleted(destination, "m.\(quoted(key))"))")
      }
    }
    for join in schema.joinTables {
      let ends = [(join.ownerColumn, join.ownerEntityName), (join.destinationColumn, join.destinationEntityName)]
      let isGone = ends.map { deleted($0.1, "m.\(quoted($0.0))") }.joined(separator: " OR ")
      try copy.execute("DELETE FROM main.\(quoted(join.name)) AS m WHERE \(isGone)")
    }
  }

  private func wrong(_ what: String, _ cause: String? = nil) -> GodwitError {
    quarantine.refusal(what, cause: cause, remedy: "correct it in the quarantine and run the same command")
  }

  // MARK: Rows

  /// A column of the copy, and its value after the edit as SQL over the rows `m` of the copy and `f` of the
  /// quarantine.
  private struct Field {
    var column: String
    var value: String
    /// Whether the value may be the name of a file.
    var isExternal = false
    /// The column of an attribute in the quarantine.
    var from: String?
  }

  /// A key of an entity's rows.
  private struct Link {
    var name: String
    var relationship: RelationshipDescription
    var column: String
    /// The column in the quarantine.
    var from: String
    var value: String
    var root: String
  }

  mutating func mergeRows() throws {
    for entity in model.entities where !entity.isAbstract {
      guard let table = schema.table(of: entity.name), let own = quarantine.schema.table(of: entity.name) else {
        continue
      }
      var (fields, links): ([Field], [Link]) = ([], [])
      for column in schema.columns(of: entity.name) {
        switch column.role {
        case .primaryKey, .entity, .optimisticLock, .foreignEntity, .orderKey: continue
        case .attribute(_, let name, _):
          if let field = field(name, column: column.name, of: entity.name) { fields.append(field) }
        case .foreignKey(let owner, let name):
          if let found = link(name, owner) {
            links.append(found.link)
            fields += found.fields
          }
        }
      }
      guard !fields.isEmpty else { continue }
      for link in links { try checkTarget(of: link, in: own.name, entity.name, table.rootEntityName) }
      try merge(fields, links, entity.name, into: table, from: own.name)
    }
    try partners.updateInverses { wrong($0, $1) }
  }

  private func field(_ name: String, column: String, of entity: String) -> Field? {
    guard let from = quarantine.schema.column(of: name, in: entity),
      let attribute = model.attributes(of: entity).first(where: { $0.name == name })
    else { return nil }
    // A count of objects that the quarantine lacks would be that of those that it has.
    if attribute.isDerived {
      guard let derivation = try? Derivation(of: attribute, in: entity, model: model), derivation.path.isEmpty else {
        return nil
      }
    }
    return Field(
      column: column, value: "f.\(quoted(from))", isExternal: attribute.allowsExternalBinaryDataStorage, from: from)
  }

  private func held(_ root: String, _ key: String, _ entities: [String]) -> String {
    let list = entities.map(textLiteral).joined(separator: ", ")
    return
      "EXISTS (SELECT 1 FROM temp.godwit_held AS h WHERE h.root = \(textLiteral(root)) AND h.key = \(key) AND h.entity IN (\(list)))"
  }

  private func link(_ name: String, _ owner: String) -> (link: Link, fields: [Field])? {
    guard let relationship = model.relationship(name, of: owner),
      let root = model.root(of: relationship.destinationEntityName)?.name,
      let target = schema.table(of: relationship.destinationEntityName)?.name,
      case .foreignKey(_, let from, _, let fromOrder) = quarantine.schema.storage(of: name, in: owner),
      case .foreignKey(_, let column, let entityColumn, let orderColumn) = schema.storage(of: name, in: owner)
    else { return nil }
    let family = model.family(of: relationship.destinationEntityName).map(\.name)
    let old = "m.\(quoted(column))"
    // SQL may have left a link to an object that it deleted.
    let new =
      "(CASE WHEN NOT \(deleted(relationship.destinationEntityName, "f.\(quoted(from))")) THEN f.\(quoted(from)) END)"
    let isKnown = "(\(new) IS NOT NULL OR \(held(root, old, family)))"
    let value = "CASE WHEN \(isKnown) THEN \(new) ELSE \(old) END"
    var fields = [Field(column: column, value: value)]
    if let entityColumn {
      let number = schema.entityNumber(inTableOf: relationship.destinationEntityName, row: "t")
      fields.append(
        Field(
          column: entityColumn,
          value:
            "CASE WHEN \(new) IS \(old) THEN m.\(quoted(entityColumn)) WHEN \(isKnown) THEN (SELECT \(number) FROM main.\(quoted(target)) AS t WHERE t.Z_PK = \(new)) ELSE m.\(quoted(entityColumn)) END"
        ))
    }
    if let orderColumn, let fromOrder {
      fields.append(
        Field(
          column: orderColumn,
          // A link that SQL has set again, to where it led before, brings no place.
          value:
            "CASE WHEN \(isKnown) AND NOT (\(new) IS \(old) AND f.\(quoted(fromOrder)) IS NULL) THEN f.\(quoted(fromOrder)) ELSE m.\(quoted(orderColumn)) END"
        ))
    }
    let link = Link(name: name, relationship: relationship, column: column, from: from, value: value, root: root)
    return (link, fields)
  }

  /// Refuses a link to an object that neither store has.
  private func checkTarget(of link: Link, in own: String, _ entity: String, _ root: String) throws {
    let destination = link.relationship.destinationEntityName
    guard let target = schema.table(of: destination) else { return }
    let kind = schema.isKind(of: destination, row: "t").further
    let row = try copy.rows(
      """
      SELECT h.key, f.\(quoted(link.from)) FROM temp.godwit_held AS h CROSS JOIN source.\(quoted(own)) AS f ON f.Z_PK = h.key \
      WHERE h.root = ?1 AND h.entity = ?2 AND f.\(quoted(link.from)) IS NOT NULL \
      AND NOT \(deleted(destination, "f.\(quoted(link.from))")) AND NOT EXISTS \
      (SELECT 1 FROM main.\(quoted(target.name)) AS t WHERE t.Z_PK = f.\(quoted(link.from))\(kind)) LIMIT 1
      """, [.text(root), .text(entity)]
    ).first
    guard let row, case .integer(let key) = row[0] else { return }
    let found = if case .integer(let number) = row[1] { " p\(number)" } else { "" }
    throw wrong(
      "\(entity) p\(key) leads to an object that does not exist",
      "'\(link.name)' leads to \(destination)\(found), which neither the quarantine nor the source has")
  }

  private mutating func merge(
    _ fields: [Field], _ links: [Link], _ entity: String, into table: StoreSchema.EntityTable, from own: String
  ) throws {
    let root = table.rootEntityName
    let arguments: [SQLValue] = [.text(root), .text(entity)]
    func differs(_ fields: [Field]) -> String {
      fields.map { "(\($0.value)) IS NOT m.\(quoted($0.column))" }.joined(separator: " OR ")
    }
    let isSmall = "NOT EXISTS (SELECT 1 FROM temp.godwit_large AS l WHERE l.root = c.root AND l.key = c.key)"
    let rows = try largeRows(fields, root, entity, own)
    func pairs(_ noted: String) -> String {
      """
      FROM temp.\(noted) AS c CROSS JOIN main.\(quoted(table.name)) AS m ON m.Z_PK = c.key \
      CROSS JOIN source.\(quoted(own)) AS f ON f.Z_PK = c.key WHERE c.root = ?1 AND c.entity = ?2
      """
    }
    // A file may have been restored under its unchanged name, so each one is checked.
    for field in fields where field.isExternal {
      let isNew = "(\(field.value)) IS NOT m.\(quoted(field.column))"
      try copy.execute(
        "INSERT INTO temp.godwit_reference (root, key, entity, value, is_new) SELECT c.root, c.key, c.entity, \(field.value), \(isNew) \(pairs("godwit_held")) AND \(ExternalDataSQL.isReference("(\(field.value))"))",
        arguments)
    }
    let change = "INSERT INTO temp.godwit_changed (root, key, entity) SELECT c.root, c.key, c.entity"
    try copy.execute("\(change) \(pairs("godwit_held")) AND \(isSmall) AND (\(differs(fields)))", arguments)
    var isChanged = copy.changes > 0
    for row in rows {
      let others = fields.filter { row.values[$0.column] == nil }
      let condition =
        try row.differs(from: copy, table.name) ? "1" : others.isEmpty ? "0" : differs(others)
      try copy.execute(
        "\(change) \(pairs("godwit_held")) AND c.key = ?3 AND (\(condition))", arguments + [.integer(row.key)])
      isChanged = isChanged || copy.changes > 0
    }
    guard isChanged else { return }
    for link in links {
      let old = "m.\(quoted(link.column))"
      let family = model.family(of: link.relationship.destinationEntityName).map(\.name)
      try partners.note(
        link.relationship, of: entity, column: link.column, isHeld: held(link.root, "m.Z_PK", family), arguments
      ) {
        "SELECT \($0), c.key, \(old), \(link.value) \(pairs("godwit_changed")) AND (\(link.value)) IS NOT \(old)"
      }
    }
    let values = fields.map { "\(quoted($0.column)) = \($0.value)" }.joined(separator: ", ")
    try copy.execute(
      """
      UPDATE main.\(quoted(table.name)) AS m SET \(values) FROM temp.godwit_changed AS c, source.\(quoted(own)) AS f \
      WHERE c.root = ?1 AND c.entity = ?2 AND c.key = m.Z_PK AND f.Z_PK = c.key AND \(isSmall)
      """, arguments)
    for row in rows { try write(row, fields, arguments, into: table.name, from: own) }
  }

  // MARK: Large values

  /// A row of the quarantine with large values, by their column in the copy.
  private struct LargeRow {
    let key: Int64
    let values: [String: OpenValue]

    /// Whether the copy has another value in the place of one of them.
    func differs(from copy: StoreConnection, _ table: String) throws -> Bool {
      for (column, value) in values {
        let known = try copy.openValues(
          above: QuarantineMerge.largeLimit, database: "main", table: table, key: key, columns: [column])[column]
        guard let known, known.large.isText == value.large.isText,
          try StoredBytes.row(known.large, copy).isSame(as: .row(value.large, copy))
        else { return true }
      }
      return false
    }
  }

  private func largeRows(_ fields: [Field], _ root: String, _ entity: String, _ own: String) throws -> [LargeRow] {
    try (large[own] ?? []).compactMap { key in
      let isHeld = try copy.integer(
        "SELECT COUNT(*) FROM temp.godwit_held WHERE root = ?1 AND key = ?2 AND entity = ?3",
        [.text(root), .integer(key), .text(entity)])
      guard isHeld == 1 else { return nil }
      let found = try copy.openValues(
        above: Self.largeLimit, database: StoreConnection.sourceSchema, table: own, key: key,
        columns: fields.compactMap(\.from))
      try copy.execute("INSERT INTO temp.godwit_large (root, key) VALUES (?1, ?2)", [.text(root), .integer(key)])
      let values = fields.compactMap { field in field.from.flatMap { found[$0] }.map { (field.column, $0) } }
      return LargeRow(key: key, values: Dictionary(values) { first, _ in first })
    }
  }

  /// Writes a row, if it was edited: first what is small, with NULL in the place of each large value.
  private func write(
    _ row: LargeRow, _ fields: [Field], _ arguments: [SQLValue], into table: String, from own: String
  ) throws {
    let values = fields.map {
      "\(quoted($0.column)) = \(row.values[$0.column] == nil ? $0.value : "NULL")"
    }.joined(separator: ", ")
    try copy.execute(
      """
      UPDATE main.\(quoted(table)) AS m SET \(values) FROM temp.godwit_changed AS c, source.\(quoted(own)) AS f \
      WHERE c.root = ?1 AND c.entity = ?2 AND c.key = ?3 AND m.Z_PK = ?3 AND f.Z_PK = ?3
      """, arguments + [.integer(row.key)])
    guard copy.changes > 0, !row.values.isEmpty else { return }
    if let writer, try writer.supports(table) {
      try writer.complete(row.key, in: table, with: row.values, holding: Self.largeLimit)
      return
    }
    for (column, value) in row.values.sorted(by: { $0.key < $1.key }) {
      try copy.execute(
        "UPDATE main.\(quoted(table)) SET \(quoted(column)) = ?1 WHERE Z_PK = ?2", [try value.whole, .integer(row.key)])
    }
  }
}

// MARK: - Pairs

extension QuarantineMerge {
  /// Takes the pairs of many-to-many relationships over.
  func mergePairs() throws {
    for join in schema.joinTables {
      guard let (own, columns) = quarantine.schema.pairs(of: join) else { continue }
      try checkEnds(of: join, in: own, columns[0].own, columns[1].own)
      try merge(join, from: own, columns)
    }
  }

  private func isHeld(_ column: String, _ entity: String) -> String {
    held(model.root(of: entity)?.name ?? entity, "m.\(quoted(column))", model.family(of: entity).map(\.name))
  }

  /// Refuses a pair with an end that neither store has.
  private func checkEnds(of join: StoreSchema.JoinTable, in own: String, _ subject: String, _ object: String) throws {
    for (column, entity) in [(subject, join.ownerEntityName), (object, join.destinationEntityName)] {
      guard let target = schema.table(of: entity) else { continue }
      let kind = schema.isKind(of: entity, row: "t").further
      let lost = try copy.rows(
        "SELECT f.\(quoted(column)) FROM source.\(quoted(own)) AS f WHERE NOT EXISTS (SELECT 1 FROM main.\(quoted(target.name)) AS t WHERE t.Z_PK = f.\(quoted(column))\(kind)) AND NOT \(deleted(entity, "f.\(quoted(column))")) LIMIT 1"
      ).first
      guard let lost else { continue }
      let key = if case .integer(let number) = lost[0] { " p\(number)" } else { "" }
      throw wrong(
        "a link leads to an object that does not exist",
        "'\(join.ownerEntityName).\(join.ownerRelationshipName)' has a pair with \(entity)\(key), which neither the quarantine nor the source has"
      )
    }
  }

  private func merge(
    _ join: StoreSchema.JoinTable, from own: String, _ columns: [(own: String, name: String)]
  ) throws {
    let (table, name) = (quoted(join.name), SQLValue.text(join.name))
    let (a, b) = (quoted(join.ownerColumn), quoted(join.destinationColumn))
    let isSame = columns.map { "f.\(quoted($0.own)) IS m.\(quoted($0.name))" }.joined(separator: " AND ")
    let isPair =
      "f.\(quoted(columns[0].own)) = m.\(a) AND f.\(quoted(columns[1].own)) = m.\(b)"
    let both =
      "\(isHeld(join.ownerColumn, join.ownerEntityName)) AND \(isHeld(join.destinationColumn, join.destinationEntityName))"
    try copy.execute(
      "INSERT OR IGNORE INTO temp.godwit_gone (name, a, b) SELECT ?1, m.\(a), m.\(b) FROM main.\(table) AS m WHERE \(both) AND NOT EXISTS (SELECT 1 FROM source.\(quoted(own)) AS f WHERE \(isPair) AND \(isSame))",
      [name])
    let list = columns.map { "f.\(quoted($0.own)) AS \(quoted($0.name))" }.joined(separator: ", ")
    try copy.execute(
      "CREATE TEMP TABLE godwit_new AS SELECT \(list) FROM source.\(quoted(own)) AS f WHERE NOT EXISTS (SELECT 1 FROM main.\(table) AS m WHERE \(isPair) AND \(isSame)) AND NOT \(deleted(join.ownerEntityName, "f.\(quoted(columns[0].own))")) AND NOT \(deleted(join.destinationEntityName, "f.\(quoted(columns[1].own))")) ORDER BY 1, 2"
    )
    defer { try? copy.execute("DROP TABLE temp.godwit_new") }
    try copy.execute(
      "DELETE FROM main.\(table) WHERE (\(a), \(b)) IN (SELECT a, b FROM temp.godwit_gone WHERE name = ?1)", [name])
    let names = columns.map { quoted($0.name) }.joined(separator: ", ")
    try copy.execute("INSERT OR REPLACE INTO main.\(table) (\(names)) SELECT \(names) FROM temp.godwit_new")
    // An object that gains or loses a link is edited too.
    for (entity, end, own) in [(join.ownerEntityName, "a", a), (join.destinationEntityName, "b", b)] {
      let root = model.root(of: entity)?.name ?? entity
      try copy.execute(
        """
        INSERT OR IGNORE INTO temp.godwit_changed (root, key, entity) SELECT h.root, h.key, h.entity \
        FROM temp.godwit_held AS h WHERE h.root = ?1 AND h.key IN \
        (SELECT \(end) FROM temp.godwit_gone WHERE name = ?2 UNION ALL SELECT \(own) FROM temp.godwit_new)
        """, [.text(root), name])
    }
  }
}
