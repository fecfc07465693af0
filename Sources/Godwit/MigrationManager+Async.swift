public import GodwitJob
import GodwitModel
import GodwitStore
public import GodwitVerifier

extension MigrationManager {
  /// What `run` would do, counted on a thread of its own: see the synchronous `plan()`.
  ///
  /// - Parameter estimatesTime: Whether a sample of the source is made in memory to estimate the time of a run.
  /// - Throws: `CancellationError` where the task was cancelled before; else what the synchronous `plan` throws.
  public func plan(estimatingTime estimatesTime: Bool = false) async throws -> MigrationPlan {
    try Task.checkCancellation()
    let synchronous: @Sendable () throws -> MigrationPlan = { try self.plan(estimatingTime: estimatesTime) }
    return try await onThread(synchronous)
  }

  /// Migrates on a thread of its own, or resumes, or finds that all is done: see the synchronous `run`.
  ///
  /// Cancelling the task stops the run at the next checkpoint, and the summary's outcome is `.stopped`. What is durable
  /// stays, and the same call goes on.
  ///
  /// - Parameters:
  ///   - maximumSeconds: A time box; the run stops at the first checkpoint after it.
  ///   - progress: Called after every chunk, on the run's thread.
  /// - Throws: What the synchronous `run` throws.
  @discardableResult
  public func run(
    maximumSeconds: Double? = nil, progress: @escaping @Sendable (MigrationProgress) -> Void = { _ in }
  ) async throws -> MigrationSummary {
    try await onThread { try run(control: MigrationControl(), maximumSeconds: maximumSeconds, progress: progress) }
  }

  /// Starts the job on a thread of its own and gives its progress as an asynchronous sequence.
  ///
  /// ```swift
  /// let run = manager.start()
  /// for await progress in run { print(progress.percent) }
  /// let summary = try await run.summary
  /// ```
  ///
  /// - Parameter maximumSeconds: A time box; the run stops at the first checkpoint after it.
  public func start(maximumSeconds: Double? = nil) -> MigrationRun {
    MigrationRun(self, maximumSeconds: maximumSeconds)
  }

  /// Proves the destination of the manager's job.
  public var verifier: Verifier { Verifier(job: job) }

  /// Proves what a plan of this manager made, once `migrate` has carried it out.
  public func verifier(of plan: MigrationPlan) -> Verifier {
    Verifier(job: manager(ofStoreAt: plan.source, to: plan.destination, limits: plan.limits).job)
  }
}

extension Verifier {
  /// Compares the whole destination with the whole source on a thread of its own: see the synchronous `run`.
  ///
  /// - Parameter progress: Called with the share that is done, 0 to 1, on the verifier's thread.
  /// - Throws: `CancellationError` once the task is cancelled; else what the synchronous `run` throws.
  public func run(progress: @escaping @Sendable (Double) -> Void = { _ in }) async throws -> VerificationReport {
    let synchronous: @Sendable () throws -> VerificationReport = { try self.run(progress: progress) }
    return try await onThread(synchronous)
  }
}

/// A migration at work: its progress, then its summary.
///
/// The sequence ends with the run. It gives the newest progress: whoever reads slowly misses some of it, never the last. The
/// run does not wait for a reader, and goes on when reading ends early.
public struct MigrationRun: AsyncSequence, Sendable {
  /// What the sequence gives: the newest progress.
  public typealias Element = MigrationProgress

  private let updates: AsyncStream<MigrationProgress>
  private let task: Task<MigrationSummary, any Error>

  fileprivate init(_ manager: MigrationManager, maximumSeconds: Double?) {
    let (updates, continuation) = AsyncStream.makeStream(
      of: MigrationProgress.self, bufferingPolicy: .bufferingNewest(1))
    self.updates = updates
    task = Task(executorPreference: ThreadExecutor()) {
      defer { continuation.finish() }
      return try manager.run(control: MigrationControl(), maximumSeconds: maximumSeconds) { continuation.yield($0) }
    }
  }

  /// Reads the progress. Only one task reads a run's progress.
  public func makeAsyncIterator() -> AsyncStream<MigrationProgress>.Iterator { updates.makeAsyncIterator() }

  /// Stops the run at the next checkpoint; `summary` then has the outcome `.stopped`.
  public func cancel() { task.cancel() }

  /// Waits for the end of the run. Cancelling the task that waits stops the run at the next checkpoint.
  ///
  /// - Throws: What the synchronous `run` throws.
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
  let task = Task(executorPreference: ThreadExecutor()) { try body() }
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
    // Where the system makes no thread, the work is done here.
    if !isStarted { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
