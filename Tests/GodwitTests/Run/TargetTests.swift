import Foundation
import TestSupport
import Testing

/// `Package.swift` read from top to bottom tells the story of a job: a target imports only what stands above it.
@Suite struct TargetTests {
  private struct Target {
    var name: String
    var dependencies: [String]
  }

  /// The targets under `Sources`, in the order of the manifest.
  private func targets() throws -> [Target] {
    let package = try Checkout.text("Package.swift")
    let pattern = /\.(?:target|executableTarget)\(\s*name: "([\w-]+)",\s*dependencies: \[(.*?)\](?:,|\))/
      .dotMatchesNewlines()
    return package.matches(of: pattern).compactMap { match in
      let name = String(match.output.1)
      guard FileManager.default.fileExists(atPath: Checkout.url("Sources/\(name)").path) else {
        return nil
      }
      // Products of other packages are written in calls.
      let own = String(match.output.2).replacing(/\.product\(.*?\)/, with: "")
      return Target(name: name, dependencies: own.matches(of: /"([\w-]+)"/).map { String($0.output.1) })
    }
  }

  private func files(of target: String) throws -> [String] { try files(under: "Sources/\(target)") }

  private func files(under folder: String) throws -> [String] {
    let walk = try #require(FileManager.default.enumerator(atPath: Checkout.url(folder).path))
    return walk.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted()
  }

  private func imports(of file: String) throws -> Set<String> {
    var modules: Set<String> = []
    for line in try Checkout.text(file).split(separator: "\n") where line.contains("import ") {
      // `package import GodwitModel`, or `import struct Foundation.URL`.
      let words = line.split(separator: " ")
      guard let place = words.prefix(3).firstIndex(of: "import"), !line.hasPrefix("//"), !line.hasPrefix(" ") else {
        continue
      }
      let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
      let name = words.dropFirst(place + 1).first { !kinds.contains($0) }
      if let module = name?.split(separator: ".").first { modules.insert(String(module)) }
    }
    return modules
  }

  /// Whether a line begins a public declaration that readers of the library see.
  private static func declaresPublic(_ line: Substring) -> Bool {
    let modifiers: Set<Substring> = ["final", "static", "mutating", "indirect", "convenience"]
    let keywords: Set<Substring> = [
      "struct", "class", "enum", "protocol", "actor", "typealias", "func", "var", "let", "init", "subscript",
    ]
    var words = line.split(separator: " ").drop { $0.hasPrefix("@") }
    guard words.popFirst() == "public" else { return false }
    words = words.drop { modifiers.contains($0) || $0.hasSuffix("(set)") }
    return words.first.map { keywords.contains($0.prefix { $0.isLetter }) } ?? false
  }

  @Test func `every public declaration has a doc comment`() throws {
    var count = 0
    for target in try targets() {
      for file in try files(of: target.name) {
        let text = try Checkout.text("Sources/\(target.name)/\(file)")
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where line.contains("public ") {
          guard Self.declaresPublic(line) else { continue }
          count += 1
          let above = lines[..<index].last { !$0.drop { $0 == " " }.hasPrefix("@") }
          #expect(above?.drop { $0 == " " }.hasPrefix("///") == true, "\(target.name)/\(file):\(index + 1): \(line)")
        }
      }
    }
    #expect(count > 250)
  }

  @Test func `a target depends only on targets listed above it, and imports no other target of the package`() throws {
    let targets = try targets()
    #expect(targets.count > 15)
    var above: Set<String> = ["CSQLite", "CLZ4", "CZlib", "CNettle", "CPosix"]
    for target in targets {
      #expect(Set(target.dependencies).subtracting(above) == [], "\(target.name) depends on what stands below it")
      for file in try files(of: target.name) {
        let own = try imports(of: "Sources/\(target.name)/\(file)").filter { name in
          targets.contains { $0.name == name }
        }
        #expect(own.subtracting(target.dependencies) == [], "\(target.name)/\(file)")
      }
      above.insert(target.name)
    }
  }

  @Test func `one file imports the C library, and code outside it makes no call that only Linux has`() throws {
    let modules: Set<String> = ["Glibc", "Musl", "Darwin", "CPosix", "FoundationXML", "FoundationNetworking"]
    let words = [
      "import Glibc", "import Musl", "import Darwin", "canImport(Glibc)", "canImport(Musl)", "os(Linux)", "Glibc.",
      "Musl.", "fsync(", "fdatasync(", "fallocate(",
      "st_mtim", "xattr(", "sigtimedwait", "sigwaitinfo", "posix_spawn", "pthread_create", "environ)", "FICLONE",
      "O_TMPFILE", "renameat2", "sendfile(", "copy_file_range", "prctl(", "sched_", "\"/proc/",
    ]
    var found: [String] = []
    for target in try targets() {
      for file in try files(of: target.name) {
        let path = "Sources/\(target.name)/\(file)"
        if !(try imports(of: path)).isDisjoint(with: modules) { found.append("\(path) imports") }
        // `CLibrary.sync` and the like have other names.
        let text = try Checkout.text(path)
        for word in words where text.contains(word) { found.append("\(path) \(word)") }
      }
    }
    let expected = ["imports", "import Glibc", "import Musl", "import Darwin", "canImport(Musl)"]
    // Linux says there how much memory a process has.
    let memory = "Sources/GodwitJob/Report/ProcessMemory.swift \"/proc/"
    #expect(Set(found) == Set(expected.map { "Sources/GodwitPlatform/CLibrary.swift \($0)" } + [memory]))
  }

  @Test func `FoundationXML is imported only where it can be`() throws {
    for folder in ["Sources", "Tests", "jobs"] {
      let walk = try #require(FileManager.default.enumerator(atPath: Checkout.url(folder).path))
      for case let file as String in walk where file.hasSuffix(".swift") {
        let lines = try Checkout.text("\(folder)/\(file)").split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where line.hasSuffix("import FoundationXML") {
          #expect(index > 0 && lines[index - 1] == "#if canImport(FoundationXML)", "\(folder)/\(file):\(index + 1)")
        }
      }
    }
  }

  @Test func `the verifier cannot import the targets that move data`() throws {
    let targets = Dictionary(uniqueKeysWithValues: try targets().map { ($0.name, $0.dependencies) })
    var reached: Set<String> = []
    var open = ["GodwitVerifier"]
    while let name = open.popLast() {
      for next in targets[name] ?? [] where reached.insert(next).inserted { open.append(next) }
    }
    #expect(reached.contains("GodwitStore"))
    #expect(reached.isDisjoint(with: ["GodwitLowering", "GodwitEngine", "GodwitInPlace", "GodwitSpill", "Godwit"]))
  }

  @Test(arguments: ["Sources", "Tests"]) func `no folder holds more than 25 files`(root: String) throws {
    let folders = Dictionary(grouping: try files(under: root)) { ($0 as NSString).deletingLastPathComponent }
    #expect(folders.count > 20)
    for (folder, files) in folders { #expect(files.count <= 25, "\(root)/\(folder) holds \(files.count) files") }
  }

  @Test func `no target holds a third of the code`() throws {
    var lines: [String: Int] = [:]
    for target in try targets() {
      for file in try files(of: target.name) {
        lines[target.name, default: 0] += try Checkout.text("Sources/\(target.name)/\(file)").split(separator: "\n")
          .count
      }
    }
    let whole = lines.values.reduce(0, +)
    for (name, count) in lines { #expect(count * 3 < whole, "\(name) holds \(count) of \(whole) lines") }
  }
}
