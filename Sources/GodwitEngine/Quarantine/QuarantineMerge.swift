import GodwitJob
import GodwitModel
import GodwitStore

/// Writes the objects of an edited quarantine into a copy of the source.
///
/// - Attributes come from the quarantine.
/// - A to-one comes from the quarantine where it has one there. Without one, a link of the source to an object that the
///   quarantine has is cut: an edit removed it. Any other link of the source stays: a quarantine has none of those.
/// - The place in an order comes from the same side as its link.
/// - Pairs of a many-to-many whose ends are both in the quarantine come from there; all others stay.
/// - The other end of a one-to-one is updated if its object is not in the quarantine (`QuarantinePartners`).
///
/// The main database is the copy, `source` the quarantine. The temporary table `godwit_changed` has the edited objects.
struct QuarantineMerge {
  private let copy: StoreConnection
  private let schema: StoreSchema
  private let quarantine: EditedQuarantine
  private var model: ManagedObjectModel { schema.model }
  private var partners: QuarantinePartners

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

  func prepare() throws {
    for sql in [
      "CREATE TEMP TABLE godwit_changed (root TEXT, key INTEGER, entity TEXT, PRIMARY KEY (root, key)) WITHOUT ROWID",
      "CREATE TEMP TABLE godwit_gone (name TEXT, a INTEGER, b INTEGER, PRIMARY KEY (name, a, b)) WITHOUT ROWID",
      "CREATE TEMP TABLE godwit_reference (root TEXT, key INTEGER, entity TEXT, value BLOB, is_new INTEGER)",
    ] + QuarantinePartners.createStatements { try copy.execute(sql) }
    try quarantine.noteObjects(in: copy)
    for entity in model.entities where !entity.isAbstract {
      guard let table = schema.table(of: entity.name) else { continue }
      let kind = schema.isObject(of: [entity.name], row: "m").further
      let lost = try copy.integer(
        "SELECT h.key FROM temp.godwit_held AS h WHERE h.root = ?1 AND h.entity = ?2 AND NOT EXISTS (SELECT 1 FROM main.\(quoted(table.name)) AS m WHERE m.Z_PK = h.key\(kind)) LIMIT 1",
        [.text(table.rootEntityName), .text(entity.name)])
      if let lost { throw wrong("\(entity.name) p\(lost) is in it, and not in the source") }
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
      column: column, value: "f.\(quoted(from))", isExternal: attribute.allowsExternalBinaryDataStorage)
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
    let (new, old) = ("f.\(quoted(from))", "m.\(quoted(column))")
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
      WHERE h.root = ?1 AND h.entity = ?2 AND f.\(quoted(link.from)) IS NOT NULL AND NOT EXISTS \
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
    let differs = fields.map { "(\($0.value)) IS NOT m.\(quoted($0.column))" }.joined(separator: " OR ")
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
    try copy.execute(
      "INSERT INTO temp.godwit_changed (root, key, entity) SELECT c.root, c.key, c.entity \(pairs("godwit_held")) AND (\(differs))",
      arguments)
    guard copy.changes > 0 else { return }
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
      WHERE c.root = ?1 AND c.entity = ?2 AND c.key = m.Z_PK AND f.Z_PK = c.key
      """, arguments)
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
        "SELECT f.\(quoted(column)) FROM source.\(quoted(own)) AS f WHERE NOT EXISTS (SELECT 1 FROM main.\(quoted(target.name)) AS t WHERE t.Z_PK = f.\(quoted(column))\(kind)) LIMIT 1"
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
      "CREATE TEMP TABLE godwit_new AS SELECT \(list) FROM source.\(quoted(own)) AS f WHERE NOT EXISTS (SELECT 1 FROM main.\(table) AS m WHERE \(isPair) AND \(isSame)) ORDER BY 1, 2"
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
