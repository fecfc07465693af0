/// The placeholder in a drafted mapping file for a value that a person must decide.
package enum MappingGap {
  /// It is not an expression, so a file that still has one is refused.
  package static let marker = "???"
}
