package import GodwitModel

/// A test names a mapping, a link, a rule or a step by its number.
extension ListNumber: ExpressibleByIntegerLiteral {
  package init(integerLiteral number: Int) { self.init(number) }
}
