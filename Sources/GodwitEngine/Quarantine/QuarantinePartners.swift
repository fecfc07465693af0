import GodwitModel
import GodwitStore

/// Both ends of the one-to-ones that an edited object leaves or enters.
///
/// A one-to-one has a key in each of its two rows, and a run takes both. A partner that is in the quarantine has its own
/// key there. One that is not cannot be edited: here the old one becomes free, and a free one gets its key. Whatever then
/// still disagrees is refused: which of two keys counts is not Godwit's to decide.
struct QuarantinePartners {
  /// A one-to-one of an entity.
  private struct Pair {
    var entity, relationship: String
    var own, partner: String
    var column: String
    /// The columns of the other end: its key, and the number of the entity if it has one.
    var key: String
    var number: String?
    var order: String?
    /// The number of the own entity, as SQL over its row `o`.
    var ownNumber: String
    /// Whether the partner `m` is in the quarantine.
    var isHeld: String
  }

  private let copy: StoreConnection
  private let schema: StoreSchema
  private var pairs: [Pair] = []

  init(_ copy: StoreConnection, _ schema: StoreSchema) { (self.copy, self.schema) = (copy, schema) }

  static let createStatements = [
    "CREATE TEMP TABLE godwit_link (number INTEGER, key INTEGER, old INTEGER, new INTEGER)",
    "CREATE INDEX temp.godwit_link_old ON godwit_link (number, old)",
    "CREATE INDEX temp.godwit_link_new ON godwit_link (number, new)",
  ]

  /// Records the keys of a relationship that change; does nothing for one that is not a one-to-one.
  ///
  /// - Parameters:
  ///   - column: The key of the own row.
  ///   - isHeld: Whether the object `m` is in the quarantine, as SQL.
  ///   - rows: SQL that gives own key, old key and new key of the rows that change, after the number that it gets.
  mutating func note(
    _ relationship: RelationshipDescription, of entity: String, column: String, isHeld: String,
    _ arguments: [SQLValue], rows: (Int) -> String
  ) throws {
    let destination = relationship.destinationEntityName
    guard let inverse = schema.model.inverse(of: relationship), !inverse.isToMany,
      let own = schema.table(of: entity), let partner = schema.table(of: destination),
      case .foreignKey(_, let key, let number, let order) = schema.storage(of: inverse.name, in: destination)
    else { return }
    try copy.execute("INSERT INTO temp.godwit_link (number, key, old, new) \(rows(pairs.count))", arguments)
    guard copy.changes > 0 else { return }
    pairs.append(
      Pair(
        entity: entity, relationship: relationship.name, own: quoted(own.name),
        partner: quoted(partner.name), column: quoted(column), key: quoted(key), number: number.map(quoted),
        order: order.map(quoted), ownNumber: schema.entityNumber(inTableOf: entity, row: "o"), isHeld: isHeld))
  }

  /// Brings the other ends of all that changed in line.
  ///
  /// - Throws: `.dataWrong` (65) by way of `wrong` where the two ends of a one-to-one disagree.
  func updateInverses(wrong: (_ what: String, _ cause: String) -> GodwitError) throws {
    for (number, pair) in pairs.enumerated() {
      let isLeft =
        "EXISTS (SELECT 1 FROM temp.godwit_link AS x WHERE x.number = \(number) AND x.old = m.Z_PK AND x.key = m.\(pair.key))"
      var values = ["\(pair.key) = NULL"]
      for column in [pair.number, pair.order] { if let column { values.append("\(column) = NULL") } }
      try change(pair, where: isLeft, to: values)
    }
    for (number, pair) in pairs.enumerated() {
      let link = "temp.godwit_link AS x WHERE x.number = \(number) AND x.new = m.Z_PK"
      var values = ["\(pair.key) = (SELECT x.key FROM \(link) ORDER BY x.key LIMIT 1)"]
      if let column = pair.number {
        values.append(
          "\(column) = (SELECT \(pair.ownNumber) FROM main.\(pair.own) AS o WHERE o.Z_PK = (SELECT x.key FROM \(link) ORDER BY x.key LIMIT 1))"
        )
      }
      try change(pair, where: "m.\(pair.key) IS NULL AND EXISTS (SELECT 1 FROM \(link))", to: values)
    }
    for (number, pair) in pairs.enumerated() { try check(pair, number, wrong) }
  }

  /// Changes partners that are not in the quarantine.
  private func change(_ pair: Pair, where condition: String, to values: [String]) throws {
    let list = "m.Z_PK IN (SELECT old FROM temp.godwit_link UNION ALL SELECT new FROM temp.godwit_link)"
    try copy.execute(
      "UPDATE main.\(pair.partner) AS m SET \(values.joined(separator: ", ")) WHERE \(list) AND NOT \(pair.isHeld) AND \(condition)"
    )
  }

  private func check(_ pair: Pair, _ number: Int, _ wrong: (String, String) -> GodwitError) throws {
    let row = try copy.rows(
      """
      SELECT x.key, m.Z_PK, x.new IS m.Z_PK FROM temp.godwit_link AS x \
      CROSS JOIN main.\(pair.partner) AS m ON m.Z_PK IN (x.old, x.new) WHERE x.number = \(number) \
      AND (m.Z_PK IS x.new) IS NOT (m.\(pair.key) IS x.key) ORDER BY x.key LIMIT 1
      """
    ).first
    guard let row, case (.integer(let key), .integer(let partner), .integer(let isNew)) = (row[0], row[1], row[2])
    else { return }
    throw wrong(
      "the two ends of '\(pair.relationship)' of \(pair.entity) p\(key) disagree",
      isNew != 0
        ? "it leads to p\(partner), which leads to another object or, in the quarantine, to none"
        : "p\(partner), which it has left, still leads to it")
  }
}
