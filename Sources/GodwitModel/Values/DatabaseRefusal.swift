/// An action that SQLite refused.
package enum DatabaseRefusal: Sendable {
  /// A second row with the values of a unique index or key.
  case duplicate
  /// A sum that is no 64-bit integer.
  case integerOverflow
  /// A file that another connection has locked.
  case locked
  /// Attaching a database of another text encoding.
  case textEncoding
}
