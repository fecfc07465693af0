import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// The example `jobs/todo`: an executable of a user's own with a policy.
@Suite(.serialized) struct `The to-do list` {
  static let folder = Checkout.url("jobs/todo")

  /// The example's executable, beside `godwit`.
  static let executable = BuiltCommand.path.map {
    URL(filePath: $0).deletingLastPathComponent().appending(path: "todo-migration").path
  }

  static func makeStore(at path: String, entries: Int64) throws {
    let model = try ManagedObjectModel(
      contentsOf: folder.appending(path: "TodoList.xcdatamodeld").path, version: "TodoList")
    let metadata = StoreMetadata(model: model, uuid: UUID(uuidString: "70D00000-0000-4000-8000-000000000001") ?? UUID())
    let store = try StoreBuilder(path: path, model: model, metadata: metadata)
    let names: [String?] = ["apples", "Apples", "bread", "ask Åsa", nil, "", "älg", "a", "call Ada", "aä"]
    for key in Int64(1)...5 {
      try store.insert("Project", key: key, attributes: ["title": .init("project \(key)")], relationships: [:])
    }
    for key in 1...entries {
      let name = names[Int(key) % names.count].map { key > 10 ? "\($0) \(key)" : $0 }
      try store.insert(
        "ListEntry", key: key,
        attributes: ["name": name.map { AttributeValue($0) } ?? .null, "dueDate": .date(Double(key) * 1000)],
        relationships: key % 7 == 0 ? [:] : ["project": [key % 5 + 1]])
    }
    try store.finish()
  }

  /// A copy of the example without its executable, with a store of that size.
  private func copy(entries: Int64? = nil) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    for name in ["by-policy", "by-expression"] {
      for file in ["\(name).yaml", "\(name).mapping.yaml"] {
        try FileManager.default.copyItem(
          atPath: Self.folder.appending(path: file).path, toPath: folder.file(file))
      }
    }
    for file in ["TodoList.xcdatamodeld", "stores"] {
      try FileManager.default.copyItem(atPath: Self.folder.appending(path: file).path, toPath: folder.file(file))
    }
    if let entries {
      try FileManager.default.removeItem(atPath: folder.file("stores/todo.sqlite"))
      try Self.makeStore(at: folder.file("stores/todo.sqlite"), entries: entries)
    }
    return folder
  }

  private func start(_ arguments: [String], in folder: TemporaryFolder) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: try #require(Self.executable))
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: folder.path)
    for handle in ["out.txt", "err.txt"] {
      _ = FileManager.default.createFile(atPath: folder.file(handle), contents: nil)
    }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: URL(filePath: folder.file("out.txt")))
    process.standardError = try FileHandle(forWritingTo: URL(filePath: folder.file("err.txt")))
    try process.start()
    return process
  }

  private func run(_ arguments: String..., in folder: TemporaryFolder) throws -> (status: Int32, text: String) {
    let process = try start(arguments, in: folder)
    process.wait()
    let text = try ["out.txt", "err.txt"].map { try String(contentsOfFile: folder.file($0), encoding: .utf8) }
    return (process.terminationStatus, text.joined())
  }

  private func rows(_ path: String) throws -> [String] {
    let connection = try StoreConnection.openStore(readingAt: path)
    return try ["ZLISTENTRY", "ZPROJECT", "Z_PRIMARYKEY"].flatMap { table in
      try connection.rows("SELECT * FROM source.\(table) ORDER BY 1").map { "\(table) \($0)" }
    }
  }

  @Test(.enabled(if: ProcessInfo.processInfo.environment["GODWIT_REGENERATE"] != nil))
  func `the to-do store can be regenerated`() throws {
    let path = Self.folder.appending(path: "stores/todo.sqlite").path
    try FileManager.default.createDirectory(
      at: Self.folder.appending(path: "stores"), withIntermediateDirectories: true)
    try? FileManager.default.removeItem(atPath: path)
    try Self.makeStore(at: path, entries: 40)
  }

  @Test func `the to-do policy and expression give the same rows`() throws {
    let folder = try copy()
    let plan = try run("plan", "--details", "by-policy.yaml", in: folder)
    #expect(plan.text.contains("lane       object (policy QuietEntries)"))
    for job in ["by-policy", "by-expression"] {
      let made = try run("run", "\(job).yaml", in: folder)
      #expect(made.status == 0, "\(made.text)")
      let proved = try run("verify", "\(job).yaml", in: folder)
      #expect(proved.status == 0, "\(proved.text)")
    }
    #expect(try rows(folder.file("out/todo-by-policy.sqlite")) == rows(folder.file("out/todo-by-expression.sqlite")))
    let store = try StoreConnection.openStore(readingAt: folder.file("out/todo-by-policy.sqlite"))
    #expect(try store.integer("SELECT COUNT(*) FROM source.ZLISTENTRY WHERE ZDONOTALERT") == 16)
    #expect(try store.integer("SELECT COUNT(*) FROM source.ZLISTENTRY WHERE ZPRIORITY = 3") == 40)
  }

  @Test func `the plain command refuses a policy with its place and a remedy`() throws {
    let folder = try copy()
    let result = try BuiltCommand.run("plan", "by-policy.yaml", in: folder.path)
    #expect(result.status == 78)
    #expect(result.diagnostics.contains("by-policy.mapping.yaml:14:13: "), "\(result.diagnostics)")
    #expect(result.diagnostics.contains("no policy 'QuietEntries' is registered"))
    let manifest = folder.file("by-policy.yaml")
    try (try String(contentsOfFile: manifest, encoding: .utf8) + "unregistered-policies: default\n")
      .write(toFile: manifest, atomically: true, encoding: .utf8)
    let plan = try BuiltCommand.run("plan", "by-policy.yaml", in: folder.path)
    #expect(plan.status == 0)
    #expect(plan.output.contains("policy       QuietEntries (mapping ListEntryToListEntry: not registered"))
    #expect(
      plan.output.contains("  verdict      LOSES: it runs without a policy; no other loss was found\n"),
      "\(plan.output)")
  }

  @Test func `a run with a policy killed again and again ends with the same rows`() throws {
    let folder = try copy(entries: 3000)
    let manifest = folder.file("by-policy.yaml")
    try (try String(contentsOfFile: manifest, encoding: .utf8)).replacing("rows: 10 ", with: "rows: 100 ")
      .write(toFile: manifest, atomically: true, encoding: .utf8)
    var kills = 0
    for round in 1...8 {
      let process = try start(["run", "by-policy.yaml"], in: folder)
      usleep(UInt32(60_000 + round * 60_000))
      guard process.isRunning else { break }
      kill(process.processIdentifier, SIGKILL)
      process.wait()
      if process.terminationReason == .uncaughtSignal { kills += 1 }
    }
    let last = try run("run", "by-policy.yaml", in: folder)
    #expect(last.status == 0, "\(last.text)")
    #expect(kills > 0)
    #expect(try run("run", "by-expression.yaml", in: folder).status == 0)
    #expect(try rows(folder.file("out/todo-by-policy.sqlite")) == rows(folder.file("out/todo-by-expression.sqlite")))
  }
}
