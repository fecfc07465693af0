import Foundation
import GodwitModel
import GodwitStore
import Testing

/// Exports whose tables, indexes and types have names that need care.
struct ExportNameTests {
  private static func export(_ model: ManagedObjectModel, _ file: String) throws -> (ProjectFixture, Int32, String) {
    let project = ProjectFixture()
    try project.bundle("M.xcdatamodeld", [model])
    try project.store("s.sqlite", model) { try $0.insert("X") }
    let result = project.godwit(
      "export", try project.path("s.sqlite"), "--model", try project.path("M.xcdatamodeld"), "--all", "--format",
      "sqlite", "-o", try project.path(file))
    return (project, result.status, result.diagnostics)
  }

  @Test(arguments: [
    [("A", ["b_c"]), ("A_b", ["c"])], [("A", ["b"]), ("index_A_b", [])], [("A", ["b"]), ("INDEX_a_B", [])],
  ])
  func `indexes whose names meet get names of their own`(entities: [(String, [String])]) throws {
    let model = try ManagedObjectModel(
      name: "M",
      entities: entities.map { name, links in
        EntityDescription(
          name: name, attributes: [AttributeDescription(name: "s", type: .string)],
          relationships: links.map { RelationshipDescription(name: $0, destinationEntityName: "X") })
      } + [.made("X", [AttributeDescription(name: "s", type: .string)])])
    let (project, status, diagnostics) = try Self.export(model, "o.db")
    #expect(status == 0, "\(diagnostics)")
    let made = try StoreConnection(path: project.path("o.db"))
    let links = entities.reduce(0) { $0 + $1.1.count }
    #expect(
      try made.integer("SELECT count(*) FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL") == Int64(links))
  }
}
