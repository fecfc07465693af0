/// What stands in a drafted mapping file where only a person knows the value.
public enum MappingGap {
  /// No expression, so a file that still has one is refused.
  public static let marker = "???"
}
