import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import Synchronization
import TestSupport
import Testing

/// Rows with large values are made without holding these; what comes out is as if the chunk's statement had made them.
@Suite struct LargeRowTests {
  /// How many rows were completed in each way.
  private final class Count: Sendable {
    let ways = Mutex<[LargeRowWriter.Way: Int]>([:])

    func limits(_ rowBytes: Int64, _ valueBytes: Int64, _ recordBytes: Int64) -> LargeRowLimits {
      var limits = LargeRowLimits(rowBytes: rowBytes, valueBytes: valueBytes, recordBytes: recordBytes)
      limits.onRow = { way in self.ways.withLock { $0[way, default: 0] += 1 } }
      return limits
    }

    var copied: Int { ways.withLock { $0[.copied] ?? 0 } }
    var filled: Int { ways.withLock { $0[.filled] ?? 0 } }
  }

  /// Runs the job as usual, and once with large rows copied and once with them filled where that can be; all must end
  /// in one store.
  @discardableResult
  private func compare(_ fixture: MigrationFixture, stopping: Bool = false) throws -> (copied: Count, filled: Count) {
    func run() throws -> [String] {
      if stopping {
        for _ in 0..<500 where try MigrationManager(fixture.job).run(maximumSeconds: 0).outcome == .finished { break }
      } else {
        try fixture.run()
      }
      #expect(try fixture.rows("PRAGMA source.integrity_check") == ["ok"])
      let lines = try StoreDump(fixture.destinationPath).lines
      try FileManager.default.removeItem(atPath: (fixture.destinationPath as NSString).deletingLastPathComponent)
      return lines
    }
    let expected = try run()
    let counts = (Count(), Count())
    for limits in [counts.0.limits(1000, 100, .max), counts.1.limits(1000, 100, 0)] {
      let found = try EngineTuning.with(\.largeRows, limits) { try run() }
      #expect(found == expected, "\(zip(found, expected).first { $0 != $1 }.map { "\($0)" } ?? "lengths differ")")
    }
    return counts
  }

  private static func text(_ bytes: Int, _ seed: Int = 0) -> AttributeValue { .init(string(bytes, seed)) }

  private static func string(_ bytes: Int, _ seed: Int) -> String {
    var text: [UInt8] = []
    let pieces: [[UInt8]] = [Array("ä𝄞x".utf8), [0], Array("\(seed)".utf8), Array("\n'".utf8)]
    while text.count < bytes { text += pieces[(text.count + seed) % pieces.count] }
    return String(decoding: text, as: UTF8.self)
  }

  private static func bytes(_ count: Int, _ seed: Int = 0) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ ($0 >> 8) ^ seed) }
  }

  private static let attributes: [String: AttributeType] = [
    "cover": .binary, "page": .uri, "letter": .string, "state": .transformable, "number": .integer32, "ratio": .double,
    "when": .date, "flag": .boolean, "price": .decimal, "name": .string,
    "back": .binary,
  ]

  private func albums(_ keys: [Int64], large: (Int) -> [String: AttributeValue]) throws -> MigrationFixture {
    let source: [EntityDescription] = [
      .make("Box", ["label": .string], [.toMany("albums", "Album", inverse: "box")]),
      .make("Album", Self.attributes, [.toOne("box", "Box", inverse: "albums")]),
      // Its column comes behind all others of the table.
      .make("Book", parent: "Album", ["zone": .string]),
    ]
    let fixture = try MigrationFixture(source, to: source)
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Box", key: key, attributes: ["label": .init("box \(key)")]) }
      for (place, key) in keys.enumerated() {
        var values: [String: AttributeValue] = [
          "number": .integer(Int64(place) * 1_000_003), "ratio": .double(Double(place) / 2),
          "flag": .boolean(place % 2 == 0),
          "name": .init("album \(place)"),
        ]
        if place % 3 == 0 { values = [:] }
        try store.insert(
          place % 4 == 3 ? "Book" : "Album", key: key, attributes: values.merging(large(place)) { $1 },
          relationships: place % 5 == 4 ? [:] : ["box": [Int64(place % 3 + 1)]])
      }
    }
    fixture.mappings = try [
      .make("Box", "Box", kind: .copy),
      .make(
        "Album", "Album", kind: .copy, attributes: ["number": "$source.number + 1"],
        relationships: ["box": .mapping("BoxToBox", keyPath: ["box"])]),
      .make(
        "Book", "Book", kind: .copy, attributes: ["ratio": "$source.ratio * 2"],
        relationships: ["box": .mapping("BoxToBox", keyPath: ["box"])]),
    ]
    return fixture
  }

  @Test(arguments: [1, 3, 100])
  func `a large value may be in any column and row, with other large values or alone`(chunkRows: Int) throws {
    let keys: [Int64] = [.min, .min + 1, -70, -7, -6, -5, 1, 2, 3, 10, 11, 12, 13, 1 << 40, .max - 1, .max]
    let columns = ["cover", "letter", "page", "state", "name"]
    let fixture = try albums(keys) { place in
      // Adjacent ones, one by itself, both ends.
      guard ![2, 5, 8].contains(place) else { return [:] }
      var values: [String: AttributeValue] = [:]
      for column in place < 5 ? [columns[place]] : Array(columns[(place % 5)...]) {
        let size = 900 * (place + 1)
        switch column {
        case "letter", "name": values[column] = Self.text(size, place)
        case "page": values[column] = .uri(Text(Self.string(size, place)))
        default: values[column] = .data(Self.bytes(size, place))
        }
      }
      return values
    }
    fixture.chunkRows = chunkRows
    let (copied, filled) = try compare(fixture)
    #expect(copied.copied == 12 && copied.filled == 0, "\(copied.ways.withLock { $0 })")
    #expect(filled.copied > 0 && filled.filled > 0, "\(filled.ways.withLock { $0 })")
    try compare(fixture, stopping: true)
  }

  @Test func `filters, chunk predicates, defaults and computed values mean the same for large rows`()
    throws
  {
    let fixture = try albums(Array(1...12)) { place in
      ["letter": place % 2 == 0 ? Self.text(3000, place) : .null, "cover": .data(Self.bytes(place * 400))]
    }
    var entities = fixture.source.entities
    let album = try #require(entities.firstIndex { $0.name == "Album" })
    let letter = try #require(entities[album].attributes.firstIndex { $0.name == "letter" })
    entities[album].attributes[letter].defaultValue = .init("none")
    let other = try MigrationFixture(fixture.source, to: ManagedObjectModel(name: "2", entities: entities))
    try FileManager.default.copyItem(atPath: fixture.sourcePath, toPath: other.sourcePath)
    var mapping = try EntityMapping.make(
      "Album", "Album", filter: "name != 'album 2' AND (letter == nil OR letter CONTAINS 'x')",
      attributes: [
        "cover": "$source.cover", "back": "$source.cover", "name": "uppercase($source.letter)",
        "number": "length($source.letter)",
      ])
    mapping.attributeMappings.append(
      AttributeMapping(name: "letter", value: try ValueExpression("$source.letter"), usesDefaultForNil: true))
    other.mappings = [mapping]
    let count = try compare(other)
    #expect(count.copied.copied == 4 && count.filled.filled == 1)
    other.chunkPredicates = ["AlbumToAlbum": ["number < 5000 OR number == nil", "number >= 5000"]]
    #expect(try compare(other).copied.copied == count.copied.copied)
  }

  @Test func `large rows of unique-by, of mappings that share a scan, and with moved keys are migrated`() throws {
    let entities: [EntityDescription] = [.make("Note", ["text": .string, "data": .binary, "rank": .integer16])]
    let fixture = try MigrationFixture(
      entities,
      to: [
        .make("Sheet", isAbstract: true, ["text": .string, "data": .binary, "rank": .integer16]),
        .make("Long", parent: "Sheet"), .make("Short", parent: "Sheet"),
        .make("Kind", ["rank": .integer16, "text": .string]),
      ])
    try fixture.build { store in
      for key in Int64(1)...15 {
        try store.insert(
          "Note", key: key * 2,
          attributes: [
            "rank": .integer(key % 4), "text": key % 3 == 0 ? Self.text(2000, Int(key)) : Self.text(20),
            "data": key % 5 == 0 ? .data(Self.bytes(5000)) : .null,
          ])
      }
    }
    let copies = ["text": "$source.text", "data": "$source.data", "rank": "$source.rank + 0"]
    fixture.mappings = try [
      .make("Note", "Long", filter: "rank >= 2", attributes: copies),
      .make("Note", "Short", filter: "rank < 2", attributes: copies),
      .make("Note", "Short", name: "Again", filter: "rank == 3", attributes: copies),
      .make("Note", "Kind", uniqueBy: ["rank"], attributes: ["rank": "$source.rank", "text": "$source.text"]),
    ]
    fixture.chunkRows = 4
    let count = try compare(fixture)
    #expect(count.copied.copied > 8 && count.filled.filled > 1)
  }

  @Test(arguments: [1, 100]) func `links that are resolved later leave large values unchanged`(chunkRows: Int) throws {
    let source: [EntityDescription] = [
      .make("Photo", ["name": .string], [.toOne("data", "Content", inverse: "photo")]),
      .make(
        "Content", ["bytes": .binary, "text": .string, "zone": .string],
        [.toOne("photo", "Photo", inverse: "data"), .toOne("album", "Album", inverse: "contents")]),
      .make("Album", ["name": .string], [.toMany("contents", "Content", inverse: "album")]),
    ]
    let fixture = try MigrationFixture(source, to: source)
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Album", key: key, attributes: ["name": .init("album")]) }
      for key in Int64(1)...9 {
        try store.insert(
          "Content", key: key * 5,
          attributes: [
            "bytes": key % 3 == 0 ? .null : .data(Self.bytes(900 * Int(key))),
            "text": key % 2 == 0 ? Self.text(3000, Int(key)) : .null, "zone": key == 7 ? .init("z") : .null,
          ], relationships: ["album": [key % 3 + 1]])
      }
      for key in Int64(1)...8 { try store.insert("Photo", key: key, relationships: ["data": [key * 5]]) }
    }
    fixture.chunkRows = chunkRows
    fixture.mappings = try [
      .make(
        "Photo", "Photo", kind: .copy, relationships: ["data": .mapping("ContentToContent", keyPath: ["data"])]),
      .make(
        "Content", "Content", kind: .copy,
        relationships: [
          "photo": .mapping("PhotoToPhoto", keyPath: ["photo"]), "album": .mapping("AlbumToAlbum", keyPath: ["album"]),
        ]),
      .make(
        "Album", "Album", kind: .copy,
        relationships: ["contents": .mapping("ContentToContent", keyPath: ["contents"])]),
      // Takes the contents of one album away from it.
      .make(
        "Album", "Album", name: "Thief", filter: "name == 'album'",
        relationships: ["contents": .mapping("ContentToContent", keyPath: ["contents"])]),
    ]
    let count = try compare(fixture)
    // Six are made, and get their album later.
    #expect(count.copied.copied == 12)
    #expect(count.filled.filled > 3, "\(count.filled.filled)")
  }

  @Test func `a large value of the wrong kind fails as a small one does`() throws {
    let fixture = try albums(Array(1...6)) { place in ["letter": Self.text(3000, place)] }
    try fixture.alter("UPDATE ZALBUM SET ZLETTER = CAST(ZLETTER AS BLOB) WHERE Z_PK = 5")
    let expected = try #require(throws: GodwitError.self) { try fixture.run() }
    #expect(expected.message == "cannot evaluate 'letter' for Album p5: expected text, found bytes")
    _ = try MigrationManager.discard(destination: fixture.destinationPath)
    let found = try EngineTuning.with(\.largeRows, Count().limits(1000, 100, .max)) {
      try #require(throws: GodwitError.self) { try fixture.run() }
    }
    #expect(found.message == expected.message && found.context == expected.context && found.code == expected.code)
  }

  @Test func `large values with external storage are copied from rows, and files are carried over`() throws {
    var scan = AttributeDescription(name: "scan", type: .binary)
    scan.allowsExternalBinaryDataStorage = true
    var photo = AttributeDescription(name: "photo", type: .binary)
    let entity = EntityDescription(
      name: "Page", attributes: [scan, photo, AttributeDescription(name: "text", type: .string)])
    photo.allowsExternalBinaryDataStorage = true
    var inside = scan
    inside.allowsExternalBinaryDataStorage = false
    let outside = EntityDescription(
      name: "Page", attributes: [scan, photo, AttributeDescription(name: "text", type: .string)])
    let within = EntityDescription(
      name: "Page", attributes: [inside, photo, AttributeDescription(name: "text", type: .string)])
    for destination in [entity, outside, within] {
      let fixture = try MigrationFixture([entity], to: [destination])
      try fixture.build { store in
        for key in Int64(1)...6 {
          try store.insert(
            "Page", key: key,
            attributes: [
              "scan": .data(Self.bytes(Int(key) * 500)), "photo": .data(Self.bytes(Int(key) * 700)),
              "text": Self.text(key % 2 == 0 ? 3000 : 10),
            ])
        }
      }
      let support = SupportFolder(ofStoreAt: fixture.sourcePath)
      try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
      let name = "00000001-1111-2222-3333-444444444444"
      try Data(Self.bytes(3 << 20)).write(to: URL(filePath: support.path(of: name)))
      let connection = try StoreConnection(path: fixture.sourcePath)
      try connection.execute(
        "UPDATE ZPAGE SET ZSCAN = ?1 WHERE Z_PK = 4", [.blob(StoredBinary.external(name: name).bytes)])
      try connection.close()
      fixture.mappings = [try .make("Page", "Page", kind: .copy)]
      let count = try compare(fixture)
      #expect(count.copied.copied == 6)
      #expect(count.filled.filled > 0 || destination == entity)
    }
  }

  @Test func `an append adds large rows`() throws {
    let fixture = try albums(Array(1...9)) { place in
      ["letter": Self.text(2000 + place, place), "cover": .data(Self.bytes(place * 700))]
    }
    func run(_ limits: LargeRowLimits?) throws -> [String] {
      for number in 1...2 {
        var job = try fixture.job
        job.existingDestination = .append
        if number == 2 {
          job.sourcePath = fixture.folder.file("second.sqlite")
          try? FileManager.default.copyItem(atPath: fixture.sourcePath, toPath: job.sourcePath)
          let connection = try StoreConnection(path: job.sourcePath)
          try connection.execute("UPDATE ZBOX SET ZLABEL = 'second'")
          try connection.close()
        }
        try EngineTuning.with(\.largeRows, limits) { _ = try MigrationManager(job).run() }
      }
      #expect(try fixture.rows("PRAGMA source.integrity_check") == ["ok"])
      defer { try? FileManager.default.removeItem(atPath: fixture.destinationPath) }
      return try StoreDump(fixture.destinationPath).lines
    }
    let count = Count()
    let expected = try run(nil)
    #expect(try run(count.limits(1000, 100, .max)) == expected)
    #expect(count.copied == 18)
  }

  @Test(arguments: testSeeds(5))
  func `random large rows, columns and limits give the store of an ordinary run`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let types: [AttributeType] = [.binary, .string, .uri, .transformable, .integer64, .double, .decimal]
    let names = (0..<2 + random.below(6)).map { "a\($0)" }
    let attributes = names.map { AttributeDescription(name: $0, type: types[random.below(types.count)]) }
    let entity = EntityDescription(
      name: "Thing", attributes: attributes + [AttributeDescription(name: "id", type: .integer32)])
    let fixture = try MigrationFixture([entity], to: [entity])
    // Around what a page holds of a row, and around the limits.
    let sizes = [0, 1, 99, 100, 101, 500, 999, 1000, 1001, 4000, 4050, 4061, 4062, 4581, 8153, 8154, 12_400, 40_000]
    try fixture.build { store in
      var key: Int64 = random.chance(50) ? 1 : -1 << 40
      for number in 0..<1 + random.below(20) {
        var values: [String: AttributeValue] = ["id": .integer(Int64(number))]
        for attribute in attributes where random.chance(70) {
          let size = max(0, sizes[random.below(sizes.count)] + random.below(5) - 2)
          switch attribute.type {
          case .string: values[attribute.name] = Self.text(size, number)
          case .uri: values[attribute.name] = .uri(Text(Self.string(size, number)))
          case .binary, .transformable: values[attribute.name] = .data(Self.bytes(size, number))
          case .double: values[attribute.name] = .double(Double(size) / Double(1 + random.below(3)))
          case .decimal: values[attribute.name] = .decimal(Decimal(size))
          default: values[attribute.name] = .integer(Int64(size) << random.below(40))
          }
        }
        try store.insert("Thing", key: key, attributes: values)
        key += Int64(1 + (random.chance(30) ? random.below(1 << 20) : 0))
      }
    }
    fixture.mappings = [
      try .make(
        "Thing", "Thing", kind: .copy, filter: random.chance(50) ? "id != \(random.below(10))" : nil,
        attributes: random.chance(50) ? ["id": "$source.id * 3"] : [:])
    ]
    fixture.chunkRows = 1 + random.below(9)
    try compare(fixture, stopping: random.chance(20))
  }
}
