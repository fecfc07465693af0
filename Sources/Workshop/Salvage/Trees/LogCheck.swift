import Foundation
import GodwitModel
import GodwitStore

/// Whether the log beside a file is its own.
///
/// A log does not name the file that it belongs to. A log of another file shows in two ways: the store alone is whole
/// and is not with the log, or its identifier is another one with the log. An identifier with a few other characters is
/// a damaged one.
enum LogCheck {
  /// - Returns: Why the log or the journal is not used; nil if it is.
  static func refusal(of withLog: PageFile, path: String) throws -> String? {
    guard withLog.log != nil || withLog.hasJournal else { return nil }
    let name = withLog.log != nil ? "-wal" : "-journal"
    guard let alone = try? PageFile(path: path, usesLog: false), alone.header.isRead else { return nil }
    let (first, second) = (try Look(withLog), try Look(alone))
    if let a = first.identifier, let b = second.identifier, areOthers(a, b) {
      return "'\(path)\(name)' is not used: it is of another store, as its identifier shows"
    }
    // A journal that lost pages leaves a store that is partly rolled back.
    if first.failures > 0, second.failures == 0, withLog.log != nil || withLog.hasWholeJournal {
      return
        "'\(path)\(name)' is not used: the store is whole without it, and damaged with it, so it is of another file"
    }
    return nil
  }

  private static func areOthers(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    [a, b].allSatisfy { UUID(uuidString: String(decoding: $0, as: UTF8.self)) != nil }
      && zip(a, b).count { $0 != $1 } > 8
  }

  /// The state of the pages with or without the log.
  private struct Look {
    /// Parts of trees that are damaged, and indexes that do not have as many entries as their table has rows.
    var failures = 0
    var identifier: [UInt8]?
    private var counts: [String: Int] = [:]

    init(_ pages: PageFile) throws {
      let (map, free) = (try PointerMap(pages), try FreePages(pages))
      let rows = LeafRows(pages, OverflowReader(pages, map))
      var reached = PageBits(pageCount: pages.pageCount)
      let catalog = try Catalog(pages, map, free, rows, reached: &reached)
      failures = catalog.lost.count + (pages.missingPages > 0 && !pages.hasJournal ? 1 : 0)
      for table in catalog.tables where !table.isWithoutRowKeys {
        var found: [UInt8]?
        var (count, failed) = (0, 0)
        let walk = TableWalk(pages: pages, map: map) { leaf, bytes, page, _ in
          count += leaf.count
          if table.name == "Z_METADATA", let cell = leaf.cells.first,
            let row = try rows.row(cell, bytes, page: page), row.values.count > 1, case .text(let text) = row.values[1]
          {
            found = text
          }
          return leaf.isSound
        } lost: { _ in
          failed += 1
        }
        try walk.walk(from: table.root, reached: &reached)
        if table.name == "Z_METADATA" { identifier = found }
        failures += failed
        counts[table.name] = count
      }
      for index in catalog.indexes where !index.isPartial {
        guard let rows = counts[index.table] else { continue }
        if try IndexCount.entries(from: index.root, pages, &reached) != rows { failures += 1 }
      }
    }
  }
}

/// How many entries an index has.
private enum IndexCount {
  /// - Returns: nil if a page of the tree is none of an index.
  static func entries(from root: UInt32, _ pages: PageFile, _ reached: inout PageBits, depth: Int = 0) throws -> Int? {
    guard depth < 40, root > 1, reached.insert(root), let bytes = try pages.page(root),
      bytes[0] == 0x0A || bytes[0] == 0x02
    else { return nil }
    var count = Int(bytes.number(at: 3, size: 2))
    guard bytes[0] == 0x02 else { return count }
    guard let children = TreeReach.children(bytes, pages.usableSize) else { return nil }
    for child in children {
      guard let entries = try entries(from: child, pages, &reached, depth: depth + 1) else { return nil }
      count += entries
    }
    return count
  }
}
