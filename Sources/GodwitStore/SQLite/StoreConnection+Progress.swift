import CSQLite

extension StoreConnection {
  /// The stop condition that a running statement checks now and then.
  final class ProgressCheck {
    let isStopped: () -> Bool
    init(_ isStopped: @escaping () -> Bool) { self.isStopped = isStopped }
  }

  /// Calls `isStopped` now and then while statements run. When it returns true, the statement fails with `.stopped`
  /// (75).
  ///
  /// - Parameter isStopped: nil to end the calls.
  package func whileRunning(stopIf isStopped: (() -> Bool)?) {
    progressCheck = isStopped.map(ProgressCheck.init)
    guard let progressCheck else {
      sqlite3_progress_handler(handle, 0, nil, nil)
      return
    }
    // The connection holds the check for as long as SQLite may call it.
    let context = Unmanaged.passUnretained(progressCheck).toOpaque()
    sqlite3_progress_handler(
      handle, 20_000,
      { context in
        guard let context else { return 0 }
        return Unmanaged<ProgressCheck>.fromOpaque(context).takeUnretainedValue().isStopped() ? 1 : 0
      }, context)
  }

  /// Calls `tick` each time that SQLite has carried out another 20,000 instructions, while statements run. It must not
  /// use the connection.
  ///
  /// - Parameter tick: nil to call nothing more.
  package func whileRunning(tick: (() -> Void)?) {
    guard let tick else { return whileRunning(stopIf: nil) }
    whileRunning(stopIf: {
      tick()
      return false
    })
  }

  /// Adds a stop condition to the one that `whileRunning(stopIf:)` has set.
  package func addStopCondition(_ isStopped: @escaping () -> Bool) {
    let first = progressCheck
    whileRunning(stopIf: { first?.isStopped() == true || isStopped() })
  }

  /// Runs `body`, and calls `tick` now and then while statements run, beside what `whileRunning(stopIf:)` has set. It
  /// must not use the connection.
  package func ticking<T>(_ tick: () -> Void, _ body: () throws -> T) rethrows -> T {
    let first = progressCheck
    return try withoutActuallyEscaping(tick) { tick in
      whileRunning(stopIf: {
        tick()
        return first?.isStopped() == true
      })
      defer { whileRunning(stopIf: first?.isStopped) }
      return try body()
    }
  }
}
