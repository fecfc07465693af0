import GodwitJob
import GodwitModel
import GodwitStore

/// The values that mappings round, cannot store, or turn to nil, counted in the source: in every mapping, with or without
/// a filter, of an attribute itself, along a path, or by an expression.
struct NumberLosses {
  private let planner: Planner
  private let program: StepProgram
  /// Whether to count the nils too that a run counts itself.
  private let isWhole: Bool

  private static let limitColumns = 100

  init(_ planner: Planner, _ program: StepProgram, isWhole: Bool) {
    (self.planner, self.program, self.isWhole) = (planner, program, isWhole)
  }

  private var resolved: ResolvedMapping { program.resolved }

  /// An attribute of the destination whose values are counted.
  struct Watched {
    /// What is read: an attribute of the source; for an expression, the attribute that it gives a value.
    var subject: String
    /// The destination's attribute.
    var target: String
    var mapping, types: String
    var isInteger: Bool
    /// The policy that may make the objects in another way.
    var policy: String?
    /// Whether the plan alone counts values that become nil.
    var plansNils: Bool
    /// Whether the job sets such objects aside.
    var setsAside: Bool
    /// The value that is counted.
    fileprivate var value: String
    /// The arguments of `NumberTally`.
    fileprivate var arguments: String
    /// Whether the first value that is not nil takes the place of nil in the first object of its kind.
    fileprivate var isFilled: Bool

    fileprivate func tally(where condition: String?) -> String {
      "\(NumberTally.function)(\(arguments))" + (condition.map { " FILTER (WHERE \($0))" } ?? "")
    }
  }

  /// The count of a watched attribute.
  struct Counted {
    fileprivate var watched: Watched
    var tally: NumberTally
    var isEstimate: Bool

    var subject: String { watched.subject }
    var target: String { watched.target }
    var mapping: String { watched.mapping }
    var types: String { watched.types }
    var nils: Int64 { tally.nils + (watched.plansNils ? tally.valueless : 0) }
    private var about: String { isEstimate ? "about " : "" }

    /// The values that stop a run.
    var misfits: [String] { watched.policy == nil ? stops : [] }

    private var stops: [String] {
      var found: [String] = []
      if tally.misfits > 0, watched.isInteger {
        let verb = tally.misfits == 1 ? "does" : "do"
        found.append("\(about)\(tally.misfits.counted("value")) of \(subject) \(verb) not fit, \(types)")
      }
      if tally.failed > 0 {
        found.append("\(about)\(tally.failed.counted("value")) of \(target) cannot be computed (mapping \(mapping))")
      }
      return found
    }

    /// Values that a change of numeric types cannot carry.
    var notes: [MigrationNote] {
      let condition = watched.policy.map { " if policy \($0) leaves them to the mapping" } ?? ""
      let verb = watched.setsAside ? "set aside" : "the run will stop"
      var notes = stops.map { MigrationNote(.valuesDoNotFit, "\(verb)\(condition): \($0)") }
      if tally.misfits > 0, !watched.isInteger {
        let (be, stay) =
          tally.misfits == 1 ? ("is", "it stays, and is read as NaN") : ("are", "they stay, and are read as NaN")
        notes.append(
          MigrationNote(
            .valuesTooLarge,
            "\(about)\(tally.misfits.counted("value")) of \(subject) \(be) too large or too near to 0, \(types): \(stay)"
          ))
      }
      return notes
    }
  }

  /// A walk, and the attributes that it counts.
  struct Part {
    /// A column of the walk: the counts of an attribute in some rows.
    fileprivate struct Column {
      /// The place of the attribute in `watched`.
      var place: Int
      /// The counts that are taken from it; the others are of other rows.
      var taken: (NumberTally) -> NumberTally = { $0 }
      var sql: String
    }

    var walk: SourceWalk
    fileprivate(set) var watched: [Watched]
    fileprivate var columns: [Column]

    func counted(_ count: SourceWalk.Count) -> [Counted] {
      watched.indices.map { place in
        let own = columns.indices.filter { columns[$0].place == place }
        let tallies = count.rows.flatMap { row in
          own.map { column -> NumberTally in
            guard column < row.count, case .text(let bytes) = row[column] else { return NumberTally() }
            return columns[column].taken(NumberTally(String(decoding: bytes, as: UTF8.self)))
          }
        }
        return Counted(
          watched: watched[place], tally: tallies.reduce(NumberTally(), +).scaled(by: count.scaled),
          isEstimate: count.isEstimate)
      }
    }
  }

  /// - Parameter leavesOutSafe: Whether attributes are left out whose values all fit, as the ends of their inputs show.
  func parts(leavingOutSafe leavesOutSafe: Bool = false) throws -> [Part] {
    try resolved.entityMappings.filter { $0.earlier == nil }.flatMap { mapping -> [Part] in
      let builder = StatementBuilder()
      builder.tolerateMisfits()
      let isUnique = program.isUnique(mapping.index)
      // Expressions read the ends of a link from these rows.
      let links = isUnique ? nil : program.creation.linkRows(of: mapping, builder)
      let safe = try leavesOutSafe && links != nil ? safeAttributes(of: mapping) : []
      let watched = try mapping.attributes.filter { !safe.contains($0.attribute.name) }.compactMap {
        try watch($0.attribute, $0.source, mapping, builder)
      }
      guard !watched.isEmpty else { return [] }
      let association = program.associations(builder)
      let table = try program.sourceTable(mapping.source.name)
      var terms = [association.matches(mapping.index, alias: "s").sql]
      let merged = isUnique ? try program.associationStage.merged(mapping.index, association) : nil
      let groups = merged.map { "WITH g AS MATERIALIZED (\($0)) " } ?? ""
      let isFilled = watched.contains(where: \.isFilled)
      if isUnique, !isFilled { terms.append(Self.isFirst) }
      let taken = isFilled ? try association.table(mapping.index) : ""
      let rows = links?.rows ?? "source.\(quoted(table)) AS s NOT INDEXED"
      return stride(from: 0, to: watched.count, by: Self.limitColumns).map { first in
        let some = Array(watched[first..<min(first + Self.limitColumns, watched.count)])
        let columns = some.enumerated().flatMap { place, one in
          one.isFilled
            ? Self.columns(ofFilled: one, at: place, rows: taken)
            : [.init(place: place, sql: one.tally(where: isFilled ? Self.isFirst : nil))]
        }
        let context = "planning, mapping '\(mapping.name)'"
        let walk: SourceWalk
        if isUnique || links != nil {
          walk = SourceWalk(table, key: "s.Z_PK", isCut: !isUnique, builder: builder, context: context) { [terms] in
            "\(groups)SELECT \(columns.map(\.sql).joined(separator: ", ")) FROM \(rows)\(whereClause((terms as [String?]) + [$0]))"
          }
        } else {
          walk = SourceWalk(
            table,
            counting: .init(
              columns: columns.map { .init(sql: $0.sql) }, terms: terms, builder: builder, context: context,
              usesIndex: false))
        }
        return Part(walk: walk, watched: some, columns: columns)
      }
    }
  }

  /// Whether a row `s` is the first of those that become one object (`g`), or becomes one alone.
  private static let isFirst = "s.Z_PK NOT IN (SELECT k FROM g WHERE k <> f)"

  /// Where `fill-nil` gives an object the first value that is not nil, that value may be rounded, and only without any is
  /// the value of the first object nil. A value that does not fit stops the run in any of them.
  private static func columns(ofFilled watched: Watched, at place: Int, rows: String) -> [Part.Column] {
    let stays = """
      s.Z_PK NOT IN (SELECT k FROM (SELECT g.k AS k, FIRST_VALUE(g.k) OVER (PARTITION BY g.f ORDER BY m.v IS NULL, g.t) AS kept \
      FROM g CROSS JOIN (SELECT s.Z_PK AS k, \(watched.value) AS v FROM \(rows) AS s) AS m ON m.k = g.k) WHERE k <> kept)
      """
    return [
      .init(place: place, taken: \.withoutMisfits, sql: watched.tally(where: stays)),
      .init(place: place, taken: \.onlyMisfits, sql: watched.tally(where: nil)),
    ]
  }

  /// nil for an attribute whose values are all stored as they are.
  private func watch(
    _ attribute: AttributeDescription, _ value: ResolvedEntityMapping.AttributeSource,
    _ mapping: ResolvedEntityMapping, _ builder: StatementBuilder
  ) throws -> Watched? {
    guard case .expression(let parsed) = value.withoutDefault else { return nil }
    let target = "\(mapping.destination.name).\(attribute.name)"
    let policy = resolved.policies.first { $0.index == mapping.index }?.name
    func watched(
      _ subject: String, _ sql: String, _ from: AttributeType?, _ what: NumberTally.What, held: String, _ types: String
    ) -> Watched {
      Watched(
        subject: subject, target: target, mapping: mapping.name, types: "\(types) to \(attribute.type.xcodeName)",
        isInteger: attribute.type.isInteger, policy: policy,
        plansNils: resolved.plansNils(of: value, in: mapping), setsAside: planner.job.quarantine != nil,
        value: sql, arguments: "\(sql), \(from?.rawValue ?? -1), \(attribute.type.rawValue), \(what.rawValue), \(held)",
        isFilled: mapping.fills(attribute, from: value))
    }
    if let number = resolved.numericChange(of: value, to: attribute, in: mapping) {
      let (path, from, change) = (number.path, number.from, number.change)
      guard change.mayNotFit || change.mayRound || from.type == .decimal else { return nil }
      guard let sql = try column(path, of: mapping.source.name, builder) else { return nil }
      return watched(
        "\(mapping.source.name).\(path.joined(separator: "."))", sql, from.type, .stored, held: "0",
        from.type.xcodeName)
    }
    let nils =
      isWhole && policy == nil
      ? program.losses.nilWatches(mapping.index).first { $0.attribute == attribute.name } : nil
    guard nils != nil || attribute.type.isNumeric, policy == nil || !parsed.asksOthers else { return nil }
    // The first such value stops the run, and an integer is never rounded.
    if !isWhole, attribute.type.isInteger, policy == nil, planner.job.quarantine == nil { return nil }
    let mark = builder.mark
    let lowered = ExpressionLowering.value(
      parsed, schema: program.sourceSchema, row: .init(alias: "s", entityName: mapping.source.name), builder: builder,
      bindings: MappingBindings(mapping.mapping, property: attribute.name))
    guard nils != nil || Self.mayChange(lowered.type, to: attribute.type, parsed) else {
      builder.restore(mark)
      return nil
    }
    let held = try nils?.inputs.map { try program.losses.holds($0, of: mapping.source.name, builder) }
    return watched(
      target, lowered.sql, nil, parsed.isRead ? parsed.hasInexactConstant ? .readOrConstant : .read : .computed,
      held: held.map { "(\($0.joined(separator: " AND ")))" } ?? "0",
      "an expression of mapping '\(mapping.name)'")
  }

  // MARK: Values that all fit

  /// The attributes of links whose values all fit: sums, differences and products of whole numbers whose ends stay within
  /// the type.
  ///
  /// The ends are found in the tables of the objects. They have fewer rows than the links, or nothing is proved.
  private func safeAttributes(of mapping: ResolvedEntityMapping) throws -> Set<String> {
    guard !planner.scan.isSample, let pair = resolved.sourceModel.pairEntity(mapping.source.name) else { return [] }
    let watches = Set(program.losses.nilWatches(mapping.index).map(\.attribute))
    let candidates = mapping.attributes.compactMap { attribute, source -> (AttributeDescription, ValueExpression)? in
      guard case .expression(let value) = source.withoutDefault, attribute.type.isNumeric,
        !watches.contains(attribute.name)
      else { return nil }
      return (attribute, value)
    }
    var inputs: [WholeNumberInput] = []
    for (_, value) in candidates {
      _ = WholeNumberBounds.of(value) { path in
        guard let input = wholeNumber(at: path, of: pair) else { return nil }
        if !inputs.contains(input) { inputs.append(input) }
        return WholeNumberBounds(0...0)
      }
    }
    let rows = Dictionary(program.facts.entities.map { ($0.name, $0.rows) }) { $1 }
    let ends = Set(inputs.map(\.entity))
    guard !inputs.isEmpty,
      ends.reduce(0, { $0 + (rows[$1] ?? Int64.max / 4) }) < program.facts.mappings[mapping.index].rows
    else { return [] }
    let bounds = try bounds(of: inputs)
    let safe = candidates.filter { attribute, value in
      WholeNumberBounds.of(value) { path in
        wholeNumber(at: path, of: pair).flatMap { inputs.firstIndex(of: $0) }.flatMap { bounds[$0] }
      }?.areHeld(by: attribute.type) ?? false
    }
    return Set(safe.map { $0.0.name })
  }

  /// An attribute of whole numbers.
  private struct WholeNumberInput: Equatable { var entity, table, column: String }

  /// The attribute that a path leads to from a link; nil where it is none of an end, or no whole number.
  private func wholeNumber(at path: [String], of pair: PairEntity) -> WholeNumberInput? {
    guard path.count == 2, let end = PairEntity.End.allCases.first(where: { $0.toOne == path[0] }) else { return nil }
    let (entity, schema) = (pair.entityName(of: end), program.sourceSchema)
    guard let attribute = resolved.sourceModel.attribute(path[1], of: entity), attribute.type.isInteger,
      attribute.type.integerRange != nil, schema.fillsTable(entity), let table = schema.table(of: entity)?.name,
      let column = schema.column(of: attribute.name, in: entity)
    else { return nil }
    return WholeNumberInput(entity: entity, table: table, column: column)
  }

  /// The bounds of each attribute; nil for one with something else than a whole number.
  private func bounds(of inputs: [WholeNumberInput]) throws -> [WholeNumberBounds?] {
    let walks = inputs.map { input in
      let column = quoted(input.column)
      return SourceWalk(input.table, key: "Z_PK") {
        """
        SELECT MIN(\(column)), MAX(\(column)), COUNT(*) FILTER (WHERE typeof(\(column)) NOT IN ('integer', 'null')) \
        FROM source.\(quoted(input.table))\(whereClause([$0]))
        """
      }
    }
    return try planner.scan.counts(walks).map { count in
      var bounds = WholeNumberBounds(nil)
      for row in count.rows {
        guard row.count == 3, row[2] == .integer(0) else { return nil }
        guard case (.integer(let low), .integer(let high)) = (row[0], row[1]) else { continue }
        bounds.range = min(low, bounds.range?.lowerBound ?? low)...max(high, bounds.range?.upperBound ?? high)
      }
      return bounds
    }
  }

  /// Whether some result of a type may be another number in an attribute, or not fit.
  private static func mayChange(
    _ type: AttributeType?, to destination: AttributeType, _ expression: ValueExpression
  ) -> Bool {
    guard destination.isNumeric else { return false }
    if case .constant = expression.node { return false }
    switch (type, destination) {
    case (.double?, .double), (.float?, .double), (.float?, .float): return false
    // A decimal of the source has no more digits than its column.
    case (.decimal?, .decimal): return expression.makesDecimals
    default: return true
    }
  }

  /// The stored value at the end of a path along to-one relationships; nil where none is stored.
  private func column(_ path: [String], of entity: String, _ builder: StatementBuilder) throws -> String? {
    var chain = RelationshipJoinPath(
      row: .init(alias: "s", entityName: entity), schema: program.sourceSchema,
      database: StoreConnection.sourceSchema, builder: builder)
    do {
      for name in path.dropLast() { try chain.follow(name) }
      let row = try chain.loadedRow()
      guard let name = path.last, let column = program.sourceSchema.column(of: name, in: row.entityName) else {
        return nil
      }
      return chain.scalar("\(row.alias).\(quoted(column))")
    } catch let error as NotLowerable {
      throw GodwitError(.internalBug, "cannot follow '\(path.joined(separator: "."))': \(error.reason)")
    }
  }
}

extension ValueExpression {
  /// Whether a part of it is a constant that a Float may not hold.
  fileprivate var hasInexactConstant: Bool {
    contains { part in
      switch part.node {
      case .constant(.double(let number)): Double(Float(number)) != number
      case .constant(.string), .constant(.decimal), .constant(.date): true
      default: false
      }
    }
  }

  /// Whether a part of it may give a decimal that is not one of the source.
  fileprivate var makesDecimals: Bool {
    contains { part in
      switch part.node {
      case .arithmetic, .negation, .function, .call, .cast, .constant: true
      default: false
      }
    }
  }
}

/// A value of the source that becomes one of another numeric type.
struct ConvertedNumber {
  /// The path to the attribute.
  var path: [String]
  var from: AttributeDescription
  var change: NumericChange
}

extension ResolvedMapping {
  /// The number that a value converts; nil for any other value.
  func numericChange(
    of value: ResolvedEntityMapping.AttributeSource, to attribute: AttributeDescription,
    in mapping: ResolvedEntityMapping
  ) -> ConvertedNumber? {
    guard case .expression(let parsed) = value.withoutDefault, case .keyPath(let base, let segments) = parsed.node,
      base.map(ExpressionInputs.isOwn) ?? true
    else { return nil }
    let path = sourceModel.joiningComposites(segments, from: mapping.source.name)
    guard let from = ExpressionInputs(model: sourceModel, entityName: mapping.source.name).attribute(path),
      let change = NumericChange(from: from.type, to: attribute.type)
    else { return nil }
    return ConvertedNumber(path: path, from: from, change: change)
  }

  /// Whether the plan counts the decimals without a value that a mapping copies to another numeric type: it makes its
  /// objects by expressions alone. Elsewhere a run counts them. A default in place of nil is no loss.
  func plansNils(of value: ResolvedEntityMapping.AttributeSource, in mapping: ResolvedEntityMapping) -> Bool {
    guard case .expression = value else { return false }
    return mapping.earlier == nil && !policies.contains { $0.index == mapping.index }
  }
}
