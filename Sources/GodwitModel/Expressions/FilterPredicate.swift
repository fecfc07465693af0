/// A condition on an object, Core Data's `NSPredicate`.
///
/// In a *filter* a comparison with nil is unknown, also under NOT, as in Core Data's SQLite store;
/// inside a *value expression* (`TERNARY`) nil equals nil and orders before nothing, as in memory.
public struct FilterPredicate: Sendable {
  public indirect enum Node: Sendable, Hashable {
    /// `TRUEPREDICATE` and `FALSEPREDICATE`.
    case constant(Bool)
    case comparison(Comparison)
    case and([FilterPredicate])
    case or([FilterPredicate])
    case not(FilterPredicate)
  }

  public struct Comparison: Sendable, Hashable {
    public enum Operator: String, Sendable, Hashable, CaseIterable {
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
    public enum Modifier: String, Sendable, Hashable {
      case direct = ""
      case any = "ANY"
      case all = "ALL"
    }

    public struct Options: OptionSet, Sendable, Hashable {
      public let rawValue: Int
      public init(rawValue: Int) { self.rawValue = rawValue }
      /// `[c]`
      public static let caseInsensitive = Options(rawValue: 1)
      /// `[d]`
      public static let diacriticInsensitive = Options(rawValue: 2)
      /// `[n]`: bytes compare as they are.
      public static let normalized = Options(rawValue: 4)
      /// `[l]`
      public static let localeSensitive = Options(rawValue: 8)
    }

    public var left: ValueExpression
    public var `operator`: Operator
    public var right: ValueExpression
    public var modifier: Modifier
    public var options: Options

    public init(
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

  public var node: Node
  public var range: ValueExpression.TextRange
  /// The text that a whole predicate was read from; nil for a part, and for one that was put together.
  private var written: SourceText?

  public init(_ node: Node, range: ValueExpression.TextRange = 0..<0) {
    self.node = node
    self.range = range
  }

  /// The text it was read from, which `range` and those of its parts count in; the predicate's description when it was
  /// put together. Equal predicates may differ in it.
  public var source: SourceText {
    get { written ?? SourceText(description) }
    set { written = newValue }
  }
}

/// A predicate with its text, as a mapping has it.
public typealias ParsedPredicate = FilterPredicate

extension FilterPredicate {
  /// A predicate with the text it was read from.
  public init(_ predicate: FilterPredicate, source: SourceText) {
    self = predicate
    self.source = source
  }

  /// The predicate itself.
  public var predicate: FilterPredicate { self }
}

extension FilterPredicate: Hashable {
  public static func == (a: FilterPredicate, b: FilterPredicate) -> Bool { a.node == b.node }
  public func hash(into hasher: inout Hasher) { hasher.combine(node) }
}
