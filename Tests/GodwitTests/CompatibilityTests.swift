import Foundation
import Godwit
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// Notes with tags, in a form that each test changes a little.
struct NotesModel {
  var entities: [EntityDescription]

  init() {
    var note = EntityDescription(
      name: "Note",
      attributes: [
        AttributeDescription(name: "title", type: .string), AttributeDescription(name: "stars", type: .integer16),
        AttributeDescription(name: "body", type: .binary),
      ],
      relationships: [
        RelationshipDescription(name: "tags", destinationEntityName: "Tag", inverseName: "notes", isToMany: true),
        RelationshipDescription(name: "folder", destinationEntityName: "Folder", inverseName: "notes"),
      ])
    note.versionHashModifier = nil
    entities = [
      note,
      EntityDescription(
        name: "Tag", attributes: [AttributeDescription(name: "name", type: .string)],
        relationships: [
          RelationshipDescription(name: "notes", destinationEntityName: "Note", inverseName: "tags", isToMany: true)
        ]),
      EntityDescription(
        name: "Folder", attributes: [AttributeDescription(name: "name", type: .string)],
        relationships: [
          RelationshipDescription(name: "notes", destinationEntityName: "Note", inverseName: "folder", isToMany: true)
        ]),
      EntityDescription(name: "Item", attributes: [AttributeDescription(name: "code", type: .string)]),
      EntityDescription(
        name: "Box", superentityName: "Item", attributes: [AttributeDescription(name: "width", type: .double)]),
      EntityDescription(
        name: "Bag", superentityName: "Item", attributes: [AttributeDescription(name: "width", type: .double)]),
    ]
  }

  func model(_ name: String) throws -> ManagedObjectModel { try ManagedObjectModel(name: name, entities: entities) }

  mutating func change(_ entity: String, _ body: (inout EntityDescription) -> Void) {
    for index in entities.indices where entities[index].name == entity { body(&entities[index]) }
  }

  mutating func attribute(_ entity: String, _ name: String, _ body: (inout AttributeDescription) -> Void) {
    change(entity) { entity in
      for index in entity.attributes.indices where entity.attributes[index].name == name {
        body(&entity.attributes[index])
      }
    }
  }

  mutating func relationship(_ entity: String, _ name: String, _ body: (inout RelationshipDescription) -> Void) {
    change(entity) { entity in
      for index in entity.relationships.indices where entity.relationships[index].name == name {
        body(&entity.relationships[index])
      }
    }
  }

  /// Ten notes: 4 without title, titles else `t0`, `t1`, `t2` twice each; stars 1 to 10; bodies in 3; tags in 6,
  /// two each in 2 of them; folders in 7. Two tags, two folders, an item, two boxes and three bags.
  func fill(_ path: String) throws {
    let builder = try StoreBuilder(path: path, model: try model("Notes"))
    for key in 1...2 as ClosedRange<Int64> {
      try builder.insert("Tag", key: key, attributes: ["name": .string("secret")])
      try builder.insert("Folder", key: key, attributes: ["name": .string(Text("secret\(key)"))])
    }
    for key in 1...10 as ClosedRange<Int64> {
      try builder.insert(
        "Note", key: key,
        attributes: [
          "title": key <= 4 ? .null : .string(Text("secret t\(key % 3)")), "stars": .integer(key),
          "body": key <= 3 ? .data([1]) : .null,
        ],
        relationships: [
          "tags": key <= 2 ? [1, 2] : key <= 6 ? [1] : [], "folder": key <= 7 ? [key % 2 + 1] : [],
        ])
    }
    try builder.insert("Item", attributes: ["code": .string("secret")])
    for _ in 1...2 { try builder.insert("Box", attributes: ["width": .double(1)]) }
    for _ in 1...3 { try builder.insert("Bag", attributes: ["width": .double(1)]) }
    try builder.finish()
  }
}

/// A change of the model, and the lines that tell it.
struct DifferenceCase: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let lines: [String]
  let way: Compatibility.Way
  let change: @Sendable (inout NotesModel) -> Void

  init(
    _ description: String, _ lines: [String], _ way: Compatibility.Way = .inferable,
    _ change: @escaping @Sendable (inout NotesModel) -> Void
  ) {
    testDescription = description
    self.lines = lines
    self.way = way
    self.change = change
  }

  static let all: [DifferenceCase] = [
    DifferenceCase(
      "required without default", ["Note.title: optional to required, no default, 4 rows are null: needs a mapping"],
      .mapping
    ) { $0.attribute("Note", "title") { $0.isOptional = false } },
    DifferenceCase(
      "required without a null row", ["Note.stars: optional to required, no default, 0 rows are null"]
    ) { $0.attribute("Note", "stars") { $0.isOptional = false } },
    DifferenceCase(
      "required with default", ["Note.title: optional to required, 4 null rows take the default"]
    ) {
      $0.attribute("Note", "title") {
        $0.isOptional = false
        $0.defaultValue = .string("none")
      }
    },
    DifferenceCase("attribute added", ["Note.color: attribute added (String, optional)"]) {
      $0.change("Note") { $0.attributes.append(AttributeDescription(name: "color", type: .string)) }
    },
    DifferenceCase("attribute added with default", ["Note.size: attribute added (Integer 32), 10 rows take the default"]) {
      $0.change("Note") {
        var size = AttributeDescription(name: "size", type: .integer32, isOptional: false)
        size.defaultValue = .integer(1)
        $0.attributes.append(size)
      }
    },
    DifferenceCase(
      "required attribute added",
      ["Note.size: attribute added (Integer 32, required, no default), 10 rows would be null: needs a mapping"], .mapping
    ) {
      $0.change("Note") {
        $0.attributes.append(AttributeDescription(name: "size", type: .integer32, isOptional: false))
      }
    },
    DifferenceCase("attribute removed", ["Note.title: attribute removed (String), 6 rows lose their values"]) {
      $0.change("Note") { $0.attributes.removeAll { $0.name == "title" } }
    },
    DifferenceCase("attribute renamed", ["Note.heading: renamed from title"]) {
      $0.attribute("Note", "title") {
        $0.name = "heading"
        $0.renamingIdentifier = "title"
      }
    },
    DifferenceCase(
      "type changed", ["Note.title: type String to Integer 16, 6 rows have a value: needs a mapping"], .mapping
    ) { $0.attribute("Note", "title") { $0.type = .integer16 } },
    DifferenceCase("made transient", ["Note.title: transient no to yes, 6 rows lose their values"]) {
      $0.attribute("Note", "title") { $0.isTransient = true }
    },
    DifferenceCase("external storage", ["Note.body: external storage no to yes"]) {
      $0.attribute("Note", "body") { $0.allowsExternalBinaryDataStorage = true }
    },
    DifferenceCase("hash modifier", ["Note.title: hash modifier none to 'x'"]) {
      $0.attribute("Note", "title") { $0.versionHashModifier = "x" }
    },
    DifferenceCase("entity modifier", ["entity Note: hash modifier none to 'x'"]) {
      $0.change("Note") { $0.versionHashModifier = "x" }
    },
    DifferenceCase(
      "relationship added",
      ["Note.next: relationship added (to-one Tag, optional)", "Tag.last: relationship added (to-many Note, optional)"]
    ) {
      $0.change("Note") {
        $0.relationships.append(
          RelationshipDescription(name: "next", destinationEntityName: "Tag", inverseName: "last"))
      }
      $0.change("Tag") {
        $0.relationships.append(
          RelationshipDescription(name: "last", destinationEntityName: "Note", inverseName: "next", isToMany: true))
      }
    },
    DifferenceCase(
      "required relationship added",
      ["Tag.top: relationship added (to-one Folder, required), 2 rows would lead nowhere: needs a mapping"], .mapping
    ) {
      $0.change("Tag") {
        $0.relationships.append(
          RelationshipDescription(name: "top", destinationEntityName: "Folder", isOptional: false))
      }
    },
    DifferenceCase(
      "many-to-many removed",
      [
        "Note.tags: relationship removed (to-many Tag), 6 rows lose their links",
        "Tag.notes: relationship removed (to-many Note), 2 rows lose their links",
      ]
    ) {
      $0.change("Note") { $0.relationships.removeAll { $0.name == "tags" } }
      $0.change("Tag") { $0.relationships = [] }
    },
    DifferenceCase(
      "to-one removed",
      [
        "Folder.notes: relationship removed (to-many Note), 2 rows lose their links",
        "Note.folder: relationship removed (to-one Folder), 7 rows lose their links",
      ]
    ) {
      $0.change("Note") { $0.relationships.removeAll { $0.name == "folder" } }
      $0.change("Folder") { $0.relationships = [] }
    },
    DifferenceCase("to-one to to-many", ["Note.folder: to-one to to-many"]) {
      $0.relationship("Note", "folder") {
        $0.isToMany = true
        $0.maxCount = 0
      }
    },
    DifferenceCase("to-many to to-one", ["Note.tags: to-many to to-one, 2 rows lead to several: needs a mapping"], .mapping) {
      $0.relationship("Note", "tags") {
        $0.isToMany = false
        $0.maxCount = 1
      }
    },
    DifferenceCase("ordered", ["Note.tags: unordered to ordered"]) {
      $0.relationship("Note", "tags") { $0.isOrdered = true }
    },
    DifferenceCase(
      "to-one required", ["Note.folder: optional to required, 3 rows lead nowhere: needs a mapping"], .mapping
    ) { $0.relationship("Note", "folder") { $0.isOptional = false } },
    DifferenceCase(
      "to-many required", ["Note.tags: optional to required, 4 rows lead nowhere: needs a mapping"], .mapping
    ) { $0.relationship("Note", "tags") { $0.isOptional = false } },
    DifferenceCase(
      "counts", ["Note.tags: minimum count 0 to 2, maximum count 0 to 5, 4 rows are outside: needs a mapping"], .mapping
    ) {
      $0.relationship("Note", "tags") {
        $0.minCount = 2
        $0.maxCount = 5
      }
    },
    DifferenceCase("destination", ["Note.folder: destination Folder to Tag: needs a mapping"], .mapping) {
      $0.relationship("Note", "folder") {
        $0.destinationEntityName = "Tag"
        $0.inverseEntityName = "Tag"
      }
    },
    DifferenceCase("inverse", ["Note.folder: inverse notes to none"]) {
      $0.relationship("Note", "folder") { $0.inverseName = nil }
    },
    DifferenceCase("entity added", ["entity User: added"]) { $0.entities.append(EntityDescription(name: "User")) },
    DifferenceCase("entity removed", ["entity Bag: removed, 3 rows are dropped"]) {
      $0.entities.removeAll { $0.name == "Bag" }
    },
    DifferenceCase("entity renamed", ["entity Sack: renamed from Bag"]) {
      $0.change("Bag") {
        $0.name = "Sack"
        $0.renamingIdentifier = "Bag"
      }
    },
    DifferenceCase(
      "out of the hierarchy",
      ["entity Bag: parent Item to none", "Bag.code: no longer inherited (String), 0 rows lose their values"]
    ) { $0.change("Bag") { $0.superentityName = nil } },
    DifferenceCase(
      "hierarchies merged",
      [
        "entity Tag: parent none to Item, which merges the hierarchies of Item and Tag: needs a mapping",
        "Tag.code: inherited (String, optional)",
      ], .mapping
    ) { $0.change("Tag") { $0.superentityName = "Item" } },
    DifferenceCase("a new parent", ["entity Base: added", "entity Item: parent none to Base"]) {
      $0.entities.append(EntityDescription(name: "Base", isAbstract: true))
      $0.change("Item") { $0.superentityName = "Base" }
    },
    DifferenceCase("made abstract", ["entity Item: abstract no to yes, 1 row has no other entity: needs a mapping"], .mapping) {
      $0.change("Item") { $0.isAbstract = true }
    },
    DifferenceCase("uniqueness", ["entity Note: uniqueness of (title) added, 3 duplicates: needs a mapping"], .mapping) {
      $0.change("Note") { $0.uniquenessConstraints = [["title"]] }
    },
    DifferenceCase("uniqueness kept", ["entity Note: uniqueness of (stars, folder) added, 0 duplicates"]) {
      $0.change("Note") { $0.uniquenessConstraints = [["stars", "folder"]] }
    },
    DifferenceCase(
      "moved up", ["Bag.width: moved away", "Box.width: moved away", "Item.width: attribute added (Double, optional)"]
    ) {
      $0.change("Bag") { $0.attributes = [] }
      $0.change("Box") { $0.attributes = [] }
      $0.change("Item") { $0.attributes.append(AttributeDescription(name: "width", type: .double)) }
    },
    DifferenceCase(
      "moved down", ["Bag.code: moved here", "Item.code: attribute removed (String), 1 row loses its value"]
    ) {
      $0.change("Item") { $0.attributes = [] }
      for name in ["Bag", "Box"] {
        $0.change(name) { $0.attributes.append(AttributeDescription(name: "code", type: .string)) }
      }
    },
  ]
}

struct `Why a model does not fit` {
  @Test func `there are cases enough`() { #expect(DifferenceCase.all.count >= 30) }

  @Test(arguments: DifferenceCase.all)
  func `each difference is told with what it takes and the rows concerned`(_ difference: DifferenceCase) throws {
    let folder = try TemporaryFolder()
    let (found, old, new) = try Self.compare(difference, in: folder)
    print(difference.testDescription, found.changes.map(\.description))
    for line in difference.lines { #expect(found.changes.map(\.description).contains(line)) }
    #expect(found.way == difference.way)
    #expect(found.verdict == .migrationNeeded)
    #expect(found.fitting == [old.name])
    #expect(old.versionHashes != new.versionHashes)
    #expect(found.first != nil)
    #expect(!found.description.contains("secret"))
  }

  static func compare(_ difference: DifferenceCase, in folder: TemporaryFolder) throws -> (
    Compatibility, ManagedObjectModel, ManagedObjectModel
  ) {
    var notes = NotesModel()
    let old = try notes.model("Notes")
    try notes.fill(folder.file("store.sqlite"))
    difference.change(&notes)
    let new = try notes.model("Notes 2")
    let bundle = try writeBundle("Notes", in: folder, [old, new], current: "Notes 2")
    return (try Compatibility(ofStoreAt: folder.file("store.sqlite"), with: bundle), old, new)
  }
}

/// Writes models as Xcode would.
func writeBundle(
  _ name: String, in folder: TemporaryFolder, _ models: [ManagedObjectModel], current: String
) throws -> ModelBundle {
  let path = folder.file(name + ".xcdatamodeld")
  for model in models {
    let version = path + "/\(model.name).xcdatamodel"
    try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
    try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
  }
  let marker = try PropertyListSerialization.data(
    fromPropertyList: ["_XCCurrentVersionName": current + ".xcdatamodel"], format: .xml, options: 0)
  try marker.write(to: URL(filePath: path + "/.xccurrentversion"))
  return try ModelBundle(contentsOf: path)
}
