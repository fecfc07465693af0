import Foundation
import TestSupport
import Testing

/// A script of the shell's in which `$GODWIT` is the built command, for what depends on descriptors, limits and umask.
enum ShellCommand {
  static func run(_ script: String, in folder: String) throws -> BuiltCommand.Result {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", script]
    process.currentDirectoryURL = URL(filePath: folder)
    var environment = ProcessInfo.processInfo.environment
    let command = try #require(BuiltCommand.path, "the executable is not beside the tests")
    environment["GODWIT"] = command
    process.environment = environment
    let scratch = try TemporaryFolder("godwit-streams")
    let (out, err) = (URL(filePath: scratch.file("out")), URL(filePath: scratch.file("err")))
    for file in [out, err] { _ = FileManager.default.createFile(atPath: file.path, contents: nil) }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: out)
    process.standardError = try FileHandle(forWritingTo: err)
    try process.start()
    process.wait()
    return BuiltCommand.Result(
      status: process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus,
      output: try String(contentsOf: out, encoding: .utf8), diagnostics: try String(contentsOf: err, encoding: .utf8))
  }
}
