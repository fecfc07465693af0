import Foundation
import GodwitCLI
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// A signal that comes while a run plans, which may read the whole source.
struct PlanningSignalTests {
  /// A job whose filter takes longer to count than a signal waits.
  private func writeJob(in folder: TemporaryFolder) throws {
    let text = AttributeDescription(name: "text", type: .string)
    let source = try ManagedObjectModel(name: "A", entities: [EntityDescription(name: "Note", attributes: [text])])
    let target = try ManagedObjectModel(name: "B", entities: [EntityDescription(name: "Memo", attributes: [text])])
    let store = try EmptyStore.create(
      at: folder.file("notes.sqlite"), schema: StoreSchema(model: source), metadata: StoreMetadata(model: source))
    try store.execute(
      """
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTEXT) WITH RECURSIVE n(i) AS \
      (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) SELECT i, 1, 1, hex(zeroblob(100000)) FROM n
      """)
    try store.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 60")
    try store.close()
    for model in [source, target] {
      let version = folder.file("Notes.xcdatamodeld/\(model.name).xcdatamodel")
      try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
      try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
    }
    let likes = (0..<40).map { "text LIKE '*a*b*c\($0)'" }.joined(separator: " OR ")
    let texts = [
      "job.yaml": """
      godwit: 1
      source: notes.sqlite
      destination: memos.sqlite
      models: Notes.xcdatamodeld
      destination-model: B
      mappings: m.mapping.yaml

      """,
      "m.mapping.yaml": """
      godwit-mapping: 1
      source-model: A
      entity-mappings:
        - name: NoteToMemo
          source: Note
          destination: Memo
          filter: "\(likes)"
          attributes: {text: $source.text}

      """,
    ]
    for (name, text) in texts { try Data(text.utf8).write(to: URL(filePath: folder.file(name))) }
  }

  @Test(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests"))
  func `SIGTERM while a run plans ends it by the signal, with a message of its own`() throws {
    let folder = try TemporaryFolder()
    try writeJob(in: folder)
    let process = Process()
    process.executableURL = URL(filePath: try #require(BuiltCommand.path))
    process.arguments = ["run", folder.file("job.yaml"), "--progress", "json"]
    let (output, diagnostics) = (Pipe(), Pipe())
    (process.standardOutput, process.standardError) = (output, diagnostics)
    try process.start()
    // The signals are taken before the first line is printed.
    let first = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    kill(process.processIdentifier, SIGTERM)
    let printed = first + String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let told = String(decoding: diagnostics.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.wait()
    #expect(process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGTERM, "\(told)")
    #expect(told.hasPrefix("godwit: stopped on request, before the work was done\n"), "\(told)")
    #expect(told.contains("try     run the same command"), "\(told)")
    #expect(!told.contains("SQLite"), "\(told)")
    #expect(printed.contains("\"status\":143") && !printed.contains("\"stage\":\"create\""), "\(printed)")
    #expect(!FileManager.default.fileExists(atPath: folder.file("memos.sqlite")))
  }
}
