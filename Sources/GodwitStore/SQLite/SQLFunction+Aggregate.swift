import CSQLite

/// An aggregate function with its state's type hidden, so that C callbacks can hold it.
private class AggregateFunction {
  func begin() -> AggregateState { AggregateState() }
}

private class AggregateState {
  func step(_ arguments: SQLFunctionArguments) throws {}
  func finish() -> SQLValue { .null }
}

private final class TypedAggregate<State>: AggregateFunction {
  let start: () -> State
  let stepping: (inout State, SQLFunctionArguments) throws -> Void
  let finishing: (State) -> SQLValue

  init(
    start: @escaping () -> State, step: @escaping (inout State, SQLFunctionArguments) throws -> Void,
    finish: @escaping (State) -> SQLValue
  ) {
    self.start = start
    stepping = step
    finishing = finish
  }

  final class Running: AggregateState {
    let function: TypedAggregate
    var state: State

    init(_ function: TypedAggregate) {
      self.function = function
      state = function.start()
    }

    override func step(_ arguments: SQLFunctionArguments) throws { try function.stepping(&state, arguments) }
    override func finish() -> SQLValue { function.finishing(state) }
  }

  override func begin() -> AggregateState { Running(self) }
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
    let box = Unmanaged<AggregateFunction>.passRetained(
      TypedAggregate(start: start, step: step, finish: finish))
    let code = withHandle { handle in
      sqlite3_create_function_v2(
        handle, name, Int32(count), SQLITE_UTF8 | SQLITE_DETERMINISTIC, box.toOpaque(), nil,
        { context, count, values in
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
        { context in
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
        },
        { data in
          if let data { Unmanaged<AggregateFunction>.fromOpaque(data).release() }
        })
    }
    // On failure SQLite has called the destructor already.
    guard code == SQLITE_OK else { throw lastError(code, sql: name) }
  }
}
