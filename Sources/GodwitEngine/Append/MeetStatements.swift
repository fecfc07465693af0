import GodwitJob
import GodwitModel
import GodwitStore

/// The statements that make one of a new object and the object of the destination that it is the same as.
///
/// Both are rows of one table: the new row has the key that its mapping gave it, the old one a lower key.
///
/// 1. `preparation` makes two temporary tables. `godwit_met` has the pairs of keys, and a verdict: 0 if the old object
///    comes first by `order-by`, 1 if neither does, 2 if the new one does.
/// 2. `search` finds the pairs of a mapping.
/// 3. `redirection` leads the links of other objects from the new row to the old one.
/// 4. `tally` counts, and `replacement` changes the old row.
/// 5. `removal` deletes the new rows.
struct MeetStatements: StageStatements {
  let step: StepProgram

  static let met = "temp.godwit_met"
  static let old = "temp.godwit_old"

  /// A property that the object which comes first decides.
  struct Compared {
    var name: String
    var column: String
    var isLink = false
    /// The columns of a to-one beside its key: the number of the entity, and the place among the objects of the owner.
    var entityColumn, orderColumn: String?
    /// Whether nil in the first of the two takes the value of the other.
    var isFilled: Bool
  }

  var preparation: [String] {
    ["DROP TABLE IF EXISTS \(Self.met)", "DROP TABLE IF EXISTS \(Self.old)", "DROP TABLE IF EXISTS temp.godwit_base"]
      + [
        "CREATE TABLE \(Self.met) (root INTEGER, new INTEGER, old INTEGER, mapping INTEGER, verdict INTEGER, PRIMARY KEY (root, new)) WITHOUT ROWID",
        "CREATE TABLE temp.godwit_base (new INTEGER PRIMARY KEY, base INTEGER)",
      ]
  }

  var completion: [String] { ["DROP TABLE \(Self.met)", "DROP TABLE temp.godwit_base"] }

  // MARK: Names

  private func root(of entity: String) -> String { resolved.destinationModel.root(of: entity)?.name ?? entity }

  private func number(ofRoot root: String) -> Int { destinationSchema.number(of: root) ?? -1 }

  /// The highest key that was in use before the job.
  private func highest(_ root: String) -> Int64 { facts.highestDestinationKeys?[root] ?? 0 }

  private func column(_ attribute: String, _ mapping: ResolvedEntityMapping) throws -> String {
    guard let column = destinationSchema.column(of: attribute, in: mapping.destination.name) else {
      throw GodwitError(.internalBug, "cannot find the column of '\(mapping.destination.name).\(attribute)'")
    }
    return quoted(column)
  }

  private func table(_ mapping: ResolvedEntityMapping) throws -> String {
    "main.\(quoted(try destinationTable(of: mapping.destination.name).name))"
  }

  // MARK: Search

  func search(_ index: MappingID) throws -> [String] {
    let mapping = mappings[index]
    let keys = try mapping.mapping.uniqueBy.map { try column($0, mapping) }
    let order = mapping.metOrder.compactMap(\.self)
    let sorts = try order.map { try column($0.attribute.name, mapping) }
    let names = keys.indices.map { "k\($0)" }
    let places = order.indices.map { "o\($0)" }
    let columns = names + places
    let sources = keys + zip(sorts, order).map { Self.ordered($0, $1.attribute) }
    let values = zip(columns, sources).map { ", \($1) AS \($0)" }.joined()
    let list = columns.joined(separator: ", ")
    let isObject = destinationSchema.isObject(of: [mapping.destination.name]).further
    let root = root(of: mapping.destination.name)
    let isFilled = mapping.mapping.mergesNil ? "" : keys.map { " AND \($0) IS NOT NULL" }.joined()
    let sorted = (zip(places, order).map { "\($0)\($1.isAscending ? "" : " DESC")" } + ["key"]).joined(separator: ", ")
    // The plus takes the affinity away, which would keep SQLite from the index.
    let verdict = Self.verdict(
      old: places.map { "o.\($0)" }, new: zip(sorts, order).map { Self.ordered("n.\($0)", $1.attribute) },
      ascending: order.map(\.isAscending))
    let isSame = zip(names, keys).map { "o.\($0) \(mapping.mapping.mergesNil ? "IS" : "=") +n.\($1)" }
    return [
      "CREATE TABLE \(Self.old) (key INTEGER PRIMARY KEY, \(list))",
      """
      INSERT INTO \(Self.old) (key, \(list)) SELECT key, \(list) FROM (SELECT *, ROW_NUMBER() OVER \
      (PARTITION BY \(names.joined(separator: ", ")) ORDER BY \(sorted)) AS place FROM (SELECT Z_PK AS key\(values) \
      FROM \(try table(mapping)) WHERE Z_PK <= \(highest(root))\(isObject)\(isFilled))) WHERE place = 1
      """,
      "CREATE INDEX temp.godwit_old_keys ON godwit_old (\(names.joined(separator: ", ")))",
      """
      INSERT INTO \(Self.met) (root, new, old, mapping, verdict) SELECT \(number(ofRoot: root)), n.Z_PK, o.key, \
      \(index), \(verdict) FROM main.\(StepProgram.uniqueTable(index)) AS u \
      CROSS JOIN \(try table(mapping)) AS n ON n.Z_PK = u.destination \
      CROSS JOIN \(Self.old) AS o ON \(isSame.joined(separator: " AND "))
      """,
      "DROP TABLE \(Self.old)",
    ]
  }

  /// A value for comparisons of order: a decimal without a value (NaN, infinite) is as nil.
  static func ordered(_ value: String, _ attribute: AttributeDescription) -> String {
    attribute.type == .decimal
      ? "CASE WHEN typeof(\(value)) = 'text' OR abs(\(value)) > 1.7976931348623157e308 THEN NULL ELSE \(value) END"
      : value
  }

  /// 0 if the old values come before the new ones, 2 if they come after them, otherwise 1.
  static func verdict(old olds: [String], new news: [String], ascending: [Bool]) -> String {
    olds.indices.reversed().reduce("1") { rest, place in
      let (old, new) = (olds[place], news[place])
      let (lower, higher) = ascending[place] ? (new, old) : (old, new)
      let comesFirst = "(\(lower) IS NULL OR \(lower) < \(higher))"
      return "CASE WHEN \(old) IS \(new) THEN \(rest) WHEN \(comesFirst) THEN 2 ELSE 0 END"
    }
  }

  // MARK: Links of others

  /// Leads the links of new rows, and the rows of join tables, to the old objects.
  func redirection() -> [String] {
    let roots = Set(step.meeting.map { root(of: mappings[$0].destination.name) })
    return foreignKeys(to: roots) + joinRows(to: roots)
  }

  private func foreignKeys(to roots: Set<String>) -> [String] {
    destinationSchema.tables.flatMap { table in
      table.columns.compactMap { column -> String? in
        guard case .foreignKey(let entity, let name) = column.role,
          let relationship = resolved.destinationModel.relationship(name, of: entity),
          case let root = root(of: relationship.destinationEntityName), roots.contains(root)
        else { return nil }
        let (key, rows) = (quoted(column.name), "main.\(quoted(table.name))")
        let found = "(SELECT m.old FROM \(Self.met) AS m WHERE m.root = \(number(ofRoot: root)) AND m.new = c.\(key))"
        let before = highest(table.rootEntityName)
        var order = ""
        if case .foreignKey(_, _, _, let place?) = destinationSchema.storage(of: name, in: entity) {
          // The new objects follow the old ones.
          order = """
            \(quoted(place)) = c.\(quoted(place)) + COALESCE((SELECT MAX(p.\(quoted(place))) FROM \(rows) AS p \
            WHERE p.\(key) = \(found) AND p.Z_PK <= \(before)), 0), 
            """
        }
        return """
          UPDATE \(rows) AS c SET \(order)\(key) = \(found) WHERE c.Z_PK > \(before) \
          AND c.\(key) IN (SELECT m.new FROM \(Self.met) AS m WHERE m.root = \(number(ofRoot: root)))
          """
      }
    }
  }

  private func joinRows(to roots: Set<String>) -> [String] {
    destinationSchema.joinTables.flatMap { join in
      let ends = [
        (join.ownerColumn, join.ownerEntityName, join.ownerOrderColumn),
        (
          join.destinationColumn, join.isReflexive ? join.ownerEntityName : join.destinationEntityName,
          join.isReflexive ? nil : join.destinationOrderColumn
        ),
      ]
      return ends.flatMap { column, entity, order -> [String] in
        let root = root(of: entity)
        guard roots.contains(root) else { return [] }
        return redirect(column, in: join.name, root: root, order: order)
      }
    }
  }

  /// A link that the old object has already stays as it is.
  private func redirect(_ column: String, in join: String, root: String, order: String?) -> [String] {
    let (key, rows) = (quoted(column), "main.\(quoted(join))")
    let number = number(ofRoot: root)
    let isNew = "\(key) IN (SELECT m.new FROM \(Self.met) AS m WHERE m.root = \(number))"
    var statements: [String] = []
    var place = ""
    if let order = order.map(quoted) {
      statements += [
        "DELETE FROM temp.godwit_base",
        """
        INSERT INTO temp.godwit_base (new, base) SELECT m.new, MAX(j.\(order)) FROM \(Self.met) AS m \
        CROSS JOIN \(rows) AS j ON j.\(key) = m.old WHERE m.root = \(number) GROUP BY m.new
        """,
      ]
      place = "\(order) = \(order) + COALESCE((SELECT b.base FROM temp.godwit_base AS b WHERE b.new = \(key)), 0), "
    }
    let found = "(SELECT m.old FROM \(Self.met) AS m WHERE m.root = \(number) AND m.new = \(key))"
    return statements + [
      "UPDATE OR IGNORE \(rows) SET \(place)\(key) = \(found) WHERE \(isNew)", "DELETE FROM \(rows) WHERE \(isNew)",
    ]
  }

  // MARK: Values

  /// The properties that the first of the two objects decides: those that a mapping sets.
  func compared(_ index: MappingID) throws -> [Compared] {
    let mapping = mappings[index]
    let fills = mapping.mapping.fillsNil
    let order = Set(mapping.metOrder.compactMap { $0?.attribute.name })
    var found: [Compared] = []
    for (attribute, source) in mapping.attributes
    where source.withoutDefault != .modelDefault && !mapping.mapping.uniqueBy.contains(attribute.name) {
      guard let column = destinationSchema.column(of: attribute.name, in: mapping.destination.name) else { continue }
      found.append(
        Compared(
          name: attribute.name, column: quoted(column), isFilled: fills && !order.contains(attribute.name)))
    }
    let own = try destinationTable(of: mapping.destination.name).name
    for link in links {
      for end in [InversePair.End.first, .second] {
        guard let side = link.side(end), !side.relationship.isToMany, isSet(link, at: end, by: index),
          resolved.destinationModel.isKind(mapping.destination.name, of: side.entityName),
          case .foreignKey(own, let column, let entity, let place) = destinationSchema.storage(
            of: side.relationship.name, in: side.entityName)
        else { continue }
        found.append(
          Compared(
            name: side.relationship.name, column: quoted(column), isLink: true, entityColumn: entity.map(quoted),
            orderColumn: place.map(quoted), isFilled: false))
      }
    }
    return found
  }

  /// Whether a mapping decides what its objects lead to at an end of a link: it sets the property, or another mapping
  /// sets the inverse and looks it up.
  private func isSet(_ link: InversePair, at end: InversePair.End, by index: MappingID) -> Bool {
    link.assignments.contains { assignment in
      assignment.end == end
        ? assignment.mapping == index
        : mappings[assignment.mapping].relationships[assignment.part].lookups.contains(index)
    }
  }

  /// The number of pairs, of the values and links that differ without an order to decide, of old objects that come
  /// first, and of what each property loses.
  func tally(_ index: MappingID, _ compared: [Compared]) throws -> String {
    func differs(_ one: Compared) -> String { "n.\(one.column) IS NOT o.\(one.column)" }
    func both(_ one: Compared) -> String { "n.\(one.column) IS NOT NULL AND o.\(one.column) IS NOT NULL" }
    let unlike = compared.map { "(\(differs($0))\($0.isFilled ? " AND \(both($0))" : ""))" }
    let lost = compared.map { one in
      let isLost =
        one.isFilled
        ? both(one)
        : "CASE WHEN m.verdict = 2 THEN o.\(one.column) IS NOT NULL ELSE n.\(one.column) IS NOT NULL END"
      return "COALESCE(SUM(\(differs(one)) AND \(isLost)), 0)"
    }
    let sum =
      unlike.isEmpty ? "0" : "COALESCE(SUM(CASE WHEN m.verdict = 1 THEN \(unlike.joined(separator: " + ")) END), 0)"
    let table = try table(mappings[index])
    return """
      SELECT \((["COUNT(*)", sum, "COALESCE(SUM(m.verdict = 0), 0)"] + lost).joined(separator: ", ")) FROM \(Self.met) AS m \
      CROSS JOIN \(table) AS n ON n.Z_PK = m.new CROSS JOIN \(table) AS o ON o.Z_PK = m.old WHERE m.mapping = \(index)
      """
  }

  /// Changes the old rows where the new one comes first, or has a value that the old one lacks.
  func replacement(_ index: MappingID, _ compared: [Compared]) throws -> String? {
    guard !compared.isEmpty else { return nil }
    let table = try table(mappings[index])
    var read: [String] = []
    var sets: [String] = []
    var changes: [String] = []
    for (place, one) in compared.enumerated() {
      let (new, old) = ("r.v\(place)", "o.\(one.column)")
      let takes =
        one.isFilled
        ? "(CASE WHEN r.wins THEN \(new) IS NOT NULL ELSE \(old) IS NULL AND \(new) IS NOT NULL END)" : "r.wins"
      func choose(_ column: String, _ name: String, if condition: String) {
        read.append("n.\(column) AS \(name)")
        sets.append("\(column) = CASE WHEN \(condition) THEN r.\(name) ELSE o.\(column) END")
      }
      choose(one.column, "v\(place)", if: takes)
      if let column = one.entityColumn { choose(column, "e\(place)", if: takes) }
      // An object that stays with its owner keeps its place.
      if let column = one.orderColumn { choose(column, "p\(place)", if: "\(takes) AND \(new) IS NOT \(old)") }
      changes.append("\(takes) AND \(new) IS NOT \(old)")
    }
    return """
      UPDATE \(table) AS o SET \(sets.joined(separator: ", ")), Z_OPT = COALESCE(o.Z_OPT, 0) + 1 \
      FROM (SELECT m.old AS old, m.verdict = 2 AS wins, \(read.joined(separator: ", ")) FROM \(Self.met) AS m \
      CROSS JOIN \(table) AS n ON n.Z_PK = m.new WHERE m.mapping = \(index)) AS r \
      WHERE o.Z_PK = r.old AND (\(changes.joined(separator: " OR ")))
      """
  }

  func removal(_ index: MappingID) throws -> String {
    "DELETE FROM \(try table(mappings[index])) WHERE Z_PK IN (SELECT m.new FROM \(Self.met) AS m WHERE m.mapping = \(index))"
  }
}

extension StepProgram {
  var meet: MeetStatements { .init(step: self) }

  /// The mappings whose objects the destination may have already, in mapping order.
  var meeting: [MappingID] {
    guard facts.highestDestinationKeys != nil else { return [] }
    return mappings.ids.filter { mappings[$0].meets && facts.mappings[$0].rows > 0 }
  }
}
