import Foundation
import TestSupport
import Testing

@testable import GodwitCLI

struct `Inspecting real files` {
  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `inspect recognises every store, model and mapping of the corpus`() throws {
    let folder = try #require(Corpus.folder)
    let walk = try #require(FileManager.default.enumerator(atPath: folder.path))
    let files = walk.compactMap { $0 as? String }
      .filter { name in ["sqlite", "xcdatamodeld", "cdm", "mom"].contains { name.hasSuffix("." + $0) } }.sorted()
    var kinds: [FileInspection.Kind: Int] = [:]
    for name in TestTier.sample(files, each: 4) {
      guard let inspection = try? FileInspection(of: folder.path + "/" + name, models: []) else { continue }
      kinds[inspection.kind, default: 0] += 1
      #expect(!inspection.description.isEmpty)
      if name.hasSuffix(".sqlite") { #expect(inspection.kind == .store) }
      if name.hasSuffix(".xcdatamodeld") || name.hasSuffix(".mom") { #expect(inspection.kind == .model) }
    }
    #expect((kinds[.store] ?? 0) >= TestTier.choose(3, long: 20))
    #expect((kinds[.model] ?? 0) >= TestTier.choose(5, long: 34))
    if TestTier.isLong { #expect((kinds[.mappingModel] ?? 0) >= 1) }
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `inspect names the table of rows with another entity's number`() throws {
    let path = Corpus.path("artsy_energy/ArtsyFolio Tests/Migrations/ArtsyPartner_2.0.sqlite")
    let text = try FileInspection(of: path, models: []).description
    #expect(text.contains("1 row of ZARTWORK with entity number 1, which is not one of its own"), "\(text)")
  }
}
