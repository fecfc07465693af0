import ArgumentParser
import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitCLI

/// The files that `.ci/release` packs beside the executable. `.ci/release-test` installs the packages; it does not
/// belong to these tests.
struct ReleaseTests {
  private static let files = Checkout.url(".ci/release-files")
  private static let hasPython = ["/usr/bin/python3", "/usr/local/bin/python3"]
    .contains { FileManager.default.isExecutableFile(atPath: $0) }

  /// A manual page without the escapes of roff.
  private static func page(_ name: String, in folder: TemporaryFolder) throws -> String {
    var text = try String(contentsOfFile: folder.file("man/\(name).1"), encoding: .utf8)
    for (escape, character) in [
      ("\\-", "-"), ("\\(aq", "'"), ("\\(ga", "`"), ("\\fB", ""), ("\\fI", ""), ("\\fR", ""), ("\\&", ""),
      ("\\ ", " "), ("\\e", "\\"),
    ] { text.replace(escape, with: character) }
    return text
  }

  /// The command lines under the heading EXAMPLES.
  private static func examples(of page: String) -> [String] {
    let examples = page.components(separatedBy: ".SH EXAMPLES").last ?? ""
    var lines: [String] = []
    for block in examples.components(separatedBy: ".nf\n").dropFirst() {
      let text = block.components(separatedBy: "\n.fi").first ?? ""
      lines += text.split(separator: "\n").map(String.init)
    }
    return lines.filter { $0.hasPrefix("godwit ") }
  }

  @Test(.enabled(if: ReleaseTests.hasPython))
  func `every verb has a manual page with its options, and an example that the command line accepts`() throws {
    let folder = try TemporaryFolder()
    let made = try ShellCommand.run(
      "\"$GODWIT\" --experimental-dump-help | '\(Self.files.path)/manual' man 1.2.3 2026-01-02", in: folder.path)
    try #require(made.status == 0, "\(made.diagnostics)")
    let main = try Self.page("godwit", in: folder)
    #expect(main.hasPrefix(#".TH "GODWIT" "1" "2026-01-02" "godwit 1.2.3""#))
    for heading in ["EXIT STATUS", "SIGNALS", "FILES", "ENVIRONMENT", "EXAMPLES"] {
      #expect(main.contains("\n.SH \(heading)\n"), "\(heading)")
    }
    let statuses = try #require(main.components(separatedBy: ".SH EXIT STATUS\n").last)
    for code in (0...255).compactMap(GodwitError.Code.init(rawValue:)) {
      #expect(
        statuses.contains(".TP\n\(code.rawValue)\n") || statuses.contains("\n130, 143\n") && code.rawValue > 128,
        "\(code)")
    }
    #expect(Self.examples(of: main).count >= 4)
    for verb in RootCommand.verbs {
      let name = try #require(verb.configuration.commandName)
      #expect(main.contains("godwit-\(name)(1)"))
      let page = try Self.page("godwit-\(name)", in: folder)
      let examples = Self.examples(of: page)
      #expect(examples.count == 1)
      for example in examples + Self.examples(of: main) {
        let words = example.split(separator: " ").map { $0.trimmingCharacters(in: ["'"]) }
        // A space within quotes makes two words here.
        guard !example.contains("'") else { continue }
        #expect(throws: Never.self, "\(example)") { try RootCommand.parseAsRoot(Array(words.dropFirst())) }
      }
      for command in [verb] + verb.configuration.subcommands where command.configuration.subcommands.isEmpty {
        let options = RootCommand.helpMessage(for: command).split(separator: "\n")
          .compactMap { $0.wholeMatch(of: #/  (?:-\w, )?(--[a-z-]+).*/#)?.1 }
          .filter { !["--help", "--version"].contains($0) }
        for option in options { #expect(page.contains(option), "\(name) \(option)") }
      }
    }
  }

  @Test func `every pinned dependency and every one of Package.swift has a licence and a pin`() throws {
    struct Pins: Decodable {
      struct Pin: Decodable { let identity: String }
      let pins: [Pin]
    }
    struct Component: Decodable {
      let name, licence: String
      let identity, text: String?
    }
    let decoder = JSONDecoder()
    let pins = try decoder.decode(Pins.self, from: Data(contentsOf: Self.files.appending(path: "dependencies.json")))
    let components = try decoder.decode(
      [Component].self, from: Data(contentsOf: Self.files.appending(path: "components.json")))
    let pinned = Set(pins.pins.map(\.identity))
    #expect(pinned == Set(components.compactMap(\.identity)))
    for line in try Checkout.text("Package.swift").split(separator: "\n") where line.hasPrefix("    .package(url:") {
      let address = try #require(line.split(separator: "\"").dropFirst().first)
      #expect(pinned.contains(String(address.split(separator: "/").last ?? "").lowercased()), "\(line)")
    }
    for component in components {
      #expect(!component.licence.isEmpty)
      guard let text = component.text else { continue }
      #expect(try Checkout.text(".ci/release-files/licences/\(text)").count > 500, "\(component.name)")
    }
  }

  @Test func `changes and the page Getting started name the version of the command`() throws {
    let version = GodwitCommand.version
    let changes = try Checkout.text("Sources/Godwit/Godwit.docc/Changes.md")
    #expect(changes.split(separator: "\n").first { $0.hasPrefix("## ") } == "## \(version)")
    let page = try Checkout.text("Sources/Godwit/Godwit.docc/GettingStarted.md")
    #expect(page.contains("`godwit_\(version)_amd64.deb`") && page.contains("`godwit-\(version)-linux-x86_64.tar.gz`"))
    #expect(page.contains("$ godwit --version\ngodwit \(version)\n"))
  }

  /// The release test takes its commands from there.
  @Test func `the README tells how to run, look at and verify the first job`() throws {
    let readme = try Checkout.text("README.md")
    for verb in ["run", "inspect", "verify"] { #expect(readme.contains("swift run godwit \(verb) jobs/peoplizer/")) }
    #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 121)
  }
}
