import Foundation
import TestSupport
import Testing

/// The files that commands may overwrite at a path of the user.
struct OutputFileTests {
  /// Commands that write a file, whose path follows the last argument or stands for `OUT`.
  private static let commands: [[String]] = [
    ["plan", "job.yaml", "-o", "OUT"], ["report", "job.yaml", "-o", "OUT"],
    ["run", "job.yaml", "--quiet", "--metrics", "OUT"],
    ["init", "library.sqlite", "Library.xcdatamodeld", "-o", "OUT"],
    ["init", "library.sqlite", "Library.xcdatamodeld", "--force", "-o", "OUT"],
    ["export", "library.sqlite", "--entity", "Book", "--model", "Library.xcdatamodeld#Library", "-o", "OUT"],
    ["export", "library.sqlite", "--all", "--model", "Library.xcdatamodeld#Library", "-o", "OUT"],
    ["export", "library.sqlite", "--raw", "--all", "--format", "sqlite", "-o", "OUT"],
    ["make-store", "Library.xcdatamodeld", "OUT", "--rows", "3"],
    ["salvage", "library.sqlite", "--model", "Library.xcdatamodeld", "-o", "OUT"],
    ["mapping", "new", "Library.xcdatamodeld#Library", "Library.xcdatamodeld", "-o", "OUT"],
    ["test", "Library.xcdatamodeld", "--rows", "3", "--junit", "OUT"],
    ["lint", "Library.xcdatamodeld", "--write-lock", "--lock", "OUT"],
  ]

  private static func mode(_ path: String) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int) & 0o7777
  }

  private static func write(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
  }

  @Test(arguments: TestTier.sample(commands, each: 2))
  func `no output takes the name of a store's log or goes among files that are Godwit's`(command: [String]) throws {
    let job = try BreakableJob()
    for folder in ["out", "w.sqlite.godwit", ".library_SUPPORT"] { try job.makeFolder(folder) }
    try FileManager.default.createSymbolicLink(atPath: job.file("way"), withDestinationPath: "w.sqlite.godwit")
    let places = [
      "library.sqlite-wal", "out/library.sqlite-journal", "other.sqlite-shm", "w.sqlite.godwit/x", "way/x",
      ".library_SUPPORT/x",
    ]
    for place in places {
      let result = try BuiltCommand.run(command.map { $0 == "OUT" ? place : $0 }, in: job.path)
      #expect(result.status == 64, "\(place): \(result.status) \(result.diagnostics)")
      #expect(!FileManager.default.fileExists(atPath: job.file(place)), "\(place)")
    }
    #expect(!FileManager.default.fileExists(atPath: job.file("out/library.sqlite")))
  }

  @Test(arguments: TestTier.sample(commands, each: 2))
  func `no output follows a link or replaces what another program wrote`(command: [String]) throws {
    let job = try BreakableJob()
    // The rest of a log looks like a manifest after its first line; that of a list looks like paths.
    let texts = [
      "notes.txt": "precious\n", "app.log": "godwit: warning: the disk is nearly full\n", "paths.txt": "/a\n/b\n",
      "other.xml":
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"mine\" tests=\"0\">\n</testsuites>\n",
      "data.json": "{\"type\":\"something\"}\n",
    ]
    for (name, text) in texts { try Self.write(text, to: job.file(name)) }
    let store = try Data(contentsOf: URL(filePath: job.file("library.sqlite")))
    for (link, target) in [("link", "notes.txt"), ("dangling", "nowhere")] {
      try FileManager.default.createSymbolicLink(atPath: job.file(link), withDestinationPath: target)
    }
    for place in texts.keys.sorted() + ["library.sqlite", "link", "dangling", "/dev/null"] {
      let result = try BuiltCommand.run(command.map { $0 == "OUT" ? place : $0 }, in: job.path)
      // A lock file is read first: what is none is 78 or 66.
      let expected: [Int32] = command.first == "lint" ? [64, 66, 73, 78] : [64, 73]
      #expect(expected.contains(result.status), "\(place): \(result.status) \(result.diagnostics)")
    }
    for (name, text) in texts {
      #expect(try String(contentsOfFile: job.file(name), encoding: .utf8) == text, "\(name)")
    }
    #expect(try Data(contentsOf: URL(filePath: job.file("library.sqlite"))) == store)
    for (link, target) in [("link", "notes.txt"), ("dangling", "nowhere")] {
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: job.file(link)) == target)
    }
    #expect(!FileManager.default.fileExists(atPath: job.file("nowhere")))
    #expect(!FileManager.default.fileExists(atPath: job.file("out/library.sqlite")))
  }

  @Test func `what tells of a store is no more readable than the store, and no more than what it replaces`() throws {
    let job = try BreakableJob()
    func setMode(_ mode: Int, _ name: String) throws {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: job.file(name))
    }
    try setMode(0o600, "library.sqlite")
    try job.makeFolder("given")
    try FileManager.default.copyItem(atPath: job.file("library.sqlite"), toPath: job.file("given/a.sqlite"))
    try setMode(0o600, "given/a.sqlite")
    let commands = [
      ["plan", "job.yaml", "-o", "plan.json"], ["report", "job.yaml", "-o", "report.html"],
      ["export", "library.sqlite", "--entity", "Book", "--model", "Library.xcdatamodeld#Library", "-o", "books"],
      ["export", "library.sqlite", "--raw", "--all", "--format", "sqlite", "-o", "raw.sqlite"],
      ["test", "Library.xcdatamodeld", "--from", "none", "--stores", "given", "--junit", "junit.xml"],
    ]
    for command in commands {
      let result = try BuiltCommand.run(command, in: job.path)
      #expect(result.status == 0 || command[0] == "test", "\(result.diagnostics)")
      #expect(try Self.mode(job.file(try #require(command.last))) == 0o600, "\(command)")
    }
    try setMode(0o644, "library.sqlite")
    try #require(try BuiltCommand.run(["plan", "job.yaml", "-o", "plan.json"], in: job.path).status == 0)
    #expect(try Self.mode(job.file("plan.json")) == 0o600)
    try #require(try BuiltCommand.run(["plan", "job.yaml", "-o", "new.json"], in: job.path).status == 0)
    #expect(try Self.mode(job.file("new.json")) == 0o644)
  }

  @Test func `a store whose name would lead its job to another folder stops no other store`() throws {
    let job = try ManyStoresTests.job(2)
    try job.edit("job.yaml", "out/{name}.sqlite", "out/{name}/{ext}/x.sqlite")
    try job.edit("job.yaml", "stores/*.sqlite", "stores/*")
    // A name that begins with a point is in no pattern. `StorePatternTests` has them.
    try FileManager.default.copyItem(atPath: job.file("stores/u01.sqlite"), toPath: job.file("stores/plain"))
    let result = try ManyStoresTests.run(job, "--progress", "json")
    #expect(result.status == 78, "\(result.diagnostics)")
    #expect(result.diagnostics.contains("cannot migrate 'stores/plain'"), "\(result.diagnostics)")
    #expect(try Set(FileManager.default.contentsOfDirectory(atPath: job.file("out"))) == ["u01", "u02"])
    #expect(!FileManager.default.fileExists(atPath: job.file("x.sqlite")))
    #expect(try ManyStoresTests.stores(result).count == 3)
  }
}
