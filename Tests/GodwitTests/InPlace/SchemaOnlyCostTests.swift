import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The cost of a migration by definition alone.
struct SchemaOnlyCostTests: SchemaOnlyFixture {
  /// The whole run of a store of so many rows that is edited itself.
  private func cost(rows: Int64) throws -> (cost: ThreadCost, pages: Int64) {
    let fixture = try MigrationFixture(
      Library().entities,
      to: Library().with { $0["Book"].attributes.append(AttributeDescription.make("alpha")) }.entities)
    try fixture.build { store in
      for key in Int64(1)...4 { try store.insert("Author", key: key, attributes: ["name": .init("a\(key)")]) }
      for key in 1...rows {
        try store.insert(
          "Book", key: key, attributes: ["title": .init("the book of number \(key)")],
          relationships: ["author": [key % 4 + 1]])
      }
    }
    try fixture.infer()
    let manager = MigrationManager(fixture.jobInPlace(fixture.sourcePath, keepsOld: false))
    let cost = try ThreadCost { _ = try manager.run() }
    #expect(try manager.isFinished())
    let connection = try StoreConnection(path: fixture.sourcePath)
    return (cost, try connection.integer("PRAGMA page_count") ?? 0)
  }

  @Test func `a migration by definition alone costs the same for a hundred rows and for twenty thousand`() throws {
    let (few, fewPages) = try cost(rows: 100)
    let (many, manyPages) = try cost(rows: 20_000)
    #expect(manyPages > fewPages + 200)
    #expect(few.instructions > 1000)
    #expect(many.instructions == few.instructions, "\(few) for few rows, \(many) for many")
    // A deeper tree has a page or two more on the way to its last row.
    let pageBytes = 4096
    #expect(abs(many.readBytes - few.readBytes) <= 40 * pageBytes, "\(few) for few rows, \(many) for many")
    #expect(abs(many.writtenBytes - few.writtenBytes) <= 20 * pageBytes, "\(few) for few rows, \(many) for many")
  }
}
