import GodwitModel

/// How many stores may be at work at once with the files that the system lets a process open (`ulimit -n`).
///
/// Without room for another file, stores that are sound would fail, now this one and now that one.
enum OpenFiles {
  /// Streams, results, logs, models that are read, and commands that are called.
  static let ofProgram = 16
  /// The files of one running store: source, stores of two steps, their journals, a lock, files that threads read
  /// ahead, and some spill files. A job of four steps opened 7 when measured.
  static let ofStore = 32
  /// The files of a store that waits for its delivery: its lock, and the files of the delivery.
  static let ofDelivery = 4
  /// A job has a spill file for each mapping that needs one: where the system lets us, there is room for many.
  static let wantedOfStore = 256

  /// Raises the process's limit as far as it helps and the system lets it.
  ///
  /// - Parameters:
  ///   - jobs: The stores that are to be at work at once.
  ///   - warn: Called when it is fewer, with the reason.
  /// - Returns: How many there may be, at least 1.
  static func jobs(upTo jobs: Int, warn: (String) -> Void) -> Int {
    let wanted = ofProgram + jobs * wantedOfStore + 2 * largestBatch * ofDelivery
    guard let limit = CLibrary.raiseOpenFiles(to: wanted) else { return jobs }
    let possible = possibleJobs(limit: limit)
    guard possible < jobs else { return jobs }
    warn(
      "works on \(max(1, possible)) of \(jobs) stores at the same time: this process may open \(limit) files, and a store needs up to \(ofStore); raise the limit (`ulimit -n \(ofProgram + jobs * ofStore)`)"
    )
    return max(1, possible)
  }

  /// The most stores that share their syncs.
  private static let largestBatch = 64

  /// How many stores may share their syncs: while one batch is delivered, the next one is collected.
  ///
  /// - Returns: nil where the files do not suffice for two.
  static func batch(besides jobs: Int) -> Int? {
    guard let limit = CLibrary.raiseOpenFiles(to: 0) else { return nil }
    let size = min(largestBatch, (limit - ofProgram - jobs * ofStore) / (2 * ofDelivery))
    return size < 2 ? nil : size
  }

  /// The stores that a limit has files for.
  static func possibleJobs(limit: Int) -> Int { max(0, limit - ofProgram) / ofStore }
}
