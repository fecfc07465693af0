import Foundation
import GodwitModel
import GodwitXcode
import Logging
import TestSupport
import Testing

@testable import GodwitManifest

/// Which files of a pattern are stores, and where the jobs of many stores and the results of a run may be.
struct StorePlacesTests {
  private typealias Patterns = StorePatternTests

  private static func names(_ stores: [ManifestStore]) -> [String] {
    stores.map { URL(filePath: $0.path).lastPathComponent }
  }

  @Test func `wildcards in the name of the manifest's folder stand for themselves`() throws {
    let folder = try TemporaryFolder()
    try Patterns.touch(folder, "b[1]/s/mine.sqlite", "b1/s/other.sqlite", "b[1]*/s/third.sqlite")
    for (name, store) in [("b[1]", "mine.sqlite"), ("b[1]*", "third.sqlite")] {
      let path = folder.file(name + "/job.yaml")
      try Data("godwit: 1\nmodels: M.xcdatamodeld\nsource: '*/*.sqlite'\ndestination: {existing: in-place}\n".utf8)
        .write(
          to: URL(filePath: path))
      let loader = try JobLoader(manifestPath: path, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      #expect(try loader.stores().map(\.path) == [folder.file("\(name)/s/\(store)")])
      let pattern = loader.storePattern
      #expect(pattern.root == folder.file(name + "/") && pattern.matches(["s", store]))
      #expect(try pattern.files().map(\.folder) == ["s"])
    }
  }

  @Test func `in place, brackets alone are the name of one store, whether it is there or not`() throws {
    let folder = try TemporaryFolder()
    try Patterns.touch(folder, "notes1.sqlite", "a1.sqlite")
    func isForMany(_ source: String, _ rest: String = "destination: {existing: in-place}") throws -> Bool {
      try Patterns.loader(folder, source, rest).isForManyStores
    }
    #expect(try !isForMany("notes[1].sqlite") && isForMany("notes?.sqlite") && isForMany("[an]*.sqlite"))
    #expect(try isForMany("notes[1].sqlite", "destination: 'o/{name}.s'"))
    // A link that leads nowhere is a store that is missing.
    #expect(try isForMany("a*.sqlite"))
    try FileManager.default.createSymbolicLink(atPath: folder.file("a*.sqlite"), withDestinationPath: "nowhere")
    #expect(try !isForMany("a*.sqlite"))
  }

  @Test func `folders whose names are equal as text and not as bytes are two`() throws {
    let folder = try TemporaryFolder()
    try Patterns.touch(folder, "s/\u{E9}/a.sqlite", "s/e\u{301}/a.sqlite")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("s"))
    // Apple's file systems take them for one.
    guard names.count == 2 else { return }
    #expect(Patterns.complaint(folder, "s/*/*.sqlite", "destination: 'o/{folder}/{name}.s'") == nil)
  }

  @Test func `in place, receipts are told apart, and what belongs to a store is none`() throws {
    let folder = try TemporaryFolder()
    try Patterns.touch(
      folder, "s/a.sqlite", "s/x/a.sqlite", "s/a.sqlite.verification.json", "s/a.sqlite.receipt.json",
      "s/a.sqlite.quarantine.sqlite", "s/lone.quarantine.sqlite")
    let two = Patterns.complaint(folder, "s/**/*.sqlite", "destination: {existing: in-place}\nreceipt: 'r/{name}.json'")
    #expect(two?.code == .configuration && two?.message.contains("two stores would write") == true, "\(two as Any)")
    let next = Patterns.complaint(folder, "s/*", "destination: {existing: in-place}\nreceipt: 's/{name}.json'")
    #expect(next?.code == .configuration && next?.message.contains("matches the pattern") == true, "\(next as Any)")
    #expect(Patterns.complaint(folder, "s/*", "destination: {existing: in-place}\nreceipt: 'r/{name}.json'") == nil)
    for rest in ["destination: {existing: in-place}", "destination: 'o/{file}'"] {
      let stores = try Patterns.loader(folder, "s/*", rest).stores()
      #expect(Self.names(stores) == ["a.sqlite", "lone.quarantine.sqlite"])
    }
  }

  @Test func `in place, an old store does not count as a store, even without the one that took its place`() throws {
    let folder = try TemporaryFolder()
    try Patterns.touch(folder, "s/a.sqlite", "s/a~.sqlite", "s/gone~.sqlite", "s/~.sqlite", "s/~x.sqlite")
    var notes: [String] = []
    let stores = try Patterns.loader(folder, "s/*", "destination: {existing: in-place}").stores(note: {
      notes.append($0)
    })
    #expect(Self.names(stores) == ["a.sqlite", "~.sqlite", "~x.sqlite"])
    #expect(notes.count == 1 && notes[0].contains("gone~.sqlite") && !notes[0].contains("a~.sqlite'"), "\(notes)")
    #expect(try Patterns.loader(folder, "s/*", "destination: 'o/{file}'").stores().count == 5)
  }

  @Test func `a store must not have the name that another one is kept by`() throws {
    let folder = try TemporaryFolder()
    try Patterns.touch(folder, "s/a.sqlite", "s/a~.sqlite")
    let job = "destination: {path: 'o/{file}', existing: replace, keep-old: "
    let found = Patterns.complaint(folder, "s/*", job + "true}")
    #expect(found?.code == .configuration && found?.message.contains("o/a~.sqlite") == true, "\(found as Any)")
    #expect(Patterns.complaint(folder, "s/*", job + "false}") == nil)
  }

  /// The model of the manifests, with an attribute that may have files of its own.
  private static func writeModel(_ folder: TemporaryFolder, isExternal: Bool) throws {
    var photo = AttributeDescription(name: "photo", type: .binary)
    photo.allowsExternalBinaryDataStorage = isExternal
    let model = try ManagedObjectModel(name: "M", entities: [EntityDescription(name: "Person", attributes: [photo])])
    let version = folder.file("M.xcdatamodeld/M.xcdatamodel")
    try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
    try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
  }

  @Test func `two stores do not have their external files in one folder`() throws {
    let folder = try TemporaryFolder()
    try Patterns.touch(folder, "s/a.sqlite", "s/a.db", "d/b.1.sqlite", "d/b.2.sqlite")
    func found(_ source: String, _ rest: String) -> (code: GodwitError.Code, message: String)? {
      Patterns.complaint(folder, source, rest + "\ndestination-model: M")
    }
    func refused(_ source: String, _ rest: String, _ texts: String...) {
      let found = found(source, rest)
      #expect(found?.code == .configuration, "\(source) \(rest): \(found as Any)")
      for text in texts { #expect(found?.message.contains(text) == true, "\(found as Any)") }
    }
    try Self.writeModel(folder, isExternal: true)
    refused("s/*", "destination: 'o/{file}'", "s/a.db' and", "s/a.sqlite'", "o/.a_SUPPORT'", "external files")
    refused("d/*", "destination: 'o/{name}'", "o/.b_SUPPORT'")
    refused("s/*", "destination: {existing: in-place}", "s/.a~_SUPPORT'")
    let fine = [
      "destination: 'o/{file}.sqlite'", "destination: 'o/{name}{ext}.sqlite'",
      "destination: 'o/{file}'\ndestination-type: xml", "destination: {existing: in-place, keep-old: false}",
    ]
    for rest in fine { #expect(found("s/*", rest) == nil, "\(rest): \(found("s/*", rest) as Any)") }
    // Without such an attribute there are no such files, unless the stores have some.
    try Self.writeModel(folder, isExternal: false)
    for rest in ["destination: 'o/{file}'", "destination: {existing: in-place}"] {
      #expect(found("s/*", rest) == nil, "\(rest)")
    }
    try FileManager.default.createDirectory(atPath: folder.file("s/.a_SUPPORT"), withIntermediateDirectories: true)
    refused("s/*", "destination: {existing: in-place}", "s/.a~_SUPPORT'")
    #expect(found("s/*", "destination: 'o/{file}'") == nil)
  }

  @Test func `results go to no file of a job and to none that the next run would find`() throws {
    let folder = try TemporaryFolder()
    try Patterns.touch(folder, "s/a.sqlite")
    try Data().write(to: URL(filePath: folder.file("s/empty.sqlite")))
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: "s/empty.sqlite")
    try FileManager.default.createSymbolicLink(atPath: folder.file("p"), withDestinationPath: "o")
    try FileManager.default.createDirectory(atPath: folder.file("o"), withIntermediateDirectories: true)
    func code(_ results: String, _ rest: String = "destination: 'o/{name}.s'") throws -> GodwitError.Code? {
      let loader = try Patterns.loader(folder, "s/*.sqlite", rest)
      do {
        _ = try loader.stores(results: folder.file(results))
        return nil
      } catch { return (error as? GodwitError)?.code }
    }
    let refused = [
      "s/empty.sqlite", "link", "link-wal", "s/new.sqlite", "o/a.s", "o/a.s-wal", "p/a.s", "o/a.s.receipt.json",
      "o/a.s.godwit/results", "o/.a_SUPPORT/x",
    ]
    for path in refused { #expect(try code(path) == .usage, "\(path)") }
    for path in ["results", "s/results.jsonl", "o/results.jsonl"] { #expect(try code(path) == nil, "\(path)") }
    #expect(
      try code("s/a~.sqlite", "destination: {existing: in-place}") == .usage
        && code("r", "destination: {existing: in-place}") == nil)
  }

  @Test func `a store has the job's name, however it was found, and a search is stopped`() throws {
    let folder = try TemporaryFolder()
    try Patterns.touch(folder, "s/a.sqlite")
    let loader = try Patterns.loader(folder, "s/*.sqlite", "destination: 'o/{name}.s'\njob: nightly")
    #expect(try loader.stores().map(\.loader.manifest.job) == ["nightly"])
    #expect(throws: GodwitError.self) { try loader.stores(isStopped: { true }) }
  }

  @Test func `what cannot be looked at is an error and not nothing`() throws {
    let folder = try TemporaryFolder()
    try Patterns.touch(folder, "s/x/a.sqlite")
    // ENAMETOOLONG, which is as good as EIO here.
    let name = String(repeating: "n", count: 300)
    let found = Patterns.complaint(folder, "s/*/\(name)", "destination: 'o/{name}.s'")
    #expect(found?.code == .inputOutput && found?.message.contains("cannot look at") == true, "\(found as Any)")
    // A caller that asks for the other stores hears of each such path once.
    var unreadable: [(path: String, code: GodwitError.Code)] = []
    func stores(_ source: String) throws -> [String] {
      unreadable = []
      let loader = try Patterns.loader(folder, source, "destination: 'o/{name}.s'")
      return try loader.stores(unreadable: { unreadable.append((path: $0, code: $1.code)) }).map(\.path)
    }
    #expect(try stores("s/*/\(name)") == [])
    #expect(unreadable.map(\.path) == [folder.file("s/x/\(name)")] && unreadable.first?.code == .inputOutput)
    #expect(throws: GodwitError.self) { try stores("\(name)/*.sqlite") }
  }
}
