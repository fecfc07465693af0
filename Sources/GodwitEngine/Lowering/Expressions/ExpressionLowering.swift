import GodwitJob
package import GodwitModel
package import GodwitStore

/// Why an expression cannot be said in SQL; it then runs in Swift, and the plan shows the reason.
package struct NotLowerable: Error {
  package var reason: String

  package init(reason: String) {
    self.reason = reason
  }
}

/// Turns expressions and predicates on a row of the source store into SQL with the same result.
///
/// Filters follow the SQLite store's meaning of NULL, value expressions that of evaluation in memory
/// (`Expressions` page). Every column read carries a check of its storage class: SQLite itself would
/// call `'abc' >= 18` true.
package struct ExpressionLowering {
  enum Role { case filter, value }

  /// A row that expressions read: the alias of its table in the statement, and its entity.
  package struct Row {
    package var alias: String
    package var entityName: String

    package init(alias: String, entityName: String) {
      self.alias = alias
      self.entityName = entityName
    }
  }

  /// A lowered expression.
  enum Lowered {
    /// A value; a nil type is a number that may be an integer or not.
    case value(sql: String, type: AttributeType?)
    /// An object: the SQL of its primary key, NULL for a missing object.
    case object(key: String, entityName: String)
    case collection(LoweredCollection)
    case list([Lowered])
    case null
  }

  /// The place where the storage class of a read column is tested.
  package enum Checks {
    /// In the expression.
    case inline
    /// By `godwit_row`, for columns of the statement's own row, and of the ends of a link that are joined to it, that are
    /// read whatever the rows contain.
    case byRow
    /// Nowhere: the planner has run the same expression on every row.
    case done
  }

  let schema: StoreSchema
  let role: Role
  let row: Row
  let builder: StatementBuilder
  /// The text of the whole expression, for messages.
  let text: String
  /// The values of `$entityMapping` and `$propertyMapping`.
  var bindings = MappingBindings()
  /// SUBQUERY variables in scope.
  var variables: [String: Row] = [:]
  var checks = Checks.inline
  private let budget = Budget()

  /// Keeps the SQL of one expression small. Some operators name an operand twice, and SQLite's parser has a stack
  /// of 100 entries; an expression beyond that runs in Swift.
  private final class Budget {
    private var nodes = 0

    func spend() throws {
      nodes += 1
      if nodes > 2000 { throw NotLowerable(reason: "an expression of this size runs in Swift") }
    }

    static func check(_ sql: String) throws {
      guard sql.utf8.count <= 1 << 16, SQLNesting.depth(of: sql) <= SQLNesting.limit else {
        throw NotLowerable(reason: "an expression nested this deeply runs in Swift")
      }
    }
  }

  // MARK: Entry points

  /// The condition of a filter as SQL that is true, false or NULL; falls back to Swift.
  package static func condition(
    _ filter: FilterPredicate, schema: StoreSchema, row: Row, builder: StatementBuilder, checks: Checks = .inline
  ) -> (sql: String, reason: String?) {
    let lowering = ExpressionLowering(
      schema: schema, role: .filter, row: row, builder: builder, text: filter.source.text, checks: checks)
    let mark = builder.mark
    do {
      if EngineTuning.current.runsAllInSwift { throw NotLowerable(reason: "every expression runs in Swift") }
      let sql = try lowering.predicate(filter)
      try Budget.check(sql)
      return (sql, nil)
    } catch {
      builder.restore(mark)
      let sql = lowering.evaluated(
        .init(work: .predicate(filter), entityName: row.entityName, text: filter.source.text),
        reading: filter.operands)
      return (sql, (error as? NotLowerable)?.reason ?? "\(error)")
    }
  }

  /// A value expression as SQL.
  package struct LoweredValue {
    package var sql: String
    /// nil where it is not known.
    package var type: AttributeType?
    /// Why it runs in Swift; nil for SQL alone.
    package var reason: String?
  }

  /// A value expression as SQL; falls back to Swift.
  package static func value(
    _ expression: ValueExpression, schema: StoreSchema, row: Row, builder: StatementBuilder,
    bindings: MappingBindings = .init()
  ) -> LoweredValue {
    let lowering = ExpressionLowering(
      schema: schema, role: .value, row: row, builder: builder, text: expression.source.text, bindings: bindings,
      checks: builder.rowChecks == nil ? .inline : .byRow)
    let mark = builder.mark
    do {
      if EngineTuning.current.runsAllInSwift { throw NotLowerable(reason: "every expression runs in Swift") }
      let lowered = try lowering.lower(expression)
      let sql = try lowering.single(lowered, expression)
      try Budget.check(sql)
      guard case .value(_, let type) = lowered else { return LoweredValue(sql: sql) }
      return LoweredValue(sql: sql, type: type)
    } catch {
      builder.restore(mark)
      let sql = lowering.evaluated(
        .init(
          work: .expression(expression), entityName: row.entityName, text: expression.source.text,
          bindings: bindings), reading: [expression])
      return LoweredValue(sql: sql, reason: (error as? NotLowerable)?.reason ?? "\(error)")
    }
  }

  /// A call of Swift, which gets the attributes of the row that the expressions read, so that it need not look for
  /// them.
  private func evaluated(_ evaluation: LoweredFunctions.Evaluation, reading expressions: [ValueExpression]) -> String {
    var evaluation = evaluation
    var names: Set<String> = []
    for expression in expressions {
      _ = expression.contains { part in
        if case .keyPath(let base, let segments) = part.node, segments.count == 1 {
          switch base?.node {
          case nil, .evaluatedObject, .variable("source"): names.insert(segments[0])
          default: break
          }
        }
        return false
      }
    }
    for name in names.sorted() where evaluation.attributes.count < Self.limitHanded {
      guard let attribute = schema.model.attribute(name, of: row.entityName), !attribute.isTransient,
        schema.column(of: name, in: row.entityName) != nil
      else { continue }
      evaluation.attributes.append(name)
    }
    return Self.call(evaluation, number: builder.evaluation(evaluation), row: row.alias, schema: schema)
  }

  /// The call of an expression for a row, which hands its attributes over.
  package static func call(
    _ evaluation: LoweredFunctions.Evaluation, number: Int, row: String, schema: StoreSchema
  ) -> String {
    let columns = evaluation.attributes.compactMap { schema.column(of: $0, in: evaluation.entityName) }
    return "godwit_eval(\(number), \((["Z_PK"] + columns.map(quoted)).map { "\(row).\($0)" }.joined(separator: ", ")))"
  }

  /// SQLite passes 127 arguments at most.
  private static let limitHanded = 100

  // MARK: Values

  private func single(_ lowered: Lowered, _ expression: ValueExpression) throws -> String {
    switch lowered {
    case .value(let sql, _): return sql
    case .null: return "NULL"
    case .object, .collection, .list: throw NotLowerable(reason: "'\(expression)' is not a single value")
    }
  }

  func lower(_ expression: ValueExpression) throws -> Lowered {
    if checks == .byRow, !expression.isArithmetic(joining: builder.joinedEnds) {
      var inner = self
      inner.checks = .inline
      return try inner.lower(expression)
    }
    try budget.spend()
    switch expression.node {
    case .constant(let value): return try constant(value)
    case .evaluatedObject: return .object(key: "\(row.alias).Z_PK", entityName: row.entityName)
    case .variable(let name):
      let row = try self.row(of: name)
      return .object(key: "\(row.alias).Z_PK", entityName: row.entityName)
    case .keyPath(let base, let segments): return try keyPath(base: base, segments)
    case .arithmetic(let op, let left, let right): return try arithmetic(op, left, right)
    case .negation(let operand):
      let lowered = try lower(operand)
      if lowered.isDecimal { return .value(sql: "(-\(try self.sql(lowered)))", type: .decimal) }
      let (sql, type) = try number(operand)
      return .value(sql: "(-\(sql))", type: type == .boolean ? .integer64 : type)
    case .aggregate(let elements): return .list(try elements.map(lower))
    case .ternary(let condition, let then, let otherwise): return try ternary(condition, then, otherwise)
    case .function(let name, let arguments): return try function(name, arguments)
    case .call(_, let selector, _): throw NotLowerable(reason: "FUNCTION \(selector) runs in Swift")
    case .subquery(let collection, let variable, let predicate):
      return .collection(try subquery(collection, variable, predicate))
    case .cast(let operand, let type): return try cast(operand, type)
    case .element(let collection, .size):
      return try aggregate("@count", over: try collected(collection))
    case .element: throw NotLowerable(reason: "an index into a collection runs in Swift")
    case .set(let op, _, _): throw NotLowerable(reason: "\(op.rawValue) runs in Swift")
    case .fetch: throw NotLowerable(reason: "FETCH runs in Swift")
    }
  }

  func constant(_ value: AttributeValue) throws -> Lowered {
    if case .boolean(let flag) = value { return .value(sql: flag ? "1" : "0", type: .boolean) }
    let stored = SQLValue(value)
    // A value that is not a number gives NULL as well.
    if stored == .null { return .null }
    let type = value.attributeType
    return .value(sql: builder.bind(stored), type: type)
  }

  func row(of variable: String) throws -> Row {
    if let found = variables[variable] { return found }
    guard variable == "source", role == .value else {
      throw NotLowerable(reason: "variable $\(variable) runs in Swift")
    }
    return row
  }

  private func keyPath(base: ValueExpression?, _ segments: [String]) throws -> Lowered {
    let start: Row
    switch base?.node {
    case nil, .evaluatedObject: start = row
    case .variable(let name):
      if variables[name] == nil, let known = bindings.constant(name, segments) { return try constant(known) }
      start = try row(of: name)
    case .subquery: return try follow(segments[...], from: try collected(base))
    default: throw NotLowerable(reason: "a key path on a computed object runs in Swift")
    }
    let model = schema.model
    var chain = RelationshipJoinPath(
      row: start, schema: schema, database: StoreConnection.sourceSchema, builder: builder)
    let segments = model.joiningComposites(segments, from: start.entityName)
    for (index, segment) in segments.enumerated() {
      if chain.isToMany { return try follow(segments[index...], from: LoweredCollection(chain)) }
      if segment.hasPrefix("@") { throw NotLowerable(reason: "'\(segment)' on a single object runs in Swift") }
      if let attribute = model.attribute(segment, of: chain.entityName) {
        guard index == segments.count - 1 else { throw NotLowerable(reason: "'\(segments[index + 1])' runs in Swift") }
        let inner = try chain.loadedRow()
        return .value(sql: chain.scalar(try read(attribute, of: inner)), type: attribute.type)
      }
      guard let relationship = model.relationship(segment, of: chain.entityName) else {
        throw NotLowerable(reason: "'\(segment)' is a property of a subentity")
      }
      try chain.follow(relationship.name)
    }
    if chain.isToMany { return .collection(try LoweredCollection(chain)) }
    // A key without a row is not an object, as in memory.
    _ = try chain.loadedRow()
    return .object(key: chain.scalar(chain.key), entityName: chain.entityName)
  }

  /// A column with a check of its content.
  func read(_ attribute: AttributeDescription, of row: Row) throws -> String {
    guard let column = schema.column(of: attribute.name, in: row.entityName), !attribute.isTransient else {
      throw NotLowerable(reason: "'\(attribute.name)' is not stored")
    }
    guard !attribute.allowsExternalBinaryDataStorage else {
      throw NotLowerable(reason: "'\(attribute.name)' has a prefix that Swift removes")
    }
    let sql = "\(row.alias).\(quoted(column))"
    let site = self.site(attribute, of: row)
    var checked = sql
    let isOwn = row.alias == self.row.alias
    if checks == .byRow, isOwn || builder.joinedEnds.values.contains(row.alias) {
      builder.rowChecks?.add(
        sql, RowCheck.Field(reading: attribute.type, site: site), key: isOwn ? nil : "\(row.alias).Z_PK")
    } else if checks != .done {
      checked = Self.checked(sql, type: attribute.type, site: site, key: "\(row.alias).Z_PK")
    }
    switch attribute.type {
    // Core Data keeps a decimal that is not a number as the text NaN; in an expression it has no value.
    case .decimal: return Self.decimal(checked, again: sql)
    // Any integer but 0 is true.
    case .boolean: return "(\(checked) <> 0)"
    default: return checked
    }
  }

  /// Gives NULL for a text that is not a number: `NaN`, which is greater than any number, and a number that is too
  /// large or too small.
  ///
  /// - Parameter again: The same without a check.
  private static func decimal(_ checked: String, again sql: String) -> String {
    let (limit, floor) = (AttributeValue.decimalLimit, AttributeValue.decimalFloor)
    // The parts of an AND are evaluated in any order, but the check must come first.
    return "(CASE WHEN \(checked) > -\(limit) THEN CASE WHEN \(sql) < \(limit) "
      + "AND (\(sql) >= \(floor) OR \(sql) <= -\(floor) OR \(sql) = 0) THEN \(sql) END END)"
  }

  private func site(_ attribute: AttributeDescription, of row: Row) -> Int {
    builder.site(
      ReadingSite(
        entityName: row.entityName, propertyName: attribute.name, expected: attribute.type.phrase, cause: text,
        action: "evaluate"))
  }

  /// The place of the expression itself, for functions that can fail.
  var ownSite: Int {
    builder.site(
      ReadingSite(entityName: row.entityName, propertyName: "", expected: "", cause: text, action: "evaluate"))
  }

  package static func checked(_ sql: String, type: AttributeType, site: Int, key: String) -> String {
    let allowed = (type.facts.storageClasses.map(\.rawValue) + ["null"]).map { "'\($0)'" }.joined(separator: ",")
    let test =
      switch type {
      case .decimal: "typeof(\(sql)) IN (\(allowed)) OR \(sql) = 'NaN'"
      case .uuid: "\(sql) IS NULL OR typeof(\(sql)) = 'blob' AND length(\(sql)) = 16"
      default: "typeof(\(sql)) IN (\(allowed))"
      }
    return "(CASE WHEN \(test) THEN \(sql) ELSE godwit_bad(\(site), \(key), typeof(\(sql))) END)"
  }
}

extension ValueExpression {
  /// Whether nothing but attributes, constants and arithmetic that SQL knows is in it.
  ///
  /// - Parameter ends: As `StatementBuilder.joinedEnds`.
  package func isArithmeticThroughout(joining ends: [String: String]) -> Bool {
    switch node {
    case .arithmetic(let op, let left, let right):
      op != .power && left.isArithmeticThroughout(joining: ends) && right.isArithmeticThroughout(joining: ends)
    case .negation(let operand): operand.isArithmeticThroughout(joining: ends)
    default: isArithmetic(joining: ends)
    }
  }

  /// Whether its operands are evaluated whatever the row holds: an attribute of the object itself or of an end of a link,
  /// a constant, or arithmetic.
  fileprivate func isArithmetic(joining ends: [String: String]) -> Bool {
    switch node {
    case .constant, .arithmetic, .negation: true
    case .keyPath(let base, let segments):
      switch base?.node {
      case nil, .evaluatedObject, .variable: segments.count == 1 || segments.count == 2 && ends[segments[0]] != nil
      default: false
      }
    default: false
    }
  }
}

/// How deep SQL nests, in entries of SQLite's parser stack.
enum SQLNesting {
  /// SQLite's parser has 100 entries; the statement around an expression takes the rest.
  static let limit = 60

  /// An upper bound of the depth of the text.
  ///
  /// A parenthesis takes up to 3 entries (with the operator and the operand before it), 6 after a word, as in
  /// `f(a, (` and `a IN (1, (`; `CASE` takes 6. Measured on SQLite 3.40.
  static func depth(of sql: String) -> Int {
    var (deepest, depth) = (0, 0)
    var open: [Int] = []
    var word: [UInt8] = []
    var isQuoted = false
    var last: UInt8 = 0
    func push(_ cost: Int) {
      open.append(cost)
      depth += cost
      deepest = max(deepest, depth)
    }
    func pop() { depth -= open.popLast() ?? 0 }
    for byte in sql.utf8 {
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      if isQuoted {
        word = []
        continue
      }
      let isLetter = (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A) || byte == 0x5F
      if isLetter {
        word.append(byte)
        last = byte
        continue
      }
      if word.elementsEqual("CASE".utf8) { push(6) }
      if word.elementsEqual("END".utf8) { pop() }
      let wasWord = !word.isEmpty
      word = []
      switch byte {
      case UInt8(ascii: "("): push(wasWord || last | 0x20 >= 0x61 && last | 0x20 <= 0x7A ? 6 : 3)
      case UInt8(ascii: ")"): pop()
      default: break
      }
      if byte != 0x20 { last = byte }
    }
    return deepest
  }
}
