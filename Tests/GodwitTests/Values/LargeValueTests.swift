import Foundation
import Godwit
import GodwitEngine
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Values that are too large to be held twice: a verification reads those that were copied a piece at a time.
struct LargeValueTests {
  private static let size = Int(LargeValue.limit.bytes) * 3 / 2
  private static let limit = Int32(LargeValue.limit.bytes) * 5 / 4

  private static func bytes(_ seed: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: size)
    for place in stride(from: seed, to: size, by: 4096) { bytes[place] = UInt8(ascii: "b") }
    return bytes
  }

  private static func attributes(renamed: Bool = false) -> [AttributeDescription] {
    var scan = AttributeDescription(name: "scan", type: .binary)
    scan.allowsExternalBinaryDataStorage = true
    return [
      AttributeDescription(name: "name", type: .string),
      AttributeDescription(name: renamed ? "picture" : "photo", type: .binary), scan,
      AttributeDescription(name: "letter", type: .string), AttributeDescription(name: "state", type: .transformable),
      AttributeDescription(name: "page", type: .uri),
    ]
  }

  /// Every kind of value that can be large, in rows before, between and after others.
  private func fixture(letter: String = "$source.letter") throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [EntityDescription(name: "Album", attributes: Self.attributes())],
      to: [EntityDescription(name: "Album", attributes: Self.attributes(renamed: true))])
    try fixture.build { store in
      for key in Int64(1)...4 {
        let isLarge = key % 2 == 1
        let bytes = isLarge ? Self.bytes(Int(key)) : [7, 8]
        let text = String(decoding: bytes, as: UTF8.self)
        try store.insert(
          "Album", key: key,
          attributes: [
            "name": .init("album \(key)"), "photo": .data(bytes), "scan": .data(bytes), "letter": .init(text),
            "state": .data(bytes), "page": .uri(Text(utf8: bytes)),
          ])
      }
    }
    fixture.mappings = [
      try .make(
        "Album", "Album", filter: "name != \"album 4\"",
        attributes: [
          "name": "$source.name", "picture": "$source.photo", "scan": "$source.scan", "letter": letter,
          "state": "$source.state", "page": "$source.page",
        ])
    ]
    return fixture
  }

  @Test func `a verification never holds a large value as a whole`() throws {
    let fixture = try fixture()
    try MigrationManager(fixture.job).run()
    let report = try ValueLimit.with(bytes: Self.limit) { try Verifier(job: fixture.job).run() }
    #expect(report.isClean, "\(report)")
    #expect(report.checks.first { $0.name == "values in ZALBUM" }?.count == 18)
    // The limit is one that is felt.
    try ValueLimit.with(bytes: Self.limit) {
      let store = try StoreConnection.openStore(readingAt: fixture.destinationPath)
      #expect(throws: GodwitError.self) { try store.value("SELECT ZPICTURE FROM source.ZALBUM WHERE Z_PK = 1") }
    }
  }

  @Test(arguments: ["PICTURE", "SCAN", "LETTER", "STATE", "PAGE"])
  func `a byte that differs at the end of a large value is found`(column: String) throws {
    let fixture = try fixture()
    try MigrationManager(fixture.job).run()
    for (value, word) in [
      ("substr(Z\(column), 1, length(Z\(column)) - 1) || 'x'", "not what mapping"),
      ("Z\(column) || 'x'", "not what mapping"), ("'x'", ""), ("NULL", ""),
    ] {
      let made = try Data(contentsOf: URL(filePath: fixture.destinationPath))
      let connection = try StoreConnection(path: fixture.destinationPath)
      // Joined with a text, a blob becomes one.
      let isText = ["LETTER", "PAGE"].contains(column)
      try connection.execute(
        "UPDATE ZALBUM SET Z\(column) = \(isText || value == "NULL" ? value : "CAST(\(value) AS BLOB)") WHERE Z_PK = 3")
      try connection.close()
      let report = try ValueLimit.with(bytes: Self.limit) { try Verifier(job: fixture.job).run() }
      let finding = try #require(report.findings.first, "\(value)")
      #expect(finding.kind == .value && finding.entity == "Album" && finding.key == 3, "\(report)")
      #expect(finding.property?.uppercased() == column && (word.isEmpty || finding.message.contains(word)), "\(report)")
      try made.write(to: URL(filePath: fixture.destinationPath))
    }
  }

  @Test func `a large value of another kind, or where none should be, is a finding`() throws {
    let fixture = try fixture()
    try MigrationManager(fixture.job).run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("UPDATE ZALBUM SET ZLETTER = CAST(ZLETTER AS BLOB), ZSCAN = ZPICTURE WHERE Z_PK = 1")
    try connection.execute("UPDATE ZALBUM SET ZPICTURE = zeroblob(\(Self.size)) WHERE Z_PK = 2")
    try connection.close()
    let report = try ValueLimit.with(bytes: Self.limit) { try Verifier(job: fixture.job).run() }
    let found = report.findings.map { "\($0.key ?? 0) \($0.property ?? "") \($0.kind) \($0.message)" }.sorted()
    #expect(
      found == [
        "1 letter invalid it is a blob, which an attribute of type String cannot hold",
        "1 letter value mapping 'AlbumToAlbum' gives a text for p1 of the source, the store holds a blob",
        "1 scan value the bytes are not what mapping 'AlbumToAlbum' gives for p1 of the source",
        "2 picture value the value is not what mapping 'AlbumToAlbum' gives for p2 of the source",
      ])
  }

  @Test func `a value computed from a large value is compared completely`() throws {
    let fixture = try fixture(letter: "uppercase($source.letter)")
    try fixture.run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("UPDATE ZALBUM SET ZLETTER = lower(ZLETTER) WHERE Z_PK = 3")
    try connection.close()
    let report = try Verifier(job: fixture.job).run()
    #expect(report.findings.map { "\($0.key ?? 0) \($0.property ?? "")" } == ["3 letter"], "\(report)")
  }

  @Test func `validation rules of texts apply to large texts`() throws {
    let fixture = try fixture()
    var longest = try #require(fixture.destination.attribute("letter", of: "Album"))
    longest.maximumLength = Self.size
    var entity = fixture.destination.entities[0]
    let place = try #require(entity.attributes.firstIndex { $0.name == "letter" })
    entity.attributes[place] = longest
    let limited = try MigrationFixture(fixture.source, to: ManagedObjectModel(name: "2", entities: [entity]))
    try FileManager.default.copyItem(atPath: fixture.sourcePath, toPath: limited.sourcePath)
    limited.mappings = fixture.mappings
    try limited.run()
    let connection = try StoreConnection(path: limited.destinationPath)
    try connection.execute("UPDATE ZALBUM SET ZLETTER = ZLETTER || 'x' WHERE Z_PK = 1")
    try connection.close()
    let report = try Verifier(job: limited.job).run()
    #expect(report.findings.contains { $0.kind == .invalid && $0.message == "it is longer than \(Self.size)" })
  }
}

/// The length of a text that is counted in pieces.
struct TextLengthTests {
  @Test(arguments: testSeeds(200)) func `the length of a text does not depend on how it is split into pieces`(
    seed: UInt64
  ) {
    var random = SeededGenerator(seed: seed)
    // Characters of each length, their parts, and bytes that none has.
    let parts: [[UInt8]] = [
      [0x41], [0], Array("ä".utf8), Array("€".utf8), Array("𝄞".utf8), [0x80], [0xbf, 0x80, 0x80], [0xe2, 0x82], [0xf0],
      [0xf0, 0x9d, 0x84], [0xff], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0x80, 0x80, 0x80, 0x80, 0x80],
    ]
    let bytes = (0..<random.below(60)).flatMap { _ in parts[random.below(parts.count)] }
    let expected = String(decoding: bytes, as: UTF8.self).utf16.count
    for piece in 4...9 {
      #expect(bytes.withUnsafeBytes { SQLFunctions.utf16Count($0, pieceBytes: piece) } == expected, "\(bytes)")
    }
  }
}
