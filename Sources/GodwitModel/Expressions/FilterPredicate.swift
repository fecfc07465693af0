/// A condition on an object, Core Data's `NSPredicate`.
///
/// In a *filter* a comparison with nil is unknown, also under NOT, as in Core Data's SQLite store; inside a *value
/// expression* (`TERNARY`) nil equals nil and every ordering with nil is false, as in memory.
public struct FilterPredicate: Sendable {
  package indirect enum Node: Sendable, Hashable {
    /// `TRUEPREDICATE` and `FALSEPREDICATE`.
    case constant(Bool)
    case comparison(Comparison)
    case and([FilterPredicate])
    case or([FilterPredicate])
    case not(FilterPredicate)
    /// True where no part is true, so also where all are unknown. It has no text of its own in `NSPredicate`.
    case untaken([FilterPredicate])
  }

  package struct Comparison: Sendable, Hashable {
    package enum Operator: String, Sendable, Hashable, CaseIterable {
      case equal = "=="
      case notEqual = "!="
      case less = "<"
      case lessOrEqual = "<="
      case greater = ">"
      case greaterOrEqual = ">="
      case between = "BETWEEN"
      case `in` = "IN"
      case contains = "CONTAINS"
      case beginsWith = "BEGINSWITH"
      case endsWith = "ENDSWITH"
      case like = "LIKE"
      case matches = "MATCHES"
    }

    /// How a to-many left side is compared. SOME is ANY; `NONE` is NOT ANY.
    package enum Modifier: String, Sendable, Hashable {
      case direct = ""
      case any = "ANY"
      case all = "ALL"
    }

    package struct Options: OptionSet, Sendable, Hashable {
      package let rawValue: Int
      package init(rawValue: Int) { self.rawValue = rawValue }
      /// `[c]`
      package static let caseInsensitive = Options(rawValue: 1)
      /// `[d]`
      package static let diacriticInsensitive = Options(rawValue: 2)
      /// `[n]`: bytes compare as they are.
      package static let normalized = Options(rawValue: 4)
      /// `[l]`
      package static let localeSensitive = Options(rawValue: 8)
    }

    package var left: ValueExpression
    package var `operator`: Operator
    package var right: ValueExpression
    package var modifier: Modifier
    package var options: Options

    package init(
      _ left: ValueExpression, _ operator: Operator, _ right: ValueExpression,
      modifier: Modifier = .direct, options: Options = []
    ) {
      self.left = left
      self.operator = `operator`
      self.right = right
      self.modifier = modifier
      self.options = options
    }
  }

  package var node: Node
  package var range: ValueExpression.TextRange
  /// The text that a whole predicate was read from; nil for a part, and for one that was put together.
  private var written: SourceText?

  package init(_ node: Node, range: ValueExpression.TextRange = 0..<0) {
    self.node = node
    self.range = range
  }

  /// The text that the predicate was read from; its description if it was made from parts. `range` and the ranges of
  /// its parts refer to this text. Equal predicates may have different text.
  package var source: SourceText {
    get { written ?? SourceText(description) }
    set { written = newValue }
  }
}

extension FilterPredicate {
  /// The Boolean that a TERNARY tests without a comparison; nil for a condition that is written out.
  var impliedOperand: ValueExpression? {
    guard case .comparison(let comparison) = node, !comparison.left.range.isEmpty,
      comparison.left.range == comparison.right.range
    else { return nil }
    return comparison.left
  }

  /// How a manifest spells ``rest(after:)``.
  package static let restWord = "rest"

  /// Takes exactly the objects that none of some predicates takes, also where they compare nil. It makes the last of
  /// several predicates that cut the rows of a mapping into chunks.
  package static func rest(after predicates: [FilterPredicate]) -> FilterPredicate {
    var rest = FilterPredicate(.untaken(predicates))
    rest.source = SourceText(restWord)
    return rest
  }
}

extension FilterPredicate {
  /// A predicate with the text it was read from.
  package init(_ predicate: FilterPredicate, source: SourceText) {
    self = predicate
    self.source = source
  }

  /// Parses a text, and keeps its place.
  package init(parsing source: SourceText) throws(ExpressionError) {
    self.init(try FilterPredicate(parsing: source.text), source: source)
  }
}

extension FilterPredicate: Hashable {
  /// Whether both are the same tree, whatever text they were read from.
  public static func == (a: FilterPredicate, b: FilterPredicate) -> Bool { a.node == b.node }
  /// Hashes the tree, not the text.
  public func hash(into hasher: inout Hasher) { hasher.combine(node) }
}
