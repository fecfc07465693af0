extension [String] {
  /// The terms with an operator between them that may group them in any way: AND, OR, +.
  ///
  /// SQLite refuses a tree of expressions of more than 1,000 levels, and `a + b + c` makes a level of each term. Many
  /// terms are put in brackets by halves, so that their levels are few.
  package func joinedEvenly(by operation: String) -> String { self[...].joinedEvenly(by: operation) }
}

extension ArraySlice<String> {
  private static var leaf: Int { 100 }

  fileprivate func joinedEvenly(by operation: String) -> String {
    guard count > Self.leaf else { return joined(separator: operation) }
    let middle = startIndex + count / 2
    return "(" + self[..<middle].joinedEvenly(by: operation) + ")" + operation + "("
      + self[middle...].joinedEvenly(by: operation) + ")"
  }
}
