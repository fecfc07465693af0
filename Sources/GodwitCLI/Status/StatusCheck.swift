import Foundation
import GodwitJob
import GodwitModel

/// The state of a job for a monitor: a level, one line, and figures.
///
/// The line has the form that the Monitoring Plugins Development Guidelines give: `SERVICE STATUS: text | figures`.
struct StatusCheck {
  /// The raw value is the exit status.
  enum Level: Int32 {
    case ok = 0
    case warning, critical, unknown

    var word: String {
      switch self {
      case .ok: "OK"
      case .warning: "WARNING"
      case .critical: "CRITICAL"
      case .unknown: "UNKNOWN"
      }
    }
  }

  private(set) var level: Level
  var text: String { (job.map { "job '\($0)' " } ?? "") + detail }
  /// nil where nothing is known of it.
  private let job: String?
  private var detail: String
  private var figures: [String] = []
  /// Seconds since the last success.
  private var age: Double?

  /// The line of a plugin. A bar would begin the figures, and a line feed another line.
  var line: String {
    let plain = text.onOneLine.replacing("|", with: "/")
    return "GODWIT \(level.word) - \(plain)" + (figures.isEmpty ? "" : " | " + figures.joined(separator: " "))
  }

  /// - Parameter text: Why nothing is known.
  init(unknown text: String) { (level, job, detail) = (.unknown, nil, text) }

  /// A store whose failure is recorded.
  init(_ failed: KnownResult) {
    (level, job) = (.critical, nil)
    detail = "failed \(failed.time), status \(failed.status): \(failed.message ?? "it differs from its source")"
  }

  /// - Parameters:
  ///   - maximumAge: How long ago the last success may be; nil: any time.
  ///   - now: The present time.
  init(_ status: MigrationStatus, maximumAge: TimeBox?, now: Date) {
    age = status.lastSuccess.map { max(0, now.timeIntervalSince($0)) }
    job = status.job
    (level, detail) = Self.judge(status)
    if let findings = status.findings {
      // A newer run is what everybody waits for.
      raise(to: status.run?.state == .running ? .warning : .critical, findings)
    } else if let maximumAge {
      judge(status, age: age, maximumAge, now: now)
    }
    figures = Self.figures(status, age: age, maximumAge)
  }

  /// The worst of many stores, of which the first few are named.
  init(job: String, of stores: [(store: String, check: StatusCheck)], maximumAge: TimeBox?) {
    self.job = job
    level = Self.worstFirst.first { level in stores.contains { $0.check.level == level } } ?? .unknown
    let counts = Self.worstFirst.map { level in (level, stores.count { $0.check.level == level }) }
    let told = counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0.word)" }.joined(separator: ", ")
    detail = "\(stores.count.counted("store")): \(told)"
    if level != .ok {
      let worst = stores.filter { [level] in $0.check.level == level }
      for (store, check) in worst.prefix(Self.namedMaximum) { detail += "; '\(store)' \(check.detail)" }
      if worst.count > Self.namedMaximum { detail += "; and \(worst.count - Self.namedMaximum) more" }
    }
    figures = ["stores=\(stores.count);;;0"]
    for (level, count) in counts.reversed() { figures.append("\(level.word.lowercased())=\(count);;;0") }
    // The one that has waited longest.
    age = stores.compactMap(\.check.age).max()
    if let age { figures.append("age=\(Self.number(age))s;;\(maximumAge.map { "\($0.seconds)" } ?? "");0") }
  }

  /// A certain failure comes before an unknown state, and that before a warning.
  private static let worstFirst: [Level] = [.critical, .unknown, .warning, .ok]
  /// A monitor shows one line.
  private static let namedMaximum = 3

  /// The level and text of the state alone.
  private static func judge(_ status: MigrationStatus) -> (Level, String) {
    let percent = ProgressLine.percent(status.percent)
    if let run = status.run, run.state != .finished {
      switch run.state {
      case .running: return (.ok, "\(run), \(percent)")
      case .stopped: return (run.isResumable ? .warning : .critical, "\(run), \(percent)")
      case .failed, .stale, .finished: return (.critical, "\(run), \(percent)")
      }
    }
    switch status.state {
    case .finished: return (.ok, "finished")
    case .outdated: return (.ok, "finished; something changed since, and the next run replaces the destination")
    case .notStarted: return (.warning, "not started")
    case .unfinished: return (.critical, "unfinished, \(percent), and no run is at work")
    case .foreign where status.changes.isEmpty:
      return (.critical, "cannot run: the destination exists, and nothing says that this job made it")
    case .foreign:
      let what = status.changes.map(\.words).joined(separator: ", ")
      return (.warning, "cannot run again: the destination exists, and \(what) changed since it was made")
    }
  }

  /// Adds the level and text of the time since the last success.
  private mutating func judge(_ status: MigrationStatus, age: Double?, _ maximum: TimeBox, now: Date) {
    let limit = Double(maximum.seconds)
    if status.run?.state == .running {
      // A run that is at work is what everybody waits for, unless it takes too long itself.
      guard let since = status.run?.since, now.timeIntervalSince(since) > limit else { return }
      raise(to: .warning, "it has been running for more than \(maximum.text)")
    } else if let age {
      if age > limit { raise(to: .critical, "the last success is more than \(maximum.text) ago") }
    } else if status.state == .finished {
      raise(to: .unknown, "nothing says when it finished")
    } else {
      raise(to: .critical, "it has never succeeded")
    }
  }

  private mutating func raise(to level: Level, _ why: String) {
    detail += "; \(why)"
    if level.rawValue > self.level.rawValue { self.level = level }
  }

  // MARK: Figures

  /// `'label'=value[unit];[warning];[critical];[least];[most]`.
  private static func figures(_ status: MigrationStatus, age: Double?, _ maximum: TimeBox?) -> [String] {
    var figures: [String] = []
    // While a run plans or commits, its ledger cannot be read.
    if status.run?.state != .running || !status.lines.isEmpty || status.percent > 0 {
      figures.append("percent=\(number(status.percent))%;;;0;100")
    }
    if let age { figures.append("age=\(number(age))s;;\(maximum.map { "\($0.seconds)" } ?? "");0") }
    if let rate = status.rowsPerSecond { figures.append("rows_per_second=\(number(rate));;;0") }
    if let left = status.secondsLeft { figures.append("seconds_left=\(number(left))s;;;0") }
    return figures
  }

  /// A number that every reader takes: digits, a point and one digit.
  private static func number(_ value: Double) -> String {
    guard value.isFinite else { return "0" }
    let tenths = Int64(min(max(value, 0), 1e15) * 10)
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}

extension TimeBox {
  /// The time in its largest unit, such as `26h`.
  fileprivate var text: String {
    if seconds % 3600 == 0 { return "\(seconds / 3600)h" }
    return seconds % 60 == 0 ? "\(seconds / 60)m" : "\(seconds)s"
  }
}
