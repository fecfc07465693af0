import GodwitModel

/// The pointer map of a database with automatic vacuum, as Core Data makes them: of each page its use and its parent.
///
/// It tells free and reused pages apart, and to which tree a leaf belongs whose parent is gone.
final class PointerMap {
  enum Use: UInt8 {
    case root = 1
    case free = 2
    case firstOverflow = 3
    case laterOverflow = 4
    case tree = 5
  }

  struct Entry {
    let use: Use
    let parent: UInt32
  }

  private let pages: PageFile
  private let pagesPerMap: UInt32
  /// Whether the file has a pointer map.
  let isPresent: Bool
  /// The map pages read last; nil for one that is not sound.
  private var read: [UInt32: [UInt8]?] = [:]

  init(_ pages: PageFile) throws {
    self.pages = pages
    pagesPerMap = UInt32(pages.usableSize / 5) + 1
    if let known = pages.header.hasPointerMap {
      isPresent = known
    } else {
      isPresent = try Self.sound(2, pages, pagesPerMap) != nil
    }
  }

  /// The page of the map that describes a page.
  private func mapPage(of page: UInt32) -> UInt32 {
    guard page >= 2 else { return 0 }
    let map = (page - 2) / pagesPerMap * pagesPerMap + 2
    return pages.isLockPage(map) ? map + 1 : map
  }

  /// Whether a page is one of the map.
  func isMap(_ page: UInt32) -> Bool { isPresent && page >= 2 && mapPage(of: page) == page }

  /// The entry of a page; nil for a page without one, and where the map is damaged.
  func entry(of page: UInt32) throws -> Entry? {
    guard isPresent, page >= 3 else { return nil }
    let map = mapPage(of: page)
    guard map < page else { return nil }
    if read[map] == nil {
      if read.count >= 16 { read.removeAll(keepingCapacity: true) }
      read[map] = .some(try Self.sound(map, pages, pagesPerMap))
    }
    guard let bytes = read[map] ?? nil else { return nil }
    let place = Int(page - map - 1) * 5
    guard place + 5 <= pages.usableSize, let use = Use(rawValue: bytes[place]) else { return nil }
    return Entry(use: use, parent: UInt32(bytes.number(at: place + 1, size: 4)))
  }

  /// The root of the tree that a page belongs to; nil if it belongs to none, or the map is damaged on the way.
  func root(of page: UInt32) throws -> UInt32? {
    var next = page
    for _ in 0..<40 {
      guard let entry = try entry(of: next) else { return nil }
      switch entry.use {
      case .root: return next
      case .tree: next = entry.parent
      case .free, .firstOverflow, .laterOverflow: return nil
      }
    }
    return nil
  }

  /// The bytes of a map page if each entry of a page that exists says something that is possible.
  private static func sound(_ map: UInt32, _ pages: PageFile, _ pagesPerMap: UInt32) throws -> [UInt8]? {
    guard let bytes = try pages.page(map) else { return nil }
    let last = min(UInt64(map) + UInt64(pagesPerMap) - 1, UInt64(pages.ownPages))
    guard last > UInt64(map) else { return nil }
    for page in map + 1...UInt32(last) where !pages.isLockPage(page) {
      let place = Int(page - map - 1) * 5
      guard place + 5 <= pages.usableSize else { break }
      let parent = bytes.number(at: place + 1, size: 4)
      switch Use(rawValue: bytes[place]) {
      case .root, .free: guard parent == 0 else { return nil }
      case .firstOverflow, .laterOverflow, .tree:
        guard parent > 0, parent != UInt64(page) else { return nil }
      case nil: return nil
      }
    }
    return bytes
  }
}

/// The pages on the list of free pages.
struct FreePages {
  private var pages: PageBits
  /// Whether the whole list was read.
  private(set) var isSound = false

  init(_ file: PageFile) throws {
    pages = PageBits(pageCount: file.pageCount)
    guard file.header.isRead else { return }
    var next = file.header.firstTrunk
    var count: UInt32 = 0
    while next != 0 {
      guard next <= file.pageCount, pages.insert(next), let trunk = try file.page(next) else { return }
      let leaves = Int(trunk.number(at: 4, size: 4))
      guard leaves <= file.usableSize / 4 - 2 else { return }
      count += 1
      for place in 0..<leaves {
        let leaf = UInt32(trunk.number(at: 8 + 4 * place, size: 4))
        guard leaf > 1, leaf <= file.pageCount, pages.insert(leaf) else { return }
        count += 1
      }
      next = UInt32(trunk.number(at: 0, size: 4))
    }
    isSound = count == file.header.freePages
  }

  func contains(_ page: UInt32) -> Bool { pages.contains(page) }
}
