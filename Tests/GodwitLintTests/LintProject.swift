import Foundation
import GodwitLint
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

/// An application's repository made of text: models, mapping models and a lock file.
struct LintProject {
  let folder: TemporaryFolder
  private var files: [String: String] = [:]

  init() throws { folder = try TemporaryFolder("godwit-lint") }

  /// Writes a file, with the folders it is in.
  mutating func write(_ path: String, _ text: String) throws {
    let url = URL(filePath: folder.file(path))
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
    files[path] = text
  }

  /// Writes a version of a model, one element on a line.
  mutating func version(_ name: String, of bundle: String = "App", _ body: String) throws {
    try write(
      Self.contents(name, of: bundle), "<?xml version=\"1.0\"?>\n<model documentVersion=\"1.0\">\n\(body)\n</model>\n")
  }

  static func contents(_ name: String, of bundle: String = "App") -> String {
    "\(bundle).xcdatamodeld/\(name).xcdatamodel/contents"
  }

  mutating func current(_ name: String, of bundle: String = "App") throws {
    try write(
      "\(bundle).xcdatamodeld/.xccurrentversion",
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <plist version="1.0"><dict><key>_XCCurrentVersionName</key><string>\(name).xcdatamodel</string></dict></plist>
      """)
  }

  /// A line that holds the text, from 1.
  func line(of text: String, in path: String) throws -> Int {
    let lines = try #require(files[path], "no file '\(path)'").split(separator: "\n", omittingEmptySubsequences: false)
    return try #require(lines.firstIndex { $0.contains(text) }, "'\(text)' is not in '\(path)'") + 1
  }

  static let lockName = "models.lock.json"

  func linter(_ paths: [String]? = nil, isLockMissing: Bool = true) throws -> Linter {
    try Linter(
      paths?.map(folder.file) ?? [folder.path], lock: folder.file(Self.lockName), mayLockBeMissing: isLockMissing,
      workingFolder: folder.path)
  }

  func report() throws -> LintReport { try linter().report() }

  /// Records all versions, as `--write-lock` does.
  mutating func lock() throws {
    let text = try linter().extendedLock().lock.text()
    try write(Self.lockName, text)
  }

  /// Changes the lock file.
  mutating func editLock(_ change: (inout ModelLock) throws -> Void) throws {
    var lock = try ModelLock(contentsOf: folder.file(Self.lockName))
    try change(&lock)
    try write(Self.lockName, lock.text())
  }

  // MARK: Pieces of models

  /// `Person` with these lines, and whatever follows it.
  static func person(_ lines: String..., more: String = "") -> String {
    (["<entity name=\"Person\">"] + lines + ["</entity>"] + (more.isEmpty ? [] : [more])).joined(separator: "\n")
  }

  static func attribute(_ name: String, _ type: String = "String", _ more: String = "optional=\"YES\"") -> String {
    "<attribute name=\"\(name)\" attributeType=\"\(type)\" \(more)/>"
  }

  static func relationship(_ name: String, to entity: String, inverse: String, _ more: String) -> String {
    "<relationship name=\"\(name)\" destinationEntity=\"\(entity)\" inverseName=\"\(inverse)\" inverseEntity=\"\(entity)\" deletionRule=\"Nullify\" \(more)/>"
  }

  /// Writes a mapping model of Xcode's, made for a `Person` with these attributes.
  mutating func xcodeMapping(
    _ name: String, from source: String, _ was: [String], to destination: String, _ now: [String]
  ) throws {
    var fixture = MappingFixture()
    fixture.mapping("Person", "Person", number: 1, attributes: was.filter(now.contains).map { ["name": $0] })
    let bytes = fixture.document(
      source: source, destination: destination,
      more: [
        "sourcemodeldata": MappingFixture.model("Person", was),
        "destinationmodeldata": MappingFixture.model("Person", now),
      ])
    try write("\(name).xcmappingmodel/xcmapping.xml", String(decoding: bytes, as: UTF8.self))
  }

  /// Writes a mapping file from `Person` to `Person`.
  mutating func mapping(
    _ name: String, from source: String, to destination: String, _ attributes: String...,
    entity: String = "Person", policy: String? = nil
  ) throws {
    var lines = [
      "godwit-mapping: 1", "source-model: \(source)", "destination-model: \(destination)", "entity-mappings:",
      "  - name: PersonToPerson", "    source: \(entity)", "    destination: Person",
    ]
    if let policy { lines.append("    policy: \(policy)") }
    if !attributes.isEmpty { lines.append("    attributes:") }
    lines += attributes.map { "      " + $0 }
    try write("\(name).mapping.yaml", lines.joined(separator: "\n") + "\n")
  }
}
