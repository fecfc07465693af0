import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Names with line feeds, each followed by a word that a program would obey at the beginning of a line.
struct LineFeedTests {
  private static let (entity, attribute) = ("P\n::error x", "a\n::error y")
  private let project = ProjectFixture()

  private func make() throws {
    func version(_ name: String, _ type: AttributeType, _ more: [String] = []) throws -> ManagedObjectModel {
      var number = AttributeDescription(name: Self.attribute, type: type)
      number.isOptional = type == .integer64
      let others = more.map { AttributeDescription(name: $0, type: .string) }
      return try ManagedObjectModel(name: name, entities: [.made(Self.entity, [number] + others)])
    }
    let old = try version("M", .integer64, ["u\n::error u"])
    try project.bundle("M.xcdatamodeld", [old, try version("M 2", .integer16)])
    try project.store("s.sqlite", old) { store in
      for key in Int64(1)...4 {
        try store.insert(
          Self.entity, key: key,
          attributes: [Self.attribute: key == 1 ? .null : .integer(key), "u\n::error u": .init("u")])
      }
    }
    let connection = try StoreConnection(path: project.path("s.sqlite"))
    try connection.execute("CREATE TABLE \"t\n::error t\" (a)")
    try connection.execute("INSERT INTO \"t\n::error t\" VALUES (1)")
    try connection.close()
    let name = #""P\n::error x""#
    try project.write(
      "m.mapping.yaml",
      "godwit-mapping: 1\nsource-model: M\ndestination-model: M 2\nentity-mappings:\n"
        + "  - {name: \"m\\n::error m\", type: copy, source: \(name), destination: \(name)}\n")
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: s.sqlite\ndestination: out.sqlite\nmodels: M.xcdatamodeld\nmappings: m.mapping.yaml\n"
        + "on-invalid: {quarantine: {max-rows: 9}}\n")
  }

  @Test func `no name with a line feed makes a line of its own, in any output`() throws {
    try make()
    let folder = try project.folder.get().path
    let verbs: [(status: Int32, arguments: [String])] = [
      (3, ["plan", "job.yaml", "--details"]), (78, ["plan", "job.yaml", "--set", "accept-losses=[nope]"]),
      (4, ["audit", "job.yaml"]), (3, ["run", "job.yaml", "-v"]), (0, ["verify", "job.yaml", "--details", "-v"]),
      (0, ["status", "job.yaml"]), (4, ["test", "M.xcdatamodeld", "--rows", "5"]),
      (64, ["export", "s.sqlite", "--raw", "--table", "nope"]),
      (0, ["inspect", "s.sqlite", "--details", "--models", "M.xcdatamodeld"]),
      (0, ["make-store", "M.xcdatamodeld#M", "n\n::error.sqlite", "--rows", "3"]),
      (0, ["compact", "n\n::error.sqlite"]),
      (0, ["mapping", "new", "M.xcdatamodeld#M", "M.xcdatamodeld#M 2", "-o", "d\n::error.yaml"]),
      (0, ["lint", "M.xcdatamodeld", "--lock", "l\n::error.json", "--write-lock"]),
      (0, ["salvage", "n\n::error.sqlite", "-o", "c\n::error.sqlite"]),
    ]
    for (status, arguments) in verbs {
      let result = try BuiltCommand.run(arguments, in: folder)
      #expect(result.status == status || arguments[0] == "lint", "\(arguments): \(result)")
      let made = (result.output + result.diagnostics).split(separator: "\n").filter {
        $0.drop { $0 == " " }.hasPrefix("::error")
      }
      #expect(made.isEmpty, "\(arguments): \(made)")
    }
  }

  @Test func `the name of a version with a line feed makes no line of its own either`() throws {
    let version = "V\n::error v"
    func model(_ name: String, _ attributes: [String]) throws -> ManagedObjectModel {
      let attributes = attributes.map { AttributeDescription(name: $0, type: .string) }
      return try ManagedObjectModel(name: name, entities: [.made("E", attributes)])
    }
    try project.bundle("N.xcdatamodeld", [model(version, []), model("W", ["a"])])
    let folder = try project.folder.get().path
    for arguments in [
      ["make-store", "N.xcdatamodeld#\(version)", "s.sqlite", "--rows", "3"],
      ["test", "N.xcdatamodeld", "--rows", "5"],
      ["lint", "N.xcdatamodeld"],
    ] {
      let result = try BuiltCommand.run(arguments, in: folder)
      #expect(result.status == 0, "\(arguments): \(result)")
      let text = result.output + result.diagnostics
      #expect(text.contains("\\n::error v") || arguments[0] == "lint", "\(arguments): \(text)")
      #expect(!text.contains("\n::error"), "\(arguments): \(text)")
    }
  }
}
