import GodwitModel
import GodwitStore

/// Why an expression cannot be said in SQL; it then runs in Swift, and the plan shows the reason.
struct NotLowerable: Error {
  var reason: String
}

/// Turns expressions and predicates on a row of the source store into SQL with the same result.
///
/// Filters follow the SQLite store's meaning of NULL, value expressions that of evaluation in memory
/// (`Expressions` page). Every column read carries a check of its storage class: SQLite itself would
/// call `'abc' >= 18` true.
struct ExpressionLowering {
  enum Role { case filter, value }

  /// A row that expressions read: the alias of its table in the statement, and its entity.
  struct Row {
    var alias: String
    var entityName: String
  }

  /// A lowered expression.
  enum Lowered {
    case value(sql: String, type: AttributeType?)
    /// An object: the SQL of its primary key.
    case object(key: String, entityName: String)
    case objects(ObjectChain)
    case list([Lowered])
    case null
  }

  let schema: StoreSchema
  let role: Role
  let row: Row
  let builder: StatementBuilder
  /// The text of the whole expression, for messages.
  let text: String
  /// The database that the schema's tables are in.
  var database = StoreConnection.sourceSchema
  /// SUBQUERY variables in scope.
  var variables: [String: Row] = [:]

  // MARK: Entry points

  /// The condition of a filter as SQL that is true, false or NULL; falls back to Swift.
  static func condition(
    _ filter: ParsedPredicate, schema: StoreSchema, row: Row, builder: StatementBuilder
  ) -> (sql: String, reason: String?) {
    let lowering = ExpressionLowering(
      schema: schema, role: .filter, row: row, builder: builder, text: filter.source.text)
    do {
      return (try lowering.predicate(filter.predicate), nil)
    } catch {
      let number = builder.evaluation(
        .init(work: .predicate(filter.predicate), entityName: row.entityName, text: filter.source.text))
      return ("godwit_eval(\(number), \(row.alias).Z_PK)", (error as? NotLowerable)?.reason ?? "\(error)")
    }
  }

  /// A value expression as SQL; falls back to Swift.
  static func value(
    _ expression: ParsedExpression, schema: StoreSchema, row: Row, builder: StatementBuilder
  ) -> (sql: String, type: AttributeType?, reason: String?) {
    let lowering = ExpressionLowering(
      schema: schema, role: .value, row: row, builder: builder, text: expression.source.text)
    do {
      guard case .value(let sql, let type) = try lowering.lower(expression.expression) else {
        return (try lowering.scalar(expression.expression), nil, nil)
      }
      return (sql, type, nil)
    } catch {
      let number = builder.evaluation(
        .init(work: .expression(expression.expression), entityName: row.entityName, text: expression.source.text))
      return ("godwit_eval(\(number), \(row.alias).Z_PK)", nil, (error as? NotLowerable)?.reason ?? "\(error)")
    }
  }

  // MARK: Values

  /// The expression as the SQL of one value.
  func scalar(_ expression: Expression) throws -> String {
    switch try lower(expression) {
    case .value(let sql, _): return sql
    case .null: return "NULL"
    case .object, .objects, .list: throw NotLowerable(reason: "'\(expression)' is no single value")
    }
  }

  func lower(_ expression: Expression) throws -> Lowered {
    switch expression.node {
    case .constant(let value): return try constant(value)
    case .evaluatedObject: return .object(key: "\(row.alias).Z_PK", entityName: row.entityName)
    case .variable(let name):
      let row = try self.row(of: name)
      return .object(key: "\(row.alias).Z_PK", entityName: row.entityName)
    case .keyPath(let base, let segments): return try keyPath(base: base, segments)
    case .arithmetic(let op, let left, let right): return try arithmetic(op, left, right)
    case .negation(let operand):
      let (sql, type) = try number(operand)
      return .value(sql: "(-\(sql))", type: type)
    case .aggregate(let elements): return .list(try elements.map(lower))
    case .ternary(let condition, let then, let otherwise):
      let ((a, aType), (b, bType)) = (try number(then), try number(otherwise))
      return .value(
        sql: "(CASE WHEN \(try predicate(condition)) THEN \(a) ELSE \(b) END)", type: aType == bType ? aType : nil)
    case .function(let name, _): throw NotLowerable(reason: "function \(name) runs in Swift")
    case .call(_, let selector, _): throw NotLowerable(reason: "FUNCTION \(selector) runs in Swift")
    case .subquery: throw NotLowerable(reason: "SUBQUERY runs in Swift")
    case .cast: throw NotLowerable(reason: "CAST runs in Swift")
    }
  }

  private func constant(_ value: AttributeValue) throws -> Lowered {
    switch value {
    case .null: return .null
    case .boolean(let flag): return .value(sql: flag ? "1" : "0", type: .boolean)
    case .integer(let number): return .value(sql: builder.bind(.integer(number)), type: .integer64)
    case .double(let number): return .value(sql: builder.bind(.real(number)), type: .double)
    case .string(let text): return .value(sql: builder.bind(.text(text.utf8)), type: .string)
    case .date(let seconds): return .value(sql: builder.bind(.real(seconds)), type: .date)
    default: throw NotLowerable(reason: "a constant of this type runs in Swift")
    }
  }

  private func row(of variable: String) throws -> Row {
    if variable == "source", role == .value { return row }
    guard let found = variables[variable] else { throw NotLowerable(reason: "variable $\(variable) runs in Swift") }
    return found
  }

  private func keyPath(base: Expression?, _ segments: [String]) throws -> Lowered {
    let start: Row
    switch base?.node {
    case nil, .evaluatedObject: start = row
    case .variable(let name): start = try row(of: name)
    default: throw NotLowerable(reason: "a key path on a computed object runs in Swift")
    }
    let model = schema.model
    var chain = ObjectChain(row: start, schema: schema, database: database, builder: builder)
    for (index, segment) in segments.enumerated() {
      let rest = segments[(index + 1)...]
      if segment.hasPrefix("@") { return try aggregate(segment, Array(rest), over: chain) }
      if let attribute = model.attribute(segment, of: chain.entityName) {
        guard rest.isEmpty else { throw NotLowerable(reason: "'\(segment)' has no properties") }
        guard !chain.isToMany else { throw NotLowerable(reason: "a collection of values runs in Swift") }
        let inner = try chain.loadedRow()
        let read = try self.read(attribute, of: inner)
        return .value(sql: chain.scalar(read), type: attribute.type)
      }
      guard let relationship = model.relationship(segment, of: chain.entityName) else {
        throw NotLowerable(reason: "'\(segment)' is a property of a subentity")
      }
      try chain.follow(relationship.name)
    }
    return chain.isToMany ? .objects(chain) : .object(key: chain.scalar(chain.key), entityName: chain.entityName)
  }

  private func aggregate(_ name: String, _ rest: [String], over chain: ObjectChain) throws -> Lowered {
    guard chain.isToMany else { throw NotLowerable(reason: "'\(name)' on a single object runs in Swift") }
    // Over a nil to-one the count has no value in memory, while COUNT would say 0.
    if name == "@count", rest.isEmpty, chain.isDirect {
      return .value(sql: chain.scalar("COUNT(\(chain.key))"), type: .integer64)
    }
    throw NotLowerable(reason: "'\(name)' runs in Swift")
  }

  /// A column with a check of what it holds.
  func read(_ attribute: AttributeDescription, of row: Row) throws -> String {
    guard let column = schema.column(of: attribute.name, in: row.entityName), !attribute.isTransient else {
      throw NotLowerable(reason: "'\(attribute.name)' is not stored")
    }
    guard !attribute.allowsExternalBinaryDataStorage else {
      throw NotLowerable(reason: "'\(attribute.name)' carries a prefix that Swift takes off")
    }
    let sql = "\(row.alias).\(quoted(column))"
    let site = builder.site(
      ReadingSite(
        entityName: row.entityName, propertyName: attribute.name, expected: attribute.type.phrase, cause: text,
        action: "evaluate"))
    // Core Data keeps a decimal that is not a number as the text NaN; in an expression it has no value.
    let value = attribute.type == .decimal ? "nullif(\(sql), 'NaN')" : sql
    return Self.checked(value, type: attribute.type, site: site, key: "\(row.alias).Z_PK")
  }

  static func checked(_ sql: String, type: AttributeType, site: Int, key: String) -> String {
    let allowed = (type.storageClasses + ["null"]).map { "'\($0)'" }.joined(separator: ",")
    let exception = type == .decimal ? " OR \(sql) = 'NaN'" : ""
    return
      "(CASE WHEN typeof(\(sql)) IN (\(allowed))\(exception) THEN \(sql) ELSE godwit_bad(\(site), \(key), typeof(\(sql))) END)"
  }

  /// A value as a calculation takes it. Decimals and dates may be stored as integers, whose division would
  /// truncate and whose sums are more exact than floating point, so they become floating point.
  private func number(_ expression: Expression) throws -> (sql: String, type: AttributeType?) {
    switch try lower(expression) {
    case .value(let sql, .decimal): return ("CAST(\(sql) AS REAL)", .double)
    case .value(let sql, .date): return ("CAST(\(sql) AS REAL)", .date)
    case .value(let sql, let type): return (sql, type)
    case .null: return ("NULL", nil)
    case .object, .objects, .list: throw NotLowerable(reason: "'\(expression)' is no single value")
    }
  }

  private func arithmetic(
    _ op: Expression.ArithmeticOperator, _ left: Expression, _ right: Expression
  ) throws -> Lowered {
    let ((x, xType), (y, yType)) = (try number(left), try number(right))
    if op == .power { throw NotLowerable(reason: "** runs in Swift") }
    let isReal = xType?.isReal == true || yType?.isReal == true
    if op == .divide, isReal { return .value(sql: "(CAST(\(x) AS REAL) / \(y))", type: .double) }
    return .value(sql: "(\(x) \(op.rawValue) \(y))", type: isReal ? .double : nil)
  }

  // MARK: Predicates

  /// SQL that is true, false or (in filters only) NULL.
  func predicate(_ predicate: Predicate) throws -> String {
    switch predicate.node {
    case .constant(let flag): return flag ? "1" : "0"
    case .and(let parts):
      return parts.isEmpty ? "1" : "(" + (try parts.map(self.predicate).joined(separator: " AND ")) + ")"
    case .or(let parts):
      return parts.isEmpty ? "0" : "(" + (try parts.map(self.predicate).joined(separator: " OR ")) + ")"
    case .not(let part): return "(NOT \(try self.predicate(part)))"
    case .comparison(let comparison): return try self.comparison(comparison)
    }
  }

  private func comparison(_ c: Predicate.Comparison) throws -> String {
    guard c.modifier == .direct else { throw NotLowerable(reason: "\(c.modifier.rawValue) runs in Swift") }
    guard c.options.isEmpty || c.options == .normalized else {
      throw NotLowerable(reason: "a comparison that ignores case or accents runs in Swift")
    }
    let (left, right) = (try lower(c.left), try lower(c.right))
    switch (left, right) {
    case (.objects, _), (_, .objects): throw NotLowerable(reason: "a collection in a comparison runs in Swift")
    case (.null, .null): break
    case (_, .null) where c.operator == .equal || c.operator == .notEqual:
      return "(\(try sql(left)) IS \(c.operator == .equal ? "" : "NOT ")NULL)"
    case (.null, _) where c.operator == .equal || c.operator == .notEqual:
      return "(\(try sql(right)) IS \(c.operator == .equal ? "" : "NOT ")NULL)"
    default: break
    }
    switch c.operator {
    case .equal: return "(\(try sql(left)) \(role == .filter ? "=" : "IS") \(try sql(right)))"
    case .notEqual: return "(\(try sql(left)) \(role == .filter ? "<>" : "IS NOT") \(try sql(right)))"
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      return known("\(try sql(left)) \(c.operator.rawValue) \(try sql(right))")
    case .between:
      guard case .list(let bounds) = right, bounds.count == 2 else {
        throw NotLowerable(reason: "BETWEEN without two bounds runs in Swift")
      }
      return known("\(try sql(left)) BETWEEN \(try sql(bounds[0])) AND \(try sql(bounds[1]))")
    case .in:
      guard case .list(let elements) = right else { throw NotLowerable(reason: "IN without a list runs in Swift") }
      if role == .value {
        let tests = try elements.map { "\(try sql(left)) IS \(try sql($0))" }
        return tests.isEmpty ? "0" : "(" + tests.joined(separator: " OR ") + ")"
      }
      return "(\(try sql(left)) IN (\(try elements.map(sql).joined(separator: ", "))))"
    case .contains, .beginsWith, .endsWith:
      guard try isText(left), try isText(right) else {
        throw NotLowerable(reason: "\(c.operator.rawValue) on what is not text runs in Swift")
      }
      let function =
        switch c.operator {
        case .contains: "godwit_contains"
        case .beginsWith: "godwit_begins_with"
        default: "godwit_ends_with"
        }
      let test = "\(function)(\(try sql(left)), \(try sql(right)))"
      return role == .filter ? test : "COALESCE(\(test), 0)"
    case .like, .matches: throw NotLowerable(reason: "\(c.operator.rawValue) runs in Swift")
    }
  }

  /// In memory a comparison with nil is false; in the SQLite store it is unknown.
  private func known(_ sql: String) -> String { role == .filter ? "(\(sql))" : "COALESCE(\(sql), 0)" }

  private func isText(_ lowered: Lowered) throws -> Bool {
    switch lowered {
    case .value(_, let type): return type == .string || type == nil
    case .null: return true
    default: return false
    }
  }

  private func sql(_ lowered: Lowered) throws -> String {
    switch lowered {
    case .value(let sql, _): return sql
    case .object(let key, _): return key
    case .null: return "NULL"
    case .objects, .list: throw NotLowerable(reason: "a collection in a comparison runs in Swift")
    }
  }
}

extension AttributeType {
  /// Whether arithmetic on it is floating point.
  fileprivate var isReal: Bool {
    switch self {
    case .double, .float, .date: true
    default: false
    }
  }
}

/// The objects reached from a row along relationships, as the parts of a correlated SELECT.
struct ObjectChain {
  let schema: StoreSchema
  let database: String
  let builder: StatementBuilder
  private(set) var entityName: String
  /// The SQL of the primary key of the object reached.
  private(set) var key: String
  /// The order key among the objects of the last to-many, when it is ordered.
  private(set) var order: String?
  private(set) var isToMany = false
  /// Whether the path is one hop.
  var isDirect: Bool { hops == 1 }
  private var hops = 0
  private var alias: String?
  private var tables: [String] = []
  private var conditions: [String] = []

  init(row: ExpressionLowering.Row, schema: StoreSchema, database: String, builder: StatementBuilder) {
    self.schema = schema
    self.database = database
    self.builder = builder
    entityName = row.entityName
    alias = row.alias
    key = "\(row.alias).Z_PK"
  }

  mutating func follow(_ name: String) throws {
    guard let relationship = schema.model.relationship(name, of: entityName) else {
      throw NotLowerable(reason: "'\(entityName)' has no relationship '\(name)'")
    }
    switch schema.storage(of: name, in: entityName) {
    case .foreignKey(_, let column, _, _):
      key = "\(try loadedRow().alias).\(quoted(column))"
      alias = nil
    case .inverse(let table, let column, _, let orderColumn):
      let next = builder.alias()
      tables.append("\(database).\(quoted(table)) AS \(next)")
      conditions.append("\(next).\(quoted(column)) = \(key)")
      (alias, key) = (next, "\(next).Z_PK")
      order = orderColumn.map { "\(next).\(quoted($0))" }
      isToMany = true
    case .join(let join, let subject, let object, let orderColumn):
      let next = builder.alias("j")
      tables.append("\(join.rows(in: database)) AS \(next)")
      conditions.append("\(next).\(quoted(subject)) = \(key)")
      (alias, key) = (nil, "\(next).\(quoted(object))")
      order = orderColumn.map { "\(next).\(quoted($0))" }
      isToMany = true
    case .none: throw NotLowerable(reason: "relationship '\(name)' is not stored")
    }
    entityName = relationship.destinationEntityName
    hops += 1
  }

  /// The row of the object reached, joined in when it is not there yet.
  mutating func loadedRow() throws -> ExpressionLowering.Row {
    if let alias { return .init(alias: alias, entityName: entityName) }
    guard let table = schema.table(of: entityName) else {
      throw NotLowerable(reason: "'\(entityName)' has no table")
    }
    let next = builder.alias()
    tables.append("\(database).\(quoted(table.name)) AS \(next)")
    conditions.append("\(next).Z_PK = \(key)")
    (alias, key) = (next, "\(next).Z_PK")
    return .init(alias: next, entityName: entityName)
  }

  /// `sql` evaluated where the chain leads: as it is, or in a scalar subquery.
  func scalar(_ sql: String) -> String { tables.isEmpty ? sql : "(SELECT \(sql)\(from))" }

  /// ` FROM … WHERE …`, empty when no table is joined in.
  var from: String {
    tables.isEmpty
      ? "" : " FROM \(tables.joined(separator: " CROSS JOIN ")) WHERE \(conditions.joined(separator: " AND "))"
  }

  var isEmpty: Bool { tables.isEmpty }
}
