import Foundation
import GodwitModel
import Logging
import TestSupport
import Testing

@testable import GodwitManifest

/// Patterns for many stores, and where their jobs write.
struct StorePatternTests {
  @Test(arguments: [
    ("*.sqlite", "a.sqlite", true), ("*.sqlite", "a.sqlite-wal", false), ("*", ".a", false), (".*", ".a", true),
    ("?.s", "é.s", true), ("?.s", "ab.s", false), ("[a-c]x", "bx", true), ("[!a-c]x", "bx", false),
    ("[^a-c]x", "dx", true), ("[]a]x", "]x", true), ("[*]x", "*x", true), ("[*]x", "ax", false), ("a[x", "a[x", true),
    ("a*b*c", "aXbYbZc", true), ("a*b*c", "aXbY", false), ("**", "abc", true), ("", "", true), ("[a-]x", "-x", true),
    ("*a", "aaa", true), ("{name}", "{name}", true), ("a\nb*", "a\nbc", true),
    ("a\r\nb*", "a\r\nbc", true), ("a\r*", "a\r\nb", false), ("e*", "e\u{301}x", false), ("a*b", "ab", true),
  ])
  func `names match as in a shell`(pattern: String, name: String, matches: Bool) {
    #expect(NamePattern(pattern).matches(name) == matches, "\(pattern) \(name)")
  }

  @Test func `a bracket without its end is not a pattern`() {
    #expect(!StorePattern.isPattern("a[b.sqlite") && !StorePattern.isPattern("dir/x.sqlite"))
    #expect(StorePattern.isPattern("a*/x") && StorePattern.isPattern("x/[ab].s") && StorePattern.isPattern("**/x"))
  }

  static func touch(_ folder: TemporaryFolder, _ names: String...) throws {
    for name in names {
      let url = URL(filePath: folder.file(name))
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data("x".utf8).write(to: url)
    }
  }

  private static func found(_ folder: TemporaryFolder, _ pattern: String) throws -> [String] {
    try StorePattern(folder.file(pattern)).files().map { String($0.path.dropFirst(folder.path.count + 1)) }
  }

  /// Makes a file, or a folder, whose name has bytes that are no UTF-8.
  private static func make(_ folder: TemporaryFolder, _ name: [UInt8], isFolder: Bool = false) throws {
    let path = Array(folder.file("s/").utf8) + name + [0]
    let isMade = path.map { CChar(bitPattern: $0) }.withUnsafeBufferPointer { bytes in
      guard let start = bytes.baseAddress else { return false }
      if isFolder { return mkdir(start, 0o755) == 0 }
      let file = open(start, O_CREAT | O_WRONLY, 0o644)
      return file >= 0 && close(file) == 0
    }
    try #require(isMade)
  }

  @Test func `a name that is not UTF-8 is refused only where the pattern leads`() throws {
    let folder = try TemporaryFolder()
    try Self.touch(folder, "s/a.sqlite", "s/eu/b.sqlite")
    try Self.make(folder, Array("brief".utf8) + [0xE4] + Array(".txt".utf8))
    #expect(try Self.found(folder, "s/**/*.sqlite") == ["s/a.sqlite", "s/eu/b.sqlite"])
    #expect(try Self.found(folder, "s/*/*.sqlite") == ["s/eu/b.sqlite"])
    func refused(_ pattern: String) throws -> [String] {
      var refused: [String] = []
      func refuse(_ path: String, _ error: GodwitError) {
        #expect(error.code == .missingInput)
        refused.append(String(path.dropFirst(folder.path.count + 1)))
      }
      try StorePattern(folder.file(pattern)).forEachFile(unreadable: refuse) { _ in }
      return refused.sorted()
    }
    #expect(try refused("s/*") == ["s/brief\\xE4.txt"] && refused("s/*.sqlite") == [])
    // Two that differ in such bytes alone stay two; a folder of such a name may have stores.
    try Self.make(folder, [0xE4] + Array("é.sqlite".utf8))
    try Self.make(folder, [0x0F, 0xFF] + Array(".sqlite".utf8))
    try Self.make(folder, [0xC3], isFolder: true)
    #expect(try refused("s/*.sqlite") == ["s/\u{F}\\xFF.sqlite", "s/\\xE4é.sqlite"])
    #expect(try refused("s/**/*.sqlite") == ["s/\u{F}\\xFF.sqlite", "s/\\xC3", "s/\\xE4é.sqlite"])
    #expect(throws: GodwitError.self) { try Self.found(folder, "s/**/*.sqlite") }
  }

  @Test func `files are found in folders, and loops of links end`() throws {
    let folder = try TemporaryFolder()
    try Self.touch(
      folder, "s/a.sqlite", "s/eu/b.sqlite", "s/eu/x/c.sqlite", "s/.hidden/d.sqlite", "s/a.sqlite.godwit/store.sqlite",
      "s/eu/deep.sqlite/e.sqlite", "s/b.txt")
    try FileManager.default.createSymbolicLink(atPath: folder.file("s/eu/loop"), withDestinationPath: folder.file("s"))
    try FileManager.default.createSymbolicLink(atPath: folder.file("s/self.sqlite"), withDestinationPath: "self.sqlite")
    #expect(try Self.found(folder, "s/*.sqlite") == ["s/a.sqlite", "s/self.sqlite"])
    #expect(
      try Self.found(folder, "s/**/*.sqlite") == [
        "s/a.sqlite", "s/eu/b.sqlite", "s/eu/deep.sqlite/e.sqlite", "s/eu/x/c.sqlite", "s/self.sqlite",
      ])
    #expect(try Self.found(folder, "s/**/**/c.*") == ["s/eu/x/c.sqlite"])
    #expect(try Self.found(folder, "s/*/b.sqlite") == ["s/eu/b.sqlite"])
    #expect(try Self.found(folder, "s/e?/x/*") == ["s/eu/x/c.sqlite"])
    #expect(try Self.found(folder, "none/*") == [] && Self.found(folder, "s/**/nothing").isEmpty)
    let matches = try StorePattern(folder.file("s/**/*.sqlite")).files()
    #expect(matches.map(\.folder) == ["", "eu", "eu/deep.sqlite", "eu/x", ""])
  }

  @Test func `placeholders take the parts of a name`() {
    func path(_ text: String, _ name: String, in folder: String = "") -> String {
      StorePlaceholders(text).path(for: .init(path: "s/" + name, folder: folder, name: name))
    }
    #expect(path("out/{name}.sqlite", "a.v2.sqlite") == "out/a.v2.sqlite")
    #expect(path("out/{name}-{ext}", "a.b.c") == "out/a.b-.c" && path("{file}", ".hidden") == ".hidden")
    #expect(path("{name}|{ext}|", "plain") == "plain||")
    #expect(path("out/{folder}/{name}", "a.s", in: "x/y") == "out/x/y/a")
    #expect(
      path("./out//{name}", "a.s") == "out/a" && path("out/./{name}", "a.s") == "out/a"
        && path("/{name}", "a.s") == "/a")
    #expect(path("{folder}/{name}", "a.s") == "a" && path("/o/{folder}/{name}", "a.s") == "/o/a")
    #expect(path("{{name}}{name}", "{name}.s") == "{name}{name}" && path("o/{ x}{name}", "a\nb.s") == "o/{ x}a\nb")
    #expect(StorePlaceholders("{nmae}").unknown == ["nmae"] && !StorePlaceholders("{{name}}").hasWords)
  }

  @Test func `no placeholder leads to another folder, whatever the name of the store`() {
    func path(_ text: String, _ name: String, in folder: String = "") -> String? {
      let (words, match) = (StorePlaceholders(text), StorePattern.Match(path: "s/" + name, folder: folder, name: name))
      return words.obstacle(for: match) == nil ? words.path(for: match) : nil
    }
    #expect(path("out/{name}/x.sqlite", "...sqlite") == "out/...sqlite/x.sqlite")
    #expect(path("out/{name}", "..sqlite") == "out/..sqlite" && path("out/{name}{ext}", "...s") == "out/...s")
    #expect(path("out/{name}.sqlite", "a..s") == "out/a..sqlite" && path("out/{name}", "..a.s") == "out/..a")
    #expect(path("out/{name}/{ext}", "plain") == nil && path("out/{file}/{ext}{ext}", "a.") == nil)
    #expect(path("out/.{ext}/{name}", "a.") == nil && path("out/{ext}/{name}", "a.s") == "out/.s/a")
    #expect(path("out/{folder}/{name}", "a.s", in: "x/../..") == nil)
    #expect(path("out/{folder}{ext}/{name}", "a") == "out/a" && path("out/{folder}/{name}", "a") == "out/a")
  }

  static func loader(
    _ folder: TemporaryFolder, _ source: String, _ rest: String, overrides: [ManifestOverride] = []
  ) throws -> JobLoader {
    let text = "godwit: 1\nmodels: M.xcdatamodeld\nsource: '\(source)'\n\(rest)\n"
    try Data(text.utf8).write(to: URL(filePath: folder.file("job.yaml")))
    return try JobLoader(
      manifestPath: folder.file("job.yaml"), overrides: overrides,
      logger: Logger(label: "test") { _ in
        SwiftLogNoOpLogHandler()
      })
  }

  static func complaint(
    _ folder: TemporaryFolder, _ source: String, _ rest: String
  ) -> (code: GodwitError.Code, message: String)? {
    do {
      _ = try loader(folder, source, rest).stores()
      return nil
    } catch { return (error as? GodwitError).map { ($0.code, $0.message) } }
  }

  @Test func `what does not go together is refused before anything is written`() throws {
    let folder = try TemporaryFolder()
    try Self.touch(folder, "s/a.sqlite", "s/x/a.sqlite", "s/a.sqlite-wal", "s/a.sqlite-shm", "s/lone-wal", "s/odd*.s")
    func refused(_ source: String, _ rest: String, _ code: GodwitError.Code, _ texts: String...) {
      let found = Self.complaint(folder, source, rest)
      #expect(found?.code == code, "\(source) \(rest): \(found?.message ?? "")")
      for text in texts { #expect(found?.message.contains(text) == true, "\(found?.message ?? "")") }
    }
    refused("s/*.db", "destination: 'o/{name}.s'", .missingInput, "'s/*.db'")
    refused("s/**/*.sqlite", "destination: 'o/{name}.s'", .configuration, "s/a.sqlite", "s/x/a.sqlite", "two stores")
    refused("s/*.sqlite", "destination: o/a.sqlite", .configuration, "'{name}'")
    refused("s/a.sqlite", "destination: 'o/{name}.s'", .configuration, "expected a pattern")
    refused("s/*.sqlite", "destination: 'o/{nmae}.s'", .configuration, "{nmae}", "did you mean 'name'")
    refused("s/*.sqlite", "destination: {path: 'o/{name}.s', existing: append}", .configuration, "append")
    refused("s/*.sqlite", "destination: 's/{name}-new.sqlite'", .configuration, "matches the pattern")
    // The name of a quarantine ends as that of a store.
    let held = "\non-invalid: {quarantine: {max-rows: 1}}"
    #expect(Self.complaint(folder, "s/*.sqlite", "destination: 's/{name}.new'") == nil)
    let job = "destination: 's/{name}.new'\(held)"
    refused("s/*.sqlite", job, .configuration, "quarantine.sqlite", "matches the pattern")
    refused("s/**/*.json", "destination: 's/{name}.s'", .missingInput, "no file")
    refused("s/a.*", "destination: 's/x/{name}.s'\nreceipt: r.json", .configuration, "'receipt'")
    #expect(Self.complaint(folder, "s/**/*.sqlite", "destination: 'o/{folder}/{name}.s'") == nil)
    #expect(Self.complaint(folder, "s/*.sqlite", "destination: {existing: in-place}") == nil)
    // A store that a run in place kept does not count.
    let stores = try Self.loader(folder, "s/*", "destination: 'o/{file}'").stores()
    #expect(stores.map { URL(filePath: $0.path).lastPathComponent } == ["a.sqlite", "lone-wal", "odd*.s"])
    #expect(try Self.loader(folder, "s/odd*.s", "destination: o/x.s").isForManyStores == false)
    #expect(try Self.loader(folder, "s/odd*.s", "destination: 'o/{name}.s'").isForManyStores)
    let link = folder.file("s/same.sqlite")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "a.sqlite")
    refused("s/*.sqlite", "destination: {existing: in-place}", .configuration, "one file")
  }

  @Test func `a destination that a link leads into is found out`() throws {
    let folder = try TemporaryFolder()
    try Self.touch(folder, "s/a.sqlite", "s/b.sqlite")
    try FileManager.default.createSymbolicLink(atPath: folder.file("o"), withDestinationPath: folder.file("s"))
    let found = Self.complaint(folder, "s/*.sqlite", "destination: 'o/{name}.sqlite'")
    #expect(found?.code == .configuration && found?.message.contains("matches the pattern") == true)
  }

  @Test func `a folder that may not be read is an error`() throws {
    let folder = try TemporaryFolder()
    try Self.touch(folder, "s/a.sqlite", "s/closed/b.sqlite")
    let closed = folder.file("s/closed")
    chmod(closed, 0)
    defer { chmod(closed, 0o755) }
    let found = Self.complaint(folder, "s/**/*.sqlite", "destination: 'o/{folder}/{name}.s'")
    // Root may read everything.
    #expect(geteuid() == 0 ? found == nil : found?.code == .permission && found?.message.contains("closed") == true)
  }
}
