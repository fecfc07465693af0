public import GodwitJob
import GodwitModel
import GodwitStore
package import GodwitVerifier

extension MigrationManager {
  /// Plans what `run` would do, on its own thread: see the synchronous `plan()`.
  ///
  /// - Parameter estimatesTime: Whether a sample of the source is made in memory to estimate the time of a run.
  /// - Throws: `CancellationError` if the task was cancelled; otherwise what the synchronous `plan` throws.
  package func plan(estimatingTime estimatesTime: Bool = false) async throws -> MigrationPlan {
    try Task.checkCancellation()
    let synchronous: @Sendable () throws -> MigrationPlan = { try self.plan(estimatingTime: estimatesTime) }
    return try await onThread(synchronous)
  }

  /// Starts or resumes the migration on its own thread: see the synchronous `run`.
  ///
  /// Cancelling the task stops the run at the next checkpoint. Durable work remains, and the same call resumes.
  ///
  /// - Parameters:
  ///   - maximumSeconds: A time box; the run stops at the first checkpoint after it.
  ///   - progress: Called after every chunk, and up to four times a second while one runs, on the run's thread.
  /// - Throws: `CancellationError` if the task was cancelled before the end; otherwise the errors of the synchronous `run`.
  @discardableResult
  package func run(
    maximumSeconds: Double? = nil, progress: @escaping @Sendable (MigrationProgress) -> Void = { _ in }
  ) async throws -> MigrationSummary {
    try await onThread { try runInTask(maximumSeconds, progress) }
  }

  /// The synchronous run, with the error of a cancelled task in place of a stopped summary.
  fileprivate func runInTask(
    _ maximumSeconds: Double?, _ progress: (MigrationProgress) -> Void
  ) throws -> MigrationSummary {
    let summary: MigrationSummary
    do {
      summary = try run(control: MigrationControl(), maximumSeconds: maximumSeconds, progress: progress)
    } catch let error as GodwitError where error.code == .stopped && Task.isCancelled { throw CancellationError() }
    guard summary.outcome != .stopped || !Task.isCancelled else { throw CancellationError() }
    return summary
  }

  /// Starts the job on its own thread and returns its progress as an asynchronous sequence.
  ///
  /// ```swift
  /// let run = manager.start()
  /// for try await progress in run { print(progress.fraction) }
  /// let summary = try await run.summary
  /// ```
  ///
  /// - Parameter maximumSeconds: A time box; the run stops at the first checkpoint after it.
  public func start(maximumSeconds: Double? = nil) -> MigrationRun {
    MigrationRun(self, maximumSeconds: maximumSeconds)
  }
}

extension Verifier {
  /// Compares the whole destination with the whole source on its own thread: see the synchronous `run`.
  ///
  /// - Parameter progress: Called with the share that is done, 0 to 1, on the verifier's thread.
  /// - Throws: `CancellationError` if the task is cancelled; otherwise what the synchronous `run` throws.
  package func run(progress: @escaping @Sendable (Double) -> Void = { _ in }) async throws -> VerificationReport {
    let synchronous: @Sendable () throws -> VerificationReport = { try self.run(progress: progress) }
    return try await onThread(synchronous)
  }
}

/// A running migration: its progress, then its summary.
///
/// The sequence ends with the run, and throws its error. It gives the newest progress: a slow reader misses some values,
/// but never the last one. The run does not wait for a reader, and continues if reading stops early.
public struct MigrationRun: AsyncSequence, Sendable {
  /// An element of the sequence: the newest progress.
  public typealias Element = MigrationProgress

  private let updates: AsyncThrowingStream<MigrationProgress, any Error>
  private let task: Task<MigrationSummary, any Error>

  fileprivate init(_ manager: MigrationManager, maximumSeconds: Double?) {
    let (updates, continuation) = AsyncThrowingStream.makeStream(
      of: MigrationProgress.self, bufferingPolicy: .bufferingNewest(1))
    self.updates = updates
    task = Task(executorPreference: ThreadExecutor()) {
      do {
        let summary = try manager.runInTask(maximumSeconds) { continuation.yield($0) }
        continuation.finish()
        return summary
      } catch {
        continuation.finish(throwing: error)
        throw error
      }
    }
  }

  /// Reads the progress. Only one task may read the progress of a run.
  public func makeAsyncIterator() -> AsyncThrowingStream<MigrationProgress, any Error>.Iterator {
    updates.makeAsyncIterator()
  }

  /// Stops the run at the next checkpoint. The sequence and `summary` then throw `CancellationError`.
  public func cancel() { task.cancel() }

  /// Waits for the end of the run. Cancelling the task that waits stops the run at the next checkpoint.
  ///
  /// - Throws: `CancellationError` if the run was cancelled; otherwise the errors of the synchronous `run`.
  public var summary: MigrationSummary {
    get async throws {
      try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    }
  }
}

/// Runs a closure that blocks on a thread of its own. It sees the cancellation of the task that calls.
private func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
  // The handler below reaches the thread only after it has started.
  let isCancelled = Task.isCancelled
  let task = Task(executorPreference: ThreadExecutor()) {
    if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
    return try body()
  }
  return try await withTaskCancellationHandler {
    try await task.value
  } onCancel: {
    task.cancel()
  }
}

/// Gives each job of a task a thread of its own, so that work that blocks holds no thread of Swift's pool.
private final class ThreadExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isStarted = WorkerThread.start { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    // If the system makes no thread, the work is done here.
    if !isStarted { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
