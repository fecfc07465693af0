/// A condition on an object, Core Data's `NSPredicate`.
///
/// In a *filter* a comparison with nil is unknown, also under NOT, as in Core Data's SQLite store;
/// inside a *value expression* (`TERNARY`) nil equals nil and orders before nothing, as in memory.
public struct Predicate: Sendable {
  public indirect enum Node: Sendable, Hashable {
    /// `TRUEPREDICATE` and `FALSEPREDICATE`.
    case constant(Bool)
    case comparison(Comparison)
    case and([Predicate])
    case or([Predicate])
    case not(Predicate)
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

    public var left: Expression
    public var `operator`: Operator
    public var right: Expression
    public var modifier: Modifier
    public var options: Options

    public init(
      _ left: Expression, _ operator: Operator, _ right: Expression,
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
  public var range: Expression.TextRange
  /// The text that a whole predicate was read from; nil for a part, and for one that was put together.
  private var written: SourceText?

  public init(_ node: Node, range: Expression.TextRange = 0..<0) {
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
public typealias ParsedPredicate = Predicate

extension Predicate {
  /// A predicate with the text it was read from.
  public init(_ predicate: Predicate, source: SourceText) {
    self = predicate
    self.source = source
  }

  /// The predicate itself.
  public var predicate: Predicate { self }
}

extension Predicate: Hashable {
  public static func == (a: Predicate, b: Predicate) -> Bool { a.node == b.node }
  public func hash(into hasher: inout Hasher) { hasher.combine(node) }
}
