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

  @Test func `leaves become JSON, and parts of JSON become leaves`() throws {
    let project = ProjectFixture()
    func model(_ name: String, _ attributes: [AttributeDescription]) throws -> ManagedObjectModel {
      try ManagedObjectModel(name: name, entities: [EntityDescription(name: "Place", attributes: attributes)])
    }
    let names: [(String, AttributeType)] = [("name", .string), ("size", .integer64), ("when", .date), ("id", .uuid)]
    let leaves = names.map { AttributeDescription(name: $0.0, type: $0.1) }
    let data = AttributeDescription(name: "details", type: .binary)
    let versions = try [model("M 1", leaves), model("M 2", [data]), model("M 3", leaves)]
    try project.bundle("M.xcdatamodeld", versions)
    let id = try #require(UUID(uuidString: "0B0E1E5A-0000-4000-8000-000000000004"))
    try project.store("1.sqlite", versions[0]) { builder in
      try builder.insert(
        "Place", key: 1, attributes: ["name": .init("Bern"), "size": .integer(3), "when": .date(0.5), "id": .uuid(id)])
      try builder.insert("Place", key: 2, attributes: ["name": .init("Thun")])
      try builder.insert("Place", key: 3)
    }
    try project.write(
      "A.mapping.yaml",
      """
      godwit-mapping: 1
      source-model: M 1
      destination-model: M 2
      entity-mappings:
        - {name: P, source: Place, destination: Place, attributes: {details: 'encode:("name", $source.name, "of.size", $source.size, "when", $source.when, "id", $source.id)'}}
      """)
    try project.write(
      "B.mapping.yaml",
      """
      godwit-mapping: 1
      source-model: M 2
      destination-model: M 3
      entity-mappings:
        - name: P
          source: Place
          destination: Place
          attributes:
            name: 'decode:path:as:($source.details, "name", "NSString")'
            size: 'decode:path:as:($source.details, "of.size", "NSNumber")'
            when: 'decode:path:as:($source.details, "when", "NSDate")'
            id: 'decode:path:as:($source.details, "id", "NSUUID")'
      """)
    for (from, to) in [(1, 2), (2, 3)] {
      try project.write(
        "\(to).yaml",
        "godwit: 1\nsource: \(from).sqlite\ndestination: \(to).sqlite\nmodels: M.xcdatamodeld\ndestination-model: M \(to)\nmappings: \(from == 1 ? "A" : "B").mapping.yaml\n"
      )
      let made = try project.godwit(["run", project.path("\(to).yaml"), "--verify"])
      #expect(made.status == 0, "\(made)")
    }
    let second = try StoreConnection.openStore(readingAt: project.path("2.sqlite"))
    let texts = try second.strings("SELECT COALESCE(CAST(ZDETAILS AS TEXT), 'nil') FROM source.ZPLACE ORDER BY Z_PK")
    #expect(
      texts == [
        "{\"id\":\"0B0E1E5A-0000-4000-8000-000000000004\",\"name\":\"Bern\",\"of\":{\"size\":3},\"when\":0.5}",
        "{\"name\":\"Thun\"}", "nil",
      ])
    func rows(_ name: String) throws -> [[SQLValue]] {
      let store = try StoreConnection.openStore(readingAt: project.path(name))
      return try store.rows("SELECT ZNAME, ZSIZE, ZWHEN, hex(ZID) FROM source.ZPLACE ORDER BY Z_PK")
    }
    #expect(try rows("3.sqlite") == rows("1.sqlite"))
    // Other bytes are an error of the object.
    try second.close()
    let broken = try StoreConnection(path: project.path("2.sqlite"))
    try broken.execute("UPDATE ZPLACE SET ZDETAILS = x'FFD8' WHERE Z_PK = 2")
    try broken.close()
    let refused = try project.godwit(
      ["run", project.path("3.yaml"), "--destination", project.path("4.sqlite")])
    #expect(refused.status == 65 && refused.diagnostics.contains("decode:path:as:"), "\(refused)")
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
