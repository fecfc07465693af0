import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitCLI

/// The output of `inspect` for every file of the corpus, one line a file, in `Golden/corpus-results.txt`.
///
/// A changed line names the file that is read differently. When the change is wanted, run the tests once with
/// `GODWIT_RECORD=1`, which rewrites the lines.
@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `The table of corpus results` {
  private static let endings = [
    "sqlite", "moody", "storedata", "mom", "cdm", "omo", "xcdatamodeld", "xcdatamodel", "momd", "xcmappingmodel", "xml",
  ]
  private static let table = Checkout.url("Tests/GodwitCLITests/Golden/corpus-results.txt")

  private var paths: [String] {
    guard let folder = Corpus.folder, let walk = FileManager.default.enumerator(atPath: folder.path) else { return [] }
    return walk.compactMap { $0 as? String }
      .filter { Self.endings.contains(($0 as NSString).pathExtension) && !$0.hasSuffix("xcmapping.xml") }
      .sorted { Text($0) < Text($1) }
  }

  @Test func `every corpus file opens, or is refused in the words of the table`() throws {
    let isRecording = ProcessInfo.processInfo.environment["GODWIT_RECORD"] != nil
    // A sample of them on every change, all of them in the long tier.
    let paths = self.paths
    #expect(paths.count >= 280)
    let found = try (isRecording ? paths : TestTier.sample(paths, each: 4)).map { "\($0): \(try result($0))" }
    if isRecording {
      try Data((found.joined(separator: "\n") + "\n").utf8).write(to: Self.table)
    }
    let known = try String(contentsOf: Self.table, encoding: .utf8).split(separator: "\n").map(String.init)
    for line in found where !known.contains(line) {
      let path = line.prefix { $0 != ":" }
      let before = known.first { $0.hasPrefix(path + ":") } ?? "not in the table"
      Issue.record("\(line)\nbefore: \(before)")
    }
    #expect(known.count == paths.count)
  }

  private func result(_ name: String) throws -> String {
    let path = Corpus.path(name)
    do {
      let found = try FileInspection(of: path, models: [])
      if found.database != nil, let problem = found.problem { throw problem }
      var facts = [found.detail.map { "\(found.kind.rawValue), \($0)" } ?? found.kind.rawValue]
      if let store = found.store {
        facts.append("\(store.entities.count) entities, \(store.entities.compactMap(\.rows).reduce(0, +)) rows")
        facts.append(
          found.cachedModel.map { $0.fits ? "its own model fits" : "its own model does not fit" } ?? "no model")
      }
      if let model = found.model {
        facts.append("\(model.versions.count) versions, \(model.entities.count) entities in '\(model.version ?? "-")'")
      }
      if let mapping = found.mapping { facts.append("\(mapping.entityMappings.count) entity mappings") }
      return facts.joined(separator: "; ")
    } catch let error as GodwitError {
      #expect([65, 66, 69, 78].contains(error.code.rawValue), "\(name): \(error)")
      let message = [error.message, error.cause].compactMap { $0 }.joined(separator: "; ")
      return "refused with \(error.code.rawValue): " + message.replacingOccurrences(of: Corpus.path(""), with: "")
    }
  }
}
