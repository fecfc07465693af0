import Foundation

/// Methods that `FUNCTION` sends to values, lists and classes.
extension ExpressionCompiler {
  func send(
    _ selector: String, to receiver: ValueExpression, _ arguments: [ValueExpression], _ range: Range<Int>
  ) -> ValueRoutine {
    if let name = receiver.className { return send(selector, toClass: name, arguments, range) }
    if let method = ListMethod(rawValue: selector), arguments.count == method.argumentCount {
      return list(method, of: receiver, arguments, range)
    }
    let receiver = value(of: receiver)
    if arguments.isEmpty, !selector.hasSuffix(":") {
      let step = KeyPathStep(property: selector)
      return ValueRoutine { frame in
        let value = try receiver.run(&frame)
        guard case .value = value else { throw Self.unanswered(selector, value, range) }
        return try KeyPathStep.follow([step], from: value, range)
      }
    }
    let candidates = ExpressionMethod.named(selector)
    let prepared = self.arguments(arguments, of: candidates.first)
    return ValueRoutine { frame in
      let value = try receiver.run(&frame)
      let arguments = try prepared(&frame)
      if value.isNull { return .null }
      guard case .value(let single) = value, let method = candidates.first(where: { $0.receiver.takes(single) }) else {
        throw Self.unanswered(selector, value, range)
      }
      return try method.call(single, arguments, range)
    }
  }

  private func send(
    _ selector: String, toClass name: String, _ arguments: [ValueExpression], _ range: Range<Int>
  ) -> ValueRoutine {
    guard let method = ExpressionMethod.named(selector).first(where: { $0.receiver == .type(name) }) else {
      let error = ExpressionError("class '\(name)' does not answer '\(selector)'", range: range)
      return ValueRoutine { _ in throw error }
    }
    if name == "NSUUID", selector == "UUID" {
      let made = newUUID(nil)
      return ValueRoutine { .value(try made.run(&$0)) }
    }
    let prepared = self.arguments(arguments, of: method)
    return ValueRoutine { try method.call(.null, try prepared(&$0), range) }
  }

  /// The arguments with their values. Objects such as character sets are made here, once.
  ///
  /// - Parameter method: Any of the methods of the selector: all have the same objects at the same places.
  private func arguments(
    _ arguments: [ValueExpression], of method: ExpressionMethod?
  ) -> (inout EvaluationFrame) throws -> ExpressionMethod.Arguments {
    let kinds = method?.parameters ?? []
    var routines: [SingleRoutine] = []
    var fixed = ExpressionMethod.Arguments(values: [])
    for (place, argument) in arguments.enumerated() {
      guard place < kinds.count, !kinds[place].isEvaluated else {
        routines.append(single(argument))
        continue
      }
      fixed.characters = CharacterClass(argument) ?? fixed.characters
      fixed.rounding = DecimalRounding(argument) ?? fixed.rounding
    }
    return { [routines, fixed] frame in
      var arguments = fixed
      for routine in routines { arguments.values.append(try routine.run(&frame)) }
      return arguments
    }
  }

  private static func unanswered(_ selector: String, _ value: EvaluatedValue, _ range: Range<Int>) -> ExpressionError {
    ExpressionError("\(value.phrase) does not answer '\(selector)'", range: range)
  }

  // MARK: Lists

  private func list(
    _ method: ListMethod, of receiver: ValueExpression, _ arguments: [ValueExpression], _ range: Range<Int>
  ) -> ValueRoutine {
    switch method {
    case .count: return element(of: receiver, at: .size, range)
    case .firstObject: return element(of: receiver, at: .first, range)
    case .lastObject: return element(of: receiver, at: .last, range)
    case .objectAtIndex:
      let (list, index) = (value(of: receiver), single(arguments[0]))
      return ValueRoutine { frame in
        let (list, index) = (try list.run(&frame), try index.run(&frame))
        if list.isNull { return .null }
        guard let count = list.memberCount else { throw Self.unanswered(method.rawValue, list, range) }
        guard let place = index.number?.whole else {
          throw ExpressionError("'objectAtIndex:' needs a whole number", range: range)
        }
        guard place >= 0, place < Int64(count) else {
          throw ExpressionError("'objectAtIndex:' has index \(place), beyond a list of \(count)", range: range)
        }
        return list.member(Int(place))
      }
    case .componentsJoinedByString:
      let (list, separator) = (value(of: receiver), single(arguments[0]))
      return ValueRoutine { frame in
        let (list, separator) = (try list.run(&frame), try separator.run(&frame))
        if list.isNull { return .null }
        guard let separator = separator.text else {
          throw ExpressionError("'\(method.rawValue)' needs a string as separator, found nil", range: range)
        }
        return .value(.string(try list.joined(by: separator, range)))
      }
    }
  }
}

extension EvaluatedValue {
  /// The texts of the members in their order, with a separator. Members that are nil are left out.
  func joined(by separator: Text, _ range: Range<Int>) throws -> Text {
    guard let members = elements else { throw ExpressionError("a list is joined, found \(phrase)", range: range) }
    var bytes: [UInt8] = []
    var isFirst = true
    for member in members {
      let value = try member.single(range)
      if value.isNull { continue }
      if !isFirst { bytes += separator.utf8 }
      isFirst = false
      bytes += try value.asText(range).utf8
    }
    return Text(utf8: bytes)
  }
}

extension AttributeValue {
  /// The text that a value is in a joined list.
  func asText(_ range: Range<Int>) throws(ExpressionError) -> Text {
    if let text { return text }
    if case .uuid(let uuid) = self { return Text(uuid) }
    guard number != nil, let text = try ValueKey.stringValue.value(of: self).text else {
      throw ExpressionError(
        "a list of strings, numbers, UUIDs and URIs is joined, found \(EvaluatedValue.value(self).phrase)", range: range
      )
    }
    return text
  }
}
