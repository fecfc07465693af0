/// The mark in a drafted mapping file for a value that only a person knows.
package enum MappingPlaceholder {
  /// No expression, so a file that still has one is refused.
  package static let marker = "???"
}
