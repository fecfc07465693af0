import GodwitManifest
import GodwitModel

/// The results of many stores: the table at the end, and the exit status.
struct StoreTable {
  let results: [StoreResult]
  /// Stores without a row, and the objects of them.
  var others: [StoreResult.Outcome: Int] = [:]
  var otherObjects: Int64 = 0

  /// Puts the results in the order of their paths.
  init(sorting results: [StoreResult]) {
    self.results = results.sorted { $0.store.utf8.lexicographicallyPrecedes($1.store.utf8) }
  }

  /// The exit statuses, the worst first. A signal wins, because the process dies by it.
  ///
  /// Failures that need a person come next: a bug, a wrong manifest, permissions, a full disk, a destination in the
  /// way. Then follow failures of single stores, and those that the same command continues after.
  static let worstFirst: [Int32] = [143, 130, 70, 78, 77, 74, 73, 66, 69, 65, 64, 4, 75, 3, 2, 0]

  /// The worst of some statuses; 0 for none.
  static func worst(of statuses: some Sequence<Int32>) -> Int32 {
    let found = Set(statuses)
    return worstFirst.first(where: found.contains) ?? found.max() ?? 0
  }

  var status: Int32 { Self.worst(of: results.map(\.status)) }

  func count(_ outcome: StoreResult.Outcome) -> Int {
    results.count { $0.outcome == outcome } + (others[outcome] ?? 0)
  }

  var stores: Int { results.count + others.values.reduce(0, +) }

  var objects: Int64 { results.reduce(otherObjects) { $0.addingReportingOverflow($1.objects ?? 0).partialValue } }

  /// `12 stores: 9 finished, 1 already finished, 2 failed`.
  var counts: String {
    var order = results.grouped(by: \.outcome).map(\.key)
    order += others.keys.filter { !order.contains($0) }.sorted { $0.rawValue < $1.rawValue }
    let parts = order.map { "\(count($0)) \($0.rawValue)" }.joined(separator: ", ")
    return "\(stores.counted("store")): \(parts)"
  }

  /// One row for each store.
  var text: String {
    let header = ["STORE", "OUTCOME", "OBJECTS", "SECONDS", "STATUS", ""]
    let rows = results.map { result in
      [
        result.store.onOneLine, result.outcome.rawValue, result.objects.map(String.init) ?? "",
        Clock.text(result.seconds), "\(result.status)", result.note.onOneLine,
      ]
    }
    return TextTable.text([header] + rows, numbers: 2..<5)
  }
}

/// The table of a verb that looks at many stores, as JSON.
struct StoresDocument: Encodable {
  let verb: String
  let status: Int32
  /// The check of `status --check`.
  var check: StatusRecord.Check?
  let stores: [StoreResult]
}

/// The last line of a run of many stores, which its commands get too.
struct BatchSummaryRecord: SummaryLine {
  let schemaVersion = OutputKind.version
  let time: String
  let status: Int32
  /// `finished`, `failed` or `stopped`.
  let outcome: String
  let job: String
  let stores, finished, alreadyFinished, failed, stopped, notRun: Int
  let objects: Int64
  let seconds: Double
  let peakBytes, budgetBytes: Int64
  /// One for each store; left out of a line of a run, which has them already.
  var results: [StoreResult]?

  init(_ table: StoreTable, manifest: JobManifest, status: Int32, seconds: Double, peakBytes: Int64) {
    time = Clock.stamp
    self.status = status
    job = manifest.job
    stores = table.stores
    (finished, alreadyFinished) = (table.count(.finished), table.count(.alreadyFinished))
    (failed, stopped, notRun) = (table.count(.failed), table.count(.stopped), table.count(.notRun))
    objects = table.objects
    outcome = Self.outcome(status)
    self.seconds = seconds
    self.peakBytes = peakBytes
    budgetBytes = manifest.memory.bytes
  }

  static func outcome(_ status: Int32) -> String {
    switch status {
    case 0, RunVerb.quarantinedStatus: "finished"
    case 75, 130, 143: "stopped"
    default: "failed"
    }
  }
}
