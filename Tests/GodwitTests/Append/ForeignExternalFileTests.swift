import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Files in and beside `_EXTERNAL_DATA` that no row of the source names, and links there.
struct ForeignExternalFileTests {
  private static func photo(_ name: String) -> AttributeDescription {
    var attribute = AttributeDescription(name: name, type: .binary)
    attribute.allowsExternalBinaryDataStorage = true
    return attribute
  }

  private static let name = AttributeDescription(name: "name", type: .string)
  private static func id(_ number: Int) -> String { "0000000\(number)-1111-2222-3333-444444444444" }

  /// Three people with photos and scans in files; the destination has no scans.
  private func fixture() throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [EntityDescription(name: "Person", attributes: [Self.name, Self.photo("photo"), Self.photo("scan")])],
      to: [EntityDescription(name: "Person", attributes: [Self.name, Self.photo("photo")])])
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Person", key: key, attributes: ["name": .init("p\(key)")]) }
    }
    let support = SupportFolder(ofStoreAt: fixture.sourcePath)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    let connection = try StoreConnection(path: fixture.sourcePath)
    for key in 1...3 {
      for (column, number) in [("ZPHOTO", key), ("ZSCAN", key + 3)] {
        try Data("file \(number)".utf8).write(to: URL(filePath: support.path(of: Self.id(number))))
        try connection.execute(
          "UPDATE ZPERSON SET \(column) = ?1 WHERE Z_PK = ?2",
          [.blob(StoredBinary.external(name: Self.id(number)).bytes), .int(key)])
      }
    }
    try connection.close()
    try fixture.infer()
    return fixture
  }

  enum Way: CaseIterable { case copy, itself, executor }

  @Test(arguments: Way.allCases) func `a migration in place removes only the external files that old rows named`(
    way: Way
  ) throws {
    let fixture = try fixture()
    let path = try fixture.copyOfSource("place")
    let (support, secret) = (SupportFolder(ofStoreAt: path), fixture.folder.file("secret"))
    try Data("secret".utf8).write(to: URL(filePath: secret))
    let foreign = ["letters.txt", Self.id(8), "notes/\(Self.id(7))", Self.id(9)]
    try FileManager.default.createDirectory(atPath: support.dataPath + "/notes", withIntermediateDirectories: true)
    for name in foreign.dropLast() { try Data("mine".utf8).write(to: URL(filePath: support.path(of: name))) }
    try FileManager.default.createSymbolicLink(atPath: support.path(of: Self.id(9)), withDestinationPath: secret)
    var job = fixture.jobInPlace(path, keepsOld: false)
    switch way {
    case .itself: break
    case .executor: job.steps[0].origin = nil
    case .copy:
      // The way that keeps the old store, whose second names a link stands in for.
      job.existingDestination = .inPlace(keepsOld: true)
    }
    try MigrationManager(job).run()
    for name in foreign {
      #expect(
        (try? FileManager.default.attributesOfItem(atPath: support.path(of: name))) != nil, "\(name) of the user's")
    }
    #expect(try String(contentsOfFile: secret, encoding: .utf8) == "secret")
    for number in 1...6 {
      #expect((try support.size(of: Self.id(number)) != nil) == (number <= 3), "file \(number)")
    }
  }

  @Test func `no file is removed through a folder that is a symbolic link`() throws {
    for name in ["", "/_EXTERNAL_DATA"] {
      for keepsOld in [true, false] {
        let fixture = try fixture()
        let path = try fixture.copyOfSource("place")
        let support = SupportFolder(ofStoreAt: path)
        let theirs = fixture.folder.file("theirs")
        try FileManager.default.moveItem(atPath: support.path + name, toPath: theirs)
        try FileManager.default.createSymbolicLink(atPath: support.path + name, withDestinationPath: theirs)
        let before = try FileManager.default.subpathsOfDirectory(atPath: theirs)
        let error = #expect(throws: GodwitError.self) {
          try MigrationManager(fixture.jobInPlace(path, keepsOld: keepsOld)).run()
        }
        #expect(error?.code == .dataWrong)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: theirs) == before)
      }
    }
  }

  @Test func `a link among external files is a missing file, wherever it leads`() throws {
    let fixture = try fixture()
    let secret = fixture.folder.file("secret")
    try Data("secret".utf8).write(to: URL(filePath: secret))
    let support = SupportFolder(ofStoreAt: fixture.sourcePath)
    try FileManager.default.removeItem(atPath: support.path(of: Self.id(1)))
    try FileManager.default.createSymbolicLink(atPath: support.path(of: Self.id(1)), withDestinationPath: secret)
    let notes = try MigrationManager(fixture.job).plan().notes
    #expect(notes.contains { $0.contains("1 of the files missing") }, "\(notes)")
    try MigrationManager(fixture.job).run()
    let made = SupportFolder(ofStoreAt: fixture.destinationPath)
    #expect((try? FileManager.default.attributesOfItem(atPath: made.path(of: Self.id(1)))) == nil)
    #expect(try made.size(of: Self.id(2)) == 6)
    let reader = try ObjectReader(path: fixture.sourcePath, model: fixture.source)
    var missing: [String] = []
    try reader.forEachObject(of: ["Person"]) { object in
      for (_, value) in object.properties { if case .missingFile(let name) = value { missing.append(name) } }
      return true
    }
    #expect(missing == [Self.id(1)])
  }

  @Test func `exporting an external file of three gibibytes is an error, not a trap`() throws {
    let fixture = try fixture()
    let file = SupportFolder(ofStoreAt: fixture.sourcePath).path(of: Self.id(1))
    try #require(truncate(file, 3 << 30) == 0)
    let reader = try ObjectReader(path: fixture.sourcePath, model: fixture.source)
    let error = #expect(throws: GodwitError.self) { try reader.forEachObject(of: ["Person"]) { _ in true } }
    #expect(error?.code == .dataWrong)
    #expect(error?.message.contains(Self.id(1)) == true)
  }

  @Test func `external files that are copied are no more readable than the source's`() throws {
    let folder = try TemporaryFolder()
    let (from, to) = (
      SupportFolder(path: folder.file("from")), SupportFolder(path: "/dev/shm/godwit-\(UUID().uuidString)")
    )
    // Another file system, where there can be no hard link.
    guard (try? FileManager.default.createDirectory(atPath: to.dataPath, withIntermediateDirectories: true)) != nil
    else { return }
    defer { try? FileManager.default.removeItem(atPath: to.path) }
    try FileManager.default.createDirectory(atPath: from.dataPath, withIntermediateDirectories: true)
    try Data("x".utf8).write(to: URL(filePath: from.path(of: Self.id(1))))
    try #require(chmod(from.path(of: Self.id(1)), 0o600) == 0)
    #expect(try to.carry(Self.id(1), from: from, as: Self.id(1)))
    let mode = try FileManager.default.attributesOfItem(atPath: to.path(of: Self.id(1)))[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }
}
