import Foundation
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
    if !progress.name.isEmpty { words.append(progress.name.onOneLine) }
    if !progress.stage.isEmpty { words.append(progress.stage) }
    words.append("chunk \(progress.chunk)/\(progress.chunks)")
    if progress.totalRows > 0 {
      words += ["rows \(progress.rows)/\(progress.totalRows)", "\(whole(progress.rowsPerSecond)) rows/s"]
    }
    words += ["eta \(eta(progress.secondsLeft))", "rss \(ByteCount(bytes: progress.residentBytes))"]
    return words.joined(separator: " ")
  }

  /// The same with the time, as a line of a log has it.
  static func plain(_ progress: MigrationProgress, at time: Date) -> String { plain(progress) + " " + stamp(time) }

  /// RFC 3339 in UTC, to the second.
  static func stamp(_ time: Date) -> String {
    DateText.text(time.timeIntervalSinceReferenceDate.rounded(.down)).replacing(".000000Z", with: "Z")
  }

  /// `[#####.....] 50.0% eta 00:00:21 1.25M/10M rows PersonToAdult create 412k rows/s step 1/1 58 MiB`.
  ///
  /// A narrow terminal shows fewer parts: the last ones are left out first.
  static func bar(_ progress: MigrationProgress, columns: Int) -> [TerminalStyle.Span] {
    let room = max(1, columns - 1)
    var words = ["eta \(eta(progress.secondsLeft))"]
    if progress.totalRows > 0 {
      words.append("\(short(Double(progress.rows)))/\(short(Double(progress.totalRows))) rows")
    }
    if !progress.name.isEmpty { words.append("\(cut(progress.name.onOneLine)) \(progress.stage)") }
    if progress.totalRows > 0 { words.append("\(short(progress.rowsPerSecond)) rows/s") }
    words.append("step \(progress.step)/\(progress.steps)")
    words.append("\(progress.residentBytes / (1 << 20)) MiB")
    let number = percent(progress.percent)
    // The bar itself has ten columns at least, before anything but percent and time.
    var used = number.count + 1
    var tail: [String] = []
    for word in words {
      guard used + word.count + 1 + barColumns.lowerBound + 2 <= room else { break }
      tail.append(word)
      used += word.count + 1
    }
    // By fives, so that a longer number does not move the end of the bar.
    let width = min(barColumns.upperBound, (room - used - 2) / 5 * 5)
    guard width >= barColumns.lowerBound else { return [.init(text: String(number.prefix(room)), role: .number)] }
    let filled = Int(whole(clamped(progress.percent) / 100 * Double(width)))
    return [
      .init(text: "["), .init(text: String(repeating: "#", count: filled), role: .done),
      .init(text: String(repeating: ".", count: width - filled) + "] "), .init(text: number, role: .number),
      .init(text: tail.map { " " + $0 }.joined()),
    ]
  }

  private static let barColumns = 10...30

  /// The beginning and the end of a long name, so that a bar of eighty columns has it.
  private static func cut(_ name: String) -> String {
    name.count > nameColumns ? "\(name.prefix(nameColumns / 2))…\(name.suffix(nameColumns / 2 - 1))" : name
  }

  private static let nameColumns = 22

  /// A count in at most five characters, rounded down: 999, 12.3k, 456k, 1.25M.
  static func short(_ value: Double) -> String {
    var number = Double(whole(value))
    var unit = ""
    for next in ["k", "M", "G", "T"] where number >= 1000 { (number, unit) = (number / 1000, next) }
    guard !unit.isEmpty else { return "\(whole(number))" }
    let scale = number < 10 ? 100.0 : number < 100 ? 10 : 1
    let cut = (number * scale).rounded(.down) / scale
    let text = cut == cut.rounded() ? "\(whole(cut))" : "\(cut)"
    return text + unit
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
