import Foundation
import TestSupport
import Testing

/// The `godwit` executable that was built with the tests.
enum BuiltCommand {
  struct Result {
    var status: Int32
    var output: String
    var diagnostics: String
  }

  /// Beside the test bundle, whatever the folder is called.
  static let path: String? = {
    var folder = URL(filePath: CommandLine.arguments.first ?? "").deletingLastPathComponent()
    for _ in 0..<4 {
      let candidate = folder.appending(path: "godwit").path
      if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
      folder.deleteLastPathComponent()
    }
    return nil
  }()

  static func run(_ arguments: String..., in folder: String? = nil) throws -> Result {
    try run(arguments, in: folder)
  }

  static func run(_ arguments: [String], in folder: String? = nil) throws -> Result {
    try run(arguments: arguments, in: folder)
  }

  static func run(arguments: [String], in folder: String? = nil) throws -> Result {
    let process = Process()
    process.executableURL = URL(filePath: try #require(path, "the executable is not beside the tests"))
    process.arguments = arguments
    if let folder { process.currentDirectoryURL = URL(filePath: folder) }
    // Files, not pipes: no output is too long for them, and nobody has to read along.
    let scratch = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: scratch) }
    let (out, err) = (scratch.appending(path: "out"), scratch.appending(path: "err"))
    for file in [out, err] { _ = FileManager.default.createFile(atPath: file.path, contents: nil) }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: out)
    process.standardError = try FileHandle(forWritingTo: err)
    try process.start()
    process.wait()
    return Result(
      status: process.terminationStatus, output: try String(contentsOf: out, encoding: .utf8),
      diagnostics: try String(contentsOf: err, encoding: .utf8))
  }

  /// Whether the kernel tells what a process had resident.
  static let canMeasure = FileManager.default.fileExists(atPath: "/proc/self/status")

  /// The most that a process of the command had resident, in bytes, as the kernel counts it.
  ///
  /// - Parameters:
  ///   - output: The file that standard output goes to.
  ///   - statuses: The exit statuses that are expected.
  static func peakBytes(_ arguments: [String], output: String? = nil, statuses: [Int32] = [0]) throws -> Int64 {
    let process = Process()
    process.executableURL = URL(filePath: try #require(path, "the executable is not beside the tests"))
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    if let output {
      _ = FileManager.default.createFile(atPath: output, contents: nil)
      process.standardOutput = try FileHandle(forWritingTo: URL(filePath: output))
    }
    try process.start()
    var most: Int64 = 0
    while process.isRunning {
      let status = (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)) ?? ""
      // Before it runs its program, a process has the figures of the one that started it.
      let line =
        status.hasPrefix("Name:\tgodwit\n") ? status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } : nil
      most = max(most, (line.flatMap { Int64($0.filter(\.isNumber)) } ?? 0) * 1024)
      usleep(1000)
    }
    #expect(statuses.contains(process.terminationStatus), "\(arguments): \(process.terminationStatus)")
    return most
  }
}
