import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Sound stores with indexes whose collation or function only the application has.
///
/// A test writes them with a collation and a function of SQLite, and then renames both in the file. SQLite's `NOCASE` has
/// another order than the bytes.
struct ForeignIndexTests {
  private static let collated = "CREATE INDEX ix ON ZT (ZY COLLATE NOCASE)"
  private static let computed = "CREATE INDEX ix ON ZT (lower(ZY))"
  private static let own = "CREATE TABLE app (a TEXT COLLATE NOCASE PRIMARY KEY, b) WITHOUT ROWID"
  private let project = ProjectFixture()

  /// - Parameter longest: The longest text that the second version allows.
  private func make(_ store: String, version: Int, _ definition: String, longest: Int? = nil) throws {
    func model(_ number: Int) throws -> ManagedObjectModel {
      var texts = ["y", "z"].prefix(number).map { AttributeDescription(name: $0, type: .string) }
      if number == 2 { texts[0].maximumLength = longest }
      return try ManagedObjectModel(name: number == 1 ? "M" : "M 2", entities: [.made("T", Array(texts))])
    }
    try project.bundle("M.xcdatamodeld", [try model(1), try model(2)])
    let texts = ["b", "C", "a", "Dee"]
    try project.store(store, try model(version)) { made in
      for (key, text) in texts.enumerated() {
        try made.insert("T", key: Int64(key + 1), attributes: ["y": .init(text)])
      }
    }
    let connection = try StoreConnection(path: project.path(store))
    // Free pages, which `compact` would take away.
    try connection.execute("CREATE TABLE gone AS SELECT zeroblob(100000) AS a")
    try connection.execute("DROP TABLE gone")
    try connection.execute(definition)
    if definition == Self.own {
      for text in texts { try connection.execute("INSERT INTO app VALUES (?1, 1)", [.text(text)]) }
    }
    try connection.close()
    try rename(in: store)
  }

  /// Renames SQLite's collation and function in the definitions of a file.
  private func rename(in store: String) throws {
    var bytes = try Data(contentsOf: URL(filePath: project.path(store)))
    for (name, other) in [("NOCASE", "APPCOL"), ("lower(", "appfn(")] {
      while let place = bytes.firstRange(of: Data(name.utf8)) { bytes.replaceSubrange(place, with: Data(other.utf8)) }
    }
    try bytes.write(to: URL(filePath: project.path(store)))
  }

  private func job(_ more: String = "") throws -> String {
    try project.write(
      "job.yaml", "godwit: 1\nsource: s.sqlite\ndestination: {path: d.sqlite, \(more)}\nmodels: M.xcdatamodeld\n")
    return try project.path("job.yaml")
  }

  @Test(arguments: [collated, computed, own])
  func `a store with such an index is migrated, proved, exported and checked`(definition: String) throws {
    try make("s.sqlite", version: 1, definition)
    let (job, store, model) = try (job(), project.path("s.sqlite"), project.path("M.xcdatamodeld#M"))
    let verbs = [["run", job, "-q"], ["audit", job], ["verify", job]]
    for verb in verbs {
      let result = project.godwit(verb)
      #expect(result.status == 0 || verb[0] == "audit" && result.status == 3, "\(verb): \(result)")
    }
    for (place, verb) in [["--model", model], ["--raw"], ["--raw", "--format", "sqlite"]].enumerated() {
      let result = project.godwit(["export", store, "--all", "-o", try project.path("out\(place)")] + verb)
      #expect(result.status == 0, "\(verb): \(result)")
    }
    let checked = project.godwit("inspect", store, "--check")
    #expect(checked.status == 0 && checked.output.contains("which only the application has"), "\(checked)")
  }

  @Test(arguments: [collated, computed])
  func `a destination to which the application adds such an index stays proved`(definition: String) throws {
    try make("s.sqlite", version: 1, "CREATE TABLE app (a)")
    #expect(project.godwit("run", try job(), "-q").status == 0)
    let made = try StoreConnection(path: project.path("d.sqlite"))
    try made.execute(definition)
    try made.close()
    try rename(in: "d.sqlite")
    let receipt = project.godwit("verify", "--receipt", try project.path("d.sqlite.receipt.json"))
    #expect(receipt.status == 0, "\(receipt)")
    #expect(project.godwit("verify", try job()).status != 70)
  }

  @Test(arguments: [collated, computed])
  func `plan and run refuse to append to such an index, and compact to copy it`(definition: String) throws {
    try make("s.sqlite", version: 1, "CREATE TABLE app (a)")
    try make("d.sqlite", version: 2, definition)
    let refused = project.godwit("run", try job("existing: append"), "-q")
    #expect(refused.status == 78 && refused.diagnostics.contains("its index 'ix' of table 'ZT' needs"), "\(refused)")
    #expect(refused.diagnostics.contains("d.sqlite'"), "\(refused)")

    let compacted = project.godwit("compact", try project.path("d.sqlite"))
    #expect(compacted.status == 65, "\(compacted)")
    #expect(compacted.diagnostics.contains("its index 'ix' of table 'ZT' needs"), "\(compacted)")
  }

  @Test(arguments: [collated, computed, own])
  func `stores with such an index are merged, and the proof names what it cannot check`(definition: String) throws {
    for store in ["s.sqlite", "t.sqlite"] { try make(store, version: 1, definition) }
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: {merge: [s.sqlite, t.sqlite]}\ndestination: d.sqlite\nmodels: M.xcdatamodeld\n")
    let job = try project.path("job.yaml")
    for verb in [["run", job, "-q"], ["verify", job]] {
      let result = project.godwit(verb)
      #expect(result.status == 0, "\(verb): \(result)")
    }
    let made = try StoreConnection.openStore(readingAt: project.path("d.sqlite"))
    #expect(try made.integer("SELECT COUNT(*) FROM source.ZT") == 8)
    let single = try self.job()
    for name in ["d.sqlite", "d.sqlite.receipt.json"] { try FileManager.default.removeItem(atPath: project.path(name)) }
    #expect(project.godwit("run", single, "-q").status == 0)
    let proof = project.godwit("verify", single, "--details")
    let index = definition == Self.own ? "sqlite_autoindex_app_1" : "ix"
    #expect(
      proof.output.contains("the order of an index of the source: its index '\(index)' of table"), "\(proof.output)")
  }

  @Test(arguments: [collated, computed, own])
  func `objects of a store with such an index are set aside, and edited ones come back`(definition: String) throws {
    try make("s.sqlite", version: 1, definition, longest: 2)
    let job = try job()
    let options = ["--set", "on-invalid={quarantine: {max-rows: 2}}"]
    let result = project.godwit(["run", job, "-q"] + options)
    #expect(result.status == 3, "\(result)")
    #expect(project.godwit(["verify", job] + options).status == 0)
    let quarantine = try project.path("d.sqlite.quarantine.sqlite")
    let held = try StoreConnection(path: quarantine)
    try held.execute("UPDATE ZT SET ZY = 'd'")
    try held.close()
    let copy = try project.path("copy.sqlite")
    let applied = project.godwit("quarantine", "apply", quarantine, try project.path("s.sqlite"), "-o", copy)
    guard definition != Self.own else {
      #expect(applied.status == 65 && applied.diagnostics.contains("needs the collation 'APPCOL'"), "\(applied)")
      return
    }
    #expect(applied.status == 0, "\(applied)")
    #expect(applied.diagnostics.contains("the copy lacks an index of the source"), "\(applied)")
    let again = project.godwit("run", job, "-q", "--source", copy, "--destination", try project.path("e.sqlite"))
    #expect(again.status == 0, "\(again)")
    let made = try StoreConnection.openStore(readingAt: project.path("e.sqlite"))
    #expect(try made.strings("SELECT ZY FROM source.ZT ORDER BY Z_PK") == ["b", "C", "a", "d"])
  }

  @Test func `the order of such an index is no damage, the number of its entries is`() throws {
    try make("s.sqlite", version: 1, Self.collated)
    let connection = try StoreConnection.openStore(readingAt: project.path("s.sqlite"))
    let indexes = try connection.foreignIndexes(in: "source")
    #expect(indexes.map(\.name) == ["ix"])
    #expect(try connection.complaints(about: "source", isFull: true, limit: 10) == [])
    let root = try #require(try connection.integer("SELECT rootpage FROM source.sqlite_master WHERE name = 'ix'"))
    try connection.close()
    var bytes = try Data(contentsOf: URL(filePath: project.path("s.sqlite")))
    // The number of entries of the index's only page.
    bytes[(Int(root) - 1) * 4096 + 4] = 3
    try bytes.write(to: URL(filePath: project.path("s.sqlite")))
    let damaged = try StoreConnection.openStore(readingAt: project.path("s.sqlite"))
    let found = try damaged.complaints(about: "source", isFull: true, limit: 10)
    #expect(found.contains("wrong # of entries in index ix"), "\(found)")
  }
}
