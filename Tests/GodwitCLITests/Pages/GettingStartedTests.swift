import Foundation
import TestSupport
import Testing

/// The page Getting started says what happens: its commands are run, and its manifest has lines that `init` writes.
struct GettingStartedTests {
  /// The texts of the page's blocks in one language.
  static func blocks(_ language: String, of page: String) -> [String] {
    page.components(separatedBy: "\n```\(language)\n").dropFirst().map { String($0.prefix(upTo: end(of: $0))) }
  }

  private static func end(of block: String) -> String.Index {
    block.range(of: "\n```")?.lowerBound ?? block.endIndex
  }

  /// The files of the reader: a store, a bundle and mapping models beside it.
  static func folder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder("godwit-started")
    let jobs = Checkout.url("jobs/peoplizer")
    for name in try FileManager.default.contentsOfDirectory(atPath: jobs.path)
    where name == "stores" || name.hasSuffix(".mapping.yaml") || name.hasSuffix(".xcdatamodeld") {
      try FileManager.default.copyItem(at: jobs.appending(path: name), to: URL(filePath: folder.file(name)))
    }
    try FileManager.default.copyItem(
      atPath: folder.file("stores/people-3.sqlite"), toPath: folder.file("people.sqlite"))
    return folder
  }

  static func run(_ script: String, in folder: TemporaryFolder) throws -> BuiltCommand.Result {
    try ShellCommand.run("godwit() { \"$GODWIT\" \"$@\"; }; set -e\n" + script, in: folder.path)
  }

  @Test func `the commands of the page do what it says`() throws {
    let folder = try Self.folder()
    let page = try Checkout.text("Sources/Godwit/Godwit.docc/GettingStarted.md")
    let scripts = Self.blocks("sh", of: page)
    #expect(scripts.count == 3)
    for script in scripts {
      let result = try Self.run(script, in: folder)
      #expect(result.status == 0, "\(script): \(result.diagnostics)")
    }
    // The page leaves out some comments, and keeps the order.
    let written = try String(contentsOfFile: folder.file("job.yaml"), encoding: .utf8)
    var rest = written.split(separator: "\n")[...]
    for line in try #require(Self.blocks("yaml", of: page).first).split(separator: "\n") {
      rest = rest.drop { $0 != line }
      #expect(rest.popFirst() == line)
    }
    for made in ["people-migrated.sqlite", "people-4.sqlite", "new/people-1.sqlite"] {
      #expect(FileManager.default.fileExists(atPath: folder.file(made)), "\(made)")
    }
  }

  @Test func `the minute of the README works, and its manifest is what init writes but for comments`() throws {
    let folder = try Self.folder()
    let page = try #require(try Checkout.text("README.md").components(separatedBy: "\n## One minute").dropFirst().first)
    let script = try #require(Self.blocks("sh", of: page).first)
    let result = try Self.run(script, in: folder)
    #expect(result.status == 0, "\(result.diagnostics)")
    let written = try String(contentsOfFile: folder.file("job.yaml"), encoding: .utf8).split(separator: "\n")
    for line in try #require(Self.blocks("yaml", of: page).first).split(separator: "\n") {
      #expect(written.contains(line), "\(line)")
    }
  }
}
