internal import FaultShim
import Foundation

/// A folder that the disk gives no names of: `readdir` fails on this thread, where it would say that there are no more.
package enum UnreadableFolder {
  /// Runs code while folders whose path ends so cannot be read.
  ///
  /// - Parameter after: How many entries can be read before.
  @discardableResult
  package static func with<T>(pathEnding ending: String, after: Int = 0, _ body: () throws -> T) rethrows -> T {
    try ending.withCString { text in
      fault_unreadable(text, Int32(after), EIO)
      defer { fault_unreadable(nil, 0, 0) }
      return try body()
    }
  }
}
