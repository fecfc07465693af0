import GodwitJob
import GodwitModel
import GodwitStore
import Testing

/// Posts with tags; each side may be ordered.
private func blog(postsOrdered: Bool = false, tagsOrdered: Bool = false) -> [EntityDescription] {
  [
    .make("Post", ["title": .string], [.toMany("tags", "Tag", inverse: "posts", ordered: tagsOrdered)]),
    .make("Tag", ["name": .string], [.toMany("posts", "Post", inverse: "tags", ordered: postsOrdered)]),
  ]
}

private func fixture(ordered: Bool, to destination: [EntityDescription]) throws -> MigrationFixture {
  let fixture = try MigrationFixture(blog(tagsOrdered: ordered), to: destination)
  try fixture.build { store in
    for key in Int64(1)...5 {
      try store.insert("Tag", key: key, attributes: ["name": .init("tag \(key)")], relationships: [:])
    }
    for key in Int64(1)...7 {
      let tags = (0..<(key % 4)).map { (key * 3 + $0 * 2) % 5 + 1 }
      try store.insert(
        "Post", key: key * 100, attributes: ["title": .init("post \(key)")], relationships: ["tags": tags])
    }
  }
  return fixture
}

private func links(_ fixture: MigrationFixture, of schema: StoreSchema, in path: String) throws -> [String] {
  guard case .join(let join, let post, let tag, _) = schema.storage(of: "tags", in: "Post") else { return [] }
  let connection = try StoreConnection.openStore(readingAt: path)
  return try connection.rows("SELECT \(post), \(tag) FROM source.\(join.name) ORDER BY 1, 2")
    .map { $0.map(\.plain).joined(separator: "|") }
}

@Suite struct ManyToManyTests {
  @Test(arguments: [true, false]) func `join rows of a many-to-many are the same whichever side is mapped`(both: Bool)
    throws
  {
    let fixture = try fixture(ordered: false, to: blog())
    fixture.mappings = [
      try .make("Post", "Post", relationships: ["tags": .sourceRelationship("tags")]),
      try .make("Tag", "Tag", relationships: both ? ["posts": .sourceRelationship("posts")] : [:]),
    ]
    let summary = try fixture.run()
    let schema = StoreSchema(model: fixture.source)
    let expected = try links(fixture, of: schema, in: fixture.sourcePath)
    #expect(expected.count > 8)
    let found = try links(fixture, of: StoreSchema(model: fixture.destination), in: fixture.destinationPath)
    #expect(found == expected)
    #expect(summary.overridden == 0)
  }

  @Test func `an ordered many-to-many keeps the source's order with new positions`() throws {
    let fixture = try fixture(ordered: true, to: blog(tagsOrdered: true))
    fixture.mappings = [
      try .make("Post", "Post", kind: .copy), try .make("Tag", "Tag", kind: .copy),
    ]
    try fixture.run()
    guard
      case .join(let join, let post, let tag, let order?) = StoreSchema(model: fixture.destination).storage(
        of: "tags", in: "Post")
    else {
      Issue.record("no order column")
      return
    }
    // Post 7 has the tags (21, 23, 25) % 5 + 1 in this order.
    let rows = try fixture.rows(
      "SELECT \(tag), \(order) FROM source.\(join.name) WHERE \(post) = 700 ORDER BY \(order)")
    #expect(rows == ["2|2048", "4|3072", "1|4096"])
  }

  @Test func `the order from an unordered source is mapping order, then key`() throws {
    let fixture = try fixture(ordered: false, to: blog(tagsOrdered: true))
    fixture.mappings = [
      try .make("Tag", "Tag", name: "Late", filter: "name >= 'tag 3'"),
      try .make("Tag", "Tag", name: "Early", filter: "name < 'tag 3'"),
      try .make("Post", "Post", relationships: ["tags": .sourceRelationship("tags")]),
    ]
    try fixture.run()
    guard
      case .join(let join, let post, let tag, let order?) = StoreSchema(model: fixture.destination).storage(
        of: "tags", in: "Post")
    else {
      Issue.record("no order column")
      return
    }
    let rows = try fixture.rows(
      "SELECT \(tag), \(order) FROM source.\(join.name) WHERE \(post) = 700 ORDER BY \(order)")
    #expect(rows == ["4|2048", "1|3072", "2|4096"])
  }

  @Test func `the mapped half of a many-to-many displaces what the other half said`() throws {
    let fixture = try fixture(ordered: false, to: blog())
    // Tags claim no posts at all, and come later: every link goes.
    fixture.mappings = [
      try .make("Post", "Post", relationships: ["tags": .sourceRelationship("tags")]),
      try .make("Post", "Post", name: "Nothing", filter: "title == 'nothing'"),
      try .make("Tag", "Tag", relationships: ["posts": .mapping("Nothing", keyPath: ["posts"])]),
    ]
    let summary = try fixture.run()
    let schema = StoreSchema(model: fixture.source)
    let before = try links(fixture, of: schema, in: fixture.sourcePath)
    #expect(try links(fixture, of: StoreSchema(model: fixture.destination), in: fixture.destinationPath).isEmpty)
    #expect(summary.overridden == Int64(before.count))
  }
}
