import Foundation
import Godwit

/// Time and memory of whole migrations beside the same work done by other means.
///
///     MigrationBenchmark make WORKLOAD FILE ROWS     a source store
///     MigrationBenchmark WAY WORKLOAD FILE [MIB] [receipt] [unchecked]
///                                                    one way, to FILE-WAY, in a process of its own
///     MigrationBenchmark compare WORKLOAD ROWS [TIMES]
///     MigrationBenchmark pages everything FILE
///
/// `compare` runs every way of a workload in turn, so many times, and prints the best time of each, its ratio to
/// hand-written SQL, and the peak of resident memory.
@main struct MigrationBenchmark {
  static var workloads: [any Workload.Type] {
    [
      People.self, PeopleByExpression.self, PeopleByPolicy.self, Associations.self, Firms.self, Documents.self,
      Everything.self, Lightweight.self, Proof.self, Pairs.self, UniqueCards.self, OrderedCards.self,
      UppercaseCards.self, MethodCards.self, DateCards.self, DateTextCards.self, UUIDCards.self,
    ]
  }

  static func main() throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard arguments.count >= 3, let workload = workloads.first(where: { $0.name == arguments[1] }) else { usage() }
    let start = Date()
    switch arguments[0] {
    case "compare":
      return try compare(workload, rows: Int64(arguments[2]) ?? 100_000, times: Int(arguments.last ?? "") ?? 3)
    case "pages": return try PageSpike.run(source: arguments[2])
    case "make": try workload.make(arguments[2], rows: arguments.count > 3 ? Int64(arguments[3]) ?? 0 : 100_000)
    default:
      guard let way = Way(rawValue: arguments[0]), workload.ways.contains(way) else { usage() }
      let output = arguments[2] + "-" + way.rawValue
      for suffix in ["", "-wal", "-journal", ".receipt.json"] {
        try? FileManager.default.removeItem(atPath: output + suffix)
      }
      try workload.run(
        way, from: arguments[2], to: output,
        memory: .mebibytes(arguments.count > 3 ? Int64(arguments[3]) ?? 64 : 64))
    }
    print("\(arguments[0]) \(String(format: "%.3f", Date().timeIntervalSince(start))) s, peak \(peakMebibytes()) MiB")
  }

  private static func usage() -> Never {
    let names = workloads.map { "\($0.name): \($0.ways.map(\.rawValue).joined(separator: " "))" }
    print(
      """
      usage: MigrationBenchmark make WORKLOAD FILE ROWS | WAY WORKLOAD FILE [MIB] | compare WORKLOAD ROWS [TIMES]
      workloads and ways:
        \(names.joined(separator: "\n  "))
      """)
    exit(64)
  }

  private static func peakMebibytes() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) / 1024
  }

  // MARK: Side by side

  private static func compare(_ workload: any Workload.Type, rows: Int64, times: Int) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "benchmark-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "source.sqlite").path
    _ = try measure(["make", workload.name, file, "\(rows)"])
    var best: [Way: (seconds: Double, peak: Int)] = [:]
    for _ in 0..<times {
      for way in workload.ways {
        let found = try measure([way.rawValue, workload.name, file])
        let known = best[way]
        best[way] = (min(known?.seconds ?? .infinity, found.seconds), max(known?.peak ?? 0, found.peak))
      }
    }
    let floor = best[.sql]?.seconds ?? .nan
    print("\(workload.name), \(rows) rows, best of \(times)")
    for way in workload.ways {
      guard let (seconds, peak) = best[way] else { continue }
      let name = way.rawValue.padding(toLength: 8, withPad: " ", startingAt: 0)
      print("  \(name) \(String(format: "%8.3f s  %5.2f", seconds, seconds / floor))  \(peak) MiB")
    }
  }

  /// Runs this program with other arguments, and reads its last line.
  private static func measure(_ arguments: [String]) throws -> (seconds: Double, peak: Int) {
    let process = Process()
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let words = output.split(separator: "\n").last?.split(separator: " ") ?? []
    guard process.terminationStatus == 0, words.count >= 6, let seconds = Double(words[1]), let peak = Int(words[4])
    else {
      print("failed: \(arguments.joined(separator: " "))\n\(output)")
      exit(1)
    }
    return (seconds, peak)
  }
}
