/// A value expression, Core Data's `NSExpression`.
///
/// A tree of nodes, each with the range of the text it was parsed from. Equality ignores ranges.
/// Back ends (print, check, evaluate, lower) are extensions or types of their own.
public struct ValueExpression: Sendable {
  /// UTF-8 offsets into the parsed text; empty at 0 for an expression built in code.
  package typealias TextRange = Range<Int>

  package indirect enum Node: Sendable, Hashable {
    case constant(AttributeValue)
    /// `SELF`: the object the expression is evaluated with.
    case evaluatedObject
    /// `$source`, `$manager`, …, without the `$`.
    case variable(String)
    /// `base.a.b.@count`; a nil base means the evaluated object (`age` in a filter).
    case keyPath(base: ValueExpression?, segments: [String])
    /// `a + b` and the like.
    case arithmetic(ArithmeticOperator, ValueExpression, ValueExpression)
    /// `-a`.
    case negation(ValueExpression)
    /// `{a, b, c}`.
    case aggregate([ValueExpression])
    /// A built-in function in NSExpression's spelling: `uppercase:` with one argument, and so on.
    case function(name: String, arguments: [ValueExpression])
    /// `FUNCTION(operand, "selector:", …)`: a call of `$manager` or `$entityPolicy`, or a method of a value or a class.
    case call(operand: ValueExpression, selector: String, arguments: [ValueExpression])
    /// `TERNARY(predicate, then, else)`.
    case ternary(FilterPredicate, ValueExpression, ValueExpression)
    /// `SUBQUERY(collection, $x, predicate)`.
    case subquery(collection: ValueExpression, variable: String, predicate: FilterPredicate)
    /// `CAST(expression, "type")`.
    case cast(ValueExpression, type: String)
    /// `collection[0]`, `[FIRST]`, `[LAST]`, `[SIZE]`.
    case element(of: ValueExpression, at: ElementPosition)
    /// `a UNION b`, `a INTERSECT b`, `a MINUS b`.
    case set(SetOperator, ValueExpression, ValueExpression)
    /// `FETCH(request, context, countOnly)`.
    case fetch(request: ValueExpression, context: ValueExpression, countOnly: Bool)
  }

  /// Which member of an ordered collection is meant; `.size` is their number.
  package enum ElementPosition: Sendable, Hashable {
    case index(ValueExpression)
    case first
    case last
    case size
  }

  package enum SetOperator: String, Sendable, Hashable, CaseIterable {
    case union = "UNION"
    case intersect = "INTERSECT"
    case minus = "MINUS"
  }

  package enum ArithmeticOperator: String, Sendable, Hashable, CaseIterable {
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case power = "**"

    /// The operator that a function is another spelling of; nil for any other function.
    package init?(function name: String) {
      guard case .arithmetic(let op)? = ExpressionFunction.named(name)?.result else { return nil }
      self = op
    }
  }

  package var node: Node
  package var range: TextRange
  /// The place of each segment of a parsed key path; empty for other nodes.
  var segmentRanges: [TextRange] = []
  /// The text that a whole expression was read from; nil for a part, and for one that was put together.
  private var written: SourceText?

  package init(_ node: Node, range: TextRange = 0..<0) {
    self.node = node
    self.range = range
  }

  /// The text that the expression was read from; its description if it was made from parts.
  ///
  /// Equal expressions may have different text.
  package var source: SourceText {
    get { written ?? SourceText(description) }
    set { written = newValue }
  }
}

extension ValueExpression {
  /// An expression with the text it was read from.
  package init(_ expression: ValueExpression, source: SourceText) {
    self = expression
    self.source = source
  }

  /// Parses a text, and keeps its place.
  package init(parsing source: SourceText) throws(ExpressionError) {
    self.init(try ValueExpression(parsing: source.text), source: source)
  }
}

extension ValueExpression: Hashable {
  /// Whether both are the same tree, whatever text they were read from.
  public static func == (a: ValueExpression, b: ValueExpression) -> Bool { a.node == b.node }
  /// Hashes the tree, not the text.
  public func hash(into hasher: inout Hasher) { hasher.combine(node) }
}
