import GodwitModel
import GodwitStore

/// Functions of expressions that SQL has no equal of; the evaluator's own code answers.
extension SQLFunctions {
  func registerCalls() throws {
    try register("godwit_now", arguments: 0) { functions, _ in .value(.real(functions.evaluation.now)) }
    // godwit_call(function, site, key, argument, …)
    try register("godwit_call", arguments: -1) { functions, arguments in
      let number = Int(truncatingIfNeeded: arguments.int64(0))
      guard ExpressionFunction.all.indices.contains(number), arguments.count > 2 else {
        return .failure("no such function")
      }
      do {
        let values = (3..<arguments.count).map { AttributeValue(computed: arguments.value($0)) }
        return .value(SQLValue(try ExpressionFunction.all[number].call(values)))
      } catch let error as ExpressionError {
        throw functions.failure(error.message, arguments, site: 1, key: 2)
      }
    }
    // godwit_statistic(kind, whether of decimals, value), over the rows of a group.
    try connection.register(
      aggregate: "godwit_statistic", arguments: 3, start: { nil as Statistic? },
      step: { [unowned self] statistic, arguments in
        do {
          if statistic == nil {
            let kind = Statistic.Kind(rawValue: Int(truncatingIfNeeded: arguments.int64(0)))
            statistic = kind.map { Statistic($0) }
          }
          let value = arguments.value(2)
          let isDecimal = arguments.int64(1) != 0
          try statistic?.add(
            isDecimal ? AttributeValue(stored: value, as: .decimal) ?? .null : AttributeValue(computed: value))
        } catch {
          note(error)
          throw error
        }
      },
      // Without a row the kind is unknown. Only the sum of no rows has a value, which the SQL supplies.
      finish: { SQLValue($0?.result ?? .null) })
  }

  /// The error of an expression that fails on a row, as memory reports it.
  func failure(_ message: String, _ arguments: SQLFunctionArguments, site: Int, key: Int) -> GodwitError {
    let number = Int(truncatingIfNeeded: arguments.int64(site))
    let place = statement.site(number)
    return GodwitError(
      .dataWrong,
      "cannot evaluate '\(place?.cause ?? "")' for \(place?.entityName ?? "") p\(arguments.int64(key)): \(message)")
  }
}

extension AttributeValue {
  /// A value inside lowered SQL, which has only SQLite's types.
  init(computed value: SQLValue) {
    switch value {
    case .null: self = .null
    case .integer(let number): self = .integer(number)
    case .real(let number): self = .double(number)
    case .text(let bytes): self = .string(Text(utf8: bytes))
    case .blob(let bytes): self = .data(bytes)
    }
  }
}
