import Foundation
import GodwitCLI
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// Keyed archives in transformable attributes, as `export` writes them.
struct ArchiveExportTests {
  private static func project() throws -> ProjectFixture {
    let project = ProjectFixture()
    let model = try ManagedObjectModel(
      name: "M",
      entities: [.made("A", [.init(name: "bytes", type: .binary), .init(name: "tint", type: .transformable)])])
    try project.bundle("M.xcdatamodeld", [model])
    try project.store("m.sqlite", model) { builder in
      for json in [#"{"b": [1, "x"], "a": null}"#, "[]", "2.5", "\"text\"", "null"] {
        let archive = try ArchivedValue(json: json.utf8).archive
        try builder.insert("A", attributes: ["tint": .data(archive), "bytes": .data(archive)])
      }
      try builder.insert("A", attributes: ["tint": .data([1, 2, 255])])
      let colour = PropertyListValue.dictionary([
        "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000), "$top": .dictionary(["root": .uid(1)]),
        "$objects": .array([
          .string("$null"), .dictionary(["$class": .uid(2), "red": .real(1)]),
          .dictionary(["$classname": .string("NSColor"), "$classes": .array([.string("NSColor")])]),
        ]),
      ])
      try builder.insert("A", attributes: ["tint": .data(colour.binaryPropertyList)])
      try builder.insert("A")
    }
    return project
  }

  private static func export(_ project: ProjectFixture, _ more: String...) throws -> String {
    let found = try project.godwit(
      ["export", project.path("m.sqlite"), "--entity", "A", "--model", project.path("M.xcdatamodeld")] + more)
    #expect(found.status == 0, "\(found)")
    return found.output
  }

  @Test func `JSON lines have the content, and base64 of what is none`() throws {
    let project = try Self.project()
    let json = ["--transformables", "json"]
    let lines = try JSONValue.lines(Self.export(project, json[0], json[1]))
    try ManyStoresTests.check(lines, "export")
    let text = try Self.export(project, json[0], json[1]).split(separator: "\n").compactMap { line in
      line.firstRange(of: "\"tint\":").map { String(line[$0.upperBound...].dropLast()) }
    }
    #expect(
      Array(text.prefix(6)) == [
        #"{"a":null,"b":[1,"x"]}"#, "[]", "2.5", #"{"@archive":"text"}"#, #"{"@archive":null}"#, "\"AQL/\"",
      ])
    // A class that is none of a property list, and nil.
    #expect(text[6].hasPrefix("\"YnBsaXN0MDD") && text[7] == "null")
    // Binary data stays what it is.
    #expect(lines.first?["bytes"]?.string?.hasPrefix("YnBsaXN0MDD") == true)
  }

  @Test func `CSV has the same JSON in a field`() throws {
    let text = try Self.export(Self.project(), "--format", "csv")
    #expect(text.contains(",\"{\"\"a\"\":null,\"\"b\"\":[1,\"\"x\"\"]}\"\r\n"), "\(text)")
    #expect(text.contains(",AQL/\r\n"))
  }

  @Test func `by default a transformable is a string or null in every row, with the text of CSV`() throws {
    let project = try Self.project()
    let lines = try JSONValue.lines(Self.export(project))
    try ManyStoresTests.check(lines, "export")
    let found = lines.map { $0["tint"] }
    #expect(found.allSatisfy { $0?.string != nil || $0 == .null })
    #expect(
      found.prefix(6).map { $0?.string } == [
        #"{"a":null,"b":[1,"x"]}"#, "[]", "2.5", #"{"@archive":"text"}"#, #"{"@archive":null}"#, "AQL/",
      ])
    #expect(found.last == .some(.null))
  }
}
