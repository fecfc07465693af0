import Foundation
import GodwitCLI
import GodwitManifest
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// A folder with small stores of three versions, and a job for them with a results folder.
struct ShardFixture: Sendable {
  private let folder: TemporaryFolder

  var path: String { folder.path }

  func file(_ name: String) -> String { folder.file(name) }

  static let job = """
    godwit: 1
    source: "stores/**/*.sqlite"
    destination: "out/{folder}/{name}.sqlite"
    models: Notes.xcdatamodeld
    memory: 32 MiB
    check-source: none

    """

  /// - Parameters:
  ///   - stores: How many: `stores/a/u00.sqlite`, `stores/b/u01.sqlite` and so on.
  ///   - invalid: The stores with a row that the last version does not accept.
  init(stores: Int, invalid: Set<Int> = [], job more: String = "", limits: String = "jobs: 2") throws {
    folder = try TemporaryFolder("godwit-shards")
    let template = try Self.template.get()
    for name in ["Notes.xcdatamodeld", "templates"] {
      try FileManager.default.copyItem(atPath: template.file(name), toPath: folder.file(name))
    }
    for name in ["a", "b"] {
      try FileManager.default.createDirectory(
        atPath: folder.file("stores/\(name)"), withIntermediateDirectories: true)
    }
    for number in 0..<stores { try add(number, isInvalid: invalid.contains(number)) }
    try write("job.yaml", Self.job + "stores: {results: results, \(limits)}\n" + more)
  }

  func write(_ name: String, _ text: String) throws {
    try Data(text.utf8).write(to: URL(filePath: file(name)))
  }

  static func name(_ number: Int) -> String {
    "stores/\(number % 2 == 0 ? "a" : "b")/u\(number < 10 ? "0" : "")\(number).sqlite"
  }

  static func destination(_ number: Int) -> String {
    "out" + name(number).dropFirst("stores".count)
  }

  /// A store whose rows are its own.
  func add(_ number: Int, isInvalid: Bool = false) throws {
    let store = file(Self.name(number))
    try? FileManager.default.removeItem(atPath: store)
    try FileManager.default.copyItem(
      atPath: file("templates/\(number % 3)-\(isInvalid ? "bad" : "good").sqlite"), toPath: store)
    let connection = try StoreConnection(path: store, create: true)
    try connection.execute("UPDATE ZNOTE SET ZPAGES = ZPAGES + \(number)")
    try connection.close()
  }

  private static let template = Result { try makeTemplate() }

  /// The models and a store of each version, made once.
  private static func makeTemplate() throws -> TemporaryFolder {
    let folder = try TemporaryFolder("godwit-shards-template")
    var title = AttributeDescription(name: "title", type: .string)
    let pages = AttributeDescription(name: "pages", type: .integer32)
    let rating = AttributeDescription(name: "rating", type: .integer16)
    let mood = AttributeDescription(name: "mood", type: .string)
    let first = try ManagedObjectModel(name: "Notes", entities: [.made("Note", [title, pages])])
    let second = try ManagedObjectModel(
      name: "Notes 2", entities: [.made("Note", [title, pages, rating])])
    let third = try ManagedObjectModel(
      name: "Notes 3", entities: [.made("Note", [title, pages, rating, mood])])
    title.maximumLength = 20
    let stars = AttributeDescription(name: "stars", type: .integer16)
    let last = try ManagedObjectModel(name: "Notes 4", entities: [.made("Note", [title, pages, rating, stars])])
    for model in [first, second, third, last] {
      let version = folder.file("Notes.xcdatamodeld/\(model.name).xcdatamodel")
      try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
      try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
    }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "Notes 4.xcdatamodel"], format: .xml, options: 0)
    try marker.write(to: URL(filePath: folder.file("Notes.xcdatamodeld/.xccurrentversion")))
    try FileManager.default.createDirectory(
      atPath: folder.file("templates"), withIntermediateDirectories: true)
    for (number, model) in [first, second, third].enumerated() {
      for kind in ["good", "bad"] {
        let store = try StoreBuilder(
          path: folder.file("templates/\(number)-\(kind).sqlite"), model: model)
        for key in Int64(1)...4 {
          let title = "note \(key)" + (kind == "bad" && key == 3 ? String(repeating: "x", count: 40) : "")
          var attributes = ["title": AttributeValue(title), "pages": .integer(key)]
          if number == 2 { attributes["mood"] = AttributeValue("good") }
          try store.insert("Note", key: key, attributes: attributes)
        }
        try store.finish()
      }
    }
    return folder
  }

  // MARK: Commands

  func godwit(_ arguments: String...) throws -> BuiltCommand.Result {
    try BuiltCommand.run(arguments, in: path)
  }

  /// `run` of a shard, as a process of its own.
  @discardableResult
  func run(
    _ shard: String = "1/1", _ more: String..., status: Int32 = 0, location: SourceLocation = #_sourceLocation
  ) throws -> BuiltCommand.Result {
    let result = try BuiltCommand.run(["run", "job.yaml", "--shard", shard] + more, in: path)
    #expect(result.status == status, "\(result.output)\(result.diagnostics)", sourceLocation: location)
    return result
  }

  /// The document of `status`, which its schema allows.
  func status(location: SourceLocation = #_sourceLocation) throws -> JSONValue {
    let result = try godwit("status", "job.yaml", "--format", "json")
    #expect(result.status == 0, "\(result.output)\(result.diagnostics)", sourceLocation: location)
    let value = try JSONValue(parsing: result.output)
    try Self.check(value, "results", location)
    return value
  }

  static func check(
    _ value: JSONValue, _ schema: String, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let text = try #require(PublishedSchema.all.first { $0.name == schema }?.text)
    #expect(try JSONSchema(text: text).findings(value) == [], sourceLocation: location)
  }

  /// All lines of results, in the order of the names of their files.
  func results() throws -> [JSONValue] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: file("results"))) ?? []
    return try names.sorted().filter { $0.hasSuffix(".jsonl") }.flatMap { name -> [JSONValue] in
      let lines = try JSONValue.lines(String(contentsOfFile: file("results/" + name), encoding: .utf8))
      for line in lines { try Self.check(line, "progress") }
      return lines
    }
  }

  /// Starts a command that goes on beside the test.
  func start(_ arguments: String...) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: try #require(BuiltCommand.path))
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: path)
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.start()
    return process
  }

  /// Waits until a running command has made a file.
  func wait(for name: String, of process: Process) {
    while process.isRunning, !FileManager.default.fileExists(atPath: file(name)) { usleep(3000) }
  }
}
