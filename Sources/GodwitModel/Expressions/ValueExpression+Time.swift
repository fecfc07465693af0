extension ValueExpression {
  /// Whether its value depends on what only the run could know: its time, or what a policy answers.
  package var callsNow: Bool {
    contains { part in
      switch part.node {
      case .function(let name, _): name.lowercased().hasPrefix("now")
      case .call(let receiver, _, _): receiver.node == .variable("entityPolicy")
      case .fetch(let request, _, _):
        (try? SourceFetch(request)?.predicate())?.operands.contains(where: \.callsNow) ?? false
      default: false
      }
    }
  }
}
