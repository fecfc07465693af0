package import GodwitJob
package import GodwitModel

/// A test names a mapping by its number.
extension MappingID: ExpressibleByIntegerLiteral {
  package init(integerLiteral number: Int) { self.init(number) }
}

/// A test names a link or a rule by its number.
extension ProgramNumber: ExpressibleByIntegerLiteral {
  package init(integerLiteral number: Int) { self.init(number) }
}
