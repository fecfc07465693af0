import CSQLite
import Foundation

/// The cost of a piece of work, in figures that depend neither on the machine nor on other threads.
///
/// Instructions of SQLite's virtual machine are counted for every statement of every connection that the work opens,
/// and bytes are those that the thread asked the system to read and write.
package struct ThreadCost: Sendable, Hashable {
  package var instructions = 0
  package var readBytes = 0
  package var writtenBytes = 0

  private final class Counter {
    var instructions = 0
  }

  private static let slot = ThreadSlot<Counter>()

  /// Has a new connection tell of its statements; one of a thread that measures nothing is left alone.
  private static let hook = ConnectionHook { database, _, _ in
    guard ThreadCost.slot.current != nil else { return SQLITE_OK }
    sqlite3_trace_v2(
      database, UInt32(SQLITE_TRACE_PROFILE),
      { _, _, statement, _ in
        guard let statement else { return 0 }
        ThreadCost.slot.current?.instructions += Int(
          sqlite3_stmt_status(OpaquePointer(statement), SQLITE_STMTSTATUS_VM_STEP, 1))
        return 0
      }, nil)
    return SQLITE_OK
  }

  private static func bytes() throws -> (read: Int, written: Int) {
    let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
    func figure(_ name: String) -> Int {
      text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        .flatMap { Int($0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)) } ?? 0
    }
    return (figure("rchar"), figure("wchar"))
  }

  /// Measures work that stays on this thread.
  package init(of work: () throws -> Void) throws {
    Self.hook.register()
    let counter = Counter()
    let before = try Self.bytes()
    try Self.slot.with(counter, work)
    let after = try Self.bytes()
    instructions = counter.instructions
    (readBytes, writtenBytes) = (after.read - before.read, after.written - before.written)
  }
}
