import Foundation
import TestSupport
import Testing

/// Swift's compiler, which checks Swift code that Godwit prints or shows against the modules of this build.
enum TypeChecker {
  /// The modules of the build that the tests are part of.
  private static let build: URL? = {
    let folder = Checkout.url(".build")
    let modules = folder.appending(path: "debug/Modules/GodwitCLI.swiftmodule").path
    return FileManager.default.fileExists(atPath: modules) ? folder : nil
  }()

  private static let compiler: String? = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":")
    .map { "\($0)/swiftc" }.first(where: FileManager.default.isExecutableFile)

  /// Whether there is a compiler, and a build beside the sources.
  static var isAvailable: Bool { build != nil && compiler != nil }

  /// The compiler's complaint about a file in which warnings are errors; nil if it accepts the file.
  static func errors(in file: String, _ options: String...) throws -> String? {
    let (build, compiler) = (try #require(build), try #require(compiler))
    let manager = FileManager.default
    var maps: [String] = []
    for root in [build.appending(path: "checkouts").path, build.deletingLastPathComponent().path] {
      let packages = root.hasSuffix("checkouts") ? (try? manager.contentsOfDirectory(atPath: root)) ?? [] : [""]
      for package in packages {
        let sources = root + "/" + package + "/Sources"
        for target in (try? manager.contentsOfDirectory(atPath: sources)) ?? [] {
          maps += ["include/module.modulemap", "module.modulemap"].map { "\(sources)/\(target)/\($0)" }
            .filter(manager.fileExists)
        }
      }
    }
    let process = Process()
    process.executableURL = URL(filePath: compiler)
    var arguments = ["-typecheck", "-swift-version", "6", "-warnings-as-errors"] + options
    arguments += ["-I", build.appending(path: "debug/Modules").path]
    for map in maps { arguments += ["-Xcc", "-fmodule-map-file=\(map)"] }
    process.arguments = arguments + [file]
    let errors = Pipe()
    process.standardError = errors
    try process.start()
    let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.wait()
    return process.terminationStatus == 0 ? nil : text
  }
}
