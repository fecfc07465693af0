import CSQLite
import GodwitModel

/// Hands the values of each row of a table to Swift within one SQL statement.
///
/// SQLite protects the arguments of a function, so that each value is read without a lock, and no row passes through
/// a statement's results. The function is an aggregate, which gives SQLite no value for each row.
struct RowFeed {
  /// As many arguments as any SQLite gives a function.
  static let columnLimit = 100

  let connection: StoreConnection

  init(_ connection: StoreConnection) { self.connection = connection }

  /// Calls `body` for each row, in no order.
  ///
  /// - Parameters:
  ///   - columns: Expressions, at most `columnLimit`.
  ///   - lengthLimit: The size of the largest value that is read.
  ///   - check: Called every few thousand rows; an error that it throws ends the reading.
  /// - Returns: false when a row has a larger value: `body` was called for some rows then.
  @discardableResult func run(
    columns: [String], from rows: String, lengthLimit: ByteCount? = nil, check: () throws -> Void,
    _ body: (UnsafePointer<OpaquePointer?>, Int) throws -> Void
  ) throws -> Bool {
    try check()
    return try withoutActuallyEscaping(check) { check in
      try withoutActuallyEscaping(body) { body in
        try run(Run(body, check), columns, rows, lengthLimit)
      }
    }
  }

  private func run(_ run: Run, _ columns: [String], _ rows: String, _ lengthLimit: ByteCount?) throws -> Bool {
    try connection.createFunction(
      "godwit_feed", -1, state: Unowned(run),
      step: { context, count, values in
        guard let data = sqlite3_user_data(context), let values else { return }
        let state = Unmanaged<Unowned>.fromOpaque(data)
        let isTaken = state._withUnsafeGuaranteedRef { $0.run.take(UnsafePointer(values), Int(count)) }
        if !isTaken { sqlite3_result_error(context, "stopped", -1) }
      }, finish: { _ in })
    // The function must not outlive the call.
    defer { connection.unregister(function: "godwit_feed", arguments: -1) }
    let statement = try connection.prepare("SELECT godwit_feed(\(columns.joined(separator: ", "))) FROM \(rows)")
    defer { statement.finalize() }
    do {
      let step = try statement.step(lengthLimit: lengthLimit ?? .init(bytes: Int64(Int32.max)))
      if let failure = run.failure { throw failure }
      return step != .tooLarge
    } catch { throw run.failure ?? error }
  }

  /// SQLite keeps the state of a function, and the closures in a run must not outlive the call.
  private final class Unowned {
    unowned(unsafe) let run: Run

    init(_ run: Run) { self.run = run }
  }

  private final class Run {
    private let body: (UnsafePointer<OpaquePointer?>, Int) throws -> Void
    private let check: () throws -> Void
    @exclusivity(unchecked) private var rows = 0
    @exclusivity(unchecked) private(set) var failure: (any Error)?

    init(
      _ body: @escaping (UnsafePointer<OpaquePointer?>, Int) throws -> Void, _ check: @escaping () throws -> Void
    ) {
      (self.body, self.check) = (body, check)
    }

    /// - Returns: false when reading ends here.
    func take(_ values: UnsafePointer<OpaquePointer?>, _ count: Int) -> Bool {
      do {
        rows &+= 1
        if rows & 4095 == 0 { try check() }
        try body(values, count)
        return true
      } catch {
        failure = error
        return false
      }
    }
  }
}
