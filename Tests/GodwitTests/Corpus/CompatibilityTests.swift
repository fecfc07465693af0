import Foundation
import GodwitJob
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
  let way: Compatibility.MigrationPath
  let change: @Sendable (inout NotesModel) -> Void

  init(
    _ description: String, _ lines: [String], _ way: Compatibility.MigrationPath = .inferable,
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
      "required without a null row", ["Note.stars: optional to required, no default, 0 rows are null"],
      // No inference looks at rows.
      .mapping
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
    DifferenceCase(
      "attribute added with default", ["Note.size: attribute added (Integer 32), 10 rows take the default"]
    ) {
      $0.change("Note") {
        var size = AttributeDescription(name: "size", type: .integer32, isOptional: false)
        size.defaultValue = .integer(1)
        $0.attributes.append(size)
      }
    },
    DifferenceCase(
      "required attribute added",
      ["Note.size: attribute added (Integer 32, required, no default), 10 rows would be null: needs a mapping"],
      .mapping
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
    DifferenceCase(
      "to-many to to-one", ["Note.tags: to-many to to-one, 2 rows lead to several: needs a mapping"], .mapping
    ) {
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
    DifferenceCase("to-many required", ["Note.tags: optional to required, without a minimum"]) {
      $0.relationship("Note", "tags") { $0.isOptional = false }
    },
    DifferenceCase(
      "to-many required with a minimum",
      [
        "Note.tags: optional to required, 4 rows lead nowhere: needs a mapping",
        "Note.tags: minimum count 0 to 1, 4 rows are outside: needs a mapping",
      ], .mapping
    ) {
      $0.relationship("Note", "tags") {
        $0.isOptional = false
        $0.minCount = 1
      }
    },
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
    DifferenceCase(
      "inverse renamed",
      ["Folder.leaves: renamed from notes", "Note.folder: inverse notes to leaves, the same renamed"]
    ) {
      $0.relationship("Folder", "notes") {
        $0.name = "leaves"
        $0.renamingIdentifier = "notes"
      }
      $0.relationship("Note", "folder") { $0.inverseName = "leaves" }
    },
    DifferenceCase(
      "destination renamed",
      [
        "Note.folder: destination Folder to Shelf, the same renamed", "entity Shelf: renamed from Folder",
      ]
    ) {
      $0.change("Folder") {
        $0.name = "Shelf"
        $0.renamingIdentifier = "Folder"
      }
      $0.relationship("Note", "folder") {
        $0.destinationEntityName = "Shelf"
        $0.inverseEntityName = "Shelf"
      }
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
    DifferenceCase("made abstract", ["entity Item: abstract no to yes, 1 row is of it: needs a mapping"], .mapping) {
      $0.change("Item") { $0.isAbstract = true }
    },
    DifferenceCase("uniqueness", ["entity Note: uniqueness of (title) added, 3 duplicates: needs a mapping"], .mapping)
    {
      $0.change("Note") { $0.uniquenessConstraints = [["title"]] }
    },
    DifferenceCase("uniqueness without duplicates", ["entity Note: uniqueness of (stars, folder) added, 0 duplicates"])
    {
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
      "moved down",
      [
        "Bag.code: moved here", "Box.code: moved here", "Item.code: attribute removed (String), 1 row loses its value",
      ]
    ) {
      $0.change("Item") { $0.attributes = [] }
      for name in ["Bag", "Box"] {
        $0.change(name) { $0.attributes.append(AttributeDescription(name: "code", type: .string)) }
      }
    },
  ]
}

struct `Why a model does not fit` {
  @Test func `the table of model differences has enough cases`() { #expect(DifferenceCase.all.count >= 30) }

  @Test(arguments: DifferenceCase.all)
  func `each difference is reported with what it needs and the rows concerned`(_ difference: DifferenceCase) throws {
    let folder = try TemporaryFolder()
    let (found, old, new) = try Self.compare(difference, in: folder)
    #expect(found.changes.map(\.description) == difference.lines)
    #expect(found.migrationPath == difference.way)
    #expect(found.verdict == .migrationNeeded)
    #expect(found.fitting == [old.name])
    #expect(old.versionHashes != new.versionHashes)
    #expect(found.first != nil)
    #expect(!found.description.contains("secret"))
  }

  @Test(arguments: DifferenceCase.all)
  func `without a store the same changes are reported without counts`(_ difference: DifferenceCase) throws {
    var notes = NotesModel()
    let old = try notes.model("Notes")
    difference.change(&notes)
    let found = Compatibility(of: old, with: try notes.model("Notes 2"))
    #expect(found.verdict == .migrationNeeded)
    #expect(found.changes.count == difference.lines.count)
    #expect(found.changes.allSatisfy { $0.rows == nil })
    // Counting can only decide an open question.
    #expect(found.migrationPath == difference.way || found.migrationPath == .dependsOnRows)
  }

  @Test func `tighter limits are reported although they are not part of the hash`() throws {
    let folder = try TemporaryFolder()
    let tighter = DifferenceCase("tighter", []) {
      $0.attribute("Note", "stars") { $0.maximumValue = .integer(7) }
      $0.attribute("Note", "title") { $0.minimumLength = 10 }
      $0.attribute("Tag", "name") { $0.maximumLength = 6 }
      $0.attribute("Folder", "name") { $0.maximumLength = 6 }
      $0.attribute("Box", "width") { $0.maximumValue = .double(0.5) }
      $0.attribute("Bag", "width") { $0.versionHashModifier = "2" }
    }
    let (found, _, _) = try Self.compare(tighter, in: folder)
    #expect(
      found.changes.map(\.description) == [
        "Bag.width: hash modifier none to '2'",
        "Box.width: maximum none to 0.5, 2 rows break it (not part of the hash): needs a mapping",
        "Folder.name: maximum none to length 6, 2 rows break it (not part of the hash): needs a mapping",
        "Note.stars: maximum none to 7, 3 rows break it (not part of the hash): needs a mapping",
        "Note.title: minimum none to length 10, 6 rows break it (not part of the hash): needs a mapping",
        "Tag.name: maximum none to length 6, 0 rows break it (not part of the hash)",
      ])
    #expect(found.migrationPath == .mapping)
    #expect(found.first == "Bag.width: the store's model says no hash modifier")
  }

  @Test func `a length is counted in UTF-16 units`() throws {
    let folder = try TemporaryFolder()
    func models(_ maximum: Int?) throws -> ManagedObjectModel {
      var name = AttributeDescription(name: "name", type: .string)
      name.maximumLength = maximum
      name.versionHashModifier = maximum.map(String.init)
      return try ManagedObjectModel(name: "M", entities: [EntityDescription(name: "Tag", attributes: [name])])
    }
    let builder = try StoreBuilder(path: folder.file("s.sqlite"), model: try models(nil))
    // Four bytes and two units; six bytes, three units; three bytes, three units.
    for text in ["\u{1F600}", "\u{E4}\u{F6}\u{FC}", "abc"] {
      try builder.insert("Tag", attributes: ["name": .string(Text(text))])
    }
    try builder.finish()
    for (maximum, rows) in [(1, 3), (2, 2), (3, 0)] as [(Int, Int64)] {
      let changes = try ModelChange.changes(
        from: try models(nil), to: try models(maximum), countingInStoreAt: folder.file("s.sqlite"))
      #expect(changes.map(\.rows) == [nil, rows])
    }
  }

  @Test func `a change outside the hash needs no migration`() throws {
    var notes = NotesModel()
    let old = try notes.model("Notes")
    notes.attribute("Note", "stars") {
      $0.maximumValue = .integer(7)
      $0.defaultValue = .integer(1)
    }
    notes.relationship("Note", "folder") { $0.deleteRule = .cascade }
    let found = Compatibility(of: old, with: try notes.model("Notes 2"))
    #expect(found.verdict == .compatible)
    #expect(found.changes.isEmpty && found.first == nil && found.migrationPath == nil)
  }

  @Test func `the order of entities, properties and models has no effect`() throws {
    let folder = try TemporaryFolder()
    var notes = NotesModel()
    let path = folder.file("store.sqlite")
    try notes.fill(path)
    notes.entities.reverse()
    for index in notes.entities.indices {
      notes.entities[index].attributes.reverse()
      notes.entities[index].relationships.reverse()
    }
    let same = try notes.model("A same")
    notes.attribute("Note", "title") { $0.isOptional = false }
    let other = try notes.model("B other")
    for (name, models) in [("A", [same, other]), ("B", [other, same])] {
      let bundle = try writeBundle(name, in: folder, models, current: "A same")
      #expect(try Compatibility(ofStoreAt: path, with: bundle).verdict == .compatible)
      let asked = try Compatibility(ofStoreAt: path, with: bundle, version: "B other")
      #expect(asked.fitting == ["A same"])
      #expect(asked.first == "Note.title: the store's model says optional")
    }
  }

  @Test func `an older version is reported as the way back`() throws {
    let folder = try TemporaryFolder()
    var notes = NotesModel()
    try notes.fill(folder.file("store.sqlite"))
    let current = try notes.model("Notes 2")
    notes.change("Bag") { $0.attributes = [] }
    let bundle = try writeBundle("Notes", in: folder, [try notes.model("Notes"), current], current: "Notes 2")
    let found = try Compatibility(ofStoreAt: folder.file("store.sqlite"), with: bundle, version: "Notes")
    #expect(found.notes == ["'Notes' comes before 'Notes 2': only a mapping that the job names leads back"])
    #expect(found.changes.map(\.description) == ["Bag.width: attribute removed (Double), 3 rows lose their values"])
  }

  @Test func `a rename is found on the way back too`() throws {
    var notes = NotesModel()
    let old = try notes.model("Notes")
    notes.change("Bag") {
      $0.name = "Sack"
      $0.renamingIdentifier = "Bag"
      $0.attributes[0].name = "breadth"
      $0.attributes[0].renamingIdentifier = "width"
    }
    let back = ModelChange.changes(from: try notes.model("Notes 2"), to: old)
    #expect(back.map(\.description) == ["entity Bag: renamed from Sack", "Bag.width: renamed from breadth"])
  }

  @Test func `'why' writes nothing, not even beside the store`() throws {
    let folder = try TemporaryFolder()
    let (_, _, _) = try Self.compare(DifferenceCase.all[0], in: folder)
    let stores = try TemporaryFolder()
    try NotesModel().fill(stores.file("store.sqlite"))
    let before = try contents(of: stores.path)
    let bundle = try ModelBundle(contentsOf: folder.file("Notes.xcdatamodeld"))
    _ = try Compatibility(ofStoreAt: stores.file("store.sqlite"), with: bundle)
    #expect(try contents(of: stores.path) == before)
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

/// A fact of the store's model that differs from the model at hand, and how it is found out.
struct FlipCase: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let change: @Sendable (inout NotesModel) -> Void

  init(_ reason: String, _ change: @escaping @Sendable (inout NotesModel) -> Void) {
    testDescription = reason
    self.change = change
  }

  static let all: [FlipCase] = [
    FlipCase("Note.title: the store's model says required") { $0.attribute("Note", "title") { $0.isOptional = false } },
    FlipCase("Note.title: the store's model lacks it, or says transient") {
      $0.attribute("Note", "title") { $0.isTransient = true }
    },
    FlipCase("Note.title: the store's model lacks it, or says transient") {
      $0.change("Note") { $0.attributes.removeAll { $0.name == "title" } }
    },
    FlipCase("Note.stars: the store's model says type Integer 64") {
      $0.attribute("Note", "stars") { $0.type = .integer64 }
    },
    FlipCase("Note.stars: the store's model says required and type Date") {
      $0.attribute("Note", "stars") {
        $0.type = .date
        $0.isOptional = false
      }
    },
    FlipCase("Note.body: the store's model says external storage (or kept in history, which hashes alike)") {
      $0.attribute("Note", "body") { $0.allowsExternalBinaryDataStorage = true }
    },
    FlipCase("Note.stars: the store's model says kept in history") {
      $0.attribute("Note", "stars") { $0.preservesValueInHistoryOnDeletion = true }
    },
    FlipCase("Note.tags: the store's model says ordered") { $0.relationship("Note", "tags") { $0.isOrdered = true } },
    FlipCase("Note.tags: the store's model says minimum count 1") {
      $0.relationship("Note", "tags") { $0.minCount = 1 }
    },
    FlipCase("Note.tags: the store's model says maximum count -1") {
      $0.relationship("Note", "tags") { $0.maxCount = -1 }
    },
    FlipCase("Note.tags: the store's model says to-one") {
      $0.relationship("Note", "tags") {
        $0.isToMany = false
        $0.maxCount = 1
      }
    },
    FlipCase("Note.folder: the store's model says required and minimum count 1") {
      $0.relationship("Note", "folder") {
        $0.isOptional = false
        $0.minCount = 1
      }
    },
    FlipCase("Note.folder: the store's model says no inverse") {
      $0.relationship("Note", "folder") { $0.inverseName = nil }
    },
    FlipCase("entity Tag: the store's model says abstract") { $0.change("Tag") { $0.isAbstract = true } },
    FlipCase("entity Tag: the store's model says uniqueness of (name)") {
      $0.change("Tag") { $0.uniquenessConstraints = [["name"]] }
    },
  ]
}

struct `Why no model fits` {
  /// A store with only metadata that says what `store` says, against `model`.
  private static func compare(_ store: ManagedObjectModel, _ model: ManagedObjectModel) throws -> Compatibility {
    let folder = try TemporaryFolder()
    try StoreBuilder(path: folder.file("store.sqlite"), model: store).finish()
    let bundle = try writeBundle("Notes", in: folder, [model], current: model.name)
    return try Compatibility(ofStoreAt: folder.file("store.sqlite"), with: bundle)
  }

  @Test(arguments: FlipCase.all)
  func `one fact that differs is found from the hash alone`(_ flip: FlipCase) throws {
    var notes = NotesModel()
    let model = try notes.model("Notes")
    flip.change(&notes)
    let found = try Self.compare(try notes.model("?"), model)
    #expect(found.verdict == .noModelFits)
    #expect(found.first == flip.testDescription)
    #expect(found.differences.map(\.kind) == [.hashesDiffer])
    #expect(found.fitting.isEmpty && found.changes.isEmpty && found.migrationPath == nil)
  }

  @Test(arguments: FlipCase.all.filter { $0.testDescription.contains("says required") })
  func `one fact that differs is found from the other side too`(_ flip: FlipCase) throws {
    var notes = NotesModel()
    let store = try notes.model("?")
    flip.change(&notes)
    let found = try Self.compare(store, try notes.model("Notes"))
    #expect(found.first?.contains("the store's model says optional") == true)
  }

  @Test func `modifiers and uniqueness that only the model has are found`() throws {
    let store = try NotesModel().model("?")
    var notes = NotesModel()
    notes.attribute("Note", "title") { $0.versionHashModifier = "x" }
    notes.change("Tag") { $0.uniquenessConstraints = [["name"]] }
    notes.change("Folder") { $0.versionHashModifier = "y" }
    #expect(
      try Self.compare(store, try notes.model("Notes")).differences.map(\.reason) == [
        "entity Folder: the store's model says no hash modifier",
        "Note.title: the store's model says no hash modifier",
        "entity Tag: the store's model says no uniqueness of (name)",
      ])
  }

  @Test func `a difference of the parent is distinguished from one of the entity`() throws {
    var notes = NotesModel()
    let model = try notes.model("Notes")
    notes.attribute("Item", "code") { $0.isOptional = false }
    notes.attribute("Bag", "width") { $0.type = .float }
    let found = try Self.compare(try notes.model("?"), model)
    // Two facts stand behind Bag's hash, so no single one explains it.
    #expect(
      found.differences.map(\.reason) == [
        nil, "Item.code: the store's model says required", "Item.code: the store's model says required",
      ])
    #expect(found.first == "entity Bag: the hashes differ")
    notes = NotesModel()
    notes.change("Item") { $0.isAbstract = true }
    let abstract = try Self.compare(try notes.model("?"), model)
    #expect(
      abstract.differences.map(\.reason) == [
        "entity Bag: only its parent 'Item' differs", "entity Box: only its parent 'Item' differs",
        "entity Item: the store's model says abstract",
      ])
  }

  @Test func `entities of one side only are listed`() throws {
    var notes = NotesModel()
    let model = try notes.model("Notes")
    notes.entities.removeAll { $0.name == "Bag" }
    notes.entities.append(EntityDescription(name: "User"))
    let found = try Self.compare(try notes.model("?"), model)
    #expect(
      found.differences.map(\.description) == ["entity Bag: only in the model", "entity User: only in the store"])
    #expect(found.first == "entity Bag: only in the model")
  }

  @Test func `the nearest version is named`() throws {
    let folder = try TemporaryFolder()
    var notes = NotesModel()
    notes.attribute("Note", "title") { $0.isOptional = false }
    try StoreBuilder(path: folder.file("store.sqlite"), model: try notes.model("?")).finish()
    let near = try NotesModel().model("Near")
    notes.attribute("Tag", "name") { $0.type = .uuid }
    notes.attribute("Folder", "name") { $0.type = .uuid }
    notes.attribute("Item", "code") { $0.type = .uuid }
    notes.attribute("Note", "stars") { $0.type = .uuid }
    let bundle = try writeBundle("Notes", in: folder, [near, try notes.model("Off")], current: "Off")
    let found = try Compatibility(ofStoreAt: folder.file("store.sqlite"), with: bundle)
    #expect(found.notes == ["the nearest version is 'Near', which 5 of 6 entities fit; it differs in Note"])
  }

  @Test func `if no version fits, unreadable versions are noted; if one fits, the others are not read`()
    throws
  {
    let folder = try TemporaryFolder()
    var notes = NotesModel()
    try notes.fill(folder.file("store.sqlite"))
    var bundle = try writeBundle("Notes", in: folder, [try notes.model("Notes")], current: "Notes")
    try FileManager.default.createDirectory(atPath: bundle.path + "/Old.xcdatamodel", withIntermediateDirectories: true)
    try Data("<model".utf8).write(to: URL(filePath: bundle.path + "/Old.xcdatamodel/contents"))
    bundle = try ModelBundle(contentsOf: bundle.path)
    let fits = try Compatibility(ofStoreAt: folder.file("store.sqlite"), with: bundle)
    #expect(fits.verdict == .compatible && fits.notes.isEmpty)
    notes.attribute("Note", "title") { $0.isOptional = false }
    try StoreBuilder(path: folder.file("other.sqlite"), model: try notes.model("?")).finish()
    let found = try Compatibility(ofStoreAt: folder.file("other.sqlite"), with: bundle)
    #expect(found.verdict == .noModelFits)
    #expect(found.notes.contains { $0.hasPrefix("version 'Old' was not considered: ") }, "\(found.notes)")
  }

  @Test func `a rule that nothing confirms is named`() throws {
    var notes = NotesModel()
    notes.change("Tag") {
      $0.relationships.append(
        RelationshipDescription(name: "twin", destinationEntityName: "Tag", inverseName: "twin"))
    }
    let found = try Self.compare(try NotesModel().model("?"), try notes.model("Notes"))
    #expect(
      found.unconfirmedHashRules == [
        "Tag.twin: a relationship that is its own inverse counts as one without inverse"
      ])
    #expect(found.first == "Tag.twin: the store's model lacks it, or says transient")
  }
}

struct `Why real stores do not fit` {
  private static let moody = "objcio_core-data/Migrations/"
  private static let wibosco = "wibosco_CoreDataMigration-Example/CoreDataMigration-Example"
  private static let plus = "alemar11_CoreDataPlus/Tests/Resources/"

  private func ask(_ store: String, _ bundle: String, _ version: String? = nil) throws -> Compatibility {
    try Compatibility(
      ofStoreAt: Corpus.path(store), with: try ModelBundle(contentsOf: Corpus.path(bundle)), version: version)
  }

  private func example(_ store: String, _ version: Int) throws -> Compatibility {
    try ask(
      Self.wibosco + "Tests/Resources/SQLite/CoreDataMigration_Example_\(store).sqlite",
      Self.wibosco + "/CoreData/Model/CoreDataMigration_Example.xcdatamodeld",
      "CoreDataMigration_Example" + (version == 1 ? "" : " \(version)"))
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `each store fits its own version and no other`() throws {
    for (store, own) in [("1", 1), ("2", 2), ("3", 3), ("WAL", 4)] {
      for version in 1...4 {
        let found = try example(store, version)
        #expect(found.verdict == (version == own ? .compatible : .migrationNeeded))
        #expect(found.fitting == ["CoreDataMigration_Example" + (own == 1 ? "" : " \(own)")])
      }
    }
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `the steps of the example are reported with their rows`() throws {
    #expect(
      try example("2", 4).changes.map(\.description) == [
        "entity Color: added",
        "Post.color: relationship added (to-one Color, required), 5979 rows would lead nowhere: needs a mapping",
        "Post.hexColor: attribute removed (String), 5979 rows lose their values",
        "Post.hide: attribute added (Boolean), 5979 rows take the default",
      ])
    let last = try example("3", 4)
    #expect(last.first == "Post.hide: the store's model has no such attribute")
    #expect(last.changes.map(\.description) == ["Post.hide: attribute added (Boolean), 7995 rows take the default"])
    #expect(last.migrationPath == .inferable)
    #expect(try example("1", 4).migrationPath == .mapping)
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `the version of every Moody store is found`() throws {
    let path = Self.moody + "Migrations/Moody.xcdatamodeld"
    for own in 1...5 {
      let name = "Moody" + (own == 1 ? "" : " \(own)")
      for version in 1...6 {
        let asked = "Moody" + (version == 1 ? "" : " \(version)")
        let found = try ask(Self.moody + "MigrationsTests/\(name).moody", path, asked)
        #expect(found.fitting == [name])
        #expect((found.verdict == .compatible) == (own == version))
        #expect(found.changes.isEmpty == (own == version))
        #expect(found.notes.isEmpty == (version >= own))
      }
    }
    let last = try ask(Self.moody + "MigrationsTests/Moody 5.moody", path, "Moody 6")
    #expect(
      last.changes.map(\.description) == [
        "entity Continent: added", "Country.continent: relationship added (to-one Continent, optional)",
        "Country.isoContinent: attribute removed (Integer 16), 3 rows lose their values",
      ])
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `a renamed entity is not reported as removed`() throws {
    let bundle = Self.plus + "SampleModel/SampleModel.xcdatamodeld"
    let found = try ask(Self.plus + "SampleModel/Fixtures/SampleModel_V1.sqlite", bundle, "SampleModel2")
    #expect(found.changes.map(\.description).contains("entity LuxuryCar: renamed from ExpensiveSportCar"))
    #expect(!found.changes.contains { $0.change.hasPrefix("removed") || $0.change == "added" })
    let stranger = try ask(Self.plus + "SampleModel3/Fixtures/SampleModel3_V1.sqlite", bundle)
    #expect(stranger.verdict == .noModelFits)
    #expect(stranger.first == "entity Car: only in the model")
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `between any two versions of a real model every hash that differs has a change that says why`() throws {
    let root = try #require(Corpus.folder?.path)
    let walk = try #require(FileManager.default.enumerator(atPath: root))
    let bundles = walk.compactMap { $0 as? String }.filter { $0.hasSuffix(".xcdatamodeld") }.sorted()
    var (pairs, differing) = (0, 0)
    for name in TestTier.sample(bundles, each: 3) {
      guard let bundle = try? ModelBundle(contentsOf: root + "/" + name) else { continue }
      let models = bundle.versions.compactMap { try? bundle.model(named: $0) }
      for (old, new) in Array(zip(models, models.dropFirst())) + Array(zip(models.dropFirst(), models)) {
        pairs += 1
        let found = Compatibility(of: old, with: new)
        let changes = ModelChange.changes(from: old, to: new)
        #expect(
          changes.contains(where: \.isPartOfHash) == (old.versionHashes != new.versionHashes),
          "\(name): \(old.name) to \(new.name)")
        for difference in found.differences where difference.kind == .hashesDiffer {
          differing += 1
          let line = Set(new.lineage(of: difference.entity).map(\.name))
          #expect(
            changes.contains { $0.isPartOfHash && line.contains($0.entity) },
            "\(name): \(old.name) to \(new.name), \(difference.entity)")
        }
      }
    }
    #expect(pairs >= TestTier.choose(10, long: 50))
    #expect(differing >= TestTier.choose(20, long: 100))
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `every store of the corpus fits the model it was paired with, when asked among all`() throws {
    #expect(CorpusPair.all.count >= 15)
    for pair in CorpusPair.all {
      let folder = try TemporaryFolder()
      // A copy, with a change that every model can take: the store no longer fits, and its own version is found.
      var changed = pair.model.entities
      changed[0].versionHashModifier = "other"
      let other = try ManagedObjectModel(name: "zz Other", entities: changed)
      let metadata = try StoreMetadata(readingStoreAt: pair.path)
      #expect(pair.model.isCompatible(with: metadata.entityVersionHashes))
      let bundle = try writeBundle("M", in: folder, [pair.model, other], current: other.name)
      let found = try Compatibility(ofStoreAt: pair.path, with: bundle)
      #expect(found.verdict == .migrationNeeded, "\(pair.name)")
      #expect(found.fitting == [pair.model.name])
      #expect(found.changes.map(\.change) == [found.changes.first?.change])
      #expect(found.first?.hasPrefix("entity \(changed[0].name): the store's model says") == true)
    }
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
