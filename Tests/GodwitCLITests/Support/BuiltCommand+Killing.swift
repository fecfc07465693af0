import Foundation
import TestSupport
import Testing

/// Commands at work beside a test, and commands that are killed.
extension BuiltCommand {
  /// A command at work, and the pipe that it writes its output into.
  struct Running: Sendable {
    let process: Process
    let output: Pipe

    /// The next bytes of the output; none at its end.
    func next() -> Data { output.fileHandleForReading.availableData }

    /// Reads until the output has a text, or ends.
    func waitForOutput(_ text: String) {
      var found = ""
      while !found.contains(text), process.isRunning { found += String(decoding: next(), as: UTF8.self) }
    }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits for the end.
    ///
    /// - Returns: the rest of the output.
    @discardableResult func wait() -> String {
      let rest = output.fileHandleForReading.readDataToEndOfFile()
      process.wait()
      return String(decoding: rest, as: UTF8.self)
    }
  }

  /// Starts `run JOB --progress json`. Messages go nowhere.
  static func startRun(_ manifest: String, _ arguments: [String] = []) throws -> Running {
    let process = Process()
    process.executableURL = URL(filePath: try #require(path, "the executable is not beside the tests"))
    process.arguments = ["run", manifest, "--progress", "json"] + arguments
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.start()
    return Running(process: process, output: output)
  }

  /// Kills a run with SIGKILL once it has written so many lines, and some seconds later.
  ///
  /// - Returns: whether it ended by itself.
  static func runAndKill(_ manifest: String, afterLines limit: Int = 0, seconds: Double = 0) throws -> Bool {
    let run = try startRun(manifest)
    var lines = 0
    while lines < limit {
      let data = run.next()
      if data.isEmpty { break }
      lines += data.count { $0 == 0x0A }
    }
    if seconds > 0 { Thread.sleep(forTimeInterval: seconds) }
    run.send(SIGKILL)
    run.wait()
    return run.process.terminationReason == .exit
  }
}
