/// What stands in a drafted mapping file where only a person knows the value.
package enum MappingPlaceholder {
  /// No expression, so a file that still has one is refused.
  package static let marker = "???"
}
