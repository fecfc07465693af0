import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// The memory that a run uses for a value that is larger than its budget.
@Suite struct LargeRowMemoryTests {
  private static let mebibyte = 1 << 20
  /// The size of one value, and of all large values of the row.
  private static let valueMebibytes = 48
  /// The memory of the process beside its data: a job of a few rows peaks at 47 MiB in a debug build, at 32 MiB in a
  /// release.
  #if DEBUG
    private static let processMebibytes = 47
  #else
    private static let processMebibytes = 32
  #endif

  /// A job over rows of which one has large values, beside others before and behind them.
  private func folder(memory: Int, large: [String: String]) throws -> TemporaryFolder {
    let folder = try TemporaryFolder("godwit-large")
    func model(_ name: String, more: [AttributeDescription]) throws -> ManagedObjectModel {
      let names: [(String, AttributeType)] = [
        ("body", .string), ("name", .string), ("number", .integer32), ("photo", .binary), ("scan", .binary),
        ("title", .string),
      ]
      return try ManagedObjectModel(
        name: name,
        entities: [
          EntityDescription(
            name: "Doc", attributes: names.map { AttributeDescription(name: $0.0, type: $0.1) } + more)
        ])
    }
    let source = try model("Docs", more: [])
    let twice = AttributeDescription(name: "twice", type: .integer64)
    for (name, contents) in [
      ("Docs", source.xcodeContents), ("Docs 2", try model("Docs 2", more: [twice]).xcodeContents),
    ] {
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
    mappings: mapping.yaml
    memory: \(memory) MiB
    """.write(toFile: folder.file("job.yaml"), atomically: true, encoding: .utf8)
    try """
    godwit-mapping: 1
    source-model: Docs
    destination-model: Docs 2
    entity-mappings:
      - name: DocToDoc
        type: copy
        source: Doc
        destination: Doc
        attributes:
          twice: $source.number * 2
    """.write(toFile: folder.file("mapping.yaml"), atomically: true, encoding: .utf8)
    let store = try StoreBuilder(path: folder.file("docs.sqlite"), model: source)
    for key in Int64(1)...20 {
      try store.insert(
        "Doc", key: key,
        attributes: [
          "name": .init("doc \(key)"), "number": .integer(key), "photo": .data([1, 2]), "title": .init("title"),
        ])
    }
    try store.finish()
    let connection = try StoreConnection(path: folder.file("docs.sqlite"))
    for (column, value) in large {
      try connection.execute("UPDATE ZDOC SET Z\(column) = \(value) WHERE Z_PK = 7")
    }
    try connection.close()
    return folder
  }

  private static func blob(_ mebibytes: Int) -> String { "randomblob(\(mebibytes * mebibyte))" }
  /// Eight bytes for each byte of the zeros.
  private static func text(_ mebibytes: Int) -> String {
    "replace(hex(zeroblob(\(mebibytes * mebibyte / 8))), '0', 'ä𝄞')"
  }

  private static let rows: [(memory: Int, large: [String: String], isHeld: Bool)] = [
    (16, ["SCAN": blob(valueMebibytes)], false), (64, ["SCAN": blob(valueMebibytes)], false),
    (64, ["PHOTO": blob(valueMebibytes / 2), "SCAN": blob(valueMebibytes / 2)], false),
    (64, ["BODY": text(valueMebibytes)], true),
    (64, ["BODY": text(valueMebibytes / 2), "PHOTO": blob(valueMebibytes / 2)], true),
  ]

  @Test(arguments: TestTier.sample(rows, each: 2))
  func `a large row takes its size above the memory budget, and blobs at its end take nothing`(
    memory: Int, large: [String: String], isHeld: Bool
  ) throws {
    let folder = try folder(memory: memory, large: large)
    let run = try BuiltCommand.run("run", folder.file("job.yaml"), "--progress", "json")
    #expect(run.status == 0, "\(run.diagnostics)")
    let line = try #require(run.output.split(separator: "\n").last)
    let summary = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    let peak = try #require(summary["peakBytes"] as? Int) / Self.mebibyte
    #expect(peak > 0 && peak < memory + Self.processMebibytes + (isHeld ? Self.valueMebibytes : 8), "\(peak) MiB")
    let made = try StoreConnection.openStore(readingAt: folder.file("out/docs.sqlite"))
    try made.execute("ATTACH ?1 AS other", [.text(folder.file("docs.sqlite"))])
    let same = ["BODY", "NAME", "NUMBER", "PHOTO", "SCAN", "TITLE"].map { "a.Z\($0) IS b.Z\($0)" }
    #expect(
      try made.integer(
        "SELECT COUNT(*) FROM source.ZDOC AS a JOIN other.ZDOC AS b ON a.Z_PK = b.Z_PK WHERE \(same.joined(separator: " AND "))"
      ) == 20)
    #expect(try made.value("PRAGMA source.integrity_check") == .text(Array("ok".utf8)))
  }
}
