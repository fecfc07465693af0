import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitCLI

/// Ranges that several cores write give the text that one core gives.
struct ExportOnCoresTests {
  private static func model() throws -> ManagedObjectModel {
    let people = RelationshipDescription(
      name: "people", destinationEntityName: "Person", inverseName: "team", isToMany: true)
    let team = RelationshipDescription(name: "team", destinationEntityName: "Team", inverseName: "people")
    return try ManagedObjectModel(
      name: "Teams",
      entities: [
        EntityDescription(
          name: "Person",
          attributes: [.init(name: "name", type: .string), .init(name: "age", type: .integer32)],
          relationships: [team]),
        EntityDescription(name: "Team", attributes: [.init(name: "name", type: .string)], relationships: [people]),
      ])
  }

  private func store(_ folder: TemporaryFolder) throws -> String {
    let path = folder.file("teams.sqlite")
    let builder = try StoreBuilder(path: path, model: Self.model())
    let long = String(repeating: "ä", count: Int(LargeValue.limit.bytes))
    for key in Int64(1)...60 {
      let name = key == 20 ? long : key == 33 ? String(repeating: "x", count: 600_000) : "person \(key)"
      try builder.insert(
        "Person", key: key * key - 50, attributes: ["name": .init(name), "age": .integer(key)],
        relationships: key % 5 == 0 ? [:] : ["team": [1 + key % 3]])
    }
    for key in Int64(1)...3 { try builder.insert("Team", key: key, attributes: ["name": .init("team \(key)")]) }
    try builder.finish()
    return path
  }

  /// The text of an export, which ends after a number of pieces, and whether it ended with an error.
  private func text(
    _ path: String, _ entity: String, _ rows: Int64, where condition: String? = nil, pieces: Int = .max
  ) throws -> (text: String, error: String?) {
    let selection = try ObjectSelection([entity], subentities: false, of: Self.model(), where: condition)
    let reader = try ObjectReader(path: path, model: Self.model())
    reader.leavesLargeValues = true
    var (text, left) = ("", pieces)
    do {
      try reader.write(objectsOf: [entity], where: selection.condition, rowsPerPiece: rows) { reader in
        let writer = ObjectWriter(format: .jsonl, entities: [entity], reader: reader)
        return { try writer.write($0, to: $1) }
      } send: {
        text += $0
        left -= 1
        return left > 0
      }
    } catch { return (text, "\(error)") }
    return (text, nil)
  }

  @Test(arguments: ["Person", "Team"], [nil, "name != 'person 7'"])
  func `ranges of keys give the text of the whole table, with large values and links`(
    entity: String, condition: String?
  ) throws {
    let folder = try TemporaryFolder()
    let path = try store(folder)
    let whole = try text(path, entity, .max, where: condition)
    #expect(whole.error == nil && whole.text.split(separator: "\n").count >= 3)
    for rows in Int64(1)...4 { #expect(try text(path, entity, rows, where: condition) == whole) }
  }

  @Test func `the objects before an unreadable one are written, and the error names it`() throws {
    let folder = try TemporaryFolder()
    let path = try store(folder)
    let connection = try StoreConnection(path: path)
    try connection.execute("UPDATE ZPERSON SET ZAGE = 'old' WHERE Z_PK IN (1550, 2450)")
    try connection.close()
    let whole = try text(path, "Person", .max)
    #expect(whole.error?.contains("Person p1550") == true)
    #expect(whole.text.split(separator: "\n").count == 39)
    for rows in Int64(1)...4 { #expect(try text(path, "Person", rows) == whole) }
  }

  /// Teams have no index, so that rows are counted in their table.
  @Test(arguments: ["Person", "Team"])
  func `a damaged page ends an export where it ends that of one core`(entity: String) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("damaged.sqlite")
    let builder = try StoreBuilder(path: path, model: Self.model())
    for key in Int64(1)...2000 { try builder.insert(entity, key: key, attributes: ["name": .init("name \(key)")]) }
    try builder.finish()
    let sound = try Data(contentsOf: URL(filePath: path))
    var partial = 0
    for page in 2..<sound.count / 4096 {
      var bytes = sound
      bytes.replaceSubrange(page * 4096..<page * 4096 + 64, with: Data(repeating: 0xFF, count: 64))
      try bytes.write(to: URL(filePath: path))
      // A damaged schema opens for neither.
      guard let whole = try? text(path, entity, .max) else { continue }
      if whole.error != nil, !whole.text.isEmpty { partial += 1 }
      #expect(try text(path, entity, 50) == whole, "page \(page + 1)")
    }
    #expect(partial >= 5)
  }

  @Test func `the last key of all is written once`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("ends.sqlite")
    let builder = try StoreBuilder(path: path, model: Self.model())
    for key in [Int64.min, -1, 0, 7, .max] {
      try builder.insert("Person", key: key, attributes: ["name": .init("person \(key)")])
    }
    try builder.finish()
    let whole = try text(path, "Person", .max)
    #expect(whole.text.split(separator: "\n").count == 5)
    for rows in Int64(1)...2 { #expect(try text(path, "Person", rows) == whole) }
  }

  @Test func `an export ends when its reader does`() throws {
    let folder = try TemporaryFolder()
    let path = try store(folder)
    #expect(try text(path, "Person", 2, pieces: 3).text.split(separator: "\n").count < 60)
  }

  @Test func `a store with a log is written by one core`() throws {
    let folder = try TemporaryFolder()
    let path = try store(folder)
    let whole = try text(path, "Person", .max)
    let writer = try StoreConnection(path: path)
    try writer.execute("PRAGMA journal_mode = WAL")
    try writer.execute("UPDATE ZPERSON SET ZAGE = ZAGE")
    #expect(try text(path, "Person", 2) == whole)
    try writer.close()
  }
}
