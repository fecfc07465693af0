import Foundation
import GodwitStore
import TestSupport
import Testing

/// Files that are not the job's: nothing is deleted, overwritten or read by way of a job, whatever its files say.
struct ForeignFileTests {
  private func mode(_ path: String) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int) & 0o7777
  }

  // MARK: Journals

  private func plant(in job: BreakableJob, store: String = "library.sqlite") throws -> String {
    let victim = job.file("precious.txt")
    try Data("precious".utf8).write(to: URL(filePath: victim))
    let size = try Data(contentsOf: URL(filePath: job.file(store))).count
    try Data.superJournal(naming: victim, pages: UInt32(size / 4096)).write(
      to: URL(filePath: job.file(store + "-journal")))
    return victim
  }

  @Test func `SQLite deletes what the journal of these tests names`() throws {
    let job = try BreakableJob()
    let victim = try plant(in: job, store: "library.sqlite")
    // A tool opens the store to write. The name is the test's, so that no guard sees the journal.
    let other = job.file("other.sqlite")
    try FileManager.default.copyItem(atPath: job.file("library.sqlite"), toPath: other)
    let connection = try StoreConnection(path: other)
    try FileManager.default.moveItem(atPath: job.file("library.sqlite-journal"), toPath: other + "-journal")
    _ = try? connection.value("SELECT COUNT(*) FROM sqlite_master")
    try connection.close()
    #expect(!FileManager.default.fileExists(atPath: victim))
  }

  @Test(
    arguments: [
      ["run", "job.yaml"], ["plan", "job.yaml"], ["status", "job.yaml"], ["verify", "job.yaml"],
      ["discard", "job.yaml"],
      ["inspect", "library.sqlite"], ["why", "library.sqlite", "Library.xcdatamodeld"],
      ["export", "library.sqlite", "--entity", "Book", "--model", "Library.xcdatamodeld#Library"],
    ], [false, true])
  func `no verb deletes the file that a hot journal names`(arguments: [String], inPlace: Bool) throws {
    let job = try BreakableJob()
    if inPlace { try job.edit("job.yaml", "destination: out/library.sqlite", "destination: {existing: in-place}") }
    let victim = try plant(in: job)
    let result = try BuiltCommand.run(arguments: arguments, in: job.path)
    #expect(FileManager.default.fileExists(atPath: victim))
    // `discard` and `verify` answer without opening a store that has nothing to discard or verify.
    guard arguments[0] != "discard", arguments[0] != "verify" else { return }
    #expect(result.status == 65, "\(result.diagnostics)")
    #expect(result.diagnostics.contains("library.sqlite-journal"), "\(result.diagnostics)")
  }

  @Test func `a store under construction is not opened with a journal that names another file`() throws {
    let job = try BreakableJob()
    try stopped(job)
    let victim = try plant(in: job, store: "out/library.sqlite.godwit/store.sqlite")
    for verb in ["run", "status", "plan"] {
      let result = try BuiltCommand.run(verb, "job.yaml", in: job.path)
      #expect(result.status == 65, "\(verb): \(result.diagnostics)")
      #expect(result.diagnostics.contains("store.sqlite-journal"), "\(verb): \(result.diagnostics)")
    }
    #expect(try BuiltCommand.run("discard", "job.yaml", in: job.path).status == 0)
    #expect(FileManager.default.fileExists(atPath: victim))
  }

  // MARK: Work folders

  /// Leaves an unfinished job: a book has no title, which its validation finds.
  private func stopped(_ job: BreakableJob) throws {
    try job.sql("UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = 300")
    let result = try BuiltCommand.run("run", "job.yaml", in: job.path)
    try #require(result.status == 65, "\(result.diagnostics)")
  }

  @Test(arguments: ["folder", "link", "open to all", "noise in ours", "link in ours", "another user's"])
  func `a work folder that Godwit did not make stays unchanged`(kind: String) throws {
    let job = try BreakableJob()
    let (work, theirs) = (job.file("out/library.sqlite.godwit"), job.file("theirs"))
    try job.makeFolder("out")
    try job.makeFolder("theirs")
    try job.write("theirs/store.sqlite", "precious")
    switch kind {
    case "folder": try FileManager.default.moveItem(atPath: theirs, toPath: work)
    case "link": try FileManager.default.createSymbolicLink(atPath: work, withDestinationPath: theirs)
    case "open to all":
      try stopped(job)
      try job.setMode("out/library.sqlite.godwit", 0o777)
    case "another user's":
      guard getuid() == 0 else { return }
      try stopped(job)
      try #require(chown(work, 1234, 4321) == 0)
    case "noise in ours":
      try stopped(job)
      try job.write("out/library.sqlite.godwit/letters.txt", "precious")
    default:
      try stopped(job)
      try FileManager.default.createSymbolicLink(
        atPath: work + "/association-1.lz4", withDestinationPath: theirs + "/store.sqlite")
    }
    let before = try job.content()
    for verb in ["run", "discard"] {
      let result = try BuiltCommand.run(verb, "job.yaml", in: job.path)
      #expect(result.status == 73, "\(verb): \(result.diagnostics)")
      #expect(result.diagnostics.contains("library.sqlite.godwit'"), "\(result.diagnostics)")
      #expect(try job.content() == before)
    }
    // Nor by a run that fails before it writes.
    try job.append("library.mapping.yaml", "  - name: wrong\n    source: Nobody\n    destination: Book\n")
    #expect(try BuiltCommand.run("run", "job.yaml", in: job.path).status != 0)
    #expect(try job.content().count == before.count)
  }

  @Test func `external data in a work folder is not removed through a link`() throws {
    let job = try BreakableJob()
    try stopped(job)
    let id = "00000001-1111-2222-3333-444444444444"
    try job.makeFolder("theirs")
    try job.write("theirs/" + id, "precious")
    try job.makeFolder("out/library.sqlite.godwit/.store_SUPPORT")
    try FileManager.default.createSymbolicLink(
      atPath: job.file("out/library.sqlite.godwit/.store_SUPPORT/_EXTERNAL_DATA"),
      withDestinationPath: job.file("theirs"))
    for verb in ["run", "discard"] {
      let result = try BuiltCommand.run(verb, "job.yaml", in: job.path)
      #expect(result.status == 65, "\(verb): \(result.diagnostics)")
      #expect(result.diagnostics.contains("_EXTERNAL_DATA"), "\(result.diagnostics)")
      #expect(FileManager.default.fileExists(atPath: job.file("theirs/" + id)))
      #expect(FileManager.default.fileExists(atPath: job.file("out/library.sqlite.godwit/store.sqlite")))
    }
  }

  @Test func `an empty folder with the work folder's name is used and removed`() throws {
    let job = try BreakableJob()
    try job.makeFolder("out/library.sqlite.godwit")
    let result = try BuiltCommand.run("run", "job.yaml", in: job.path)
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(!FileManager.default.fileExists(atPath: job.file("out/library.sqlite.godwit")))
  }

  @Test func `a destination where no folder can be made is an error, not a trap`() throws {
    let job = try BreakableJob()
    try FileManager.default.createSymbolicLink(atPath: job.file("out"), withDestinationPath: "/proc")
    let result = try BuiltCommand.run("run", "job.yaml", in: job.path)
    #expect(result.status == 73, "\(result.diagnostics)")
  }

  // MARK: Permissions

  @Test(arguments: [(0o600, "022", 0o600), (0o644, "022", 0o644), (0o644, "077", 0o600), (0o440, "022", 0o640)])
  func `a destination is no more readable than its source`(source: Int, umask: String, expected: Int) throws {
    let job = try BreakableJob()
    try job.setMode("library.sqlite", source)
    let script =
      "umask \(umask); $GODWIT run job.yaml --progress plain && $GODWIT export library.sqlite --entity Book "
      + "--model 'Library.xcdatamodeld#Library' -o books.jsonl"
    let result = try ShellCommand.run(script, in: job.path)
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(try mode(job.file("out/library.sqlite")) == expected)
    #expect(try mode(job.file("books.jsonl")) == expected)
  }

  @Test func `a work folder is readable only by its owner`() throws {
    let job = try BreakableJob()
    try stopped(job)
    #expect(try mode(job.file("out/library.sqlite.godwit")) == 0o700)
  }

  @Test func `a store in place keeps its owner, or the job is refused`() throws {
    guard getuid() == 0, `Bad input`.canBeNobody else { return }
    let job = try BreakableJob()
    try job.edit("job.yaml", "destination: out/library.sqlite", "destination: {existing: in-place}")
    let store = job.file("library.sqlite")
    try #require(chown(store, 0, 65534) == 0)
    try job.setMode("library.sqlite", 0o660)
    try job.setMode(".", 0o777)
    let refused = try `Bad input`.run(["run", "job.yaml"], in: job, as: .nobody)
    #expect(refused.status == 77, "\(refused.diagnostics)")
    #expect(!FileManager.default.fileExists(atPath: store + ".godwit"))
    try #require(chown(store, 1234, 4321) == 0)
    let result = try BuiltCommand.run("run", "job.yaml", in: job.path)
    #expect(result.status == 0, "\(result.diagnostics)")
    var info = stat()
    try #require(stat(store, &info) == 0)
    #expect(info.st_uid == 1234 && info.st_gid == 4321 && info.st_mode & 0o7777 == 0o660)
  }

  // MARK: Links

  @Test(arguments: [true, false]) func `in place replaces the store that a link leads to`(keepsOld: Bool) throws {
    let job = try BreakableJob()
    try job.makeFolder("real")
    try FileManager.default.moveItem(atPath: job.file("library.sqlite"), toPath: job.file("real/books.sqlite"))
    try FileManager.default.createSymbolicLink(
      atPath: job.file("library.sqlite"), withDestinationPath: "real/books.sqlite")
    try job.edit(
      "job.yaml", "destination: out/library.sqlite", "destination: {existing: in-place, keep-old: \(keepsOld)}")
    try stopped(job)
    #expect(FileManager.default.fileExists(atPath: job.file("real/books.sqlite.godwit")))
    #expect(try BuiltCommand.run("discard", "job.yaml", in: job.path).status == 0)
    #expect(!FileManager.default.fileExists(atPath: job.file("real/books.sqlite.godwit")))
    try job.sql("UPDATE ZBOOK SET ZTITLE = 'found' WHERE Z_PK = 300")
    let result = try BuiltCommand.run("run", "job.yaml", in: job.path)
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: job.file("library.sqlite")) == "real/books.sqlite")
    let fits = try BuiltCommand.run("why", "real/books.sqlite", "Library.xcdatamodeld", in: job.path)
    #expect(fits.status == 0, "\(fits.output)")
    #expect(FileManager.default.fileExists(atPath: job.file("real/books~.sqlite")) == keepsOld)
    guard keepsOld else { return }
    let proved = try BuiltCommand.run("verify", "job.yaml", in: job.path)
    #expect(proved.status == 0, "\(proved.output)\(proved.diagnostics)")
  }

  @Test func `a link at the destination is refused`() throws {
    let job = try BreakableJob()
    try job.makeFolder("out")
    try job.write("theirs.sqlite", "precious")
    try FileManager.default.createSymbolicLink(
      atPath: job.file("out/library.sqlite"), withDestinationPath: job.file("theirs.sqlite"))
    let before = try job.content()
    for _ in 0..<2 {
      #expect(try BuiltCommand.run("run", "job.yaml", in: job.path).status == 73)
      #expect(try job.content() == before)
      // A link to nothing too.
      try job.remove("out/library.sqlite")
      try FileManager.default.createSymbolicLink(
        atPath: job.file("out/library.sqlite"), withDestinationPath: job.file("nothing.sqlite"))
      guard try job.content() != before else { break }
      #expect(try BuiltCommand.run("run", "job.yaml", in: job.path).status == 73)
      break
    }
  }

  // MARK: Streams and limits

  @Test func `a finished job exits with 0 although its progress cannot be written`() throws {
    for end in [">/dev/full", ">&-"] {
      let job = try BreakableJob()
      let result = try ShellCommand.run("$GODWIT run job.yaml --progress plain \(end)", in: job.path)
      #expect(result.status == 0, "\(end): \(result.diagnostics)")
      #expect(result.diagnostics.contains("godwit: warning: cannot write to standard output"), "\(result.diagnostics)")
      #expect(FileManager.default.fileExists(atPath: job.file("out/library.sqlite")))
      // For `plan`, the output is the purpose, so it fails.
      #expect(try ShellCommand.run("$GODWIT plan job.yaml \(end)", in: job.path).status == 74)
    }
  }

  @Test func `no file is opened under the number of a closed stream`() throws {
    let job = try BreakableJob()
    let result = try ShellCommand.run("$GODWIT run job.yaml --progress plain >&- 2>&- <&-", in: job.path)
    #expect(result.status == 0)
    #expect(try BuiltCommand.run("verify", "job.yaml", in: job.path).status == 0)
  }

  @Test func `a limit on file sizes is an error, not a crash`() throws {
    let job = try BreakableJob()
    let result = try ShellCommand.run("ulimit -f 8; $GODWIT run job.yaml --progress plain", in: job.path)
    #expect(result.status == 74, "\(result.diagnostics)")
    #expect(try BuiltCommand.run("run", "job.yaml", in: job.path).status == 0)
  }
}
