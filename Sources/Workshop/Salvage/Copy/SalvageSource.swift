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
  /// Why the log or the journal is not used; nil if it is, or there is none.
  let logRefusal: String?
  /// The reason why a part of the log is lost; nil if all of it counts.
  let logProblem: String?

  init(path: String) throws {
    self.path = path
    var pages = try PageFile(path: path, usesLog: true)
    logRefusal = try LogCheck.refusal(of: pages, path: path)
    if logRefusal != nil { pages = try PageFile(path: path, usesLog: false) }
    let log = logRefusal == nil ? try LogPages(path + "-wal") : nil
    if let log, let problem = log.problem {
      logProblem =
        log.usedFrames == 0
        ? "'\(path)-wal' is not used: \(problem)"
        : "'\(path)-wal' is used up to frame \(log.usedFrames): \(problem)"
    } else if let log, pages.log == nil, log.usedFrames > 0 {
      logProblem = "'\(path)-wal' is not used: its pages have \(log.pageSize) bytes, so it is of another file"
    } else {
      logProblem = nil
    }
    self.pages = pages
    (map, free) = (try PointerMap(pages), try FreePages(pages))
    overflow = OverflowReader(pages, map)
    rows = LeafRows(pages, overflow)
    reached = PageBits(pageCount: pages.pageCount)
    catalog = try Catalog(pages, map, free, rows, reached: &reached)
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
