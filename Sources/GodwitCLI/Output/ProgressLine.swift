import GodwitJob
import GodwitModel

/// The text of progress.
enum ProgressLine {
  /// One line without its line end.
  static func plain(_ progress: MigrationProgress) -> String {
    var words = [
      percent(progress.percent), "step \(progress.step)/\(progress.steps)",
      "pass \(progress.pass)/\(progress.passes)",
    ]
    if !progress.name.isEmpty { words.append(progress.name) }
    if !progress.stage.isEmpty { words.append(progress.stage) }
    words.append("chunk \(progress.chunk)/\(progress.chunks)")
    if progress.totalRows > 0 {
      words += ["rows \(progress.rows)/\(progress.totalRows)", "\(whole(progress.rowsPerSecond)) rows/s"]
    }
    words += ["eta \(eta(progress.secondsLeft))", "rss \(ByteCount(bytes: progress.residentBytes))"]
    return words.joined(separator: " ")
  }

  /// `[#####.....]  50.0%  412000 rows/s  eta 00:00:21`, cut to the width of the terminal.
  static func bar(_ progress: MigrationProgress, columns: Int) -> String {
    let speed = progress.totalRows > 0 ? " \(whole(progress.rowsPerSecond)) rows/s" : ""
    let tail =
      " \(percent(progress.percent))\(speed) eta \(eta(progress.secondsLeft))"
      + (progress.name.isEmpty ? "" : " \(progress.name)")
    let width = max(0, min(30, columns - tail.count - 3))
    let filled = whole(clamped(progress.percent) / 100 * Double(width))
    let bar = String(repeating: "#", count: Int(filled)) + String(repeating: ".", count: width - Int(filled))
    return String(("[\(bar)]" + tail).prefix(max(1, columns - 1)))
  }

  /// One decimal, truncated, not rounded: 99.99 is not yet `100.0%`.
  static func percent(_ value: Double) -> String {
    let tenths = whole(clamped(value) * 10)
    return "\(tenths / 10).\(tenths % 10)%"
  }

  /// `HH:MM:SS`, with as many hours as it takes; dashes while nothing is known.
  static func eta(_ seconds: Double?) -> String {
    guard let seconds, seconds.isFinite, seconds < 3.6e9 else { return "--:--:--" }
    let all = whole(seconds.rounded(.up))
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(two(all / 3600)):\(two(all / 60 % 60)):\(two(all % 60))"
  }

  private static func clamped(_ percent: Double) -> Double { percent >= 0 ? min(percent, 100) : 0 }

  /// A whole number for printing; 0 for what is none.
  private static func whole(_ value: Double) -> Int64 { value >= 0 && value < 1e18 ? Int64(value) : 0 }
}
