extension BinaryInteger {
  /// The number with its noun: `1 row`, `2 rows`.
  ///
  /// - Parameter many: The plural, if it is not the noun with an `s`.
  package func counted(_ one: String, _ many: String? = nil) -> String {
    "\(self) \(self == 1 ? one : many ?? one + "s")"
  }
}
