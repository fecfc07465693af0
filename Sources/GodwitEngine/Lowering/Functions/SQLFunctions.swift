import Foundation
package import GodwitJob
package import GodwitModel
package import GodwitStore

/// The Swift side of lowered SQL: checks, text functions, lookups and expressions that SQL cannot say.
///
/// Registered once on a connection. `running` names the statement of the calls and its inputs, and turns a failed call
/// into an error with its place. One thread at a time.
package final class SQLFunctions {
  package let connection: StoreConnection
  package let evaluation: SourceEvaluation
  /// The statement that runs; an empty one between statements.
  private(set) var statement = RunningStatement()
  /// The expressions of statements that have run: a statement runs for a chunk, or for one object of a policy.
  private var knownExpressions: [ObjectIdentifier: PreparedExpressions] = [:]
  private static let limitExpressions = 64
  private var depth = 0
  /// Readers of spill files, by mapping.
  @exclusivity(unchecked) package var readers = SpillReaders()
  /// Carries external binary data; nil where nothing is written.
  package var mover: ExternalDataMover?
  /// Reads the source keys of a mapping.
  package var readKeySets: (([MappingID]) throws -> [KeySet])?
  /// The findings of a chunk's statements beside their rows.
  @exclusivity(unchecked) package var findings = ChunkFindings()
  /// Checks, source keys and counts for functions that are called for every row.
  package let rows = RowFunctions()

  package init(connection: StoreConnection, sourceSchema: StoreSchema, now: Double) throws {
    self.connection = connection
    evaluation = SourceEvaluation(connection: connection, schema: sourceSchema, now: now)
    try connection.register(rows)
    try registerChecks()
    try registerText()
    try registerCalls()
    try registerExternalData()
    try register("godwit_lookup", arguments: 2) { functions, arguments in
      guard arguments.kind(1) == .integer, let reader = functions.readers[MappingID(Int(arguments.int64(0)))] else {
        return .value(.null)
      }
      do throws(SpillError) {
        return .value(try reader.lookup(source: arguments.int64(1)).map { .integer($0) } ?? .null)
      } catch {
        if error.isDamage { functions.findings.damagedSpill = (MappingID(Int(arguments.int64(0))), error) }
        throw error
      }
    }
    // godwit_eval(expression, key, attributes that it reads…)
    try register("godwit_eval", arguments: -1) { functions, arguments in
      let (number, key) = (Int(arguments.int64(0)), arguments.int64(1))
      if let ahead = functions.statement.inputs.knownValues, arguments.kind(1) == .integer,
        let known = ahead.value(number, key)
      {
        return .value(known)
      }
      guard let prepared = functions.prepared(number) else { return .failure("no such expression") }
      let value = try functions.evaluation.value(of: prepared, key: key, attributes: arguments)
      try functions.statement.inputs.recorder?(number, key, value)
      return .value(value)
    }
  }

  private func prepared(_ number: Int) -> SourceEvaluation.Prepared? {
    guard let expressions = statement.expressions, number >= 0 else { return nil }
    if number < expressions.byNumber.count, let known = expressions.byNumber[number] { return known }
    let evaluations = statement.functions.evaluations
    guard number < evaluations.count else { return nil }
    let missing = evaluations.count - expressions.byNumber.count
    expressions.byNumber += Array(repeating: nil, count: max(0, missing))
    let prepared = evaluation.prepare(evaluations[number])
    expressions.byNumber[number] = prepared
    return prepared
  }

  private func expressions(of builder: StatementBuilder) -> PreparedExpressions {
    if let known = knownExpressions[ObjectIdentifier(builder)] { return known }
    if knownExpressions.count >= Self.limitExpressions { knownExpressions.removeAll() }
    let expressions = PreparedExpressions(builder)
    knownExpressions[ObjectIdentifier(builder)] = expressions
    return expressions
  }

  /// Records the error of a failing callback, so that `running` can throw it unchanged.
  func note(_ error: any Error) { statement.thrown = error }

  /// Sets the folder in which expressions find the source's external binary data.
  package func setSupportFolder(ofSourceOf job: MigrationJob) {
    evaluation.setSupportFolder(
      job.sourceSupport, missingFilesAreNil: job.missingFilesAreNil)
  }

  package func setNow(_ now: Double) {
    evaluation.now = now
    knownExpressions.removeAll()
  }

  package var now: Double { evaluation.now }

  /// Runs `body`, whose statements were built with `chunkStatement`'s builder.
  ///
  /// - Throws: `.dataWrong` with the place when a value did not fit or an expression failed.
  package func running<T>(
    _ chunkStatement: ChunkStatement, context: @autoclosure () -> String, with inputs: StatementInputs = .init(),
    _ body: () throws -> T
  ) throws -> T {
    let builder = chunkStatement.builder
    let missing = builder.functions.keySets.filter { rows.keySet($0) == nil }.sorted()
    if !missing.isEmpty, let readKeySets {
      for (mapping, keys) in zip(missing, try readKeySets(missing)) { rows.setKeySet(keys, for: mapping) }
    }
    // A policy's answer to an expression may run statements of its own.
    let (outer, outerCall) = (statement, evaluation.policyCall)
    statement = RunningStatement(
      functions: builder.functions, expressions: expressions(of: builder), inputs: inputs)
    if let call = inputs.policyCall { evaluation.policyCall = call }
    rows.checks = statement.functions.rowChecks
    rows.misfit = nil
    findings.tolerated = 0
    (evaluation.watchesDigits, evaluation.lostDigits) = (builder.functions.toleratesMisfits, .none)
    depth += 1
    defer {
      (statement, evaluation.policyCall) = (outer, outerCall)
      rows.checks = outer.functions.rowChecks
      evaluation.watchesDigits = outer.functions.toleratesMisfits
      depth -= 1
      if depth == 0 { evaluation.forget() }
    }
    do {
      return try body()
    } catch {
      if let misfit = rows.misfit {
        _ = fail(misfit.site, key: misfit.key, found: misfit.isWholeReal ? Self.wholeReal : misfit.kind.name)
      }
      if let failure = statement.failure { throw self.error(failure, context: context()) }
      if let spill = statement.thrown as? SpillError { throw GodwitError(spill) }
      if var known = statement.thrown as? GodwitError {
        known.context = known.context ?? context()
        // The error that a function raises about its arguments. A damaged file has a topic of its own.
        if known.code == .dataWrong, known.topic == nil { known.topic = .rejectedRow }
        throw known
      }
      if var known = error as? GodwitError {
        known.context = known.context ?? context()
        throw known
      }
      throw error
    }
  }

  private func error(_ failure: RunningStatement.Failure, context: String) -> GodwitError {
    let place = failure.site
    let isFraction = failure.found == "real"
    let isOutOfRange = ["integer", Self.wholeReal].contains(failure.found) && place.expected.hasPrefix("an integer")
    let found = isFraction ? "a number with a fraction or out of range" : Self.phrase(failure.found)
    return GodwitError(
      .dataWrong,
      "cannot \(place.action) '\(place.propertyName)' for \(place.entityName) p\(failure.key): expected \(place.expected), found \(found)",
      context: context, cause: place.cause.map { "expression '\($0)'".onOneLine },
      remedy: (isFraction ? "write 'trunc:(…)' around the expression where a fraction may be dropped; or " : "")
        + (isOutOfRange
          ? "give the attribute a larger type, write 'TERNARY(x > MAXIMUM, MAXIMUM, x)', or set such objects aside "
            + "(`on-invalid: {quarantine: …}`); or "
          : "")
        + "repair the source or change the mapping, then `godwit discard` the job and run again"
    ).about(.rejectedRow)
  }

  /// The kind of a floating-point number without a fraction, beside the storage classes of SQLite.
  private static let wholeReal = "whole real"

  private static func phrase(_ storage: String) -> String {
    switch storage {
    case "text": "text"
    case "blob": "bytes"
    case "integer": "an integer that does not fit"
    case wholeReal: "a number out of range"
    case "null": "nil"
    case "reference": "neither bytes nor the name of an external file"
    default: storage
    }
  }

  func register(
    _ name: String, arguments: Int,
    _ body: @escaping (SQLFunctions, SQLFunctionArguments) throws -> SQLFunctionResult
  ) throws {
    // Whoever steps a statement with these functions does so through `running`, which holds `self`.
    try connection.register(function: name, arguments: arguments) { [unowned self] values in
      do { return try body(self, values) } catch {
        if statement.functions.toleratesMisfits, Self.isOfValue(error) {
          findings.tolerated += 1
          return .value(.null)
        }
        statement.thrown = error
        throw error
      }
    }
  }

  /// Whether an error is about a value, not about a file.
  private static func isOfValue(_ error: any Error) -> Bool {
    guard let known = error as? GodwitError else { return error is ExpressionError }
    return known.code == .dataWrong && (known.topic == nil || known.isOfObject)
  }

  // MARK: Checks

  private func registerChecks() throws {
    try connection.register(
      aggregate: NumberTally.function, arguments: 5, start: { NumberTally() },
      step: { [unowned self] tally, arguments in
        if findings.tolerated > 0 { tally.failed += 1 } else { tally.add(arguments, lost: evaluation.lostDigits) }
        (findings.tolerated, evaluation.lostDigits) = (0, .none)
      }, finish: { .text(Array($0.text.utf8)) })
    try register("godwit_bad", arguments: 3) { functions, arguments in
      functions.fail(
        Int(arguments.int64(0)), key: arguments.int64(1), found: String(decoding: arguments.bytes(2), as: UTF8.self))
    }
    // godwit_fit(value, attribute type, site, key): the value as the type stores it.
    try register("godwit_fit", arguments: 4) { functions, arguments in
      let kind = arguments.kind(0)
      if kind == .null {
        functions.findings.hasFittedNil = true
        return .argument(0)
      }
      let type = AttributeType(rawValue: Int(arguments.int64(1))) ?? .undefined
      func misfit() -> SQLFunctionResult {
        let isWhole = kind == .real && !arguments.double(0).hasFraction
        return functions.fail(
          Int(arguments.int64(2)), key: arguments.int64(3), found: isWhole ? Self.wholeReal : kind.name)
      }
      if kind == .integer || kind == .real {
        let number: SQLValue = kind == .integer ? .integer(arguments.int64(0)) : .real(arguments.double(0))
        let fitted = type.fitted(
          number, takingLowest: functions.statement.site(Int(arguments.int64(2)))?.takesLowest == true)
        return fitted.map { .value($0) } ?? misfit()
      }
      switch type {
      case .string, .uri: return kind == .text ? .argument(0) : misfit()
      case .binary, .transformable: return kind == .blob ? .argument(0) : misfit()
      case .uuid: return kind == .blob && arguments.withBytes(0, { $0.count }) == 16 ? .argument(0) : misfit()
      case _ where type.isStored: return misfit()
      default: return .argument(0)
      }
    }
  }

  /// `evaluate 'photo' for Person p4`, for a message.
  func place(_ site: Int, key: Int64) -> String {
    guard let place = statement.site(site) else { return "read a value" }
    return "\(place.action) '\(place.propertyName)' for \(place.entityName) p\(key)"
  }

  func fail(_ site: Int, key: Int64, found: String) -> SQLFunctionResult {
    if statement.functions.toleratesMisfits {
      findings.tolerated += 1
      return .value(.null)
    }
    if let place = statement.site(site) { statement.failure = .init(site: place, key: key, found: found) }
    return .failure("a value does not fit")
  }
}

/// Readers of spill files by mapping: a list, since one is read for every row.
package struct SpillReaders {
  private var list: [SpillReader?] = []

  package subscript(mapping: MappingID) -> SpillReader? {
    get { list.indices.contains(mapping.number) ? list[mapping.number] : nil }
    set {
      while list.count <= mapping.number { list.append(nil) }
      list[mapping.number] = newValue
    }
  }
}

extension StorageClass {
  /// The name that `typeof` gives.
  fileprivate var name: String {
    switch self {
    case .integer: "integer"
    case .real: "real"
    case .text: "text"
    case .blob: "blob"
    case .null: "null"
    }
  }
}

extension GodwitError {
  /// A spill file's error as the command line reports it.
  package init(_ error: SpillError) {
    let code: Code =
      switch error.kind {
      case .damaged, .missing, .io: .inputOutput
      case .misuse: .internalBug
      }
    self.init(code, error.message, cause: "'\(error.path)'", remedy: error.remedy)
    if error.isDiskFull { topic = .diskFull }
  }
}

extension AttributeType {
  /// A computed number as the type stores it; nil where it does not fit. Any other value is unchanged.
  ///
  /// - Parameter takesLowest: Whether a real of −2⁶³ fits: see `ReadingSite.takesLowest`.
  package func fitted(_ value: SQLValue, takingLowest takesLowest: @autoclosure () -> Bool = false) -> SQLValue? {
    switch (self, value) {
    case (.integer16, .integer(let number)), (.integer32, .integer(let number)), (.integer64, .integer(let number)):
      integerRange?.contains(number) == true ? value : nil
    case (.integer16, .real(let number)), (.integer32, .real(let number)), (.integer64, .real(let number)):
      RowCheck.Field.whole(number, takingLowest: number == -0x1p63 && takesLowest()).flatMap { fitted(.integer($0)) }
    case (.boolean, .integer(let number)): .integer(number == 0 ? 0 : 1)
    case (.boolean, .real(let number)): .integer(number == 0 ? 0 : 1)
    case (.double, .integer(let number)), (.float, .integer(let number)): .real(Double(number))
    case (.string, .integer), (.uri, .integer), (.binary, .integer), (.transformable, .integer), (.uuid, .integer): nil
    case (.string, .real), (.uri, .real), (.binary, .real), (.transformable, .real), (.uuid, .real): nil
    default: value
    }
  }
}
