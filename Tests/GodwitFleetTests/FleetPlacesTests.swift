import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitFleet

/// What a machine must have before it works on a shard.
@Suite struct FleetPlacesTests {
  private let folder: TemporaryFolder
  private let places: FleetPlaces

  init() throws {
    folder = try TemporaryFolder()
    for name in ["stores", "fleet/results"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
    }
    try Data().write(to: URL(filePath: folder.file("stores/a.sqlite")))
    places = FleetPlaces(
      stores: folder.file("stores/"), destinations: folder.file("made/out/"),
      folder: FleetFolder(path: folder.file("fleet")))
  }

  private func complaint() -> String? {
    do {
      try places.check()
      return nil
    } catch {
      guard let error = error as? GodwitError else { return "\(error)" }
      return error.code == .inputOutput ? error.message : error.description
    }
  }

  @Test func `a folder of stores that is away, or empty, stops the machine`() throws {
    #expect(complaint() == nil)
    try FileManager.default.removeItem(atPath: folder.file("stores/a.sqlite"))
    #expect(complaint()?.contains("there is nothing in the folder of the stores") == true)
    try FileManager.default.removeItem(atPath: folder.file("stores"))
    #expect(complaint()?.contains("cannot read the folder of the stores") == true)
    // In place, and with a list, there is nothing to look at.
    try FleetPlaces(stores: nil, destinations: nil, folder: FleetFolder(path: folder.file("fleet"))).check()
  }

  @Test func `a folder of destinations is made once, and must stay`() throws {
    places.noteDestinations()
    #expect(complaint() == nil, "it was never there")
    try FileManager.default.createDirectory(atPath: folder.file("made/out"), withIntermediateDirectories: true)
    #expect(complaint() == nil)
    try FileManager.default.removeItem(atPath: folder.file("made"))
    #expect(complaint()?.contains("is missing, and was there before") == true)
  }

  @Test func `a file in the way of the destinations stops the machine`() throws {
    try Data().write(to: URL(filePath: folder.file("made")))
    #expect(complaint()?.contains("cannot look at the folder of the destinations") == true)
    try FileManager.default.removeItem(atPath: folder.file("made"))
    try FileManager.default.createDirectory(atPath: folder.file("made"), withIntermediateDirectories: true)
    try Data().write(to: URL(filePath: folder.file("made/out")))
    #expect(complaint() != nil)
  }

  @Test func `a folder that may not be written stops the machine`() throws {
    try FileManager.default.createDirectory(atPath: folder.file("made"), withIntermediateDirectories: true)
    chmod(folder.file("made"), 0o555)
    defer { chmod(folder.file("made"), 0o755) }
    // Root may write everywhere.
    #expect(geteuid() == 0 ? complaint() == nil : complaint()?.contains("cannot make destinations") == true)
  }
}
