import Foundation
import GodwitTesting
import Testing

@testable import todo_migration

private let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

@Test func `entries that begin with a do not alert`() throws {
  let migration = try TestMigration(
    models: folder.appending(path: "TodoList.xcdatamodeld"), from: "TodoList", to: "TodoList 2",
    mapping: .file(folder.appending(path: "by-policy.mapping.yaml")), policies: ["QuietEntries": { QuietEntries() }])
  let home = SourceObject("Project", ["title": "home"])
  let result = try migration.migrate(
    SourceObject("ListEntry", ["name": "apples", "project": home]), SourceObject("ListEntry", ["name": "bread"]))
  let entries = try result.objects("ListEntry")
  #expect(try entries.map { try $0.boolean("doNotAlert") } == [true, false])
  #expect(try entries[0].object("project")?.string("title") == "home")
}
