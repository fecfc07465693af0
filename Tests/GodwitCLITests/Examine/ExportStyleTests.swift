import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The forms of dates, links and nil that `export` writes.
struct ExportStyleTests {
  /// Two owners; the first has three pets, the second none. Pets are of two entities.
  private static func project() throws -> ProjectFixture {
    let project = ProjectFixture()
    let model = try ManagedObjectModel(
      name: "M",
      entities: [
        EntityDescription(
          name: "Owner",
          attributes: [
            AttributeDescription(name: "name", type: .string), AttributeDescription(name: "born", type: .date),
          ],
          relationships: [
            RelationshipDescription(name: "pets", destinationEntityName: "Pet", inverseName: "owner", isToMany: true)
          ]),
        EntityDescription(
          name: "Pet", attributes: [AttributeDescription(name: "name", type: .string)],
          relationships: [
            RelationshipDescription(name: "owner", destinationEntityName: "Owner", inverseName: "pets")
          ]),
      ])
    try project.bundle("M.xcdatamodeld", [model])
    try project.store("m.sqlite", model) { builder in
      try builder.insert(
        "Owner", key: 5, attributes: ["name": .init("a"), "born": .date(-0.5)], relationships: [:])
      try builder.insert("Owner", key: 7, attributes: ["name": .init(""), "born": .null], relationships: [:])
      try builder.insert("Owner", key: 8, attributes: ["name": .init("NULL"), "born": .date(1)], relationships: [:])
      try builder.insert("Owner", key: 9, attributes: ["name": .null, "born": .null], relationships: [:])
      for key in Int64(1)...3 {
        try builder.insert("Pet", key: key * 10, attributes: [:], relationships: ["owner": [5]])
      }
    }
    return project
  }

  private func export(_ more: String...) throws -> (status: Int32, output: String, diagnostics: String) {
    let project = try Self.project()
    let found = try project.godwit(
      ["export", project.path("m.sqlite"), "--model", project.path("M.xcdatamodeld")] + more)
    return (found.status, found.output, found.diagnostics)
  }

  @Test(arguments: [
    ("iso", ["\"2000-12-31T23:59:59.500000Z\"", "null", "\"2001-01-01T00:00:01.000000Z\"", "null"]),
    ("unix", ["978307199.5", "null", "978307201.0", "null"]), ("coredata", ["-0.5", "null", "1.0", "null"]),
  ])
  func `dates are texts, or seconds since 1970 or 2001`(form: String, expected: [String]) throws {
    let lines = try export("--entity", "Owner", "--dates", form).output.split(separator: "\n")
    #expect(lines.map { $0.firstMatch(of: /"born":([^,}]*)/).map { String($0.1) } } == expected)
    let csv = try export("--entity", "Owner", "--dates", form, "--format", "csv").output
    #expect(csv.contains(",\(expected[0].replacing("\"", with: "")),"), "\(csv)")
  }

  @Test func `dates of a database are numbers that compare`() throws {
    let project = try Self.project()
    let path = try project.path("out.db")
    let found = try project.godwit(
      "export", project.path("m.sqlite"), "--model", project.path("M.xcdatamodeld"), "--all", "--format", "sqlite",
      "--dates", "unix", "-o", path)
    #expect(found.status == 0, "\(found)")
    let store = try StoreConnection(path: path)
    defer { try? store.close() }
    #expect(try store.integer("SELECT pk FROM Owner WHERE born > 978307200") == 8)
    #expect(try store.value("SELECT typeof(born) FROM Owner WHERE pk = 5") == .text("real"))
  }

  @Test func `links are URIs, keys, or their number`() throws {
    func pets(_ form: String) throws -> [String] {
      try export("--entity", "Owner", "--links", form).output.split(separator: "\n").map {
        $0.firstMatch(of: /"pets":(\[[^\]]*\]|[0-9]+)/).map { String($0.1) } ?? "?"
      }
    }
    #expect(try pets("count") == ["3", "0", "0", "0"])
    #expect(try pets("keys") == ["[10,20,30]", "[]", "[]", "[]"])
    #expect(try pets("uris").first?.contains("/Pet/p10\",\"") == true)
    #expect(try export("--entity", "Pet", "--links", "keys").output.contains("\"owner\":5"))
    #expect(try export("--entity", "Pet", "--links", "count").output.contains("/Owner/p5\""))
    let csv = try export("--entity", "Owner", "--links", "keys", "--format", "csv").output
    #expect(csv.contains(",10 20 30\r\n"), "\(csv)")
  }

  @Test func `nil has a text of its own in CSV, and a text that is the same is quoted`() throws {
    let csv = try export("--entity", "Owner", "--format", "csv", "--null", "NULL").output
    let rows = csv.split(separator: "\r\n").dropFirst().map {
      $0.split(separator: ",", omittingEmptySubsequences: false)
    }
    // Columns: entity, URI, born, name, pets.
    #expect(rows.map { $0[3] } == ["a", "\"\"", "\"NULL\"", "NULL"] && rows[1][2] == "NULL", "\(csv)")
    let usual = try export("--entity", "Owner", "--format", "csv").output
    #expect(usual.contains(",,\"\",\r\n") && usual.contains(",NULL,\r\n"), "\(usual)")
    let raw = try export("--raw", "--table", "ZOWNER", "--format", "csv", "--null", "-")
    #expect(raw.status == 64)
  }

  @Test(arguments: [
    ["--null", "x"], ["--format", "csv", "--null", "a,b"], ["--format", "csv", "--transformables", "text"],
    ["--dates", "epoch"], ["--links", "names"],
  ])
  func `a form that the format does not have is wrong usage`(options: [String]) throws {
    let project = try Self.project()
    let found = try project.godwit(
      ["export", project.path("m.sqlite"), "--entity", "Owner", "--model", project.path("M.xcdatamodeld")] + options)
    #expect(found.status == 64 && found.output.isEmpty, "\(found)")
  }
}
