import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// Kills runs of one job and compares what they resume to with an uninterrupted run.
///
/// 1. The reference is one run from beginning to end; it shows how long a run takes and how many lines it prints.
/// 2. A round starts runs in a folder of its own until one ends by itself. All but that one are killed: after a random
///    number of progress lines or a random time. At most `killsMax` of them, so that every round ends.
/// 3. The result is compared with the reference; equal ones are removed at once.
/// The random choices of a round depend only on the seed and its number.
struct Torture {
  let manifest: String
  let job: MigrationJob
  let seed: UInt64
  let rounds: Int
  let folder: String
  let current: TortureRun.Current

  private static let killsMax = 12

  /// The job with its destination in a scratch folder. A job in place works on a copy of its store there.
  static func redirected(_ job: MigrationJob, to folder: String) -> MigrationJob {
    var job = job
    let name = (job.destinationPath as NSString).lastPathComponent
    job.destinationPath = "\(folder)/\(name)"
    if job.isInPlace { job.sourcePath = job.destinationPath }
    return job
  }

  /// - Parameter report: Takes one line a round.
  /// - Returns: The numbers of the rounds with another result.
  /// - Throws: `GodwitError` when the uninterrupted run fails, with its status.
  func run(report: (String) -> Void) throws -> [Int] {
    let now = Date().timeIntervalSinceReferenceDate
    let reference = try makeFolder("reference")
    let whole = try start(in: reference, now: now, moment: nil)
    guard whole.status == 0 else {
      throw GodwitError(
        GodwitError.Code(rawValue: whole.status) ?? .internalBug, "cannot torture '\(job.name)': the job itself fails",
        cause: whole.diagnostics, remedy: "make `godwit run` work first", safe: "nothing was killed")
    }
    report("reference: \(whole.lines) progress lines, \(Self.seconds(whole.seconds)), seed \(seed)")
    var different: [Int] = []
    var kills = 0
    for round in 1...rounds where !current.isStopped {
      let path = try makeFolder("round-\(round)")
      var random = TortureChance(seed: seed, round: round)
      var moments: [String] = []
      var last: TortureRun.Ended
      repeat {
        let moment = random.moment(lines: whole.lines, seconds: whole.seconds)
        last = try start(in: path, now: now, moment: moments.count < Self.killsMax ? moment : nil)
        if last.wasKilled { moments.append(moment.description) }
      } while last.wasKilled && !current.isStopped
      if current.isStopped { break }
      kills += moments.count
      let problem = try last.status == 0 ? difference(reference, path) : "status \(last.status): \(last.diagnostics)"
      let how = moments.isEmpty ? "" : " (\(moments.joined(separator: ", ")))"
      report("round \(round)/\(rounds): \(moments.count.counted("kill"))\(how), " + (problem ?? "equal"))
      if problem != nil { different.append(round) } else { try? FileManager.default.removeItem(atPath: path) }
    }
    report(
      different.isEmpty
        ? "\(rounds.counted("round")), \(kills.counted("kill")), seed \(seed): every result equals that of the uninterrupted run"
        : "\(rounds.counted("round")), \(kills.counted("kill")), seed \(seed): \(different.count.counted("differs", "differ")) from the uninterrupted run"
    )
    return different
  }

  private static func seconds(_ value: Double) -> String { "\((value * 1000).rounded() / 1000) s" }

  /// The difference between the results in two folders; nil when both hold the same store and nothing else.
  private func difference(_ reference: String, _ round: String) throws -> String? {
    let manager = FileManager.default
    let names = try [reference, round].map { try manager.contentsOfDirectory(atPath: $0).sorted() }
    if names[0] != names[1] {
      return "left behind or missing: \(Set(names[0]).symmetricDifference(names[1]).sorted().joined(separator: ", "))"
    }
    let jobs = [reference, round].map { Self.redirected(job, to: $0) }
    do {
      let found = try StoreComparison(jobs[0].destinationPath, jobs[1].destinationPath).firstDifference()
      if let found { return "the result differs in \(found)" }
      guard manager.fileExists(atPath: jobs[0].quarantinePath) else { return nil }
      return try StoreComparison(jobs[0].quarantinePath, jobs[1].quarantinePath).firstDifference()
        .map { "the quarantine differs in \($0)" }
    } catch let error as GodwitError {
      return "the result cannot be read: \(error.message)"
    }
  }

  private func makeFolder(_ name: String) throws -> String {
    let path = "\(folder)/\(name)"
    do {
      let manager = FileManager.default
      try manager.createDirectory(atPath: path, withIntermediateDirectories: true)
      guard job.isInPlace else { return path }
      let to = Self.redirected(job, to: path).sourcePath
      for suffix in ["", "-wal"] where manager.fileExists(atPath: job.sourcePath + suffix) {
        try manager.copyItem(atPath: job.sourcePath + suffix, toPath: to + suffix)
      }
      let (support, copy) = (SupportFolder(ofStoreAt: job.sourcePath), SupportFolder(ofStoreAt: to))
      if try support.exists { try manager.copyItem(atPath: support.path, toPath: copy.path) }
    } catch {
      throw GodwitError(
        .inputOutput, "cannot make '\(path)'", cause: error.localizedDescription,
        remedy: "free disk space, or name another folder in the environment variable TMPDIR")
    }
    return path
  }

  private func start(in path: String, now: Double, moment: TortureChance.Moment?) throws -> TortureRun.Ended {
    try TortureRun(arguments: ["torture", manifest, path, "\(now)"], output: path + ".log")
      .untilEnd(killing: moment, current: current)
  }
}

/// The random choices of a round.
struct TortureChance {
  enum Moment: CustomStringConvertible {
    case line(Int)
    case seconds(Double)

    var description: String {
      switch self {
      case .line(let number): "line \(number)"
      case .seconds(let seconds): "\(Int((seconds * 1000).rounded())) ms"
      }
    }
  }

  private var state: UInt64

  init(seed: UInt64, round: Int) { state = Self.mix(seed) &+ Self.mix(UInt64(truncatingIfNeeded: round)) }

  /// SplitMix64.
  private static func mix(_ bits: UInt64) -> UInt64 {
    var z = bits &+ 0x9E37_79B9_7F4A_7C15
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  private mutating func next() -> UInt64 {
    state = Self.mix(state)
    return state
  }

  mutating func moment(lines: Int, seconds: Double) -> Moment {
    let bits = next()
    let part = Double(next() >> 11) / Double(1 << 53)
    // A run that resumes prints fewer lines and takes less time than the whole, so early moments count more.
    return bits % 2 == 0 ? .line(1 + Int(part * part * Double(max(0, lines - 1)))) : .seconds(part * seconds)
  }
}
