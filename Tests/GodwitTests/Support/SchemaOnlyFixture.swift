import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The differences between versions of the library, entity by entity.
struct SchemaOnlyLibrary {
  static func photo(isExternal: Bool = true) -> AttributeDescription {
    var photo = AttributeDescription.make("photo", .binary)
    photo.allowsExternalBinaryDataStorage = isExternal
    return photo
  }

  var entities: [EntityDescription]

  init() {
    let spouse = RelationshipDescription.toOne("spouse", "Author", inverse: "partner")
    let partner = RelationshipDescription.toOne("partner", "Author", inverse: "spouse")
    var name = AttributeDescription.make("name")
    name.isIndexed = true
    var author = EntityDescription(
      name: "Author", attributes: [name, Self.photo()],
      relationships: [.toMany("books", "Book", inverse: "author", ordered: true), spouse, partner])
    author.uniquenessConstraints = [["name"]]
    entities = [
      author,
      EntityDescription(
        name: "Book",
        attributes: [AttributeDescription.make("title"), AttributeDescription.make("pages", .integer32)],
        relationships: [.toOne("author", "Author", inverse: "books"), .toMany("tags", "Tag", inverse: "books")]),
      EntityDescription(
        name: "Tag", attributes: [AttributeDescription.make("word")],
        relationships: [.toMany("books", "Book", inverse: "tags", ordered: true)]),
      EntityDescription(name: "Work", isAbstract: true, attributes: [AttributeDescription.make("size", .integer32)]),
      EntityDescription(
        name: "Ballet", superentityName: "Work", attributes: [AttributeDescription.make("dancers", .integer16)]),
      EntityDescription(
        name: "Opera", superentityName: "Work", attributes: [AttributeDescription.make("acts", .integer16)]),
    ]
  }

  func with(_ changes: (inout SchemaOnlyLibrary) -> Void) -> SchemaOnlyLibrary {
    var library = self
    changes(&library)
    return library
  }

  subscript(_ name: String) -> EntityDescription {
    get { entities.first { $0.name == name } ?? EntityDescription(name: name) }
    set {
      if let place = entities.firstIndex(where: { $0.name == name }) {
        entities[place] = newValue
      } else {
        entities.append(newValue)
      }
    }
  }
}

/// Stores and checks of the suites that migrate in place by definition alone: `MigrationFixture.run` compares such a
/// migration with the ordinary run of the same inferred mapping, and every row with what it was.
protocol SchemaOnlyFixture {}

extension SchemaOnlyFixture {
  typealias Library = SchemaOnlyLibrary

  func fixture(_ later: Library, from earlier: Library = Library()) throws -> MigrationFixture {
    let fixture = try MigrationFixture(earlier.entities, to: later.entities)
    try fixture.build { store in
      for key in Int64(1)...4 {
        try store.insert(
          "Author", key: key, attributes: ["name": .init("a\(key)")],
          relationships: ["spouse": [5 - key], "partner": [5 - key]])
        try store.insert("Tag", key: key, attributes: ["word": .init("t\(key)")])
      }
      for key in Int64(1)...9 {
        try store.insert(
          "Book", key: key, attributes: ["title": .init("b\(key)"), "pages": .integer(key * 100)],
          relationships: ["author": [key % 4 + 1], "tags": [key % 4 + 1, (key + 1) % 4 + 1]])
      }
      for key in Int64(1)...6 {
        try store.insert(
          key % 2 == 0 ? "Opera" : "Ballet", key: key,
          attributes: ["size": .integer(key), key % 2 == 0 ? "acts" : "dancers": .integer(key)])
      }
    }
    try fixture.alter("UPDATE ZBOOK SET Z_OPT = Z_PK")
    try fixture.infer()
    return fixture
  }

  func plan(_ fixture: MigrationFixture, keepsOld: Bool = false) throws -> MigrationPlan {
    try MigrationManager(fixture.jobInPlace(fixture.sourcePath, keepsOld: keepsOld)).plan()
  }

  func expectByDefinition(
    _ fixture: MigrationFixture, costs: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let step = try #require(try plan(fixture).steps.first, sourceLocation: sourceLocation)
    #expect(step.way == MigrationPlan.wayOfDefinitions, sourceLocation: sourceLocation)
    #expect(step.costs == costs, sourceLocation: sourceLocation)
    try fixture.run()
  }

  /// The store migrated in place, with the old one beside it.
  func migrated(_ fixture: MigrationFixture, _ name: String = "migrated") throws -> String {
    let path = try fixture.copyOfSource(name)
    #expect(try MigrationManager(fixture.jobInPlace(path)).run().outcome == .finished)
    return path
  }
}
