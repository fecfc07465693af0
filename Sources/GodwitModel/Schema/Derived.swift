/// A value that follows from the others beside it, and so takes no part in comparing them.
package struct Derived<Value: Sendable>: Sendable, Hashable {
  package var value: Value

  package init(_ value: Value) { self.value = value }

  package static func == (_: Derived, _: Derived) -> Bool { true }
  package func hash(into hasher: inout Hasher) {}
}
