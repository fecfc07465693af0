package import GodwitModel
package import GodwitStore

/// The state of one SQL statement under construction: bound constants, aliases, and the sites that name a failing row.
///
/// Parameters `?1` and `?2` are the chunk's first and last key; constants follow. Constants are bound,
/// never spelt, so that no text needs quoting and no double is rounded on its way through a literal.
package final class StatementBuilder {
  private(set) var constants: [SQLValue] = []
  private(set) package var functions = LoweredFunctions()
  private var aliases = 0

  static let reservedParameters = 2

  package func bind(_ value: SQLValue) -> String {
    switch value {
    case .null: return "NULL"
    case .integer(let number) where number > Int64.min: return number < 0 ? "(\(number))" : "\(number)"
    default: break
    }
    if let index = constants.firstIndex(of: value) { return "?\(index + 1 + Self.reservedParameters)" }
    constants.append(value)
    return "?\(constants.count + Self.reservedParameters)"
  }

  /// Tests of the row `s` that the statement makes in one call; nil while each value is tested where it is read.
  package var rowChecks: RowChecks?

  /// The rows at the ends of the row `s`, which the statement has joined in, by the to-one that leads to each.
  package var joinedEnds: [String: String] = [:]

  /// Attributes of the destination that get NULL until their row is completed, although the copied values are tested.
  package var leftOut: Set<String> = []

  /// Attributes whose value goes through `godwit_fit`, which records a nil.
  package var fitted: Set<FittedAttribute> = []

  /// Whether the statement brings external files along, or reads them.
  package var movesFiles = false

  /// Whether the statement looks associations up in spill files.
  package var readsSpill = false

  package init() {}

  /// Whether its statement has neither constants nor calls of Swift, so that a statement of another builder can hold it.
  var isEmpty: Bool { constants.isEmpty && functions.isEmpty }

  /// The state that `restore` returns to.
  package struct Mark {
    fileprivate var constants: [SQLValue]
    fileprivate var functions: LoweredFunctions
    fileprivate var rowChecks: RowChecks?
  }

  package var mark: Mark { Mark(constants: constants, functions: functions, rowChecks: rowChecks) }

  /// Drops the constants and places of an abandoned expression.
  package func restore(_ mark: Mark) {
    (constants, functions, rowChecks) = (mark.constants, mark.functions, mark.rowChecks)
  }

  package func alias(_ stem: String = "t") -> String {
    aliases += 1
    return "\(stem)\(aliases)"
  }

  /// The number of a place to report, for `godwit_bad` and `godwit_fit`.
  package func site(_ site: ReadingSite) -> Int { functions.site(site) }

  /// The number of a test, for `godwit_row`.
  func rowCheck(_ check: RowCheck) -> Int { functions.rowCheck(check) }

  /// Makes NULL of every value that cannot be read, computed or stored, in place of an error: for a statement that
  /// counts.
  package func tolerateMisfits() { functions.toleratesMisfits = true }

  /// Records that the statement calls `godwit_counterpart` for a mapping.
  package func needsKeySet(_ mapping: MappingID) { functions.keySets.insert(mapping) }

  /// The number of an expression that runs in Swift, for `godwit_eval`.
  func evaluation(_ evaluation: LoweredFunctions.Evaluation) -> Int { functions.evaluation(evaluation) }

  /// The arguments of the statement for a chunk of keys, both ends included.
  package func arguments(from first: Int64 = .min, through last: Int64 = .max) -> [SQLValue] {
    [.integer(first), .integer(last)] + constants
  }
}

/// A destination attribute of a mapping whose value goes through `godwit_fit`.
package struct FittedAttribute: Hashable {
  /// The mapping's index.
  let mapping: MappingID
  let attribute: String

  package init(mapping: MappingID, attribute: String) { (self.mapping, self.attribute) = (mapping, attribute) }
}

/// The place where a value is read or stored, for the message when it does not fit.
package struct ReadingSite: Sendable, Hashable {
  /// The entity whose row is read.
  package var entityName: String
  package var propertyName: String
  /// `an integer`, `text`, …
  package var expected: String
  /// The expression or filter the value is read for, when it is not a plain copy.
  package var cause: String?
  /// `evaluate` for a value read, `store` for a value that does not fit its destination.
  package var action: String
  /// Whether a real of −2⁶³ is the lowest integer, and not the rounded result of a computation that left 64 bits.
  package var takesLowest = false

  package init(entityName: String, propertyName: String, expected: String, cause: String? = nil, action: String) {
    self.entityName = entityName
    self.propertyName = propertyName
    self.expected = expected
    self.cause = cause
    self.action = action
  }
}

/// The tables that the registered SQL functions of a statement refer to by number.
package struct LoweredFunctions {
  package struct Evaluation: Hashable {
    package enum Work: Hashable {
      case expression(ValueExpression)
      case predicate(FilterPredicate)
    }
    package var work: Work
    package var entityName: String
    var text: String
    /// The attributes of the object's row that the call receives.
    var attributes: [String] = []
    /// The values of `$entityMapping` and `$propertyMapping`.
    package var bindings = MappingBindings()
  }

  private(set) var sites: [ReadingSite] = []
  private(set) package var evaluations: [Evaluation] = []
  private(set) var rowChecks: [RowCheck] = []
  /// Mappings whose source keys `godwit_counterpart` must know.
  package var keySets: Set<MappingID> = []
  /// Whether a value that does not fit is NULL: see `StatementBuilder.tolerateMisfits`.
  var toleratesMisfits = false

  fileprivate var isEmpty: Bool { sites.isEmpty && evaluations.isEmpty && rowChecks.isEmpty && keySets.isEmpty }

  mutating func rowCheck(_ check: RowCheck) -> Int {
    rowChecks.append(check)
    return rowChecks.count - 1
  }

  mutating func site(_ site: ReadingSite) -> Int {
    if let index = sites.firstIndex(of: site) { return index }
    sites.append(site)
    return sites.count - 1
  }

  mutating func evaluation(_ evaluation: Evaluation) -> Int {
    if let index = evaluations.firstIndex(of: evaluation) { return index }
    evaluations.append(evaluation)
    return evaluations.count - 1
  }
}
