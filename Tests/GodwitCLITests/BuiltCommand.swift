import Foundation
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
    try process.run()
    process.waitUntilExit()
    return Result(
      status: process.terminationStatus, output: try String(contentsOf: out, encoding: .utf8),
      diagnostics: try String(contentsOf: err, encoding: .utf8))
  }
}
