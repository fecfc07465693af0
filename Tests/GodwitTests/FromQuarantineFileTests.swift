import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitDisk
@testable import GodwitJob
@testable import GodwitStore
@testable import GodwitVerifier

/// External files beside a quarantine: none is ignored, and the only copy of none is removed.
@Suite struct FromQuarantineFileTests {
  private static let name = "00000000-0000-0000-7000-000000000003"

  /// Gives a rejected person a file, whose bytes the source may lack.
  private func world(seed: UInt64, bytes: Data? = nil) throws -> RepairWorld {
    let world = try RepairWorld(seed: seed)
    let key = try #require(world.world.rejected().people.min())
    for path in [world.world.sourcePath, world.repairedPath] {
      let connection = try StoreConnection(path: path)
      try connection.execute(
        "UPDATE ZPERSON SET ZPHOTO = ?1 WHERE Z_PK = ?2",
        [.blob(StoredBinary.external(name: Self.name).bytes), .integer(key)])
      try connection.close()
      if let bytes { try write(bytes, path) }
    }
    return world
  }

  /// Writes a file anew: that of the quarantine may be the very one of the source.
  private func write(_ bytes: Data, _ store: String, name: String = name) throws {
    let support = SupportFolder(ofStoreAt: store)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    unlink(support.path(of: name))
    try bytes.write(to: URL(filePath: support.path(of: name)))
  }

  @Test func `a file that was restored under its name comes with its object`() throws {
    let world = try world(seed: 21)
    #expect(try world.run().codedNotes.contains { $0.code == .externalDataMissing })
    for path in [world.quarantine, world.repairedPath] { try write(Data(repeating: 9, count: 700), path) }
    // The file is the only edit, and the object is rejected again.
    let first = try world.take()
    #expect(first.outcome == .finished)
    try world.expectEqual(first, "restored")
    for path in [world.repairs, world.quarantine] {
      #expect(try SupportFolder(ofStoreAt: path).size(of: Self.name) == 700)
    }
    try world.edit(seed: 22, percent: 100)
    try world.expectEqual(world.take(), "repaired")
    #expect(try SupportFolder(ofStoreAt: world.destination).size(of: Self.name) == 700)

    try write(Data(repeating: 8, count: 700), world.repairs)
    let receipt = URL(filePath: world.destination + Receipt.suffix)
    #expect(try ReceiptCheck(receipt: receipt).run().findings.contains { $0.message.contains(Self.name) })
    unlink(SupportFolder(ofStoreAt: world.repairs).path(of: Self.name))
    #expect(try world.run().codedNotes.contains { $0.code == .repairsMissing && $0.text.contains(Self.name) })
  }

  @Test func `a file with other bytes under its name is refused, and so is one that nobody names`() throws {
    let world = try world(seed: 23, bytes: Data(repeating: 1, count: 300))
    try world.run()
    try write(Data(repeating: 2, count: 300), world.quarantine)
    try world.expectRefusal(.dataWrong, Self.name)
    try write(Data(repeating: 1, count: 300), world.quarantine)
    let other = "00000000-0000-0000-7000-000000000004"
    try write(Data(repeating: 3, count: 300), world.quarantine, name: other)
    try world.edit(seed: 24, percent: 50)
    try world.expectRefusal(.cannotCreate, other)
    unlink(SupportFolder(ofStoreAt: world.quarantine).path(of: other))
    try world.expectEqual(world.take(), "moved away")
  }

  @Test func `what is left beside the place of a quarantine that was moved away is refused`() throws {
    let world = try world(seed: 25, bytes: Data(repeating: 1, count: 300))
    try world.run()
    let moved = world.folder.file("moved/people.sqlite")
    try FileManager.default.createDirectory(atPath: world.folder.file("moved"), withIntermediateDirectories: true)
    try FileManager.default.moveItem(atPath: world.quarantine, toPath: moved)
    try world.edit(moved, seed: 26, percent: 50)
    let (left, support) = (SupportFolder(ofStoreAt: world.quarantine), SupportFolder(ofStoreAt: moved))
    try world.expectRefusal(.cannotCreate, left.path, file: moved)
    try FileManager.default.moveItem(atPath: left.path, toPath: support.path)
    let log = world.quarantine + "-wal"
    try Data("log".utf8).write(to: URL(filePath: log))
    try world.expectRefusal(.cannotCreate, log, file: moved)
    try FileManager.default.removeItem(atPath: log)
    try world.expectEqual(world.take(moved), "moved")
  }
}

/// One-to-ones that were edited at one end.
@Suite struct FromQuarantinePartnerTests {
  private func single(_ both: RepairWorld.Both, _ keys: [Int64]) throws -> [Int64] {
    try keys.filter { try both.whole.link(of: $0, "spouse") == nil && both.whole.link(of: $0, "spouseOf") == nil }
  }

  @Test func `a free object of the destination becomes a partner`() throws {
    let world = try RepairWorld(seed: 61)
    try world.run()
    let both = try world.open()
    let held = Set(both.people)
    let key = try #require(single(both, both.people).first)
    let free = try #require(single(both, world.world.people.map(\.key).filter { !held.contains($0) }).first)
    for store in both.stores { try store.link(key, "spouse", to: (world.entity(free), free)) }
    try both.whole.link(free, "spouseOf", to: (world.entity(key), key))
    try both.close()
    try world.edit(seed: 62, percent: 100)
    let summary = try world.take()
    try world.expectEqual(summary, "free")
  }

  @Test func `ends that disagree are refused`() throws {
    let world = try RepairWorld(seed: 63)
    let rejected = world.world.rejected().people
    let pair = world.world.people.first { !rejected.contains($0.key) && $0.spouse.map(rejected.contains) == false }
    let (owner, taken) = (try #require(pair?.key), try #require(pair?.spouse))
    let source = try RepairWorld.Store(world.world.sourcePath, try QuarantineWorld.source)
    try source.link(taken, "spouseOf", to: (world.entity(owner), owner))
    try source.connection.close()
    try world.run()
    let both = try world.open()
    let keys = try single(both, both.people)
    try #require(keys.count > 1)
    try both.close()
    // Of another's partner, and of one that is in quarantine too and says nothing of it.
    for other in [taken, keys[1]] {
      let file = world.folder.file("copy.sqlite")
      try? FileManager.default.removeItem(atPath: file)
      try FileManager.default.copyItem(atPath: world.quarantine, toPath: file)
      let files = SupportFolder(ofStoreAt: file)
      try? FileManager.default.removeItem(atPath: files.path)
      let from = SupportFolder(ofStoreAt: world.quarantine)
      if from.exists { try FileManager.default.copyItem(atPath: from.path, toPath: files.path) }
      let edited = try world.open(file)
      try edited.held.link(keys[0], "spouse", to: (world.entity(other), other))
      try edited.close()
      try world.expectRefusal(.dataWrong, "'spouse'", file: file)
    }
  }
}

/// Work folders of runs that were killed, and of other versions.
@Suite struct FromQuarantineFolderTests {
  private func stopped(seed: UInt64) throws -> RepairWorld {
    let world = try RepairWorld(seed: seed, people: 20)
    try world.run()
    try world.edit(seed: seed &+ 1, percent: 40)
    let control = MigrationControl()
    var lines = 0
    _ = try MigrationManager(world.job()).run(fromQuarantine: URL(filePath: world.quarantine), control: control) { _ in
      lines += 1
      if lines == 6 { control.stop(reason: "test") }
    }
    #expect(RepairNote.exists(in: world.destination + ".godwit"))
    return world
  }

  @Test func `a receipt that an ordinary run did not place is placed`() throws {
    let world = try RepairWorld(seed: 71, people: 20)
    try world.run()
    let receipt = world.destination + Receipt.suffix
    func strip() throws {
      let folder = try WorkFolder(forDestination: world.destination)
      try FileManager.default.moveItem(atPath: receipt, toPath: folder.receiptPath)
    }
    try strip()
    #expect(try world.take().outcome == .alreadyFinished)
    #expect(FileManager.default.fileExists(atPath: receipt))
    try strip()
    try world.edit(seed: 72, percent: 50)
    try world.expectEqual(world.take(), "placed")
  }

  @Test func `a folder that was half removed is not resumed`() throws {
    let world = try stopped(seed: 73)
    try FileManager.default.removeItem(atPath: world.destination + ".godwit/source-repaired.sqlite")
    let summary = try world.take()
    #expect(summary.codedNotes.contains { $0.code == .workDropped })
    try world.expectEqual(summary, "anew")
  }

  @Test func `repairs that may be delivered are not discarded`() throws {
    let world = try stopped(seed: 75)
    let folder = world.destination + ".godwit"
    func expectKept() throws {
      let error = #expect(throws: GodwitError.self) { try MigrationManager.discard(destination: world.destination) }
      #expect(error?.code == .cannotCreate)
      #expect(FileManager.default.fileExists(atPath: folder + "/repairs.sqlite"))
    }
    var note = try #require(try RepairNote.read(in: folder))
    note.stage = .placingQuarantine
    try note.write(in: folder)
    try expectKept()
    // Its own version says more than the exchange alone, which tells that the store was put in its place.
    try Data("{}".utf8).write(to: URL(filePath: folder + "/repairs.json"))
    try Data("{}".utf8).write(to: URL(filePath: folder + "/exchange.id"))
    try expectKept()
    unlink(folder + "/exchange.id")
    #expect(try MigrationManager.discard(destination: world.destination))
    try world.expectEqual(world.take(), "discarded")
  }

  @Test func `a quarantine of another model version and repairs of another form are refused`() throws {
    let world = try RepairWorld(seed: 77, people: 20)
    try world.run()
    try world.edit(seed: 78, percent: 50)
    let file = world.folder.file("copy.sqlite")
    try FileManager.default.copyItem(atPath: world.quarantine, toPath: file)
    var metadata = try StoreMetadata(readingStoreAt: file)
    var hashes = metadata.versionHashes
    hashes["Person"]?[0] ^= 1
    metadata.values[StoreMetadata.Key.versionHashes] = .dictionary(hashes.mapValues { .data($0) })
    let connection = try StoreConnection(path: file)
    try metadata.write(to: connection)
    try connection.close()
    try world.expectRefusal(.dataWrong, "'Person'", file: file)

    let repairs = try StoreConnection(path: nil)
    for sql in RepairsFile.createStatements { try repairs.execute(sql) }
    func error() -> GodwitError? {
      do { try RepairsFile.checkForm(in: repairs, as: "main", of: "file", source: "digest") } catch {
        return error as? GodwitError
      }
      return nil
    }
    #expect(error()?.code == .cannotCreate)
    try repairs.execute(
      "INSERT INTO \(RepairsFile.state) VALUES ('version', \(RepairsFile.version)), ('source', 'digest')")
    #expect(error() == nil)
    try repairs.execute("UPDATE \(RepairsFile.state) SET value = 'other' WHERE name = 'source'")
    #expect(error()?.message.contains("another source") == true)
    try repairs.execute("UPDATE \(RepairsFile.state) SET value = 2 WHERE name = 'version'")
    #expect(error()?.message.contains("version") == true)
  }
}
