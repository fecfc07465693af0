import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

@testable import GodwitCLI

/// Values that are written a piece at a time say the same as small ones.
struct LargeExportTests {
  private static let size = Int(LargeValue.limit.bytes) + 300_000
  private static let fileName = "00000001-1111-2222-3333-444444444444"

  /// Characters of one to four bytes at every place of a piece, and what must be escaped.
  private static let text = (String(repeating: "a\"ä€𝄞\\,\n\u{1}", count: size / 14) + "x")
  private static let spaced = " " + String(repeating: "b", count: size)
  private static let bytes = (0..<size).map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ ($0 >> 8)) }
  /// No UTF-8 by its last byte.
  private static let broken = Array(repeating: UInt8(ascii: "c"), count: size) + [0xE2]

  private static func model(_ name: String, more: [AttributeDescription] = []) throws -> ManagedObjectModel {
    var file = AttributeDescription(name: "file", type: .binary)
    file.allowsExternalBinaryDataStorage = true
    var inside = AttributeDescription(name: "inside", type: .binary)
    inside.allowsExternalBinaryDataStorage = true
    let texts = ["body", "broken", "spaced"].map { AttributeDescription(name: $0, type: .string) }
    return try ManagedObjectModel(
      name: name,
      entities: [
        EntityDescription(name: "Doc", attributes: texts + more + [file, inside, .init(name: "scan", type: .binary)])
      ])
  }

  /// The values between two small objects.
  private func folder() throws -> (folder: TemporaryFolder, model: ManagedObjectModel) {
    let folder = try TemporaryFolder("godwit-large-export")
    let model = try Self.model("Docs")
    for version in [model, try Self.model("Docs 2", more: [.init(name: "more", type: .string)])] {
      let path = folder.file("Docs.xcdatamodeld/\(version.name).xcdatamodel")
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try version.xcodeContents.write(toFile: path + "/contents", atomically: true, encoding: .utf8)
    }
    let store = try StoreBuilder(path: folder.file("docs.sqlite"), model: model)
    for key in Int64(1)...3 {
      let large: [String: AttributeValue] = [
        "body": .init(Self.text), "broken": .string(Text(utf8: Self.broken)), "spaced": .init(Self.spaced),
        "inside": .data(Self.bytes), "scan": .data(Self.bytes),
      ]
      try store.insert("Doc", key: key, attributes: key == 2 ? large : ["body": .init("small")])
    }
    try store.finish()
    let support = SupportFolder(ofStoreAt: folder.file("docs.sqlite"))
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    try Data(Self.bytes).write(to: URL(filePath: support.path(of: Self.fileName)))
    let connection = try StoreConnection(path: folder.file("docs.sqlite"))
    try connection.execute(
      "UPDATE ZDOC SET ZFILE = ?1 WHERE Z_PK = 2", [.blob(StoredBinary.external(name: Self.fileName).bytes)])
    try connection.close()
    return (folder, model)
  }

  private func content(_ folder: TemporaryFolder, _ model: ManagedObjectModel) throws -> ExportContent {
    .objects(
      try ObjectSelection(["Doc"], subentities: false, of: model, where: nil),
      try ObjectReader(path: folder.file("docs.sqlite"), model: model))
  }

  private func raw(_ folder: TemporaryFolder) throws -> ExportContent {
    let store = try RawStore(path: folder.file("docs.sqlite"))
    return .rows([try store.table(named: "ZDOC")], store)
  }

  private func text(_ content: ExportContent, as format: ExportFormat) throws -> String {
    var text = ""
    try content.write(as: format) {
      text += $0
      return true
    }
    return text
  }

  @Test func `JSON lines have large texts and bytes like small ones`() throws {
    let (folder, model) = try folder()
    let base64 = Data(Self.bytes).base64EncodedString()
    let broken = Data(Self.broken).base64EncodedString()
    func second(_ content: ExportContent) throws -> [String: Any] {
      let lines = try text(content, as: .jsonl).split(separator: "\n")
      #expect(lines.count == 3)
      return try #require(try JSONSerialization.jsonObject(with: Data(lines[1].utf8)) as? [String: Any])
    }
    let object = try second(content(folder, model))
    #expect(object["body"] as? String == Self.text && object["spaced"] as? String == Self.spaced)
    #expect((object["broken"] as? [String: String]) == ["@base64": broken])
    for name in ["file", "inside", "scan"] { #expect(object[name] as? String == base64, "\(name)") }
    let row = try second(raw(folder))
    #expect(row["ZBODY"] as? String == Self.text && row["ZSPACED"] as? String == Self.spaced)
    #expect((row["ZBROKEN"] as? [String: String]) == ["@text-base64": broken])
    #expect((row["ZSCAN"] as? [String: String]) == ["@base64": base64])
    #expect((row["ZINSIDE"] as? [String: String]) == ["@base64": Data([1] + Self.bytes).base64EncodedString()])
  }

  @Test func `CSV has large texts and bytes like small ones`() throws {
    let (folder, model) = try folder()
    let base64 = Data(Self.bytes).base64EncodedString()
    let broken = Data(Self.broken).base64EncodedString()
    let record = try text(content(folder, model), as: .csv).components(separatedBy: "\r\n")[2]
    #expect(
      record.hasSuffix(
        [ObjectWriter.field(Self.text), "base64:" + broken, base64, base64, base64, "\"\(Self.spaced)\""]
          .joined(separator: ",")))
    let row = try text(raw(folder), as: .csv).components(separatedBy: "\r\n")[2]
    for field in [ObjectWriter.field(Self.text), "text-base64:" + broken, "\"\(Self.spaced)\"", "base64:" + base64] {
      #expect(row.contains("," + field))
    }
  }

  @Test func `SQLite tables have large texts and bytes like small ones`() throws {
    let (folder, model) = try folder()
    try content(folder, model).writeDatabase(to: folder.file("e.sqlite"), like: folder.file("docs.sqlite"))
    try raw(folder).writeDatabase(to: folder.file("r.sqlite"), like: folder.file("docs.sqlite"))
    let made = try StoreConnection(path: folder.file("e.sqlite"))
    try made.execute("ATTACH ?1 AS raw", [.text(folder.file("r.sqlite"))])
    try made.execute("ATTACH ?1 AS store", [.text(folder.file("docs.sqlite"))])
    let values = [SQLValue.text(Array(Self.text.utf8)), .blob(Self.broken), .text(Array(Self.spaced.utf8))]
    let blob = SQLValue.blob(Self.bytes)
    #expect(
      try made.rows("SELECT body, broken, spaced, file, inside, scan FROM Doc WHERE pk = 2") == [
        values + [blob, blob, blob]
      ])
    #expect(try made.integer("SELECT COUNT(*) FROM Doc") == 3)
    #expect(try made.rows("SELECT ZBODY, ZBROKEN, ZSPACED FROM raw.ZDOC WHERE Z_PK = 2") == [values])
    #expect(
      try made.integer(
        """
        SELECT COUNT(*) FROM raw.ZDOC AS a JOIN store.ZDOC AS b USING (Z_PK) WHERE a.ZSCAN IS b.ZSCAN \
        AND a.ZINSIDE IS b.ZINSIDE AND a.ZFILE IS b.ZFILE AND a.ZBODY IS b.ZBODY AND a.entity = 'Doc'
        """) == 3)
    for schema in ["main", "raw"] {
      #expect(try made.value("PRAGMA \(schema).integrity_check") == .text(Array("ok".utf8)))
    }
  }

  @Test func `a trace as JSON has large texts and bytes like small ones`() throws {
    let (folder, _) = try folder()
    try """
    godwit: 1
    source: docs.sqlite
    destination: out/docs.sqlite
    models: Docs.xcdatamodeld
    destination-model: Docs 2
    mappings: m.mapping.yaml
    """.write(toFile: folder.file("job.yaml"), atomically: true, encoding: .utf8)
    let names = ["body", "broken", "file", "inside", "scan", "spaced"].map { "\($0): $source.\($0)" }
    try """
    godwit-mapping: 1
    source-model: Docs
    destination-model: Docs 2
    entity-mappings: [{name: DocToDoc, source: Doc, destination: Doc, attributes: {\(names.joined(separator: ", "))}}]
    """.write(toFile: folder.file("m.mapping.yaml"), atomically: true, encoding: .utf8)
    let run = try BuiltCommand.run("run", folder.file("job.yaml"), "--quiet")
    #expect(run.status == 0, "\(run.diagnostics)")
    let trace = try BuiltCommand.run("trace", folder.file("job.yaml"), "Doc/p2", "--format", "json")
    let document = try #require(
      try JSONSerialization.jsonObject(with: Data(trace.output.utf8)) as? [String: Any], "\(trace.diagnostics)")
    let object = try #require((document["object"] as? [String: Any])?["attributes"] as? [String: Any])
    #expect(object["body"] as? String == Self.text)
    #expect(object["broken"] as? [String: String] == ["@base64": Data(Self.broken).base64EncodedString()])
    for name in ["file", "inside", "scan"] {
      #expect(object[name] as? String == Data(Self.bytes).base64EncodedString(), "\(name)")
    }
    let text = try BuiltCommand.run("trace", folder.file("job.yaml"), "Doc/p2").output
    #expect(text.contains("\(Self.size) bytes") && text.contains("\(Self.broken.count) bytes, not UTF-8"))
  }
}
