import GodwitModel
import GodwitStore

/// A damaged store: its pages, and what is known about them.
final class SalvageSource {
  let path: String
  let pages: PageFile
  let map: PointerMap
  let free: FreePages
  let rows: LeafRows
  let overflow: OverflowReader
  let catalog: Catalog
  /// The pages of all trees that were walked.
  var reached: PageBits
  /// The losses with the log or the journal, one sentence each.
  let losses: [String]

  /// - Parameter path: As the user names it; a link is followed.
  init(path: String) throws {
    self.path = path
    let file = StoreFiles.resolvingLink(path)
    var pages = try PageFile(path: file, usesLog: true)
    var losses = pages.losses
    if let refusal = try LogCheck.refusal(of: pages, path: file) {
      losses.append(refusal)
      pages = try PageFile(path: file, usesLog: false)
    }
    try Self.checkPageCount(pages)
    self.losses = losses + pages.losses.filter { !losses.contains($0) }
    self.pages = pages
    (map, free) = (try PointerMap(pages), try FreePages(pages))
    overflow = OverflowReader(pages, map)
    rows = LeafRows(pages, overflow)
    reached = PageBits(pageCount: pages.pageCount)
    catalog = try Catalog(pages, map, free, rows, reached: &reached)
  }

  /// Looks whether the file is longer than its page count because the count is wrong: a tree then leads behind it.
  static func checkPageCount(_ pages: PageFile) throws {
    guard pages.ownPages < pages.pageCount else { return }
    let (map, free) = (try PointerMap(pages), try FreePages(pages))
    var reached = PageBits(pageCount: pages.pageCount)
    let catalog = try Catalog(pages, map, free, LeafRows(pages, OverflowReader(pages, map)), reached: &reached)
    guard catalog.lost.isEmpty else {
      return pages.ownAllPages("definitions are damaged, so all pages are looked at")
    }
    for entry in catalog.entries where entry.root > 0 {
      if try TreeReach.leadsBehind(pages.ownPages, from: entry.root, pages) {
        return pages.ownAllPages("'\(entry.name)' has pages behind it")
      }
    }
  }

  /// The first leaf of a tree; nil if the way there is damaged.
  func firstLeaf(from root: UInt32) throws -> (page: UInt32, leaf: TableLeaf, bytes: [UInt8])? {
    var next = root
    for _ in 0..<40 {
      guard let bytes = try pages.page(next) else { return nil }
      if let leaf = TableLeaf(bytes, at: 0, usableSize: pages.usableSize) { return (next, leaf, bytes) }
      guard let interior = TableInterior(bytes, at: 0, usableSize: pages.usableSize) else { return nil }
      next = interior.cells.first?.child ?? interior.rightChild
    }
    return nil
  }
}
