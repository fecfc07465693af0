import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The files beside a source stay as they are, and a log that SQLite would pass over is named.
struct UnusedLogTests {
  /// The files beside a store, and why they do not count.
  struct Kind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// By suffix.
    let files: @Sendable (Parts) throws -> [String: Data]
    /// A part of the sentence in `inspect`, `plan` and the summary; nil where everything counts.
    let reason: String?
    var isRefused = false

    init(_ name: String, _ reason: String?, _ files: @escaping @Sendable (Parts) throws -> [String: Data]) {
      (testDescription, self.reason, self.files) = (name, reason, files)
    }
  }

  /// A store in WAL mode whose last object is in the log alone, and the same in the middle of a transaction.
  struct Parts: Sendable {
    let store, wal, shm, halfWritten, journal: Data
    /// The log with two transactions.
    let twice: Data
  }

  private static func changed(_ data: Data, at place: Int) -> Data {
    var data = data
    data[place] ^= 0xFF
    return data
  }

  private static let frameBytes = 4096 + 24

  /// A log whose frames behind some have other salts, as those that an earlier use left.
  private static func stale(_ log: Data, from first: Int) -> Data {
    var log = log
    for start in stride(from: 32 + first * frameBytes, to: log.count, by: frameBytes) {
      (log[start + 9], log[start + 13]) = (log[start + 9] ^ 0xFF, log[start + 13] ^ 0xFF)
    }
    return log
  }

  private static let random = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7919 &+ $0 >> 3) | 1 })

  static let kinds: [Kind] = [
    Kind("nothing", nil) { _ in [:] },
    Kind("an empty log", nil) { _ in ["-wal": Data()] },
    Kind("a log that counts", nil) { ["-wal": $0.wal] },
    Kind("a log that counts, with its index", nil) { ["-wal": $0.wal, "-shm": $0.shm] },
    Kind("a log of one byte", "-wal' is not used: it is shorter than a header") { _ in ["-wal": Data([7])] },
    Kind("a log that is a header alone", "-wal' is not used: it has no whole frame") { ["-wal": $0.wal.prefix(32)] },
    Kind("a log that is cut off in its header", "is not used: it is shorter than a header") {
      ["-wal": $0.wal.prefix(20)]
    },
    Kind("a log that is cut off in its first frame", "is not used: frame 1 is cut off") {
      ["-wal": $0.wal.prefix(600)]
    },
    Kind("a log whose first frame has a wrong checksum", "is not used: frame 1 has a wrong checksum") {
      ["-wal": changed($0.wal, at: 100)]
    },
    Kind("a log whose first frame has one other salt", "is not used: frame 1 is damaged") {
      ["-wal": changed($0.wal, at: 41)]
    },
    Kind("a log of an earlier use", "is not used: its frames are of an earlier use") {
      ["-wal": stale($0.twice, from: 0)]
    },
    Kind("a log that was begun again", nil) { ["-wal": stale($0.twice, from: ($0.wal.count - 32) / frameBytes)] },
    Kind("a log whose later frame has one other salt", "-wal' is used up to frame") {
      ["-wal": changed($0.twice, at: $0.wal.count + 9)]
    },
    Kind("a log with a frame of other salts before its last", "-wal' is not used: frame 1 is damaged") {
      ["-wal": changed(changed($0.twice, at: 41), at: 45)]
    },
    Kind("a log whose header has a wrong checksum", "is not used: its header has a wrong checksum") {
      ["-wal": changed($0.wal, at: 13)]
    },
    Kind("a log of random bytes with an index", "is not used: its header is not valid") {
      ["-wal": random, "-shm": $0.shm]
    },
    Kind("a log with a damaged second transaction", "-wal' is used up to frame") {
      ["-wal": changed($0.twice, at: $0.twice.count - 5)]
    },
    Kind("an index alone", "without a -wal") { ["-shm": $0.shm] },
    Kind("a journal of one byte", "-journal' is not used: it is shorter than a header") { _ in ["-journal": Data([7])]
    },
    Kind("a journal of random bytes", "-journal' is not used: its header is not valid") { _ in ["-journal": random] },
    Kind("a journal of an ended transaction", "-journal' is not used: its header is cleared") { _ in
      ["-journal": Data(count: 512)]
    },
    Kind("an empty journal", nil) { _ in ["-journal": Data()] },
    Kind("a hot journal", nil) { ["": $0.halfWritten, "-journal": $0.journal] },
    Kind("a hot journal that is cut off", "-journal' is used up to record") {
      ["": $0.halfWritten, "-journal": $0.journal.prefix($0.journal.count - 4096)]
    },
    Kind("a hot journal beside an unused log", "-wal' is not used: it is shorter") {
      ["": $0.halfWritten, "-journal": $0.journal, "-wal": Data([7])]
    },
    {
      var kind = Kind("a journal that names another file", nil) { _ in
        ["-journal": .superJournal(naming: "/tmp/other-mj1", pages: 1), "-mj1": Data([1])]
      }
      kind.isRefused = true
      return kind
    }(),
  ]

  static let models = Result {
    try ["Notes", "Notes 2"].map { name in
      try ManagedObjectModel(
        name: name,
        entities: [
          .made(
            "Note",
            ["text"].map { AttributeDescription(name: $0, type: .string) }
              + (name == "Notes" ? [] : [AttributeDescription(name: "more", type: .string)]))
        ])
    }
  }

  private static let parts = Result {
    let folder = try TemporaryFolder("godwit-logs")
    let path = folder.file("s.sqlite")
    func bytes(_ suffix: String) throws -> Data { try Data(contentsOf: URL(filePath: path + suffix)) }
    func insert(_ key: Int) -> String { "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTEXT) VALUES (\(key), 1, 1, 'new')" }
    let builder = try StoreBuilder(path: path, model: models.get()[0])
    for key in Int64(1)...3 { try builder.insert("Note", key: key, attributes: ["text": .init("old")]) }
    try builder.finish()
    let store = try StoreConnection(path: path)
    let plain = try bytes("")
    try store.execute("PRAGMA cache_size = 1")
    try store.execute("BEGIN IMMEDIATE")
    try store.execute("UPDATE ZNOTE SET ZTEXT = replace(hex(zeroblob(20000)), '00', 'xy')")
    let (half, journal) = (try bytes(""), try bytes("-journal"))
    try store.execute("ROLLBACK")
    #expect(half != plain)
    _ = try store.value("PRAGMA journal_mode = WAL")
    let inWALMode = try bytes("")
    try store.execute(insert(9))
    let (wal, shm) = (try bytes("-wal"), try bytes("-shm"))
    try store.execute(insert(10))
    let twice = try bytes("-wal")
    try store.close()
    return Parts(store: inWALMode, wal: wal, shm: shm, halfWritten: half, journal: journal, twice: twice)
  }

  private struct Verb: Sendable {
    let words: [String]
    /// Whether it says which log it does not use.
    var says = false
  }

  private static let verbs: [Verb] = [
    Verb(words: ["inspect", "@in/s.sqlite"], says: true),
    Verb(words: ["inspect", "@in/s.sqlite", "--format", "json"], says: true),
    Verb(words: ["inspect", "@in/s.sqlite", "--details", "--models", "@Notes.xcdatamodeld#Notes"], says: true),
    Verb(words: ["inspect", "@in/s.sqlite", "--check"], says: true), Verb(words: ["inspect", "@in"], says: true),
    Verb(words: ["plan", "@job.yaml"], says: true), Verb(words: ["plan", "@place.yaml"], says: true),
    Verb(words: ["plan", "@add.yaml"], says: true), Verb(words: ["audit", "@job.yaml"], says: true),
    Verb(words: ["export", "@in/s.sqlite", "--raw", "--all", "-o", "@raw"], says: true),
    Verb(
      words: ["export", "@in/s.sqlite", "--model", "@Notes.xcdatamodeld#Notes", "--all", "-o", "@objects"], says: true),
    Verb(words: ["why", "@in/s.sqlite", "@Notes.xcdatamodeld"], says: true), Verb(words: ["status", "@job.yaml"]),
    Verb(words: ["status", "@place.yaml"]),
    Verb(words: ["init", "@in/s.sqlite", "@Notes.xcdatamodeld", "-o", "@new.yaml"]),
    Verb(words: ["model", "extract", "@in/s.sqlite"]), Verb(words: ["report", "@job.yaml", "-o", "@report.html"]),
    Verb(words: ["run", "@job.yaml"], says: true), Verb(words: ["verify", "@job.yaml"], says: true),
    Verb(words: ["trace", "@job.yaml", "Note/p1"], says: true), Verb(words: ["run", "@xml.yaml"], says: true),
    Verb(words: ["verify", "@xml.yaml"], says: true), Verb(words: ["run", "@job.yaml", "--quiet"]),
    Verb(words: ["status", "@job.yaml", "--check"]),
  ]

  private func folder(_ kind: Kind) throws -> ProjectFixture {
    let project = ProjectFixture()
    try project.bundle("Notes.xcdatamodeld", Self.models.get())
    for (name, more) in [
      ("job", "destination: out/d.sqlite"), ("xml", "destination: out/d.xml"),
      ("place", "destination: {existing: in-place}"),
      ("add", "destination:\n  path: out/a.sqlite\n  existing: append"),
    ] {
      try project.write("\(name).yaml", "godwit: 1\nsource: in/s.sqlite\n\(more)\nmodels: Notes.xcdatamodeld\n")
    }
    let parts = try Self.parts.get()
    try FileManager.default.createDirectory(atPath: project.path("in"), withIntermediateDirectories: true)
    let files = try [("", parts.store)] + kind.files(parts).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    for (suffix, data) in files { try Data(data).write(to: URL(filePath: project.path("in/s.sqlite" + suffix))) }
    return project
  }

  private func content(_ project: ProjectFixture) throws -> [String: Data] {
    let folder = try project.path("in")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    return try Dictionary(
      uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: URL(filePath: folder + "/" + $0))) })
  }

  @Test(arguments: TestTier.sample(kinds, each: 2))
  func `no verb changes a file beside a source, and a log that is not used is named`(kind: Kind) throws {
    let project = try folder(kind)
    let before = try content(project)
    for verb in Self.verbs {
      let words = try verb.words.map { $0.hasPrefix("@") ? try project.path(String($0.dropFirst())) : $0 }
      let told = project.godwit(words)
      let name = verb.words.joined(separator: " ")
      let after = try content(project)
      #expect(Set(after.keys) == Set(before.keys), "\(name): \(after.keys.sorted())")
      for (file, data) in before { #expect(after[file] == data, "\(name) changed '\(file)'") }
      guard !kind.isRefused else { continue }
      // The store carries no model, and a count of rows may be a finding.
      if verb.words[0] != "model" { #expect([0, 2].contains(told.status), "\(name): \(told)") }
      if verb.says {
        let text = told.output + told.diagnostics
        #expect(
          kind.reason.map { text.contains($0) } ?? !(text.contains("is not used") || text.contains("is used up")),
          "\(name): \(text)")
      }
    }
  }
}
