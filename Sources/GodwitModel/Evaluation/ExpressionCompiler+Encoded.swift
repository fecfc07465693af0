extension ExpressionCompiler {
  /// `encode:("name", value, …)`: a JSON object as bytes. A nil value is left out. Without any value the object is nil.
  func encode(_ arguments: [ValueExpression], _ range: Range<Int>) -> SingleRoutine {
    let places = stride(from: 0, to: arguments.count - 1, by: 2)
    let parts = places.map { (name: single(arguments[$0]), value: single(arguments[$0 + 1])) }
    return SingleRoutine { frame in
      var leaves: [ArchivedValue.Leaf] = []
      for part in parts {
        let (name, value) = (try part.name.run(&frame), try part.value.run(&frame))
        guard let name = name.text?.string else { throw Calculation.misfit("encode:", [name], range) }
        do throws(ArchivedValue.Malformed) {
          if let value = try ArchivedValue(encoding: value) { leaves.append(.init(name: name, value: value)) }
        } catch { throw ExpressionError("'\(name)': \(error.problem)", range: range) }
      }
      guard !leaves.isEmpty else { return .null }
      do throws(ArchivedValue.Malformed) {
        return .data(Array(try ArchivedValue(leaves: leaves).json.utf8))
      } catch { throw ExpressionError(error.problem, range: range) }
    }
  }
}
