import Foundation
import TestSupport
import Testing

/// A named pipe where a file is expected keeps nobody waiting: opening one to read waits for a writer.
struct NamedPipeTests {
  private static let jobVerbs = [
    "plan job.yaml", "status job.yaml", "report job.yaml -o -", "verify job.yaml", "audit job.yaml",
    "inspect job.yaml", "policy stub job.yaml", "run job.yaml --quiet", "discard job.yaml",
  ]
  private static let storeVerbs = [
    "inspect library.sqlite", "why library.sqlite Library.xcdatamodeld", "export library.sqlite --raw --all",
    "model extract library.sqlite -o x.xcdatamodel", "init library.sqlite Library.xcdatamodeld -o -",
    "test Library.xcdatamodeld --from none --stores .", "salvage library.sqlite -o salvaged.sqlite",
    "compact library.sqlite",
  ]
  private static let modelVerbs = [
    "lint Library.xcdatamodeld", "model hash Library.xcdatamodeld", "model schema Library.xcdatamodeld",
    "model diff Library.xcdatamodeld#Library Library.xcdatamodeld", "test Library.xcdatamodeld --rows 3",
    "mapping infer Library.xcdatamodeld#Library Library.xcdatamodeld", "make-store Library.xcdatamodeld m --rows 3",
    "inspect Library.xcdatamodeld",
  ]

  /// The files that are read, with the verbs that read them.
  private static let places: [(path: String, verbs: [String])] = {
    var places: [(path: String, verbs: [String])] = []
    for log in ["", "-wal", "-journal", "-shm"] { places.append(("library.sqlite" + log, jobVerbs + storeVerbs)) }
    for path in [
      "job.yaml", "library.mapping.yaml", "out/library.sqlite", "out/library.sqlite-wal", "out/library.sqlite.godwit",
      "out/library.sqlite.receipt.json", "out/library.sqlite.verification.json",
      ".library_SUPPORT/_EXTERNAL_DATA/00000000-0000-0000-0000-000000000000",
    ] { places.append((path, jobVerbs)) }
    let bundle = "Library.xcdatamodeld"
    for path in [
      bundle, bundle + "/.xccurrentversion", bundle + "/Library.xcdatamodel/contents",
      bundle + "/Library 2.xcdatamodel/contents", "A.xcmappingmodel", "A.xcmappingmodel/xcmapping.xml",
      "models.lock.json",
    ] { places.append((path, jobVerbs + modelVerbs)) }
    let optionVerbs = [
      "run job.yaml --plan p", "plan job.yaml --diff p", "plan job.yaml -o p", "report job.yaml -o p",
      "report job.yaml --findings p -o -", "run job.yaml --metrics p", "lint Library.xcdatamodeld --lock p",
      "lint Library.xcdatamodeld --lock p --write-lock", "test Library.xcdatamodeld --rows 3 --expect p",
      "test Library.xcdatamodeld --rows 3 --junit p", "init library.sqlite Library.xcdatamodeld -o p --force",
      "make-store Library.xcdatamodeld p --rows 3", "export library.sqlite --raw --all --format sqlite -o p",
      "inspect p", "mapping convert p", "why p Library.xcdatamodeld", "why library.sqlite p", "model hash p",
    ]
    places.append(("p", optionVerbs))
    places.append(("p.mom", ["inspect p.mom", "model hash p.mom", "lint p.mom"]))
    places.append(("p.cdm", ["mapping convert p.cdm"]))
    places.append(("p.momd/VersionInfo.plist", ["inspect p.momd", "model hash p.momd"]))
    places.append(("library.expect.yaml", ["test Library.xcdatamodeld --from none --stores ."]))
    return places
  }()

  /// Runs a verb, and kills it after a time: one that waits for a pipe does not end by itself.
  private func run(_ verb: String, _ job: BreakableJob) throws -> BuiltCommand.Result {
    try ShellCommand.run("timeout -s KILL 60 \"$GODWIT\" \(verb)", in: job.path)
  }

  private func makePipe(_ path: String) throws {
    try? FileManager.default.removeItem(atPath: path)
    try FileManager.default.createDirectory(
      at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
    try #require(mkfifo(path, 0o600) == 0)
  }

  @Test(arguments: TestTier.sample(places, each: 5))
  func `no verb waits for a named pipe`(path: String, verbs: [String]) throws {
    for verb in verbs {
      let job = try BreakableJob()
      try makePipe(job.file(path))
      let result = try run(verb, job)
      #expect(result.status != 137 && result.status != 70, "\(verb): \(result.status) \(result.diagnostics)")
      // An output may be refused, and none is a pipe's.
      if path == "p" { #expect(result.status != 0, "\(verb)") }
    }
  }

  @Test(arguments: ["library.sqlite-wal", "library.sqlite-journal"])
  func `a pipe beside a store is not taken for an empty log`(path: String) throws {
    let job = try BreakableJob()
    try makePipe(job.file(path))
    let result = try run("run job.yaml --quiet", job)
    #expect(result.status == 65, "\(result.diagnostics)")
    #expect(result.diagnostics.contains(path) && result.diagnostics.contains("file"), "\(result.diagnostics)")
  }

  private static let names = [
    "made-by-godwit", "lock", "run.json", "store.sqlite", "store.sqlite-journal", "store.sqlite-wal", "receipt.json",
    "shown.percent", "history.json", "replaced.names", "edited.names", "source-copy.sqlite", "association-0.lz4",
    "given.names",
  ]

  @Test(arguments: TestTier.sample(names, each: 5))
  func `no verb waits for a named pipe in a work folder`(name: String) throws {
    let job = try BreakableJob()
    try job.sql("UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = 300")
    try #require(try BuiltCommand.run("run", "job.yaml", in: job.path).status == 65)
    try makePipe(job.file("out/library.sqlite.godwit/\(name)"))
    for verb in ["plan", "status", "verify", "run", "discard"].map({ "\($0) job.yaml" }) + [
      "report job.yaml -o -", "inspect out/library.sqlite.godwit",
    ] {
      let result = try run(verb, job)
      #expect(result.status != 137 && result.status != 70, "\(verb): \(result.status) \(result.diagnostics)")
    }
  }

  @Test func `no verb of many stores waits for a named pipe among them`() throws {
    let job = try ManyStoresTests.job(2)
    try makePipe(job.file("stores/u02.sqlite"))
    for (verb, status) in [
      ("status job.yaml", nil), ("plan job.yaml", nil), ("run job.yaml", 65),
      ("inspect job.yaml", nil),
    ] as [(String, Int32?)] {
      let result = try run(verb, job)
      #expect(result.status != 137 && result.status != 70, "\(verb): \(result.status) \(result.diagnostics)")
      if let status { #expect(result.status == status, "\(verb): \(result.diagnostics)") }
    }
  }
}
