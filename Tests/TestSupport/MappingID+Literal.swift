package import GodwitModel

/// A test names a mapping by its number.
extension MappingID: ExpressibleByIntegerLiteral {
  package init(integerLiteral number: Int) { self.init(number) }
}
