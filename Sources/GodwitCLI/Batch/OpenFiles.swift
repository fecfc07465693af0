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
  /// A job has a spill file for each mapping that needs one: where the system lets us, there is room for many.
  static let wantedOfStore = 256

  /// Raises the process's limit as far as it helps and the system lets it.
  ///
  /// - Parameters:
  ///   - jobs: The stores that are to be at work at once.
  ///   - warn: Called when it is fewer, with the reason.
  /// - Returns: How many there may be, at least 1.
  static func jobs(upTo jobs: Int, warn: (String) -> Void) -> Int {
    guard let limit = CLibrary.raiseOpenFiles(to: ofProgram + jobs * wantedOfStore) else { return jobs }
    let possible = possibleJobs(limit: limit)
    guard possible < jobs else { return jobs }
    warn(
      "works on \(max(1, possible)) of \(jobs) stores at the same time: this process may open \(limit) files, and a store needs up to \(ofStore); raise the limit (`ulimit -n \(ofProgram + jobs * ofStore)`)"
    )
    return max(1, possible)
  }

  /// The stores that a limit has files for.
  static func possibleJobs(limit: Int) -> Int { max(0, limit - ofProgram) / ofStore }
}
