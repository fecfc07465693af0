import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// The memory that each verb uses for one large value: one copy at most, and none if it need not look at it.
///
/// `Benchmarks/memory/large-values.py` measures more verbs, and prints figures.
@Suite(.enabled(if: BuiltCommand.canMeasure)) struct LargeValueMemoryTests {
  private static let valueBytes: Int64 = 40 << 20
  private static let budgetBytes: Int64 = 16 << 20
  /// For the program itself, in a debug build: a run with a small value takes 54 MiB, some of it of the budget. 33 MiB are
  /// pages of the executable, which grow with it. One copy more than a verb may hold exceeds the sum by far.
  private static let processBytes: Int64 = 56 << 20
  private static let fileName = "00000001-1111-2222-3333-444444444444"

  enum Kind: String, CaseIterable { case blob, text, file }

  /// A store of three objects, of which the second has a large value, and a job.
  ///
  /// Another value lies behind the large one in its row.
  private func folder(
    _ kind: Kind, external: (Bool, Bool) = (false, false), isNameRequired: Bool = false, job: String = "",
    mapping: String? = nil, large: Int64 = valueBytes
  ) throws -> TemporaryFolder {
    let folder = try TemporaryFolder("godwit-large-value")
    func model(_ name: String, isExternal: Bool, isNameRequired: Bool) throws -> ManagedObjectModel {
      var scan = AttributeDescription(name: "scan", type: .binary)
      scan.allowsExternalBinaryDataStorage = isExternal
      var title = AttributeDescription(name: "name", type: .string)
      title.isOptional = !isNameRequired
      let others = [AttributeDescription(name: "body", type: .string), .init(name: "thumb", type: .binary)]
      return try ManagedObjectModel(
        name: name, entities: [EntityDescription(name: "Doc", attributes: others + [scan, title])])
    }
    let source = try model("Docs", isExternal: external.0, isNameRequired: false)
    let destination = try model("Docs 2", isExternal: external.1, isNameRequired: isNameRequired)
    for (name, contents) in [("Docs", source.xcodeContents), ("Docs 2", destination.xcodeContents)] {
      let path = folder.file("Docs.xcdatamodeld/\(name).xcdatamodel")
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try contents.write(toFile: path + "/contents", atomically: true, encoding: .utf8)
    }
    try """
    godwit: 1
    source: docs.sqlite
    destination: out/docs.sqlite
    models: Docs.xcdatamodeld
    destination-model: Docs 2
    memory: \(Self.budgetBytes >> 20) MiB
    mappings: docs.mapping.yaml
    \(job)
    """.write(toFile: folder.file("job.yaml"), atomically: true, encoding: .utf8)
    try """
    godwit-mapping: 1
    source-model: Docs
    destination-model: Docs 2
    entity-mappings:
      - name: DocToDoc
        source: Doc
        destination: Doc
        attributes: {body: $source.body, name: $source.name, scan: $source.scan, thumb: $source.thumb}
    """.write(toFile: folder.file("docs.mapping.yaml"), atomically: true, encoding: .utf8)
    let store = try StoreBuilder(path: folder.file("docs.sqlite"), model: source)
    for key in Int64(1)...3 {
      try store.insert(
        "Doc", key: key,
        attributes: ["name": key == 2 && isNameRequired ? .null : .init("doc"), "thumb": .data([1, 2])])
    }
    try store.finish()
    let connection = try StoreConnection(path: folder.file("docs.sqlite"))
    switch kind {
    case .blob:
      let prefix = external.0 ? "x'01'" : "''"
      try connection.execute(
        "UPDATE ZDOC SET ZSCAN = CAST(\(prefix) || zeroblob(?1) AS BLOB) WHERE Z_PK = 2", [.integer(large)])
    case .text:
      try connection.execute(
        "UPDATE ZDOC SET ZBODY = replace(hex(zeroblob(?1)), '0', 'ä\"𝄞,') WHERE Z_PK = 2", [.integer(large / 16)])
    case .file:
      let support = SupportFolder(ofStoreAt: folder.file("docs.sqlite"))
      try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
      _ = FileManager.default.createFile(atPath: support.path(of: Self.fileName), contents: Data([7]))
      truncate(support.path(of: Self.fileName), off_t(large))
      try connection.execute(
        "UPDATE ZDOC SET ZSCAN = ?1 WHERE Z_PK = 2", [.blob(StoredBinary.external(name: Self.fileName).bytes)])
    }
    try connection.close()
    return folder
  }

  /// - Parameter copies: How many of the value the verb may hold.
  private func check(
    _ arguments: [String], copies: Int64, output: String? = nil, statuses: [Int32] = [0]
  ) throws {
    let peak = try BuiltCommand.peakBytes(arguments, output: output, statuses: statuses)
    let limit = Self.processBytes + Self.budgetBytes + copies * Self.valueBytes
    #expect(peak > 1 << 20 && peak < limit, "\(arguments.prefix(2)): \(peak >> 20) MiB, not below \(limit >> 20)")
  }

  @Test(
    arguments: TestTier.sample(
      [
        (Kind.blob, true, false), (.file, true, false), (.blob, false, true), (.file, true, true),
        (.blob, false, false),
      ], each: 2))
  func `a run holds a value once, whatever becomes of its external storage, and its proof holds none`(
    kind: Kind, from: Bool, to: Bool
  ) throws {
    let folder = try folder(kind, external: (from, to))
    try check(["run", folder.file("job.yaml"), "--quiet"], copies: 1)
    try check(["verify", folder.file("job.yaml"), "--quiet"], copies: 0)
    let made = try StoreConnection.openStore(readingAt: folder.file("out/docs.sqlite"))
    let length = try #require(try made.integer("SELECT length(ZSCAN) FROM source.ZDOC WHERE Z_PK = 2"))
    #expect(length == (kind == .file && to ? 38 : Self.valueBytes + (to ? 1 : 0)))
    #expect(try made.value("PRAGMA source.integrity_check") == .text(Array("ok".utf8)))
  }

  @Test(arguments: TestTier.sample([Kind.text, .blob], each: 2))
  func `the proof of a quarantine holds none of a value of its objects`(kind: Kind) throws {
    let folder = try folder(
      kind, isNameRequired: true, job: "on-invalid: {quarantine: {max-rows: 5, max-percent: 100}}")
    try check(["run", folder.file("job.yaml"), "--quiet"], copies: 2, statuses: [3])
    try check(["verify", folder.file("job.yaml"), "--quiet"], copies: 0)
  }

  @Test(arguments: TestTier.sample(Kind.allCases, each: 3))
  func `export writes a value as it reads it`(kind: Kind) throws {
    let folder = try folder(kind, external: (kind == .file, false))
    let (store, model) = (folder.file("docs.sqlite"), folder.file("Docs.xcdatamodeld"))
    for format in ["jsonl", "csv"] {
      try check(
        ["export", store, "--entity", "Doc", "--model", model, "--format", format], copies: 0,
        output: folder.file(format))
      try check(
        ["export", store, "--raw", "--table", "ZDOC", "--format", format], copies: 0, output: folder.file("raw"))
    }
    try check(
      ["export", store, "--entity", "Doc", "--model", model, "--format", "sqlite", "-o", folder.file("e.sqlite")],
      copies: 1)
    try check(
      ["export", store, "--raw", "--table", "ZDOC", "--format", "sqlite", "-o", folder.file("r.sqlite")], copies: 1)
  }

  @Test(arguments: TestTier.sample(Kind.allCases, each: 3))
  func `trace holds a value of the object that it shows once`(kind: Kind) throws {
    let folder = try folder(kind, external: (kind == .file, false))
    #expect(try BuiltCommand.run("run", folder.file("job.yaml"), "--quiet").status == 0)
    for format in TestTier.choose(["text"], long: ["text", "json"]) {
      try check(
        ["trace", folder.file("job.yaml"), "Doc/p2", "--format", format], copies: 1, output: folder.file(format))
    }
    #expect(try String(contentsOfFile: folder.file("text"), encoding: .utf8).contains("mapping 'DocToDoc'"))
  }
}
