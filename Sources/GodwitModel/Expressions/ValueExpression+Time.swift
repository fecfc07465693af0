extension ValueExpression {
  /// Whether the value depends on when it is evaluated.
  package var callsNow: Bool {
    contains { part in
      switch part.node {
      case .function(let name, _): name.lowercased().hasPrefix("now")
      case .fetch(let request, _, _):
        (try? SourceFetch(request)?.predicate())?.operands.contains(where: \.callsNow) ?? false
      default: false
      }
    }
  }

  /// Whether a policy answers a part of it.
  package var callsPolicy: Bool {
    contains { part in
      if case .call(let receiver, _, _) = part.node { receiver.node == .variable("entityPolicy") } else { false }
    }
  }
}
