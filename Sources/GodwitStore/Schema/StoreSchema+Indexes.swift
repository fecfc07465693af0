import CSQLite
import GodwitModel

extension StoreSchema {
  /// A list of indexes under construction.
  struct IndexList {
    /// The index that each name stands for; empty for a table.
    private var taken: [String: String] = [:]
    private(set) var indexes: [Index] = []
    var omitted: [String] = []

    /// - Parameter tables: Names that no index can have.
    init(besides tables: [String]) {
      for table in tables { taken[table.lowercased()] = "" }
    }

    /// Adds an index, unless it is there. SQLite compares names without case: where another index or a table has the
    /// name, a number follows it, so that no uniqueness constraint is left out.
    mutating func add(
      _ name: String, on table: String, _ columns: [String], unique: Bool = false, where condition: String? = nil
    ) {
      let kind = unique ? "UNIQUE INDEX" : "INDEX"
      let rows =
        "ON \(identifier(table)) (\(columns.joined(separator: ", ")))" + (condition.map { " WHERE \($0)" } ?? "")
      let content = kind + " " + rows
      var (free, number) = (name, 2)
      while let other = taken[free.lowercased()] {
        guard other != content else { return }
        free = "\(name)_\(number)"
        number += 1
      }
      taken[free.lowercased()] = content
      indexes.append(
        Index(name: free, table: table, sql: "CREATE \(kind) \(identifier(free)) \(rows)", isUnique: unique))
    }
  }

  /// Indexes table by table: foreign keys, entity number, join tables, then those of the model.
  func makeIndexes() -> IndexList {
    var list = IndexList(besides: Self.ownTables + tables.map(\.name) + joinTables.map(\.name))
    for table in tables {
      for column in table.columns {
        if case .foreignKey = column.role {
          list.add("\(table.name)_\(column.name)_INDEX", on: table.name, [Self.identifier(column.name)])
        }
      }
      let omitsEntity = model.entity(table.rootEntityName)?.userInfo["_NSEntityOmitSubentityColumnIndex"] == "YES"
      if model.hasSubentities(table.rootEntityName), !omitsEntity {
        list.add("\(table.name)_Z_ENT_INDEX", on: table.name, ["Z_ENT"])
      }
      let family = model.family(of: table.rootEntityName)
      let members = Set(family.map(\.name))
      for join in joinTables where members.contains(join.ownerEntityName) {
        list.add(
          "\(join.name)_\(join.destinationColumn)_INDEX", on: join.name,
          [join.destinationColumn, join.ownerColumn].map(Self.identifier))
      }
      for entity in family { addModelIndexes(of: entity, in: table, to: &list) }
    }
    return list
  }

  private func addModelIndexes(
    of entity: EntityDescription, in table: EntityTable, to list: inout IndexList
  ) {
    let prefix = "Z_\(entity.name)_"
    func ordered(_ column: String, ascending: Bool = true) -> String {
      "\(Self.identifier(column)) COLLATE BINARY \(ascending ? "ASC" : "DESC")"
    }
    for attribute in entity.attributes.sorted(by: { Text($0.name) < Text($1.name) }) where attribute.isIndexed {
      guard let column = column(of: attribute.name, in: entity.name) else { continue }
      list.add(prefix + attribute.name, on: table.name, [ordered(column)])
    }
    for index in entity.fetchIndexes {
      if index.elements.contains(where: \.isRTree) {
        list.omitted.append(
          "fetch index '\(entity.name).\(index.name)': it is an R-tree, and a fetch that names it fails")
        continue
      }
      if index.elements.count == 1, let property = index.elements.first?.propertyName,
        model.relationship(property, of: entity.name) != nil
      {
        // A to-one has an index of its own. A to-many has no column.
        continue
      }
      let columns = index.elements.map { element -> String? in
        (element.propertyName.flatMap { storedColumn(of: $0, in: entity.name) }
          ?? element.expressionText.flatMap { Self.indexedColumns[$0] })
          .map { ordered($0, ascending: element.isAscending) }
      }
      let condition = index.partialPredicateText.map { partialCondition($0, in: entity.name) }
      guard condition != .some(nil), !columns.isEmpty, !columns.contains(nil) else {
        list.omitted.append(
          "fetch index '\(entity.name).\(index.name)': it has "
            + (condition == .some(nil)
              ? "a partial predicate of a form that no store has shown" : "an element that is not a stored property"))
        continue
      }
      list.add(prefix + index.name, on: table.name, columns.compactMap { $0 }, where: condition ?? nil)
    }
    for (position, properties) in entity.compoundIndexes.enumerated() {
      // A fetch index of the same properties is the later form of the same index, and has its own name.
      if entity.fetchIndexes.contains(where: { $0.elements.map(\.propertyName) == properties }) { continue }
      let columns = properties.map { storedColumn(of: $0, in: entity.name).map { ordered($0) } }
      guard !columns.isEmpty, !columns.contains(nil) else {
        list.omitted.append("compound index \(position + 1) of '\(entity.name)': it names no stored property")
        continue
      }
      list.add(prefix + properties.joined(separator: "_"), on: table.name, columns.compactMap { $0 })
    }
    for properties in entity.uniquenessConstraints {
      let columns = properties.map { storedColumn(of: $0, in: entity.name).map { ordered($0) } }
      guard !columns.isEmpty, !columns.contains(nil) else {
        list.omitted.append(
          "uniqueness constraint of '\(entity.name)' on \(properties.joined(separator: ", ")): not all are stored")
        continue
      }
      list.add(
        prefix + "UNIQUE_" + properties.joined(separator: "_"), on: table.name, columns.compactMap { $0 }, unique: true)
    }
  }

  /// A partial predicate as Core Data spells it in SQL; nil for a form that no store has shown.
  private func partialCondition(_ text: String, in entity: String) -> String? {
    (try? FilterPredicate(parsing: text)).flatMap { condition($0, in: entity) }
  }

  private func condition(_ predicate: FilterPredicate, in entity: String) -> String? {
    func joined(_ parts: [FilterPredicate], by word: String) -> String? {
      let conditions = parts.compactMap { condition($0, in: entity) }
      return conditions.count == parts.count && parts.count > 1
        ? "(" + conditions.joined(separator: " \(word) ") + ")" : nil
    }
    switch predicate.node {
    case .and(let parts): return joined(parts, by: "AND")
    case .or(let parts): return joined(parts, by: "OR")
    case .comparison(let comparison):
      guard comparison.modifier == .direct, comparison.options.isEmpty,
        case .keyPath(base: nil, let segments) = comparison.left.node, segments.count == 1,
        let column = storedColumn(of: segments[0], in: entity).map(Self.identifier),
        case .constant(let constant) = comparison.right.node
      else { return nil }
      let operators: [FilterPredicate.Comparison.Operator: String] = [.equal: "=", .notEqual: "<>", .greater: ">"]
      switch (constant, operators[comparison.operator]) {
      case (.null, _): return comparison.operator == .notEqual ? "\(column) IS NOT NULL" : nil
      case (.integer(let number), let word?): return "\(column) \(word) \(number)"
      case (.boolean(let truth), let word?): return "\(column) \(word) \(truth ? 1 : 0)"
      default: return nil
      }
    default: return nil
    }
  }

  /// The expressions that stores of Core Data's have an index over, and their columns.
  private static let indexedColumns = ["SELF": "Z_PK", "entity": "Z_ENT"]

  /// The column of an attribute or the key column of a to-one.
  private func storedColumn(of property: String, in entity: String) -> String? {
    if let column = column(of: property, in: entity) { return column }
    if case .foreignKey(_, let column, _, _) = storage(of: property, in: entity) { return column }
    return nil
  }

  /// A name as SQL: bare when plain and no word of SQL, as Core Data writes it; quoted otherwise.
  package static func identifier(_ name: String) -> String {
    let isPlain =
      !name.isEmpty
      && name.utf8.allSatisfy {
        $0 == UInt8(ascii: "_") || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
          || (0x61...0x7A).contains($0)
      } && name.utf8.first.map { !(0x30...0x39).contains($0) } == true
      && sqlite3_keyword_check(name, Int32(clamping: name.utf8.count)) == 0
    return isPlain ? name : "\"" + name.replacing(scalar: "\"", with: "\"\"") + "\""
  }
}
