public import Foundation

extension GodwitError: LocalizedError {
  /// The message, after the place in a file that it is about.
  public var errorDescription: String? { location == nil ? message : line }

  /// The place and the cause; nil when neither is known.
  public var failureReason: String? {
    let parts = [context, cause].compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: "\n")
  }

  /// The remedy, and the state that is safe; nil when neither is known.
  public var recoverySuggestion: String? {
    let parts = [remedy, safe].compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: "\n")
  }
}
