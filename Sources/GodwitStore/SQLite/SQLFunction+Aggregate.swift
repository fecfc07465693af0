import CSQLite

/// An aggregate function with its state's type hidden, so that C callbacks can hold it.
private final class AggregateFunction {
  let begin: () -> AggregateState

  init(begin: @escaping () -> AggregateState) { self.begin = begin }
}

/// The state of one group.
private final class AggregateState {
  let step: (SQLFunctionArguments) throws -> Void
  let finish: () -> SQLValue

  init(step: @escaping (SQLFunctionArguments) throws -> Void, finish: @escaping () -> SQLValue) {
    (self.step, self.finish) = (step, finish)
  }
}

extension StoreConnection {
  /// Makes Swift closures callable from SQL on this connection as an aggregate function.
  ///
  /// `start` makes the state of a group at its first row, `step` takes each row, `finish` gives the result; a
  /// group without rows finishes from a fresh state. Errors of `step` make the statement fail.
  package func register<State>(
    aggregate name: String, arguments count: Int, start: @escaping () -> State,
    step: @escaping (inout State, SQLFunctionArguments) throws -> Void, finish: @escaping (State) -> SQLValue
  ) throws {
    let function = AggregateFunction {
      var state = start()
      return AggregateState(step: { try step(&state, $0) }, finish: { finish(state) })
    }
    try createFunction(
      name, Int32(count), SQLITE_DETERMINISTIC, state: function,
      step: { context, count, values in
        guard let data = sqlite3_user_data(context),
          let slot = sqlite3_aggregate_context(context, Int32(MemoryLayout<UnsafeMutableRawPointer?>.size))
        else { return sqlite3_result_error_nomem(context) }
        let state = slot.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        let running: AggregateState
        if let known = state.pointee {
          running = Unmanaged<AggregateState>.fromOpaque(known).takeUnretainedValue()
        } else {
          running = Unmanaged<AggregateFunction>.fromOpaque(data).takeUnretainedValue().begin()
          state.pointee = Unmanaged.passRetained(running).toOpaque()
        }
        do {
          try running.step(SQLFunctionArguments(values: values, count: Int(count)))
        } catch {
          sqlite3_result_error(context, "\(error)", -1)
        }
      },
      finish: { context in
        // SQLite calls this once for every group, also after an error: the state is released here.
        let slot = sqlite3_aggregate_context(context, 0)?.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        if let known = slot?.pointee {
          let running = Unmanaged<AggregateState>.fromOpaque(known).takeRetainedValue()
          slot?.pointee = nil
          StoreConnection.finish(running.finish(), context: context)
        } else if let data = sqlite3_user_data(context) {
          let fresh = Unmanaged<AggregateFunction>.fromOpaque(data).takeUnretainedValue().begin()
          StoreConnection.finish(fresh.finish(), context: context)
        }
      })
  }
}
