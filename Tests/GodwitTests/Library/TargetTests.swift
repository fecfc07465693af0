import Foundation
import TestSupport
import Testing

/// The house: nine targets on six floors with one wall, and a workshop.
@Suite struct TargetTests {
  private struct Target {
    var name: String
    /// Where it lies.
    var folder: String
    var dependencies: [String]
  }

  /// The floors, the lowest first. The targets of one floor do not know each other.
  private static let floors = [
    ["GodwitModel"], ["GodwitXcode", "GodwitStore"], ["GodwitJob"],
    ["GodwitEngine", "GodwitVerifier", "GodwitManifest"], ["Godwit"], ["GodwitCLI"],
  ]
  /// The targets that no migration needs. The command alone imports them.
  private static let workshop = ["GodwitSynthesis", "GodwitTesting", "GodwitLint", "GodwitSalvage"]

  /// The targets under `Sources`, in the order of the manifest.
  private func targets() throws -> [Target] {
    let package = try Checkout.text("Package.swift")
    let pattern =
      /\.(?:target|executableTarget)\(\s*name: "([\w-]+)",\s*dependencies: \[(.*?)\](?:,|\))(?:\s*path: "(.*?)")?/
      .dotMatchesNewlines()
    return package.matches(of: pattern).compactMap { match in
      let name = String(match.output.1)
      let folder = match.output.3.map(String.init) ?? "Sources/\(name)"
      guard folder.hasPrefix("Sources/"), FileManager.default.fileExists(atPath: Checkout.url(folder).path) else {
        return nil
      }
      // Products of other packages are written in calls.
      let own = String(match.output.2).replacing(/\.product\(.*?\)/, with: "")
      return Target(name: name, folder: folder, dependencies: own.matches(of: /"([\w-]+)"/).map { String($0.output.1) })
    }
  }

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
      for file in try files(under: target.folder) {
        let text = try Checkout.text("\(target.folder)/\(file)")
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where line.contains("public ") {
          guard Self.declaresPublic(line) else { continue }
          count += 1
          let above = lines[..<index].last { !$0.drop { $0 == " " }.hasPrefix("@") }
          #expect(above?.drop { $0 == " " }.hasPrefix("///") == true, "\(target.folder)/\(file):\(index + 1): \(line)")
        }
      }
    }
    #expect(count > 250)
  }

  @Test func `a target imports targets of lower floors alone`() throws {
    let targets = try targets()
    let floors = Self.floors.enumerated().flatMap { floor, names in names.map { ($0, floor) } }
    let known = Dictionary(uniqueKeysWithValues: floors + Self.workshop.map { ($0, Self.floors.count - 1) })
    #expect(Set(targets.map(\.name)) == Set(known.keys).union(["godwit-tool"]))
    for target in targets where target.name != "godwit-tool" {
      let floor = try #require(known[target.name])
      #expect(target.folder.hasPrefix("Sources/Workshop/") == Self.workshop.contains(target.name))
      let above = target.dependencies.filter { known[$0].map { $0 >= floor } ?? false }
      #expect(above.allSatisfy { target.name == "GodwitCLI" && Self.workshop.contains($0) }, "\(target.name): \(above)")
      for file in try files(under: target.folder) {
        let own = try imports(of: "\(target.folder)/\(file)").filter { known[$0] != nil }
        #expect(own.subtracting(target.dependencies) == [], "\(target.folder)/\(file)")
      }
    }
  }

  @Test func `each target has a page for newcomers`() throws {
    for target in try targets() where target.name != "godwit-tool" {
      #expect(try Checkout.text("\(target.folder)/README.md").hasPrefix("# \(target.name)\n"), "\(target.name)")
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
      for file in try files(under: target.folder) {
        let path = "\(target.folder)/\(file)"
        if !(try imports(of: path)).isDisjoint(with: modules) { found.append("\(path) imports") }
        // `CLibrary.sync` and the like have other names.
        let text = try Checkout.text(path)
        for word in words where text.contains(word) { found.append("\(path) \(word)") }
      }
    }
    let expected = ["imports", "import Glibc", "import Musl", "import Darwin", "canImport(Musl)"]
    // Linux says there how much memory a process has.
    let memory = "Sources/GodwitJob/Report/ProcessMemory.swift \"/proc/"
    #expect(Set(found) == Set(expected.map { "Sources/GodwitModel/Platform/CLibrary.swift \($0)" } + [memory]))
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
    #expect(reached.isDisjoint(with: ["GodwitEngine", "GodwitManifest", "Godwit"]))
  }

  @Test(arguments: ["Sources", "Tests"]) func `no folder holds more than 25 files`(root: String) throws {
    let folders = Dictionary(grouping: try files(under: root)) { ($0 as NSString).deletingLastPathComponent }
    #expect(folders.count > 20)
    for (folder, files) in folders { #expect(files.count <= 25, "\(root)/\(folder) holds \(files.count) files") }
  }

  @Test func `no target holds a third of the code`() throws {
    var lines: [String: Int] = [:]
    for target in try targets() {
      for file in try files(under: target.folder) {
        lines[target.name, default: 0] += try Checkout.text("\(target.folder)/\(file)").split(separator: "\n")
          .count
      }
    }
    let whole = lines.values.reduce(0, +)
    for (name, count) in lines { #expect(count * 3 < whole, "\(name) holds \(count) of \(whole) lines") }
  }
}
