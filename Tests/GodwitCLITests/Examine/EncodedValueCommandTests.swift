import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitCLI

/// `export` and `audit` of values that are encoded, such as those of a property marked `.codable`.
struct EncodedValueCommandTests {
  private static let json = "{\"name\":\"Bern\",\"size\":3}"

  /// Places with a value of each kind: two JSON texts of one shape, one of another, a property list, other bytes, nil.
  private static func project() throws -> ProjectFixture {
    let project = ProjectFixture()
    let model = try ManagedObjectModel(
      name: "M",
      entities: [
        EntityDescription(
          name: "Place",
          attributes: [
            AttributeDescription(name: "details", type: .binary), AttributeDescription(name: "photo", type: .binary),
          ])
      ])
    try project.bundle("M.xcdatamodeld", [model])
    let list = try PropertyListSerialization.data(fromPropertyList: ["name": "Bern"], format: .binary, options: 0)
    let values: [AttributeValue] = [
      .data(Array(json.utf8)), .data(Array("{\"name\": \"Thun\", \"size\": 1.5}".utf8)),
      .data(Array("{\"name\":\"Spiez\"}".utf8)), .data([UInt8](list)), .data([1, 2]), .null,
    ]
    try project.store("m.sqlite", model) { builder in
      for (key, value) in zip(Int64(1)..., values) {
        try builder.insert("Place", key: key, attributes: ["details": value, "photo": .data([0xFF, 0xD8])])
      }
    }
    try project.write(
      "job.yaml", "godwit: 1\nsource: m.sqlite\ndestination: out.sqlite\nmodels: M.xcdatamodeld\nmappings: inferred\n")
    return project
  }

  @Test func `export decodes on request and says the form`() throws {
    let project = try Self.project()
    func export(_ more: String...) throws -> [String] {
      let found = try project.godwit(
        ["export", project.path("m.sqlite"), "--model", project.path("M.xcdatamodeld"), "--entity", "Place"] + more)
      #expect(found.status == 0, "\(found)")
      return found.output.split(whereSeparator: \.isNewline).map(String.init)
    }
    let lines = try export("--binaries", "decoded")
    #expect(lines[0].contains("\"details\":{\"@json\":\(Self.json)},\"photo\":\"/9g=\""), "\(lines[0])")
    #expect(lines[3].contains("\"details\":{\"@plist\":{\"name\":\"Bern\"}}"), "\(lines[3])")
    #expect(lines[4].contains("\"details\":\"AQI=\"") && lines[5].contains("\"details\":null"))
    // Without the option the bytes are what they were.
    #expect(try export()[0].contains("\"details\":\"\(Data(Self.json.utf8).base64EncodedString())\""))
    let fields = try export("--format", "csv", "--binaries", "decoded")
    #expect(fields[1].contains("\"json:{\"\"name\"\":\"\"Bern\"\",\"\"size\"\":3}\""), "\(fields[1])")
    let refused = try project.godwit(
      ["export", project.path("m.sqlite"), "--raw", "--all", "--binaries", "decoded"])
    #expect(refused.status == 64 && refused.diagnostics.contains("--binaries"))
  }

  @Test func `the commands of the page about SwiftData run`() throws {
    let project = try Self.project()
    let folder = try project.folder.get()
    for (name, copy) in [("m.sqlite", "default.store"), ("M.xcdatamodeld", "App.xcdatamodeld")] {
      try FileManager.default.copyItem(atPath: folder.file(name), toPath: folder.file(copy))
    }
    let script = try #require(DocumentationPage("SwiftData").blocks("sh").last)
    let result = try GettingStartedTests.run(script, in: folder)
    #expect(result.status == 0 && result.output.contains("json {name: string}"), "\(result)")
    #expect(try String(contentsOfFile: folder.file("places/Place.jsonl"), encoding: .utf8).contains("@json"))
  }

  @Test func `audit lists shapes with values alone, and they are no findings`() throws {
    let project = try Self.project()
    let found = try project.godwit(["audit", project.path("job.yaml"), "--values"])
    #expect(found.status == 0, "\(found)")
    let shapes = found.output.split(separator: "\n").filter { $0.hasPrefix("shape: ") }
    #expect(
      shapes == [
        "shape: Place.details: 2: json {name: string, size: number}", "shape: Place.details: 1: json {name: string}",
        "shape: Place.details: 1: plist {name: string}", "shape: Place.details: 1: other bytes, or more than 1 MiB",
      ])
    #expect(try !project.godwit(["audit", project.path("job.yaml")]).output.contains("shape"))
  }
}
