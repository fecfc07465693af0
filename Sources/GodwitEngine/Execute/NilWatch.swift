import GodwitJob
import GodwitModel
import GodwitStore

/// An attribute whose expression may give nil although its input values exist. These nils are counted.
///
/// 1. The inputs are the attributes that the expression reads from its object, or from objects along to-one
///    relationships. An attribute that only a condition reads is not an input.
/// 2. A value is lost if all inputs have values and the result is nil. A nil that results from a nil input is not a
///    loss.
/// 3. A decimal without a value, such as NaN, counts as an input with a value, although no expression has its value. If
///    the plan counts these (`plansNils`), they are not watched.
/// 4. Expressions that cannot do that, such as `$source.a + 1` for an integer, are not watched and cost nothing.
struct NilWatch: Hashable {
  var attribute: String
  /// The column in the destination's table.
  var column: String
  /// The names along each path from the source object to an attribute.
  var inputs: [[String]]
}

/// How many values of an attribute an expression of a mapping turned to nil.
struct NilCount: Hashable {
  /// The mapping's index.
  var mapping: MappingID
  var attribute: String
  var count: Int64
}

extension LossStatements {
  /// The attributes of a mapping that are watched.
  func nilWatches(_ index: MappingID) -> [NilWatch] { step.kept.nilWatches(index) { watches(index) } }

  private func watches(_ index: MappingID) -> [NilWatch] {
    let mapping = mappings[index]
    return mapping.attributes.compactMap { attribute, source in
      guard case .expression(let parsed) = source,
        let column = destinationSchema.column(of: attribute.name, in: mapping.destination.name)
      else { return nil }
      let reader = ExpressionInputs(model: resolved.sourceModel, entityName: mapping.source.name)
      guard reader.mayTurnToNil(parsed) else { return nil }
      if resolved.plansNils(of: source, in: mapping),
        resolved.numericChange(of: source, to: attribute, in: mapping) != nil
      {
        return nil
      }
      let inputs = reader.paths(parsed)
      return inputs.isEmpty ? nil : NilWatch(attribute: attribute.name, column: column, inputs: inputs)
    }
  }

  /// Counts the values that the objects of a chunk lost; nil if no attribute is watched.
  ///
  /// It reads the rows that the chunk has just written, and the source only for those with a nil in them.
  func nils(_ index: MappingID, _ watches: [NilWatch], predicate: FilterPredicate?) throws -> ChunkStatement? {
    guard !watches.isEmpty else { return nil }
    return try step.kept.nils(.init(mapping: index, watches: watches, predicate: predicate)) {
      try lowerNils(index, watches, predicate: predicate)
    }
  }

  private func lowerNils(
    _ index: MappingID, _ watches: [NilWatch], predicate: FilterPredicate?
  ) throws -> ChunkStatement {
    let mapping = mappings[index]
    let builder = StatementBuilder()
    let association = associations(builder)
    let table = "main.\(quoted(try destinationTable(of: mapping.destination.name).name))"
    let source = try association.table(index)
    let taken = association.matches(index, alias: "s").sql
    let (from, condition): (String, String)
    if isUnique(index) {
      from =
        "main.\(StepProgram.uniqueTable(index)) AS u CROSS JOIN \(table) AS d ON d.Z_PK = u.destination CROSS JOIN \(source) AS s ON s.Z_PK = u.source"
      condition = "u.source BETWEEN ?1 AND ?2"
    } else if !isStored(index), case .offset(let offset) = facts.mappings[index].keys {
      let shift = offset == 0 ? nil : builder.bind(.integer(offset))
      from = "\(table) AS d CROSS JOIN \(source) AS s ON s.Z_PK = d.Z_PK\(shift.map { " - \($0)" } ?? "")"
      func end(_ key: String) -> String { key + (shift.map { " + \($0)" } ?? "") }
      condition = "d.Z_PK BETWEEN \(end("?1")) AND \(end("?2"))"
    } else {
      from = "\(source) AS s CROSS JOIN \(table) AS d ON d.Z_PK = \(association.counterpart(index, ofRow: "s"))"
      condition = "s.Z_PK BETWEEN ?1 AND ?2"
    }
    let nils = watches.map { "d.\(quoted($0.column)) IS NULL" }
    let sums = try zip(watches, nils).map { watch, isNil in
      let held = try watch.inputs.map { try holds($0, of: mapping.source.name, builder) }
      return "COALESCE(SUM(\(isNil) AND \(held.joined(separator: " AND "))), 0)"
    }
    let rest = (isUnique(index) ? "" : " AND \(taken)") + further(predicate, of: mapping, builder)
    return ChunkStatement(
      sql:
        "SELECT \(sums.joined(separator: ", ")) FROM \(from) WHERE \(condition) AND (\(nils.joined(separator: " OR ")))\(rest)",
      builder: builder)
  }

  /// Whether the source has a value at the end of a path. The chunk's own statement has already checked the value.
  func holds(_ path: [String], of entity: String, _ builder: StatementBuilder) throws -> String {
    var chain = RelationshipJoinPath(
      row: .init(alias: "s", entityName: entity), schema: sourceSchema, database: StoreConnection.sourceSchema,
      builder: builder)
    do {
      for name in path.dropLast() { try chain.follow(name) }
      let row = try chain.loadedRow()
      guard let name = path.last, let column = sourceSchema.column(of: name, in: row.entityName) else { return "0" }
      let sql = "\(row.alias).\(quoted(column))"
      return "COALESCE(\(chain.scalar("\(sql) IS NOT NULL")), 0)"
    } catch let error as NotLowerable {
      throw GodwitError(.internalBug, "cannot follow '\(path.joined(separator: "."))': \(error.reason)")
    }
  }
}

/// The inputs of an expression, and whether its result can be nil while all inputs have values.
struct ExpressionInputs {
  let model: ManagedObjectModel
  let entityName: String

  /// The attributes that the result is made of, each once.
  func paths(_ expression: ValueExpression) -> [[String]] {
    var found: [[String]] = []
    func visit(_ part: ValueExpression) {
      switch part.node {
      case .keyPath(let base, let segments):
        if let base, !Self.isOwn(base) { return visit(base) }
        if let input = input(segments), !found.contains(input.path) { found.append(input.path) }
      case .ternary(_, let yes, let no):
        visit(yes)
        visit(no)
      case .subquery(let collection, _, _): visit(collection)
      default: for child in part.children { visit(child) }
      }
    }
    visit(expression)
    return found
  }

  static func isOwn(_ base: ValueExpression) -> Bool {
    switch base.node {
    case .evaluatedObject, .variable("source"): true
    default: false
    }
  }

  /// The stored attribute at the end of a path along to-one relationships.
  func attribute(_ segments: [String]) -> AttributeDescription? {
    var entity = entityName
    for name in segments.dropLast() {
      guard let relationship = model.relationship(name, of: entity), !relationship.isToMany,
        model.isStored(relationship)
      else { return nil }
      entity = relationship.destinationEntityName
    }
    guard let attribute = segments.last.flatMap({ model.attribute($0, of: entity) }), !attribute.isTransient else {
      return nil
    }
    return attribute
  }

  /// The attribute that a path reads, with the path to it. A property of its value may follow, as in `homepage.path`.
  private func input(_ segments: [String]) -> (path: [String], attribute: AttributeDescription, keys: [ValueKey])? {
    for count in 1..<(segments.count + 1) {
      let path = Array(segments[..<count])
      guard let attribute = attribute(path) else { continue }
      let keys = segments[count...].compactMap(ValueKey.init(rawValue:))
      return keys.count == segments.count - count ? (path, attribute, keys) : nil
    }
    return nil
  }

  private func mayTurnToNil(path segments: [String]) -> Bool {
    guard let (_, attribute, keys) = input(segments) else { return true }
    // A decimal may be stored that has no value.
    return attribute.type == .decimal || keys.contains(where: \.mayBeNil)
  }

  private func read(_ expression: ValueExpression) -> AttributeDescription? {
    guard case .keyPath(let base, let segments) = expression.node, base.map(Self.isOwn) ?? true else { return nil }
    return attribute(segments)
  }

  /// A yes may be wrong, a no is not.
  func mayTurnToNil(_ expression: ValueExpression) -> Bool {
    switch expression.node {
    case .constant(let value): value.isNull
    case .keyPath(let base, let segments): base.map(Self.isOwn) == false || mayTurnToNil(path: segments)
    case .negation(let operand): mayTurnToNil(operand)
    case .ternary(_, let yes, let no): mayTurnToNil(yes) || mayTurnToNil(no)
    case .arithmetic(let op, let a, let b): mayTurnToNil(op, a, b)
    case .function(let name, let arguments):
      if arguments.count == 2, let op = ValueExpression.ArithmeticOperator(function: name) {
        mayTurnToNil(op, arguments[0], arguments[1])
      } else {
        ExpressionFunction.named(name)?.isTotal != true || arguments.contains(where: mayTurnToNil)
      }
    default: true
    }
  }

  private func mayTurnToNil(
    _ op: ValueExpression.ArithmeticOperator, _ a: ValueExpression, _ b: ValueExpression
  ) -> Bool {
    if mayTurnToNil(a) || mayTurnToNil(b) { return true }
    // A decimal can become too large for one.
    if isDecimal(a) || isDecimal(b) { return true }
    switch op {
    case .add, .subtract, .multiply: return !(isWhole(a) && isWhole(b)) && !isPlain(a) && !isPlain(b)
    case .divide: return !isPlain(b)
    case .power: return true
    }
  }

  /// Whether it is a finite constant other than zero, which turns no number into infinity or NaN.
  private func isPlain(_ expression: ValueExpression) -> Bool {
    switch expression.node {
    case .constant(.integer(let number)): number != 0
    case .constant(.double(let number)): number.isFinite && number != 0
    case .negation(let operand): isPlain(operand)
    default: false
    }
  }

  private func isWhole(_ expression: ValueExpression) -> Bool {
    switch expression.node {
    case .constant(.integer), .constant(.boolean): true
    case .negation(let operand): isWhole(operand)
    case .arithmetic(let op, let a, let b): [.add, .subtract, .multiply].contains(op) && isWhole(a) && isWhole(b)
    case .keyPath: read(expression).map { $0.type.isInteger || $0.type == .boolean } ?? false
    default: false
    }
  }

  private func isDecimal(_ expression: ValueExpression) -> Bool {
    expression.contains { part in
      if case .constant(.decimal) = part.node { return true }
      return read(part)?.type == .decimal
    }
  }
}
