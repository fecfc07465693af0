import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

@testable import Godwit

@Suite struct PeoplizerTests {
  @Test func `the stores in the repository are what the generator makes`() throws {
    let folder = try TemporaryFolder()
    let regenerates = ProcessInfo.processInfo.environment["GODWIT_REGENERATE"] == "1"
    for version in PeoplizerStores.versions {
      let path = PeoplizerStores.path(version: version)
      let made = folder.file("people-\(version).sqlite")
      try PeoplizerStores.make(version: version, at: made)
      if regenerates {
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: made, toPath: path)
      }
      #expect(try StoreDump(made).firstDifference(from: StoreDump(path)) == nil)
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: PeoplizerStores.file("stores"))
    #expect(files.sorted() == PeoplizerStores.versions.map { "people-\($0).sqlite" })
  }
}
