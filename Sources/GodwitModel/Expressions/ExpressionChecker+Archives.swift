extension ExpressionChecker {
  /// The result of a function of keyed archives.
  ///
  /// - Parameter types: Those of the arguments.
  func archive(
    _ name: String, _ arguments: [ValueExpression], _ types: [ExpressionType], _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    var named: AttributeType?
    if name.hasSuffix("as:") {
      let known = ArchivedValue.attributeClasses.map(\.name)
      guard let last = arguments.last, case .constant(.string(let text)) = last.node else {
        throw ExpressionError("'\(name)' needs the name of a class in quotes", range: range)
      }
      named = ArchivedValue.attributeType(ofClass: text.string)
      guard named != nil else {
        throw ExpressionError(
          "'\(name)' knows no class '\(text.string)'\(Spelling.suggestion(for: text.string, among: known)): it knows "
            + known.joined(separator: ", "), range: last.range)
      }
    }
    guard let argument = arguments.first, let type = types.first else { return .null }
    let (allowed, wanted) = Self.argument(of: name, as: named)
    switch type {
    case .null: break
    case .value(let type) where allowed.contains(type.expressionClass) || type.expressionClass == .any: break
    default: throw ExpressionError("'\(name)' needs \(wanted), found \(type.phrase)", range: argument.range)
    }
    return .value(name.hasPrefix("un") ? named ?? .string : .binary)
  }

  private static func argument(
    of name: String, as type: AttributeType?
  ) -> (allowed: [AttributeType.ExpressionClass], wanted: String) {
    if name.hasPrefix("un") { return ([.transformable, .data], "a transformable value or data") }
    guard let type else { return ([.string], "a string of JSON") }
    return ([type.expressionClass], type.expressionClass.phrase)
  }
}
