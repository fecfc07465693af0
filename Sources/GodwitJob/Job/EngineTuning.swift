package import GodwitStore

/// Settings with which tests see what otherwise depends on size, luck or a special file system. It does not belong to
/// the public API, and no verb sets it.
package struct EngineTuning: Sendable {
  /// The tuning of the calling task.
  @TaskLocal package static var current = EngineTuning()

  /// When a second thread reads ahead by spans of keys.
  package struct Spans: Sendable {
    /// Fewer rows are not worth a thread.
    package var leastRows: Int64 = 20_000
    package var rowsPerSpan: Int64
    /// Whether the first thread waits until the second has done what it may.
    package var fills = false
  }

  /// When a second thread reads pages for a policy.
  package struct Pages: Sendable {
    /// Fewer rows are not worth a thread.
    package var leastRows: Int64 = 5000
    package var rowsPerPage = 500
    /// Hears of every page that was read ahead and is used.
    package var onPage: (@Sendable () -> Void)?
  }

  /// The file operations of one job; a job has them as `MigrationJob.hooks`.
  package struct JobHooks: Sendable {
    /// Whether steps become one where that makes no difference.
    package var fusesSteps = true
    /// Called before each step of the exchange in place.
    package var beforeSwapStep: @Sendable (Int) throws -> Void = { _ in }
    /// Called before each step of the exchange that ends an append.
    package var beforeAppendStep: @Sendable (Int) throws -> Void = { _ in }
    /// For how many seconds a destination that is in use is asked for again.
    package var lockSeconds = 5.0
    /// Whether the file system has hard links; `makesReflinks` says so of reflinks.
    package var makesHardLinks = true
    package var makesReflinks = true
    /// Room on the file system of a folder.
    package var freeSpace: @Sendable (String) -> FreeSpace? = FreeSpace.at
    /// The job's part of the room that several jobs share; nil for a job that is alone.
    package var space: SpaceShare?
    /// The syncs that the job shares with other small stores of the process; nil for a job that is alone.
    package var sync: SyncGroup.Member?
    /// The most rounds of a run that sets rejected objects aside. Each is a run of its own on a copy of the source.
    package var rejectionRounds = 100
    /// Whether a plan counts a sample of the source in place of all of it.
    package var samplesPlans = false
    /// Hears of the counting of a plan now and then.
    package var whilePlanning: (@Sendable (MigrationProgress) -> Void)?
  }

  /// The spans of `ExpressionPrefetcher`.
  package var expressions = Spans(rowsPerSpan: 256)
  /// The spans of `UniqueKeyScan`.
  package var uniqueKeys = Spans(rowsPerSpan: 1024)
  /// The pages of `SourcePagePrefetcher`.
  package var pages = Pages()
  /// Rows of a table that policies write together; with 0, a new object is written at once by a statement of its own.
  package var policyRowsPerBatch = 128
  /// Fewer rows are not worth a `SpeculativeValidator`.
  package var leastValidatedRows: Int64 = 50_000
  /// Tables of a shorter range of keys are read by one thread.
  package var leastCountedKeys: Int64 = 50_000
  /// Rows of a destination that one thread of `verify` proves at a time.
  package var verifiedRowsPerRange: Int64 = 32_768
  /// Memory for the source keys of mappings that are looked up, in place of the budget's share.
  package var keySetBytes: Int64?
  /// Edges that are collected in memory for one object.
  package var limitEdges = 100_000
  /// With false, all links are resolved, and all associations that policies make are written down.
  package var usesShortcuts = true
  /// Reading a source of at most so many bytes is not worth a thread, where other stores have work for all processors.
  package var shortSourceBytes: Int64 = 1 << 20
  /// The digest of a source of this many bytes is not waited for.
  package var largeSourceBytes: Int64 = 64 << 20
  /// Threads that read a store, in place of one for each processor.
  package var readers: Int?
  /// Keys of each range of a sample, in place of its own number.
  package var sampledKeys: Int64?
  /// Limits in place of the budget's limits.
  package var largeRows: LargeRowLimits?
  /// Whether no expression becomes SQL.
  package var runsAllInSwift = false
  /// A run notes its history in the work folder no more often than this.
  package var secondsBetweenNotes = 5.0
  /// A plan samples many objects of a mapping if that takes less than so many seconds.
  package var secondsForSample = 0.1
  /// Seconds between two figures of a chunk that is running.
  package var progressPulseSeconds = 0.25

  /// Runs a body with one of the values changed.
  package static func with<Value, T>(
    _ path: WritableKeyPath<EngineTuning, Value>, _ value: Value, _ body: () throws -> T
  ) rethrows -> T {
    var tuning = current
    tuning[keyPath: path] = value
    return try $current.withValue(tuning, operation: body)
  }
}
