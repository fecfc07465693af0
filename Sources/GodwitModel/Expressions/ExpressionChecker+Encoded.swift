extension ExpressionChecker {
  /// `decode:path:as:(bytes, "place.name", "NSString")`: a part of an encoded value.
  func decoded(
    _ name: String, _ arguments: [ValueExpression], _ types: [ExpressionType], _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    guard arguments.count == 3, case .constant(.string(let path)) = arguments[1].node,
      case .constant(.string(let text)) = arguments[2].node
    else { throw ExpressionError("'\(name)' needs a path and the name of a class, both in quotes", range: range) }
    guard ArchivedValue.parts(of: path.string) != nil else {
      throw ExpressionError(
        "'\(name)' cannot read the path '\(path.string)': expected keys such as 'place.name'", range: arguments[1].range
      )
    }
    let known = ArchivedValue.attributeClasses.map(\.name)
    guard let type = ArchivedValue.attributeType(ofClass: text.string) else {
      throw ExpressionError(
        "'\(name)' knows no class '\(text.string)'\(Spelling.suggestion(for: text.string, among: known)): it knows "
          + known.joined(separator: ", "), range: arguments[2].range)
    }
    switch types[0] {
    case .null: break
    case .value(let type) where [.data, .transformable, .string, .any].contains(type.expressionClass): break
    default:
      throw ExpressionError("'\(name)' needs data or a string, found \(types[0].phrase)", range: arguments[0].range)
    }
    return .value(type)
  }

  /// `encode:("name", value, …)`: an object of these parts as JSON.
  func encoded(
    _ name: String, _ arguments: [ValueExpression], _ types: [ExpressionType], _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    guard arguments.count.isMultiple(of: 2) else {
      throw ExpressionError("'\(name)' takes a name and a value for each part", range: range)
    }
    var leaves: [ArchivedValue.Leaf] = []
    for (place, type) in zip(arguments.indices, types) {
      if place.isMultiple(of: 2) {
        guard case .constant(.string(let text)) = arguments[place].node,
          let parts = ArchivedValue.parts(of: text.string), !parts.isEmpty
        else {
          throw ExpressionError(
            "'\(name)' needs the name of a part in quotes, such as \"place.name\"", range: arguments[place].range)
        }
        leaves.append(.init(name: text.string, value: .null))
      } else if case .value(let value) = try oneValue(type, arguments[place], name),
        value.expressionClass == .transformable
      {
        let text = arguments[place].description
        throw ExpressionError(
          "'\(name)' takes no transformable value: write 'unarchive:(\(text))' for its JSON as a text, or "
            + "'CAST(\(text), \"NSData\")' for its bytes", range: arguments[place].range)
      }
    }
    do throws(ArchivedValue.Malformed) { _ = try ArchivedValue(leaves: leaves) } catch {
      throw ExpressionError("'\(name)': \(error.problem)", range: range)
    }
    return .value(.binary)
  }
}
