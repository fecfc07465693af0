import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Binary data with external storage: prefix bytes, files beside the store, a flag that changes.
struct ExternalDataTests {
  private static func photo(external: Bool, _ name: String = "photo", _ type: AttributeType = .binary)
    -> AttributeDescription
  {
    var attribute = AttributeDescription(name: name, type: type)
    attribute.allowsExternalBinaryDataStorage = external
    return attribute
  }

  private static func person(_ attributes: [AttributeDescription], _ name: String = "Person") -> EntityDescription {
    EntityDescription(name: name, attributes: attributes + [AttributeDescription(name: "name", type: .string)])
  }

  private static let names = (1...5).map { "0000000\($0)-1111-2222-3333-444444444444" }

  private static func bytes(_ count: Int) -> [UInt8] {
    let part = (0..<256).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ count) }
    return Array((0...count / 256).flatMap { _ in part }.prefix(count))
  }

  /// p1 small file, p2 inline, p3 nil, p4 large file, p5 empty inline, p6 missing file.
  private func fixture(
    _ from: [AttributeDescription], _ to: [EntityDescription], missing: Bool = true
  ) throws -> MigrationFixture {
    let fixture = try MigrationFixture([Self.person(from)], to: to)
    try fixture.build { store in
      for key in Int64(1)...6 {
        let data: AttributeValue = key == 2 ? .data([7, 8]) : key == 5 ? .data([]) : .null
        try store.insert("Person", key: key, attributes: ["name": .init("p\(key)"), "photo": data])
      }
    }
    guard from.first?.allowsExternalBinaryDataStorage == true else { return fixture }
    let folder = SupportFolder(ofStoreAt: fixture.sourcePath)
    try FileManager.default.createDirectory(atPath: folder.dataPath, withIntermediateDirectories: true)
    let connection = try StoreConnection(path: fixture.sourcePath)
    for (key, name, size) in [(1, Self.names[0], 5000), (4, Self.names[1], 3_500_000), (6, Self.names[2], -1)]
    where size >= 0 || missing {
      if size >= 0 { try Data(Self.bytes(size)).write(to: URL(filePath: folder.path(of: name))) }
      try connection.execute(
        "UPDATE ZPERSON SET ZPHOTO = ?1 WHERE Z_PK = ?2", [.blob(StoredBinary.external(name: name).bytes), .int(key)])
    }
    try connection.close()
    return fixture
  }

  private func files(_ fixture: MigrationFixture) throws -> [String: Int64] {
    var files: [String: Int64] = [:]
    try SupportFolder(ofStoreAt: fixture.destinationPath).forEachFile { files[$0] = $1 }
    return files
  }

  @Test func `external files are carried over, and a missing one is reported`() throws {
    let fixture = try fixture([Self.photo(external: true)], [Self.person([Self.photo(external: true)])])
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    let plan = try MigrationManager(fixture.job).plan()
    let note =
      "external data of Person.photo: 3 values in files, 3 MiB, linked or copied; 1 of the files missing"
    #expect(plan.notes == [note])
    #expect(try fixture.run().notes == [note])
    #expect(try files(fixture) == [Self.names[0]: 5000, Self.names[1]: 3_500_000])
    #expect(
      try fixture.rows("SELECT Z_PK, hex(substr(ZPHOTO, 1, 3)), length(ZPHOTO) FROM source.ZPERSON ORDER BY 1") == [
        "1|023030|38", "2|010708|3", "3||nil", "4|023030|38", "5|01|1", "6|023030|38",
      ])
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: fixture.folder.file("out")).sorted()
        == [".destination_SUPPORT", "destination.sqlite"])
    // A link is the same file: nothing was copied.
    let from = try FileManager.default.attributesOfItem(
      atPath: SupportFolder(ofStoreAt: fixture.sourcePath).path(of: Self.names[1]))
    let to = try FileManager.default.attributesOfItem(
      atPath: SupportFolder(ofStoreAt: fixture.destinationPath).path(of: Self.names[1]))
    #expect(from[.systemFileNumber] as? Int == to[.systemFileNumber] as? Int)
  }

  @Test func `a symbolic link among the external files counts as a missing file`() throws {
    let fixture = try fixture([Self.photo(external: true)], [Self.person([Self.photo(external: true)])], missing: false)
    let path = SupportFolder(ofStoreAt: fixture.sourcePath).path(of: Self.names[0])
    try FileManager.default.moveItem(atPath: path, toPath: fixture.folder.file("elsewhere"))
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: fixture.folder.file("elsewhere"))
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    let summary = try fixture.run()
    #expect(summary.notes.contains { $0.hasSuffix("1 of the files missing") }, "\(summary.notes)")
    #expect(Array(try files(fixture).keys) == [Self.names[1]])
  }

  @Test func `without the external storage flag files become values, including large ones`() throws {
    let fixture = try fixture(
      [Self.photo(external: true)], [Self.person([Self.photo(external: false)])], missing: false)
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    let before = try MigrationManager(fixture.job).plan()
    #expect(before.diskBytes > 3_500_000)
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, length(ZPHOTO), hex(substr(ZPHOTO, 1, 2)) FROM source.ZPERSON ORDER BY 1") == [
        "1|5000|88A7", "2|2|0708", "3|nil|", "4|3500000|E0FF", "5|0|", "6|nil|",
      ])
    #expect(try !SupportFolder(ofStoreAt: fixture.destinationPath).exists)
    let large = try StoreConnection.openStore(readingAt: fixture.destinationPath)
      .value("SELECT ZPHOTO FROM source.ZPERSON WHERE Z_PK = 4")
    #expect(large == .blob(Self.bytes(3_500_000)))
  }

  @Test func `without the external storage flag a missing file is 65, and the run resumes once it is restored`() throws
  {
    let fixture = try fixture([Self.photo(external: true)], [Self.person([Self.photo(external: false)])])
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    let error = try #require(throws: GodwitError.self) { try MigrationManager(fixture.job).run() }
    #expect(error.code == .dataWrong)
    #expect(error.message.hasPrefix("cannot evaluate 'photo' for Person p6: its external file '"))
    let folder = SupportFolder(ofStoreAt: fixture.sourcePath)
    try Data([9]).write(to: URL(filePath: folder.path(of: Self.names[2])))
    #expect(try fixture.run().wasResumed)
    #expect(try fixture.rows("SELECT hex(ZPHOTO) FROM source.ZPERSON WHERE Z_PK = 6") == ["09"])
  }

  @Test func `with a new external storage flag all values get their prefix`() throws {
    var standard = Self.photo(external: true, "standard")
    standard.defaultValue = .data([5])
    let fixture = try fixture(
      [Self.photo(external: false)],
      [Self.person([Self.photo(external: true), Self.photo(external: true, "other"), standard])])
    fixture.mappings = [
      try .make(
        "Person", "Person",
        attributes: ["photo": "$source.photo", "other": "TERNARY($source.name == \"p2\", $source.photo, nil)"])
    ]
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, hex(ZPHOTO), hex(ZOTHER), hex(ZSTANDARD) FROM source.ZPERSON ORDER BY 1") == [
        "1|||0105", "2|010708|010708|0105", "3|||0105", "4|||0105", "5|01||0105", "6|||0105",
      ])
  }

  @Test func `expressions and filters see the plain bytes of external values`() throws {
    let fixture = try fixture(
      [Self.photo(external: true)], [Self.person([Self.photo(external: true, "copy"), Self.photo(external: false)])],
      missing: false)
    fixture.mappings = [
      try .make(
        "Person", "Person", filter: "photo != nil",
        attributes: ["copy": "TERNARY($source.photo == nil, nil, $source.photo)", "name": "$source.name"])
    ]
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, length(ZCOPY), hex(substr(ZCOPY, 1, 3)) FROM source.ZPERSON ORDER BY 1") == [
        "1|5001|0188A7", "2|3|010708", "4|3500001|01E0FF", "5|1|01",
      ])
  }

  @Test func `an object that becomes two has two external files, whatever the chunks`() throws {
    var found: [[String: Int64]] = []
    for rows in [1, 100] {
      let fixture = try fixture(
        [Self.photo(external: true)],
        [
          Self.person([Self.photo(external: true), Self.photo(external: true, "second")]),
          Self.person([Self.photo(external: true)], "Twin"),
        ], missing: false)
      fixture.chunkRows = rows
      fixture.mappings = [
        try .make("Person", "Person", attributes: ["photo": "$source.photo", "second": "$source.photo"]),
        try .make("Person", "Twin", attributes: ["photo": "$source.photo"]),
      ]
      try fixture.run()
      found.append(try files(fixture))
    }
    #expect(found[0].count == 6)
    #expect(found[0] == found[1])
  }

  @Test func `an invalid external value is kept with the flag, and is 65 without it`() throws {
    for flag in [true, false] {
      let fixture = try fixture(
        [Self.photo(external: true)], [Self.person([Self.photo(external: flag)])], missing: false)
      try fixture.alter("UPDATE ZPERSON SET ZPHOTO = x'0304' WHERE Z_PK = 2")
      fixture.mappings = [try .make("Person", "Person", kind: .copy)]
      guard !flag else {
        try fixture.run()
        #expect(try fixture.rows("SELECT hex(ZPHOTO) FROM source.ZPERSON WHERE Z_PK = 2") == ["0304"])
        continue
      }
      let error = try #require(throws: GodwitError.self) { try MigrationManager(fixture.job).run() }
      #expect(error.code == .dataWrong)
      #expect(
        error.message
          == "cannot evaluate 'photo' for Person p2: expected bytes, found neither bytes nor the name of an external file"
      )
    }
  }

  @Test func `a support folder of another store beside the destination is 73`() throws {
    let fixture = try fixture([Self.photo(external: true)], [Self.person([Self.photo(external: true)])])
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    let foreign = SupportFolder(ofStoreAt: fixture.destinationPath)
    try FileManager.default.createDirectory(atPath: foreign.dataPath, withIntermediateDirectories: true)
    let error = try #require(throws: GodwitError.self) { try MigrationManager(fixture.job).run() }
    #expect(error.code == .cannotCreate)
    #expect(error.message.contains("the support folder of another store is beside it"))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: fixture.folder.file("out")) == [".destination_SUPPORT"])
  }

  @Test func `a run that died with its support folder in place resumes, and a discarded one leaves nothing`() throws {
    for discards in [false, true] {
      let fixture = try fixture([Self.photo(external: true)], [Self.person([Self.photo(external: true)])])
      fixture.mappings = [try .make("Person", "Person", kind: .copy)]
      // A file with the destination's name comes into being at the last moment.
      let error = #expect(throws: GodwitError.self) {
        try MigrationManager(fixture.job).run { progress in
          guard progress.chunk == progress.chunks else { return }
          try? Data().write(to: URL(filePath: fixture.destinationPath))
        }
      }
      #expect(error?.code == .cannotCreate)
      #expect(try SupportFolder(ofStoreAt: fixture.destinationPath).exists)
      try FileManager.default.removeItem(atPath: fixture.destinationPath)
      if discards {
        #expect(try MigrationManager.discard(destination: fixture.destinationPath))
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.file("out")) == [])
      } else {
        #expect(try fixture.run().wasResumed)
        #expect(try files(fixture).count == 2)
      }
    }
  }

  @Test func `the verifier finds changed, missing and surplus external files`() throws {
    let fixture = try fixture([Self.photo(external: true)], [Self.person([Self.photo(external: true)])])
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    try fixture.run()
    let folder = SupportFolder(ofStoreAt: fixture.destinationPath)
    func replace(_ name: String, _ bytes: [UInt8]) throws {
      try? FileManager.default.removeItem(atPath: folder.path(of: name))
      try Data(bytes).write(to: URL(filePath: folder.path(of: name)))
    }
    var changed = Self.bytes(5000)
    changed[4999] ^= 1
    try replace(Self.names[0], changed)
    try FileManager.default.removeItem(atPath: folder.path(of: Self.names[1]))
    try replace(Self.names[4], [1])
    let findings = try Verifier(job: fixture.job).run().findings
    #expect(findings.map(\.key) == [1, 4, nil])
    #expect(findings.map(\.kind) == [.value, .value, .file])
  }

  @Test func `unknown forms of external storage are 78`() throws {
    let cases: [(AttributeDescription, AttributeDescription, EntityMapping, String)] = [
      (
        Self.photo(external: false, "photo", .transformable), Self.photo(external: true, "photo", .transformable),
        try .make("Person", "Person", kind: .copy), "known for binary data only"
      ),
      (
        Self.photo(external: true), Self.photo(external: true),
        try .make("Person", "Person", uniqueBy: ["photo"], attributes: ["photo": "$source.photo"]),
        "cannot use unique-by 'photo'"
      ),
    ]
    for (from, to, mapping, message) in cases {
      let fixture = try MigrationFixture([Self.person([from])], to: [Self.person([to])])
      try fixture.build { try $0.insert("Person", key: 1) }
      fixture.mappings = [mapping]
      let error = try #require(throws: GodwitError.self) { try MigrationManager(fixture.job).plan() }
      #expect(error.code == .configuration)
      #expect(error.message.contains(message), "\(error.message)")
    }
  }
}
