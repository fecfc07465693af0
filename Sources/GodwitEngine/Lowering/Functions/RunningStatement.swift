package import Foundation
package import GodwitModel
package import GodwitStore

/// The input of a statement beside its SQL and its constants, for the calls of its rows.
package struct StatementInputs {
  /// Values of its expressions that were evaluated ahead.
  package var knownValues: (any KnownValues)?
  /// Hears of every value that an expression gave: its number, the key, the value.
  package var recorder: ((Int, Int64, SQLValue) throws -> Void)?
  /// Compiled patterns of validation rules, anchored at both ends.
  package var patterns: [NSRegularExpression]
  /// Answers `FUNCTION($entityPolicy, …)`. With nil, the answer is that of the statement during which this one runs.
  package var policyCall: ((ExpressionCall) throws -> EvaluatedValue)?
  /// Whether values are handed to a policy: see `ExternalDataMover.carry`.
  package var servesPolicy: Bool

  package init(
    knownValues: (any KnownValues)? = nil, patterns: [NSRegularExpression] = [],
    policyCall: ((ExpressionCall) throws -> EvaluatedValue)? = nil, servesPolicy: Bool = false
  ) {
    (self.knownValues, self.patterns) = (knownValues, patterns)
    (self.policyCall, self.servesPolicy) = (policyCall, servesPolicy)
  }
}

/// Values of a statement's expressions that were evaluated ahead.
package protocol KnownValues: AnyObject {
  /// The value of an expression for the row with a key; nil where it is not known.
  func value(_ number: Int, _ key: Int64) -> SQLValue?
}

/// The findings of a chunk's statements beside their rows.
package struct ChunkFindings {
  /// Whether `godwit_fit` has met a nil since this was set to false.
  package var hasFittedNil = false
  /// How many values were NULL in place of an error since the number was last taken.
  var tolerated: Int64 = 0
  /// The mapping whose spill file a lookup found damaged.
  package var damagedSpill: (mapping: MappingID, error: SpillError)?
}

/// The running statement: the objects that its calls name by number, and the error of the last failed call.
struct RunningStatement {
  /// A value that did not fit.
  struct Failure {
    var site: ReadingSite
    var key: Int64
    var found: String
  }

  var functions = LoweredFunctions()
  var expressions: PreparedExpressions?
  var inputs = StatementInputs()
  var failure: Failure?
  var thrown: (any Error)?

  /// The place with a number.
  func site(_ number: Int) -> ReadingSite? {
    functions.sites.indices.contains(number) ? functions.sites[number] : nil
  }
}

/// The expressions of a statement that its rows have called.
final class PreparedExpressions {
  /// Kept, so that no other builder is mistaken for it.
  let builder: StatementBuilder
  var byNumber: [SourceEvaluation.Prepared?] = []

  init(_ builder: StatementBuilder) { self.builder = builder }
}
